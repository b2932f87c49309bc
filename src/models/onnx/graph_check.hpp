// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/onnx/onnx_tensor.hpp"

namespace assay {

/// What checking a model's graph found on the way.
struct CheckedGraph {
  std::vector<CheckedTensor> initializers;  ///< initialisers of the main graph, in file order
  std::vector<CheckedTensor> constants;     ///< all other tensors: of nodes' attributes, inner graphs and functions
  std::set<std::pair<std::string, std::string>> operators;  ///< (domain, op_type), calls of local functions left out
};

/// Checks everything that can be known without a runtime: each value is defined once, every name that is
/// read is defined, there are no cycles (the order of nodes does not matter), types, extents and all tensors are valid.
/// Likewise for the graphs inside If, Loop and Scan, and for local functions, which must not call themselves.
/// Operators, their attributes and versions are not checked: runtimes differ in them.
/// Errors: invalid_argument, not_found (external data), unsupported; the message names the value, node or tensor.
[[nodiscard]] Result<CheckedGraph> check_graph(const OnnxFile& file, std::uint64_t memory);

/// "ai.onnx" is the default domain's other name.
[[nodiscard]] std::string_view normal_domain(const std::string& domain);

}  // namespace assay
