// SPDX-License-Identifier: Apache-2.0
#include "lower/torchscript/patterns.hpp"

#include <algorithm>
#include <utility>

#include "lower/torchscript/groups.hpp"
#include "lower/torchscript/linear.hpp"

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
  for (const graph::Node* node : program.nodes()) {
    for (const auto find : {&find_activation, &find_attention, &find_biased_layer}) {
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

TorchGroup find_biased_layer(const StaticProgram& program, const Readers& readers, const graph::Node& node) {
  if (!is_operator(node, "Add")) return {};
  for (const std::size_t side : {0U, 1U}) {
    const graph::Node* product = readers.maker_for_one(node.inputs[side], "MatMul");
    const std::string_view bias = node.inputs[1 - side];
    if (product == nullptr || program.constant(bias) == nullptr) continue;
    const Shape& shape = program.shape(bias);
    const auto layer = weights_of(program, *product);
    const bool fits = !shape.empty() && layer && shape.back() == layer->outputs &&
                      std::all_of(shape.begin(), shape.end() - 1, [](std::int64_t extent) { return extent == 1; }) &&
                      program.shape(node.outputs[0]) == program.shape(product->outputs[0]);
    if (!fits) continue;
    return {{&node, product}, [&node, product, bias, layer = *layer](TorchWriter& writer) {
              std::string term = writer.value(bias);
              if (writer.program().shape(bias).size() > 1) term = torch_call("reshape", term, "[-1]");
              writer.out(node, torch_layer(writer, *product, layer, term));
            }};
  }
  return {};
}

}  // namespace assay::lowering
