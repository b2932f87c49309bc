// SPDX-License-Identifier: Apache-2.0
#include "models/lower/torchscript/patterns.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <ranges>
#include <utility>

#include "models/lower/torchscript/groups.hpp"
#include "models/lower/torchscript/linear.hpp"

namespace assay::lowering {

Readers::Readers(const StaticProgram& program) {
  for (const graph::Node* node : program.nodes()) {
    for (const std::string_view name : node->inputs)
      if (!name.empty()) ++reads_[name];
    for (const std::string_view name : node->outputs)
      if (!name.empty()) makers_.emplace(name, node);
  }
  for (const Value& output : program.outputs()) ++reads_[output.name];
}

const graph::Node* Readers::maker(std::string_view name) const {
  const auto found = makers_.find(name);
  return found == makers_.end() ? nullptr : found->second;
}

const graph::Node* Readers::maker_for_one(std::string_view name, std::string_view op_type) const {
  const graph::Node* node = maker(name);
  return node != nullptr && is_operator(*node, op_type) && reads(name) == 1 ? node : nullptr;
}

std::size_t Readers::reads(std::string_view name) const {
  const auto found = reads_.find(name);
  return found == reads_.end() ? 0 : found->second;
}

bool is_operator(const graph::Node& node, std::string_view op_type) {
  return node.domain.empty() && node.op_type == op_type;
}

TorchPatterns::TorchPatterns(const StaticProgram& program) {
  const Readers readers(program);
  // From the end, so that the larger group is found first: a layer with its bias before the layer alone. Groups that
  // end with another kind of node share none: each needs its inner nodes for itself.
  for (const graph::Node* node : program.nodes() | std::views::reverse) {
    for (const auto find : {&find_activation, &find_attention, &find_biased_layer, &find_layer}) {
      TorchGroup group = find(program, readers, *node);
      const auto taken = [&](const graph::Node* each) { return inner_.contains(each) || last_.contains(each); };
      if (group.nodes.empty() || std::ranges::any_of(group.nodes, taken)) continue;
      inner_.insert(group.nodes.begin() + 1, group.nodes.end());
      last_.emplace(node, std::move(group.write));
      break;
    }
  }
}

bool TorchPatterns::write(TorchWriter& writer, const graph::Node& node) const {
  if (const auto last = last_.find(&node); last != last_.end()) {
    last->second(writer);
    return true;
  }
  return inner_.contains(&node);
}

namespace {

// A MatMul with a constant matrix, or with one that a Transpose turns, as tied weights are written.
struct LayerNodes {
  TorchLayer layer{};
  std::vector<const graph::Node*> nodes{};
};

std::optional<LayerNodes> layer_nodes(const StaticProgram& program, const Readers& readers, const graph::Node& node) {
  if (!is_operator(node, "MatMul")) return std::nullopt;
  const Shape& x = program.shape(node.inputs[0]);
  if (const auto layer = layer_of(program, x, node.inputs[1], false)) return LayerNodes{*layer, {&node}};
  const graph::Node* transpose = readers.maker_for_one(node.inputs[1], "Transpose");
  const auto order = transpose == nullptr ? std::nullopt : transpose->integers("perm");
  if (transpose == nullptr || (order && !std::ranges::equal(*order, std::array<std::int64_t, 2>{1, 0})))
    return std::nullopt;
  const auto layer = layer_of(program, x, transpose->inputs[0], true);
  if (!layer) return std::nullopt;
  return LayerNodes{*layer, {&node, transpose}};
}

}  // namespace

TorchGroup find_layer(const StaticProgram& program, const Readers& readers, const graph::Node& node) {
  const auto found = layer_nodes(program, readers, node);
  if (!found) return {};
  return {found->nodes, [&node, layer = found->layer](TorchWriter& writer) {
            writer.out(node, torch_layer(writer, layer, writer.in(node, 0), std::nullopt, writer.out_shape(node)));
          }};
}

TorchGroup find_biased_layer(const StaticProgram& program, const Readers& readers, const graph::Node& node) {
  if (!is_operator(node, "Add")) return {};
  for (const std::size_t side : {0U, 1U}) {
    const graph::Node* product = readers.maker_for_one(node.inputs[side], "MatMul");
    const std::string_view bias = node.inputs[1 - side];
    if (product == nullptr || program.constant(bias) == nullptr) continue;
    const auto found = layer_nodes(program, readers, *product);
    const Shape& shape = program.shape(bias);
    const bool fits = !shape.empty() && found && shape.back() == found->layer.outputs &&
                      std::all_of(shape.begin(), shape.end() - 1, [](std::int64_t extent) { return extent == 1; }) &&
                      program.shape(node.outputs[0]) == program.shape(product->outputs[0]);
    if (!fits) continue;
    std::vector<const graph::Node*> nodes{&node};
    nodes.insert(nodes.end(), found->nodes.begin(), found->nodes.end());
    return {std::move(nodes), [&node, product, bias, layer = found->layer](TorchWriter& writer) {
              std::string term = writer.value(bias);
              if (writer.program().shape(bias).size() > 1) term = torch_call("reshape", term, "[-1]");
              writer.out(node, torch_layer(writer, layer, writer.in(*product, 0), term, writer.out_shape(node)));
            }};
  }
  return {};
}

}  // namespace assay::lowering
