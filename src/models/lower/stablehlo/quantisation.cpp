// SPDX-License-Identifier: Apache-2.0
// Conversions to 8 and 16 bits and back, and products of quantised operands.
#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <optional>

#include "models/graph/shape_rules.hpp"
#include "models/lower/stablehlo/elementwise.hpp"
#include "models/lower/stablehlo/linear.hpp"
#include "models/lower/stablehlo/windows.hpp"

namespace assay::lowering::stablehlo {
namespace {

// Scales or zero points for each element of `shape`: one for all, one for each place along an axis, or one for each
// block along it.
Result<Hlo> for_each_element(HloWriter& writer, const graph::Node& node, const Hlo& numbers, const Shape& shape) {
  if (count_of(numbers.shape) == 1) return writer.broadcast(writer.reshape(numbers, {}), shape);
  ASSAY_TRY(const std::int64_t axis, axis_of(node, node.integer("axis", 1), static_cast<std::int64_t>(shape.size())));
  const std::int64_t block = node.integer("block_size", 0);
  if (block == 0 && numbers.rank() == 1) return writer.broadcast_in_dim(numbers, shape, {axis});
  if (block <= 0 || numbers.shape.size() != shape.size()) return refuse(node, "a scale of another rank");
  Shape apart = numbers.shape, whole = numbers.shape;
  apart.insert(apart.begin() + axis + 1, block);
  whole[static_cast<std::size_t>(axis)] *= block;
  Axes kept;
  for (std::int64_t i = 0; i <= numbers.rank(); ++i)
    if (i != axis + 1) kept.push_back(i);
  const Hlo repeated = writer.reshape(writer.broadcast_in_dim(numbers, apart, kept), whole);
  return writer.slice_axis(repeated, axis, 0, shape[static_cast<std::size_t>(axis)]);
}

// Rounds to the nearest number of an integer type (half to even) after adding the zero point, within its range.
Hlo rounded_to(HloWriter& writer, const Hlo& x, const std::optional<Hlo>& zero, DType to) {
  Hlo y = writer.unary("stablehlo.round_nearest_even", x);
  if (zero) y = writer.add(y, writer.convert(*zero, y.dtype));
  const int bits = bit_width(to);
  const bool is_signed = !is_unsigned(to);
  const double most = std::ldexp(1, is_signed ? bits - 1 : bits) - 1, least = is_signed ? -most - 1 : 0;
  return writer.convert(writer.minimum(writer.maximum(y, writer.splat_like(least, y)), writer.splat_like(most, y)), to);
}

Status quantised(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo x, writer.input(node, 0));
  ASSAY_TRY(const Hlo scale, writer.input(node, 1));
  const DType to = writer.program().dtype(node.outputs[0]);
  if (!mlir_element(to)) return refuse(node, fmt::format("the type {}", to_string(to)));
  const auto precision = static_cast<DType>(node.integer("precision", 0));
  const DType type = precision == DType::kUndefined ? wide(scale.dtype) : precision;
  ASSAY_TRY(const Hlo scales, for_each_element(writer, node, writer.convert(scale, type), x.shape));
  const Hlo scaled = writer.divide(writer.convert(x, type), scales);
  if (is_floating(to)) return writer.output(node, cast_to(writer, node, scaled, to));
  std::optional<Hlo> zero;
  if (has_input(node, 2)) {
    ASSAY_TRY(const Hlo read, writer.input(node, 2));
    ASSAY_TRY(zero, for_each_element(writer, node, read, x.shape));
  }
  return writer.output(node, rounded_to(writer, scaled, zero, to));
}

Status dequantised(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo x, writer.input(node, 0));
  ASSAY_TRY(const Hlo scale, writer.input(node, 1));
  const DType type = wide(scale.dtype);
  Hlo y = writer.convert(x, type);
  if (has_input(node, 2) && !is_floating(x.dtype)) {  // the zero point of a float8 is 0
    ASSAY_TRY(const Hlo read, writer.input(node, 2));
    ASSAY_TRY(const Hlo zero, for_each_element(writer, node, writer.convert(read, type), x.shape));
    y = writer.subtract(y, zero);
  }
  ASSAY_TRY(const Hlo scales, for_each_element(writer, node, writer.convert(scale, type), x.shape));
  return writer.output(node, writer.convert(writer.multiply(y, scales), writer.program().dtype(node.outputs[0])));
}

// The scale and the zero point follow from the range of the input, which has 0 in it.
Status quantised_by_range(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo x, writer.input(node, 0));
  const Hlo zero = writer.splat(0, x.dtype), levels = writer.splat(255, x.dtype), one = writer.splat(1, x.dtype);
  const Hlo most = writer.maximum(writer.largest(x, all_axes(x)), zero);
  const Hlo least = writer.minimum(writer.reduce("stablehlo.minimum", x, writer.highest(x.dtype), all_axes(x)), zero);
  const Hlo range = writer.select(writer.compare("EQ", most, least), one, writer.subtract(most, least));
  const Hlo scale = writer.divide(range, levels);
  const Hlo from = writer.subtract(zero, writer.divide(least, scale));
  const Hlo place = writer.unary("stablehlo.round_nearest_even", writer.minimum(writer.maximum(from, zero), levels));
  const Hlo scaled = writer.divide(x, writer.broadcast(scale, x.shape));
  ASSAY_CHECK_OK(writer.output(node, 0, rounded_to(writer, scaled, writer.broadcast(place, x.shape), DType::kUInt8)));
  ASSAY_CHECK_OK(writer.output(node, 1, scale));
  return writer.output(node, 2, writer.convert(place, DType::kUInt8));
}

// Sums of products in int32 become the output's type: y = sum · (a_scale · b_scale / y_scale) + y_zero. In float64,
// because sums of int32 do not fit into float32.
struct Scales {
  std::size_t a = 0, b = 0, y = 0, zero = 0;  ///< places of inputs
};
Result<Hlo> requantised(HloWriter& writer, const graph::Node& node, const Hlo& sums, const Scales& places,
                        const std::function<Hlo(const Hlo&, bool of_a)>& spread) {
  const auto scale = [&](std::size_t index, bool of_a) -> Result<Hlo> {
    ASSAY_TRY(const Hlo read, writer.input(node, index));
    const Hlo numbers = writer.convert(read, DType::kFloat64);
    if (count_of(numbers.shape) == 1) return writer.broadcast(writer.reshape(numbers, {}), sums.shape);
    return spread(numbers, of_a);
  };
  ASSAY_TRY(const Hlo a, scale(places.a, true));
  ASSAY_TRY(const Hlo b, scale(places.b, false));
  ASSAY_TRY(const Hlo y, scale(places.y, true));
  const Hlo scaled = writer.multiply(writer.convert(sums, DType::kFloat64), writer.divide(writer.multiply(a, b), y));
  ASSAY_TRY(const Hlo read, writer.input(node, places.zero));
  const Hlo zero =
      count_of(read.shape) == 1 ? writer.broadcast(writer.reshape(read, {}), sums.shape) : spread(read, true);
  // Rounded after the zero point is added, as ONNX's reference does.
  return rounded_to(writer, writer.add(scaled, writer.convert(zero, DType::kFloat64)), {}, read.dtype);
}

Status quantised_matmul(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo a, centred(writer, node, 0, 2, true));
  ASSAY_TRY(const Hlo b, centred(writer, node, 3, 5, false));
  const Hlo sums = product_of(writer, a, b, DType::kInt32, writer.program().shape(node.outputs[0]));
  const auto spread = [&](const Hlo& numbers, bool of_a) {
    if (numbers.rank() != 1) return writer.broadcast(numbers, sums.shape);
    return writer.broadcast_in_dim(numbers, sums.shape, {sums.rank() - (of_a ? 2 : 1)});
  };
  ASSAY_TRY(const Hlo y, requantised(writer, node, sums, {.a = 1, .b = 4, .y = 6, .zero = 7}, spread));
  return writer.output(node, y);
}

Status quantised_convolution(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(Hlo sums, integer_convolution(writer, node, {.x = 0, .kernel = 3, .x_zero = 2, .kernel_zero = 5}));
  const Axes channels{sums.rank() - 1};
  if (has_input(node, 8)) {
    ASSAY_TRY(const Hlo bias, writer.input(node, 8));
    sums = writer.add(sums, writer.broadcast_in_dim(bias, sums.shape, channels));
  }
  const auto spread = [&](const Hlo& numbers, bool) { return writer.broadcast_in_dim(numbers, sums.shape, channels); };
  ASSAY_TRY(const Hlo y, requantised(writer, node, sums, {.a = 1, .b = 4, .y = 6, .zero = 7}, spread));
  return writer.output_last(node, 0, y);
}

constexpr std::string_view kNarrow = "types of fewer than 8 bits";

constexpr HloRow kQuantisation[] = {
    {{"", "DequantizeLinear", 10, kNewestOpset, kNarrow}, dequantised},
    {{"", "DynamicQuantizeLinear", 11, kNewestOpset, ""}, quantised_by_range},
    {{"", "QLinearConv", 10, kNewestOpset, ""}, quantised_convolution},
    {{"", "QLinearMatMul", 10, kNewestOpset, "types other than int8 and uint8"}, quantised_matmul},
    {{"", "QuantizeLinear", 10, kNewestOpset, kNarrow}, quantised},
};

}  // namespace

std::span<const HloRow> hlo_quantisation() { return kQuantisation; }

}  // namespace assay::lowering::stablehlo
