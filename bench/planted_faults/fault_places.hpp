// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "graph_editor.hpp"

// Where a graph can have each kind of fault, and how it is planted there (faults.hpp describes the kinds).
namespace assay::faults {

/// Plants the fault at each place of the graph that it was made for. One edit leaves the other places valid.
using Places = std::vector<std::function<void(GraphEditor&, double strength)>>;

// In layers: sums, weights, activations, normalisations (layer_faults.cpp).
/// One branch of all residual sums x + f(x) is made smaller: f(x), or x itself.
[[nodiscard]] Places residual_sums(const GraphEditor& graph, bool branch);
[[nodiscard]] Places biases(const GraphEditor& graph);
[[nodiscard]] Places heads(const GraphEditor& graph);
[[nodiscard]] Places square_weights(const GraphEditor& graph);
[[nodiscard]] Places gelus(const GraphEditor& graph);
[[nodiscard]] Places epsilons(const GraphEditor& graph);
[[nodiscard]] Places products(const GraphEditor& graph);

// Along the tokens: masks, positions, caches (token_faults.cpp). `late`: only in those of more than `strength` tokens.
[[nodiscard]] Places masks(const GraphEditor& graph, bool late);
[[nodiscard]] Places rope_bases(const GraphEditor& graph);
[[nodiscard]] Places positions(const GraphEditor& graph);
[[nodiscard]] Places cache_slots(const GraphEditor& graph, bool late);

// For both.
[[nodiscard]] onnx::AttributeProto& new_attribute(onnx::NodeProto& node, const char* name);
void set_integer(onnx::NodeProto& node, const char* name, std::int64_t value);
/// `value` times `factor`, in its type.
[[nodiscard]] std::string scaled(GraphEditor& graph, const std::string& value, double factor);

}  // namespace assay::faults
