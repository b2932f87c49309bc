// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <assay/result.hpp>

#include "models/graph/specialise.hpp"
#include "models/graph/static_model.hpp"

namespace assay {

/// What of a model remains for one set of shapes: the rules of specialise(), which writes it as a file. Lowerings read
/// it from here. Lifetime: names are those of the model.
struct StaticParts {
  std::vector<std::size_t> nodes;               ///< places in the graph, each after those that it reads
  std::vector<std::string_view> folded;         ///< needed values whose elements are known, in the order of their nodes
  std::unordered_set<std::string_view> needed;  ///< values that the kept nodes and the graph's outputs read
  std::vector<DynamicNode> dynamic;             ///< the same as in SpecialisedModel
};

/// `graph` was inferred from `model`.
[[nodiscard]] StaticParts static_parts(const StaticModel::State& model, const StaticGraph& graph);

/// Errors: invalid_argument, for a shape of a name that is not an input, or that has a value.
[[nodiscard]] Status check_request(const StaticModel::State& model, const SpecialiseRequest& request);

/// The elements of a value that has them (int64, int32 or bool) in ONNX's packed form.
[[nodiscard]] std::string packed_elements(const StaticValue& value);

}  // namespace assay
