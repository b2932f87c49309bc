// SPDX-License-Identifier: Apache-2.0
#include "models/lower/static_program.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>

#include "core/base/text.hpp"
#include "models/graph/shape_rules.hpp"
#include "models/graph/static_parts.hpp"

namespace assay::lowering {

tl::unexpected<Error> refuse(const graph::Node& node, std::string_view what) {
  return fail(ErrorCode::kUnsupported, fmt::format("{} of node {} ({}) is not supported", what,
                                                   shown(node.shown_name()), sanitise(node.operator_name())));
}

Result<std::int64_t> axis_of(const graph::Node& node, std::int64_t axis, std::int64_t rank) {
  const std::int64_t from_0 = axis < 0 ? axis + rank : axis;
  if (from_0 >= 0 && from_0 < rank) return from_0;
  return refuse(node, fmt::format("axis {} of a tensor of rank {}", axis, rank));
}

bool is_unsigned(DType dtype) {
  return dtype == DType::kUInt8 || dtype == DType::kUInt16 || dtype == DType::kUInt32 || dtype == DType::kUInt64;
}

Result<graph::Window> window_of(const graph::Node& node, const Shape& in, std::vector<std::int64_t> kernel) {
  auto window = graph::read_window(node, in, std::move(kernel));
  if (!window) return refuse(node, window.error());
  return *std::move(window);
}

Status check_listed(const graph::Node& node, double numbers) {
  constexpr double kMost = 1 << 24;
  if (numbers <= kMost) return {};
  return refuse(node, fmt::format("a list of {:.0f} computed numbers (at most {:.0f})", numbers, kMost));
}

Status check_parts(const StaticModel& model, const StaticGraph& graph, const StaticParts& parts,
                   const NodeCheck& check) {
  const graph::Graph& read = model.model().graph();
  for (const std::size_t place : parts.nodes) {
    const graph::Node& node = read.nodes[place];
    ASSAY_CHECK_OK(check.implements(node, model.model().opset(node.domain).value_or(1)));
  }
  if (!parts.dynamic.empty()) return fail(ErrorCode::kUnsupported, no_static_shape(parts.dynamic.front()));
  for (const graph::ValueInfo& output : read.outputs)
    if (!graph.has_shape(output.name))
      return fail(ErrorCode::kUnsupported, fmt::format("output {} has no static shape", shown(output.name)));
  for (const std::size_t place : parts.nodes) ASSAY_CHECK_OK(check_node(read.nodes[place], graph, check.has_type));
  for (const graph::Constant& constant : read.sparse_initializers)
    if (parts.needed.contains(constant.name))
      return fail(ErrorCode::kUnsupported, fmt::format("the sparse tensor {} cannot be lowered", shown(constant.name)));
  for (const graph::ValueInfo& output : read.outputs)
    if (const auto why = unfit(*graph.find(output.name), check.has_type))
      return fail(ErrorCode::kUnsupported, fmt::format("output {} {}", shown(output.name), *why));
  return {};
}

Result<StaticProgram> StaticProgram::create(const StaticModel& model, const SpecialiseRequest& request,
                                            const NodeCheck& check) {
  ASSAY_CHECK_OK(check_request(model.state(), request));
  ASSAY_TRY(StaticGraph graph, model.infer(request.shapes, request.constants));
  const StaticParts parts = static_parts(model.state(), graph);
  ASSAY_CHECK_OK(check_parts(model, graph, parts, check));
  const graph::Graph& read = model.model().graph();
  StaticProgram program(model, std::move(graph));
  for (const std::size_t place : parts.nodes) program.nodes_.push_back(&read.nodes[place]);
  for (const graph::ValueInfo& input : read.inputs) {
    if (request.constants.contains(std::string(input.name)) || model.state().initializers.contains(input.name))
      continue;
    const StaticValue& known = program.value(input.name);
    program.inputs_.push_back({std::string(input.name), known.dtype, *known.shape});
  }
  for (const graph::ValueInfo& output : read.outputs) {
    const StaticValue& known = program.value(output.name);
    program.outputs_.push_back({std::string(output.name), known.dtype, *known.shape});
  }
  ASSAY_CHECK_OK(program.add_constants(request, parts));
  return program;
}

Status StaticProgram::add_constants(const SpecialiseRequest& request, const StaticParts& parts) {
  const auto add = [&](Weight weight) {
    places_.emplace(weight.name, constants_.size());
    constants_.push_back(std::move(weight));
  };
  for (const auto& [name, given] : request.constants)
    if (parts.needed.contains(name)) add(held_weight(name, given.dtype(), given.shape(), given.bytes()));
  for (const graph::Constant& constant : model().graph().initializers) {
    std::string name(constant.name);
    if (!parts.needed.contains(name) || places_.contains(name)) continue;
    initializers_.emplace(name, &constant);
    ASSAY_TRY(const auto place, model().place(constant));
    if (place) {
      add({.name = std::move(name),
           .dtype = constant.dtype,
           .shape = constant.shape,
           .file = place->file,
           .offset = place->offset,
           .bytes = constant.bytes});
    } else {
      ASSAY_TRY(const graph::ConstantData data, model().data(constant));
      add(held_weight(std::move(name), constant.dtype, constant.shape, data.bytes));
    }
  }
  for (const std::string_view name : parts.folded) {
    const StaticValue& known = value(name);
    const std::string elements = packed_elements(known);
    add(held_weight(std::string(name), known.dtype, *known.shape, std::as_bytes(std::span(elements))));
  }
  return {};
}

const Weight* StaticProgram::constant(std::string_view name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? nullptr : &constants_[found->second];
}

const StaticValue& StaticProgram::value(std::string_view name) const {
  const StaticValue* found = graph_.find(name);
  ASSAY_CHECK(found != nullptr, "a value of the graph");
  return *found;
}

Result<graph::ConstantData> StaticProgram::elements(std::string_view name) const {
  const Weight* weight = constant(name);
  ASSAY_CHECK(weight != nullptr, "a constant of the program");
  if (const auto initializer = initializers_.find(name); initializer != initializers_.end())
    return model().data(*initializer->second);
  return graph::ConstantData{std::as_bytes(std::span(weight->held)), nullptr};
}

Result<std::vector<std::int64_t>> StaticProgram::integers(const graph::Node& node, std::string_view name) const {
  const StaticValue& known = value(name);
  if (known.elements) return *known.elements;
  if (const Weight* weight = constant(name); weight != nullptr && weight->dtype == DType::kInt64) {
    ASSAY_TRY(const graph::ConstantData data, elements(name));
    std::vector<std::int64_t> all(data.bytes.size() / sizeof(std::int64_t));
    if (!all.empty()) std::memcpy(all.data(), data.bytes.data(), all.size() * sizeof(std::int64_t));
    return all;
  }
  ASSAY_TRY(const std::vector<double> all, numbers(node, name));
  return std::vector<std::int64_t>(all.begin(), all.end());
}

Result<std::vector<double>> StaticProgram::numbers(const graph::Node& node, std::string_view name) const {
  const Weight* weight = constant(name);
  if (weight == nullptr) return refuse(node, fmt::format("input {}, which is not a constant,", shown(name)));
  ASSAY_TRY(const graph::ConstantData data, elements(name));
  const TensorView view{weight->dtype, weight->shape, data.bytes};
  std::vector<double> all;
  const std::int64_t count = count_of(weight->shape);
  for (std::int64_t i = 0; i < count; ++i) all.push_back(element_as_double(view, i));
  return all;
}

std::optional<double> StaticProgram::number(std::string_view name) const {
  constexpr double kExact = 0x1p53;  // of larger integers, a double may be another one
  const Weight* weight = constant(name);
  if (weight == nullptr || count_of(weight->shape) != 1 || is_floating(weight->dtype) == is_integer(weight->dtype))
    return std::nullopt;
  const Result<graph::ConstantData> data = elements(name);
  if (!data) return std::nullopt;
  const double number = element_as_double({weight->dtype, weight->shape, data->bytes}, 0);
  return is_integer(weight->dtype) && !(std::abs(number) < kExact) ? std::nullopt : std::optional(number);
}

std::int64_t StaticProgram::opset(const graph::Node& node) const { return model().opset(node.domain).value_or(1); }

}  // namespace assay::lowering
