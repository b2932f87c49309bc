// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

#include "models/graph/static_graph.hpp"
#include "models/graph/view.hpp"

namespace assay {

/// A tensor that exists before the model runs: with its elements if they are few and of a type that folds.
[[nodiscard]] StaticValue known_value(DType dtype, const Shape& shape, Bytes bytes);

/// What is known of a file whatever the shapes of its inputs are.
struct StaticModel::State {
  explicit State(graph::Model opened) : model(std::move(opened)) {}

  graph::Model model;
  std::map<std::string, StaticValue, std::less<>> initializers{};
  std::unordered_map<const graph::Node*, StaticValue> values{};  ///< tensors in the attribute "value"
  std::uint64_t weight_bytes = 0;                                ///< size of all initialisers
};

}  // namespace assay
