// SPDX-License-Identifier: Apache-2.0
#include "lower/static_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <numeric>
#include <utility>

#include "base/text.hpp"
#include "graph/static_parts.hpp"

namespace assay::lowering {
namespace {

// Graphs inside nodes are not lowered.
constexpr std::string_view kControlFlow[] = {"If", "Loop", "Scan", "SequenceMap"};

std::string text_of(const Tensor& tensor) {
  const auto bytes = tensor.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

tl::unexpected<Error> refuse(const graph::Node& node, std::string_view what) {
  return fail(ErrorCode::kUnsupported, fmt::format("{} of node {} ({}) is not supported", what,
                                                   shown(node.shown_name()), sanitise(node.operator_name())));
}

Result<StaticProgram> StaticProgram::create(const StaticModel& model, const SpecialiseRequest& request,
                                            const Check& check) {
  ASSAY_CHECK_OK(check_request(model.state(), request));
  ASSAY_TRY(StaticGraph graph, model.infer(request.shapes, request.constants));
  const StaticParts parts = static_parts(model.state(), graph);
  const graph::Graph& read = model.model().graph();
  for (const std::size_t place : parts.nodes) {
    const graph::Node& node = read.nodes[place];
    if (node.domain.empty() && std::ranges::find(kControlFlow, node.op_type) != std::end(kControlFlow))
      return refuse(node, "the control flow");
    if (check) ASSAY_CHECK_OK(check(node, model.model().opset(node.domain).value_or(1)));
  }
  if (!parts.dynamic.empty())
    return fail(ErrorCode::kUnsupported, fmt::format("node '{}' ({}) has no static shape", parts.dynamic.front().name,
                                                     parts.dynamic.front().op_type));
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
    if (!known.shape)
      return fail(ErrorCode::kUnsupported, fmt::format("output {} has no static shape", shown(output.name)));
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
    if (parts.needed.contains(name))
      add({.name = name,
           .dtype = given.dtype(),
           .shape = given.shape(),
           .bytes = given.bytes().size(),
           .held = text_of(given)});
  for (const graph::Constant& constant : this->model().graph().initializers) {
    if (!parts.needed.contains(constant.name) || places_.contains(constant.name)) continue;
    Weight weight{.name = std::string(constant.name), .dtype = constant.dtype, .shape = constant.shape};
    weight.bytes = constant.bytes;
    ASSAY_TRY(const auto place, this->model().place(constant));
    if (place) {
      weight.file = place->file;
      weight.offset = place->offset;
    } else {
      ASSAY_TRY(const graph::ConstantData data, this->model().data(constant));
      weight.held.assign(reinterpret_cast<const char*>(data.bytes.data()), data.bytes.size());
    }
    initializers_.emplace(weight.name, &constant);
    add(std::move(weight));
  }
  for (const std::string_view name : parts.folded) {
    const StaticValue& known = value(name);
    Weight weight{.name = std::string(name), .dtype = known.dtype, .shape = *known.shape};
    weight.held = packed_elements(known);
    weight.bytes = weight.held.size();
    add(std::move(weight));
  }
  return {};
}

const Weight* StaticProgram::constant(std::string_view name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? nullptr : &constants_[found->second];
}

const StaticValue& StaticProgram::value(std::string_view name) const {
  const auto found = graph_.values().find(name);
  ASSAY_CHECK(found != graph_.values().end(), "a value of the graph");
  return found->second;
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
  ASSAY_TRY(const std::vector<double> all, numbers(node, name));
  return std::vector<std::int64_t>(all.begin(), all.end());
}

Result<std::vector<double>> StaticProgram::numbers(const graph::Node& node, std::string_view name) const {
  const Weight* weight = constant(name);
  if (weight == nullptr) return refuse(node, fmt::format("input {}, which is not a constant,", shown(name)));
  ASSAY_TRY(const graph::ConstantData data, elements(name));
  const TensorView view{weight->dtype, weight->shape, data.bytes};
  std::vector<double> all;
  const std::int64_t count =
      std::accumulate(weight->shape.begin(), weight->shape.end(), std::int64_t{1}, std::multiplies<>());
  for (std::int64_t i = 0; i < count; ++i) all.push_back(element_as_double(view, i));
  return all;
}

std::int64_t StaticProgram::opset(const graph::Node& node) const { return model().opset(node.domain).value_or(1); }

}  // namespace assay::lowering
