// SPDX-License-Identifier: Apache-2.0
// Resizing of images, an axis at a time (models/lower/resize.hpp): by positions if each element is a copy of one, else
// as a product with a small matrix of weights, or as a sum over the few positions that each element reads.
#include "models/lower/resize.hpp"

#include "models/lower/stablehlo/elementwise.hpp"

namespace assay::lowering::stablehlo {
namespace {

// A product removes axis `place` and appends the new one.
Hlo times_matrix(HloWriter& writer, const Hlo& x, std::int64_t place, const ResizedAxis& axis, const Samples& samples) {
  const Hlo matrix = writer.computed(matrix_of(samples, axis.from), x.dtype, {axis.to, axis.from});
  const Hlo product = writer.dot(x, matrix, {.contract_a = {place}, .contract_b = {1}}, x.dtype);
  Axes order;
  for (std::int64_t i = 0; i < x.rank() - 1; ++i) order.push_back(i);
  order.insert(order.begin() + place, x.rank() - 1);
  return writer.transpose(product, order);
}

// What is read has the axes [taps, to] in the place of the axis.
Hlo sum_of_places(HloWriter& writer, const Hlo& read, std::int64_t place, const Samples& samples) {
  Shape apart = read.shape;
  apart[static_cast<std::size_t>(place)] = samples.to;
  apart.insert(apart.begin() + place, samples.taps);
  const Hlo x = writer.reshape(read, apart);
  const Hlo weights = writer.computed(samples.weights, x.dtype, {samples.taps, samples.to});
  return writer.sum(writer.multiply(x, writer.broadcast_in_dim(weights, apart, {place, place + 1})), {place});
}

Result<Hlo> resized_axis(HloWriter& writer, const graph::Node& node, const Hlo& x, std::int64_t place,
                         const ResizedAxis& axis, const Resize& resize) {
  ASSAY_TRY(const Samples samples, samples_of(node, resize, axis));
  Hlo y;
  if (!samples.weights.empty() && is_small_matrix(axis)) {
    y = times_matrix(writer, x, place, axis, samples);
  } else {
    y = writer.take(x, writer.list(samples.places, DType::kInt32), place);
    if (!samples.weights.empty()) y = sum_of_places(writer, y, place, samples);
  }
  if (samples.outside.empty()) return y;
  const Hlo list = writer.convert(writer.list(samples.outside, DType::kInt32), DType::kBool);
  const Hlo is_outside = writer.broadcast_in_dim(list, y.shape, {place});
  return writer.select(is_outside, writer.splat_like(outside_element(resize, y.dtype), y), y);
}

// Integers are rounded and limited to their range.
Hlo converted_back(HloWriter& writer, const Hlo& x, DType dtype) {
  if (!is_integer(dtype)) return writer.convert(x, dtype);
  const auto [lowest, highest] = integer_range(dtype);
  const Hlo whole = writer.unary("stablehlo.round_nearest_even", x);
  const Hlo above = writer.maximum(whole, writer.splat_like(lowest, x));
  return writer.convert(writer.minimum(above, writer.splat_like(highest, x)), dtype);
}

Status resized(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Resize resize, read_resize(writer.program(), node));
  const bool last = writer.prefers_last(node, 0);
  ASSAY_TRY(const Hlo given, last ? writer.input_last(node, 0) : writer.input(node, 0));
  const bool is_copied = resize.mode == Resize::Mode::kNearest;
  Hlo x = is_copied ? given : writer.convert(given, resize_type(given.dtype));
  for (const ResizedAxis& axis : resize.axes) {
    const std::int64_t moved = axis.axis == 0 ? 0 : axis.axis == 1 ? x.rank() - 1 : axis.axis - 1;
    ASSAY_TRY(x, resized_axis(writer, node, x, last ? moved : axis.axis, axis, resize));
  }
  return element_output(writer, node, is_copied ? x : converted_back(writer, x, given.dtype), last);
}

constexpr HloRow kResizing[] = {
    {{"", "Resize", 10, kNewestOpset, "scales, sizes and regions that are not constants"}, resized},
    {{"", "Upsample", 7, 9, "scales that are not constants"}, resized},
};

}  // namespace

std::span<const HloRow> hlo_resizing() { return kResizing; }

}  // namespace assay::lowering::stablehlo
