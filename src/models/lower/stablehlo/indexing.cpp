// SPDX-License-Identifier: Apache-2.0
// Reading and writing at positions, and tensors that are made.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "models/graph/shape_rules.hpp"
#include "models/lower/stablehlo/elementwise.hpp"

namespace assay::lowering::stablehlo {
namespace {

// Indices below 0 count from the end.
Hlo from_the_end(HloWriter& writer, const Hlo& indices, std::int64_t extent) {
  const Hlo wrapped = writer.add(indices, writer.splat_like(static_cast<double>(extent), indices));
  return writer.select(writer.compare("LT", indices, writer.splat_like(0, indices)), wrapped, indices);
}

// Constants are looked at; others are corrected in each run.
Result<Hlo> indices_of(HloWriter& writer, const graph::Node& node, std::size_t index, std::int64_t extent) {
  ASSAY_TRY(Hlo indices, writer.input(node, index));
  if (writer.program().constant(node.inputs[index]) != nullptr) {
    ASSAY_TRY(const auto numbers, writer.program().integers(node, node.inputs[index]));
    if (std::ranges::all_of(numbers, [](std::int64_t each) { return each >= 0; })) return indices;
  }
  return from_the_end(writer, indices, extent);
}

Status gathered(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo x, writer.input(node, 0));
  ASSAY_TRY(const std::int64_t axis, axis_of(node, node.integer("axis", 0), x.rank()));
  if (writer.program().constant(node.inputs[1]) != nullptr && writer.program().shape(node.inputs[1]).empty()) {
    ASSAY_TRY(const auto place, writer.program().integers(node, node.inputs[1]));
    const std::int64_t from = place[0] < 0 ? place[0] + x.extent(axis) : place[0];
    if (from < 0 || from >= x.extent(axis)) return refuse(node, fmt::format("the index {}", place[0]));
    return writer.output(
        node, writer.reshape(writer.slice_axis(x, axis, from, from + 1), writer.program().shape(node.outputs[0])));
  }
  ASSAY_TRY(const Hlo indices, indices_of(writer, node, 1, x.extent(axis)));
  return writer.output(node, writer.take(x, indices, axis));
}

// [shape…] of positions along an axis to [shape…, rank] of whole positions.
Hlo whole_positions(HloWriter& writer, const Hlo& along, std::int64_t axis) {
  Shape apart = along.shape;
  apart.push_back(1);
  std::vector<Hlo> pieces;
  for (std::int64_t i = 0; i < along.rank(); ++i)
    pieces.push_back(writer.reshape(i == axis ? along : writer.iota(along.dtype, along.shape, i), apart));
  return writer.concatenate(pieces, along.rank());
}

Status gathered_elements(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo x, writer.input(node, 0));
  ASSAY_TRY(const std::int64_t axis, axis_of(node, node.integer("axis", 0), x.rank()));
  ASSAY_TRY(const Hlo indices, indices_of(writer, node, 1, x.extent(axis)));
  return writer.output(node, writer.gather_nd(x, whole_positions(writer, indices, axis)));
}

// Positions with a component for each indexed axis, those below 0 corrected.
Result<Hlo> positions_of(HloWriter& writer, const graph::Node& node, const Shape& extents) {
  ASSAY_TRY(const Hlo given, writer.input(node, 1));
  const Hlo limits = writer.list(extents, given.dtype);
  const Hlo wrapped = writer.add(given, writer.broadcast(limits, given.shape));
  return writer.select(writer.compare("LT", given, writer.splat_like(0, given)), wrapped, given);
}

Status gathered_nd(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo x, writer.input(node, 0));
  const std::int64_t batch = node.integer("batch_dims", 0);
  const std::int64_t depth = writer.program().shape(node.inputs[1]).back();
  const Shape extents(x.shape.begin() + batch, x.shape.begin() + batch + depth);
  ASSAY_TRY(const Hlo positions, positions_of(writer, node, extents));
  std::vector<Hlo> pieces;
  Shape apart = positions.shape;
  apart.back() = 1;
  for (std::int64_t axis = 0; axis < batch; ++axis) pieces.push_back(writer.iota(positions.dtype, apart, axis));
  pieces.push_back(positions);
  return writer.output(node, writer.gather_nd(x, writer.concatenate(pieces, positions.rank() - 1)));
}

Result<std::string_view> combination_of(const graph::Node& node) {
  const std::string_view reduction = node.text("reduction", "none");
  constexpr std::pair<std::string_view, std::string_view> kKnown[] = {{"none", ""},
                                                                      {"add", "stablehlo.add"},
                                                                      {"mul", "stablehlo.multiply"},
                                                                      {"max", "stablehlo.maximum"},
                                                                      {"min", "stablehlo.minimum"}};
  for (const auto& [name, operation] : kKnown)
    if (reduction == name) return operation;
  return refuse(node, fmt::format("the reduction '{}'", reduction));
}

// The places along `axis` if the indices repeat one list of them over all other axes, and whole slices are written. A
// static KV cache is written so.
Result<std::optional<Hlo>> places_of_slices(HloWriter& writer, const graph::Node& node, std::int64_t axis) {
  const Shape &to = writer.program().shape(node.inputs[0]), &from = writer.program().shape(node.inputs[2]);
  const graph::Node* expand = writer.producer(node.inputs[1]);
  if (expand == nullptr || expand->op_type != "Expand" || !expand->domain.empty()) return std::nullopt;
  const Shape& list = writer.program().shape(expand->inputs[0]);
  const auto at = static_cast<std::size_t>(axis);
  if (list.size() != to.size() || from.size() != to.size() || list[at] != from[at]) return std::nullopt;
  for (std::size_t i = 0; i < to.size(); ++i)
    if (i != at && (list[i] != 1 || from[i] != to[i])) return std::nullopt;
  ASSAY_TRY(const Hlo places, writer.value(expand->inputs[0]));
  return writer.reshape(places, {list[at]});
}

Status scattered_elements(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo x, writer.input(node, 0));
  ASSAY_TRY(const Hlo updates, writer.input(node, 2));
  ASSAY_TRY(const std::int64_t axis, axis_of(node, node.integer("axis", 0), x.rank()));
  if (node.text("reduction", "none") == "none") {
    ASSAY_TRY(const std::optional<Hlo> places, places_of_slices(writer, node, axis));
    if (places)
      return writer.output(node,
                           writer.scatter_slices(x, from_the_end(writer, *places, x.extent(axis)), updates, axis));
  }
  ASSAY_TRY(const Hlo indices, indices_of(writer, node, 1, x.extent(axis)));
  ASSAY_TRY(const std::string_view combine, combination_of(node));
  return writer.output(node, writer.scatter_nd(x, whole_positions(writer, indices, axis), updates, combine));
}

Status scattered_nd(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo x, writer.input(node, 0));
  ASSAY_TRY(const Hlo updates, writer.input(node, 2));
  const std::int64_t depth = writer.program().shape(node.inputs[1]).back();
  ASSAY_TRY(const Hlo positions, positions_of(writer, node, Shape(x.shape.begin(), x.shape.begin() + depth)));
  ASSAY_TRY(const std::string_view combine, combination_of(node));
  return writer.output(node, writer.scatter_nd(x, positions, updates, combine));
}

// A stable sort with the places, cut to the first ones.
Status top_k(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo x, writer.input(node, 0));
  ASSAY_TRY(const std::int64_t axis, axis_of(node, node.integer("axis", -1), x.rank()));
  const std::int64_t count = writer.program().shape(node.outputs[0])[static_cast<std::size_t>(axis)];
  const bool largest = node.integer("largest", 1) != 0;
  const Hlo operands[] = {x, writer.iota(DType::kInt64, x.shape, axis)};
  const Hlo results[] = {HloWriter::type(x.dtype, x.shape), HloWriter::type(DType::kInt64, x.shape)};
  const Hlo element = HloWriter::type(x.dtype), place = HloWriter::type(DType::kInt64);
  const std::pair<std::vector<Hlo>, HloWriter::Region> region{
      {element, element, place, place}, [largest](HloWriter& w, std::span<const Hlo> a) -> std::vector<Hlo> {
        return {w.compare(largest ? "GT" : "LT", a[0], a[1])};
      }};
  const std::vector<Hlo> sorted = writer.operation(
      "stablehlo.sort", operands, fmt::format("dimension = {} : i64, is_stable = true", axis), results, {&region, 1});
  for (const std::size_t i : {0, 1})
    ASSAY_CHECK_OK(writer.output(node, i, writer.slice_axis(sorted[i], axis, 0, count)));
  return {};
}

Status one_hot(HloWriter& writer, const graph::Node& node) {
  const Shape& shape = writer.program().shape(node.outputs[0]);
  ASSAY_TRY(const std::int64_t axis, axis_of(node, node.integer("axis", -1), static_cast<std::int64_t>(shape.size())));
  ASSAY_TRY(const Hlo given, writer.input(node, 0));
  ASSAY_TRY(const Hlo values, writer.input(node, 2));
  const std::int64_t depth = shape[static_cast<std::size_t>(axis)];
  const Hlo indices = writer.convert(given, DType::kInt64);
  const Hlo wrapped =
      writer.select(writer.compare("LT", indices, writer.splat_like(0, indices)),
                    writer.add(indices, writer.splat_like(static_cast<double>(depth), indices)), indices);
  Axes axes;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(shape.size()); ++i)
    if (i != axis) axes.push_back(i);
  const Hlo is_hot =
      writer.compare("EQ", writer.broadcast_in_dim(wrapped, shape, axes), writer.iota(DType::kInt64, shape, axis));
  const auto value = [&](std::int64_t place) {
    return writer.broadcast(writer.reshape(writer.slice_axis(values, 0, place, place + 1), {}), shape);
  };
  return writer.output(node, writer.select(is_hot, value(1), value(0)));
}

Status eye_like(HloWriter& writer, const graph::Node& node) {
  const StaticValue& made = writer.program().value(node.outputs[0]);
  const Hlo rows = writer.iota(DType::kInt64, *made.shape, 0), columns = writer.iota(DType::kInt64, *made.shape, 1);
  const Hlo shifted = writer.add(rows, writer.splat_like(static_cast<double>(node.integer("k", 0)), rows));
  return writer.output(node, writer.convert(writer.compare("EQ", shifted, columns), made.dtype));
}

Status filled(HloWriter& writer, const graph::Node& node) {
  const StaticValue& made = writer.program().value(node.outputs[0]);
  if (!mlir_element(made.dtype)) return refuse(node, fmt::format("the type {}", to_string(made.dtype)));
  const graph::Attribute* attribute = node.attribute("value");
  const auto* value = attribute == nullptr ? nullptr : attribute->get<graph::Constant>();
  if (value == nullptr) return writer.output(node, writer.splat(0, made.dtype, *made.shape));
  if (count_of(value->shape) != 1) return refuse(node, fmt::format("a value of {} elements", count_of(value->shape)));
  ASSAY_TRY(const graph::ConstantData data, writer.program().model().data(*value));
  return writer.output(node, writer.splat_of({value->dtype, value->shape, data.bytes}, *made.shape));
}

Status constant(HloWriter& writer, const graph::Node& node) {
  const graph::Attribute* found = nullptr;
  for (const char* name : {"value", "value_int", "value_ints", "value_float", "value_floats"})
    if (found == nullptr) found = node.attribute(name);
  if (found == nullptr) return refuse(node, "the kind of value");
  const graph::Attribute& attribute = *found;
  const StaticValue& made = writer.program().value(node.outputs[0]);
  if (const auto* tensor = attribute.get<graph::Constant>()) {
    if (tensor->sparse || !mlir_element(tensor->dtype))
      return refuse(node, fmt::format("the type {}", to_string(tensor->dtype)));
    ASSAY_TRY(const Hlo value, writer.tensor(*tensor, std::string(node.outputs[0])));
    return writer.output(node, value);
  }
  std::vector<double> numbers;
  if (const auto* integer = attribute.get<std::int64_t>())
    return writer.output(node, writer.splat_of({DType::kInt64, {}, std::as_bytes(std::span(integer, 1))}));
  if (const auto* number = attribute.get<float>()) return writer.output(node, writer.splat(*number, made.dtype));
  if (const auto* integers = attribute.get<std::span<const std::int64_t>>())
    return writer.output(node, writer.list(*integers));
  if (const auto* floats = attribute.get<std::span<const float>>()) {
    numbers.assign(floats->begin(), floats->end());
    return writer.output(node, writer.list(numbers, made.dtype));
  }
  return refuse(node, fmt::format("the attribute {}", attribute.name));
}

Status numbered(HloWriter& writer, const graph::Node& node) {
  const StaticValue& made = writer.program().value(node.outputs[0]);
  ASSAY_TRY(const Hlo start, writer.input(node, 0));
  ASSAY_TRY(const Hlo step, writer.input(node, 2));
  const Hlo places = writer.iota(made.dtype, *made.shape, 0);
  return writer.output(node, writer.add(writer.broadcast(start, *made.shape),
                                        writer.multiply(places, writer.broadcast(step, *made.shape))));
}

constexpr HloRow kIndexing[] = {
    {{"", "Constant", 1, kNewestOpset, "strings, sparse tensors, and types of fewer than 8 bits"}, constant},
    {{"", "ConstantOfShape", 9, kNewestOpset, "a shape that is not a constant"}, filled},
    {{"", "EyeLike", 9, kNewestOpset, ""}, eye_like},
    {{"", "Gather", 1, kNewestOpset, ""}, gathered},
    {{"", "GatherElements", 11, kNewestOpset, ""}, gathered_elements},
    {{"", "GatherND", 11, kNewestOpset, ""}, gathered_nd},
    {{"", "OneHot", 9, kNewestOpset, "a depth that is not a constant"}, one_hot},
    {{"", "Range", 11, kNewestOpset, "bounds that are not constants"}, numbered},
    {{"", "Scatter", 9, 10, ""}, scattered_elements},
    {{"", "ScatterElements", 11, kNewestOpset, ""}, scattered_elements},
    {{"", "ScatterND", 11, kNewestOpset, ""}, scattered_nd},
    {{"", "TopK", 1, kNewestOpset, "a count that is not a constant"}, top_k},
};

}  // namespace

std::span<const HloRow> hlo_indexing() { return kIndexing; }

}  // namespace assay::lowering::stablehlo
