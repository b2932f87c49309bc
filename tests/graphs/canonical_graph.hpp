// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include <assay/result.hpp>

#include "onnx/onnx-ml.pb.h"

namespace assay::testing {

/// A graph as text that depends on its computation and its interface, not on details of its file.
struct CanonicalGraph {
  std::size_t nodes = 0;
  std::string text;  ///< one line per opset, input, initialiser, node, declared shape and output

  [[nodiscard]] std::string sha256() const;
};

/// Brings a model into its canonical form.
///
/// - Metadata, doc strings, the producer, the graph's name and all node names are left out.
/// - Nodes are in the order in which the outputs need them, each after its inputs; nodes that no output needs are last,
///   sorted by their operations. The order in the file does not matter.
/// - A value is named by its operator and a number ("MatMul_3", "Split_0:1"). The names of inputs and outputs stay.
/// - Initialisers with external data are weights: they are identified by name, type and shape. The others are
///   constants and tables: they are identified by type, shape and content.
///
/// Errors: invalid_argument for features that the zoo does not use: subgraphs, tensors as attributes, local functions,
/// a cycle, a value that nothing produces.
[[nodiscard]] Result<CanonicalGraph> canonical_graph(const onnx::ModelProto& model);

}  // namespace assay::testing
