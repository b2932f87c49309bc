// SPDX-License-Identifier: Apache-2.0
#include "models/graph/static_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>

#include "core/base/text.hpp"

namespace assay {
namespace {

template <class T>
std::string packed(const std::vector<std::int64_t>& elements) {
  std::string bytes(elements.size() * sizeof(T), '\0');
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const T value = static_cast<T>(elements[i]);
    std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
  }
  return bytes;
}

// Decides what of a graph stays.
class PartsChooser {
 public:
  PartsChooser(const StaticModel::State& model, const StaticGraph& graph)
      : model_(model), graph_(model.model.graph()), inferred_(graph) {}

  StaticParts run() {
    choose_nodes();
    return std::move(parts_);
  }

 private:
  // All outputs are known: a node that is kept for one of them computes the others, too. An Identity that makes a
  // constant an output is what add_constant() would add.
  [[nodiscard]] bool is_folded(const graph::Node& node) const {
    if (node.op_type == "Identity" && node.inputs.size() == 1 && model_.initializers.contains(node.inputs[0]) &&
        graph_.has_output(node.outputs[0]))
      return false;
    bool any = false;
    for (const std::string_view output : node.outputs) {
      if (output.empty()) continue;
      const StaticValue* known = inferred_.find(output);
      if (known == nullptr || !known->elements) return false;
      any = true;
    }
    return any;
  }

  // From the outputs back: readers are met before what they read.
  void choose_nodes() {
    for (const graph::ValueInfo& output : graph_.outputs) parts_.needed.insert(output.name);
    for (auto place = graph_.order.rbegin(); place != graph_.order.rend(); ++place) {
      const graph::Node& node = graph_.nodes[*place];
      if (!std::ranges::any_of(node.outputs, [&](std::string_view output) { return parts_.needed.contains(output); }))
        continue;
      if (is_folded(node)) {
        for (const std::string_view output : node.outputs)
          if (parts_.needed.contains(output)) parts_.folded.push_back(output);
        continue;
      }
      parts_.nodes.push_back(*place);
      for (const std::string_view name : reads_of(node)) parts_.needed.insert(name);
    }
    std::ranges::reverse(parts_.nodes);
    std::ranges::reverse(parts_.folded);
    for (const std::size_t place : parts_.nodes) note_dynamic(graph_.nodes[place]);
  }

  void note_dynamic(const graph::Node& node) {
    if (!std::ranges::all_of(reads_of(node), [&](std::string_view name) { return inferred_.has_shape(name); })) return;
    const bool known = std::ranges::all_of(node.outputs, [&](std::string_view output) {
      return output.empty() || !parts_.needed.contains(output) || inferred_.has_shape(output);
    });
    if (!known) parts_.dynamic.push_back({sanitise(node.shown_name()), sanitise(node.operator_name())});
  }

  const StaticModel::State& model_;
  const graph::Graph& graph_;
  const StaticGraph& inferred_;
  StaticParts parts_;
};

}  // namespace

StaticParts static_parts(const StaticModel::State& model, const StaticGraph& graph) {
  return PartsChooser(model, graph).run();
}

std::string packed_elements(const StaticValue& value) {
  if (value.dtype == DType::kInt64) return packed<std::int64_t>(*value.elements);
  if (value.dtype == DType::kInt32) return packed<std::int32_t>(*value.elements);
  return packed<std::uint8_t>(*value.elements);
}

Status check_request(const StaticModel::State& model, const SpecialiseRequest& request) {
  std::set<std::string_view> inputs;
  for (const graph::ValueInfo& input : model.model.graph().inputs) inputs.insert(input.name);
  for (const auto& given : request.shapes) {
    const std::string& name = given.first;  // no structured binding: the analyzer loses one in a lambda
    const auto refuse = [&](std::string_view why) {
      return fail(ErrorCode::kInvalidArgument, fmt::format("a shape is given for {}, which {}", shown(name), why));
    };
    if (!inputs.contains(name)) return refuse("is not an input of the model");
    if (request.constants.contains(name)) return refuse("is given as a constant too");
    if (model.initializers.contains(name)) return refuse("has a value in the file");
  }
  return {};
}

}  // namespace assay
