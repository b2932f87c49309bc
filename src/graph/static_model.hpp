// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/static_graph.hpp"
#include "onnx/graph_check.hpp"

namespace assay {

/// A tensor that is there before the model runs: with its elements, where they are few and of a type that folds.
[[nodiscard]] StaticValue known_value(DType dtype, const Shape& shape, Bytes bytes);

/// What is known of a file whatever the shapes of its inputs. Pointers in `checked` lead into `file`.
struct StaticModel::State {
  explicit State(OnnxFile opened) : file(std::move(opened)) {}

  OnnxFile file;
  CheckedGraph checked{};
  std::vector<int> order{};                        ///< the places of the graph's nodes, each behind those it reads from
  std::int64_t opset = 0;                          ///< of the default domain; 0: not imported
  std::set<std::string, std::less<>> functions{};  ///< local ones: "DOMAIN:NAME"
  std::map<std::string, StaticValue> initializers{};
  std::map<std::string, StaticValue> constants{};  ///< outputs of Constant nodes that hold a tensor
  std::uint64_t weight_bytes = 0;                  ///< of all initialisers
};

}  // namespace assay
