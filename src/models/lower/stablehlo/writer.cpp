// SPDX-License-Identifier: Apache-2.0
// Values of the graph, by their names.
#include "models/lower/stablehlo/writer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.hpp"
#include "models/graph/shape_rules.hpp"

namespace assay::lowering::stablehlo {

HloWriter::HloWriter(const StaticProgram& program, Program& into) : program_(&program), into_(&into) {
  for (std::size_t i = 0; i < program.inputs().size(); ++i) {
    const Value& input = program.inputs()[i];
    values_[input.name].plain = Hlo{fmt::format("%x{}", i), input.dtype, input.shape};
  }
  for (const graph::Node* node : program.nodes())
    for (const std::string_view name : node->outputs) producers_.emplace(name, node);
}

const graph::Node* HloWriter::producer(std::string_view name) const {
  const auto found = producers_.find(name);
  return found == producers_.end() ? nullptr : found->second;
}

std::string HloWriter::fresh() { return fmt::format("%{}", count_++); }

Hlo HloWriter::line(const std::string& text, DType dtype, Shape shape) {
  Hlo made{fresh(), dtype, std::move(shape)};
  body_ += fmt::format("    {} = {}\n", made.id, text);
  return made;
}

Result<Hlo> HloWriter::value(std::string_view name) {
  const auto found = values_.find(name);
  if (found != values_.end()) {
    if (!found->second.plain) found->second.plain = from_last(*found->second.last);
    return *found->second.plain;
  }
  const Weight* weight = program_->constant(name);
  if (weight == nullptr)
    return fail(ErrorCode::kInternal, fmt::format("nothing was lowered for the value {}", shown(name)));
  ASSAY_TRY(Hlo made, constant(*weight));
  // A constant in a region is only valid there.
  if (!made.id.starts_with("%w")) return made;
  values_[std::string(name)].plain = made;
  return made;
}

Result<Hlo> HloWriter::input(const graph::Node& node, std::size_t index) {
  if (!has_input(node, index)) return refuse(node, fmt::format("the missing input {}", index));
  return value(node.inputs[index]);
}

bool HloWriter::prefers_last(const graph::Node& node, std::size_t index) const {
  if (!has_input(node, index)) return false;
  const auto found = values_.find(node.inputs[index]);
  return found != values_.end() && found->second.last && !found->second.plain;
}

Result<Hlo> HloWriter::input_last(const graph::Node& node, std::size_t index) {
  if (has_input(node, index)) {
    const auto found = values_.find(node.inputs[index]);
    if (found != values_.end() && found->second.last) return *found->second.last;
  }
  ASSAY_TRY(const Hlo plain, input(node, index));
  Hlo last = to_last(plain);
  values_[std::string(node.inputs[index])].last = last;
  values_[std::string(node.inputs[index])].plain = plain;
  return last;
}

std::optional<Hlo> HloWriter::permuted_constant(const graph::Node& node, std::size_t index, const Axes& permutation) {
  const Weight* weight = has_input(node, index) ? program_->constant(node.inputs[index]) : nullptr;
  if (weight == nullptr || !mlir_element(weight->dtype)) return std::nullopt;
  const std::string key = fmt::format("{} permuted {}", node.inputs[index], joined(permutation));
  if (const auto known = permuted_.find(key); known != permuted_.end()) return known->second;
  Weight turned = *weight;
  turned.permutation = permutation;
  for (std::size_t i = 0; i < permutation.size(); ++i)
    turned.shape[i] = weight->shape[static_cast<std::size_t>(permutation[i])];
  return permuted_.emplace(key, add_weight(std::move(turned))).first->second;
}

Status HloWriter::check_type(const graph::Node& node, std::size_t index, DType dtype, const Shape& shape) const {
  ASSAY_CHECK_OK(fault(node));
  const StaticValue& known = program_->value(node.outputs[index]);
  if (!known.shape) return refuse(node, fmt::format("output {}, whose shape is not known,", index));
  if (dtype == known.dtype && shape == *known.shape) return {};
  return fail(ErrorCode::kInternal,
              fmt::format("lowering makes {} {} of output {} of node {} ({}), which is {} {}", to_string(dtype),
                          assay::to_string(shape), index, shown(node.shown_name()), sanitise(node.operator_name()),
                          to_string(known.dtype), assay::to_string(*known.shape)));
}

Status HloWriter::output(const graph::Node& node, std::size_t index, const Hlo& value) {
  if (index >= node.outputs.size() || node.outputs[index].empty()) return {};
  ASSAY_CHECK_OK(check_type(node, index, value.dtype, value.shape));
  values_[std::string(node.outputs[index])].plain = value;
  return {};
}

Status HloWriter::output_last(const graph::Node& node, std::size_t index, const Hlo& value) {
  if (index >= node.outputs.size() || node.outputs[index].empty()) return {};
  if (value.rank() < 3) return refuse(node, fmt::format("a result of rank {}", value.rank()));
  Shape plain = value.shape;
  std::rotate(plain.begin() + 1, plain.end() - 1, plain.end());
  ASSAY_CHECK_OK(check_type(node, index, value.dtype, plain));
  values_[std::string(node.outputs[index])].last = value;
  return {};
}

}  // namespace assay::lowering::stablehlo
