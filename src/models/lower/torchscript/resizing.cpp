// SPDX-License-Identifier: Apache-2.0
// Resize and Upsample, an axis at a time (models/lower/resize.hpp): by places if each element is a copy of one, else as
// a product with a small matrix of weights, or as a sum over the few places that each element reads.
#include "models/lower/resize.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "models/lower/torchscript/groups.hpp"

namespace assay::lowering {
namespace torchscript::resizing {
namespace {

using graph::Node;

// What libtorch has one operator for: images in two dimensions, linear, without a region or antialiasing.
std::optional<std::string> native(const TorchWriter& writer, const Node& node, const Resize& resize,
                                  const std::string& x) {
  const bool corners = resize.coordinates == "align_corners";
  const bool half = resize.coordinates == "half_pixel" || resize.coordinates == "pytorch_half_pixel";
  const Shape& out = writer.out_shape(node);
  if (out.size() != 4 || resize.mode != Resize::Mode::kLinear || resize.antialias || resize.excludes_outside ||
      !(corners || half) || !is_floating(writer.dtype(node, 0)) || bit_width(writer.dtype(node, 0)) < 16)
    return std::nullopt;
  for (const ResizedAxis& axis : resize.axes) {
    if (axis.axis < 2 || axis.scale != static_cast<double>(axis.to) / static_cast<double>(axis.from))
      return std::nullopt;
    if (axis.to == 1 && resize.coordinates == "pytorch_half_pixel") return std::nullopt;
  }
  return torch_call("upsample_bilinear2d", x, torch_list(Shape{out[2], out[3]}), torch_bool(corners));
}

// Constants of the type that sums are computed in.
std::string numbers(TorchWriter& writer, std::span<const double> values, DType dtype, const Shape& shape) {
  if (dtype == DType::kFloat64) return writer.held(dtype, shape, std::as_bytes(values));
  return writer.floats(std::vector<float>(values.begin(), values.end()), shape);
}

std::string times_matrix(TorchWriter& writer, const std::string& x, std::int64_t rank, const ResizedAxis& axis,
                         const std::string& matrix) {
  const bool last = axis.axis + 1 == rank;
  const std::string rows = last ? x : torch_call("transpose", x, axis.axis, rank - 1);
  const std::string product = writer.let(torch_call("linear", rows, matrix));
  return last ? product : writer.let(torch_call("transpose", product, axis.axis, rank - 1));
}

// `extents`: those of x before the axis is resized.
std::string sum_of_places(TorchWriter& writer, const std::string& x, Shape extents, const ResizedAxis& axis,
                          const Samples& samples, DType type) {
  extents[static_cast<std::size_t>(axis.axis)] = samples.to;
  extents.insert(extents.begin() + axis.axis, samples.taps);
  Shape along(extents.size() - static_cast<std::size_t>(axis.axis), 1);
  along[0] = samples.taps;
  along[1] = samples.to;
  const std::string read = torch_call("index_select", x, axis.axis, writer.integers(samples.places));
  const std::string apart = torch_call("reshape", read, torch_list(extents));
  const std::string weighted = torch_call("mul", apart, numbers(writer, samples.weights, type, along));
  return writer.let(torch_call("sum", weighted, fmt::format("[{}]", axis.axis)));
}

Status resized(TorchWriter& writer, const Node& node) {
  ASSAY_TRY(const Resize resize, read_resize(writer.program(), node));
  const std::string given = writer.in(node, 0);
  if (const auto made = native(writer, node, resize, given)) {
    writer.out(node, *made);
    return {};
  }
  const bool by_place = resize.mode == Resize::Mode::kNearest;
  const DType dtype = writer.dtype(node, 0), type = by_place ? dtype : resize_type(dtype);
  if (!torch_type(dtype)) return refuse(node, fmt::format("the type {}", to_string(dtype)));
  std::string x = by_place        ? computable(given, dtype)
                  : type == dtype ? given
                                  : torch_call("to", given, *torch_type(type));
  Shape extents = writer.shape(node, 0);
  const auto rank = static_cast<std::int64_t>(extents.size());
  std::string inside;  // where every axis shows a place of the input
  for (const ResizedAxis& axis : resize.axes) {
    ASSAY_TRY(const Samples samples, samples_of(node, resize, axis));
    if (by_place)
      x = writer.let(torch_call("index_select", x, axis.axis, writer.integers(samples.places)));
    else if (is_small_matrix(axis))
      x = times_matrix(writer, x, rank, axis,
                       numbers(writer, matrix_of(samples, axis.from), type, {axis.to, axis.from}));
    else
      x = sum_of_places(writer, x, extents, axis, samples, type);
    extents[static_cast<std::size_t>(axis.axis)] = axis.to;
    if (samples.outside.empty()) continue;
    Shape along(extents.size(), 1);
    along[static_cast<std::size_t>(axis.axis)] = axis.to;
    const std::string own =
        torch_call("reshape", torch_call("eq", writer.integers(samples.outside), 0), torch_list(along));
    inside = inside.empty() ? own : torch_call("logical_and", inside, own);
  }
  if (!inside.empty()) {
    const double outside = outside_element(resize, type);
    const double most = integer_range(DType::kInt64).highest;  // uint64 is computed as int64
    x = torch_call("where", inside, x,
                   is_integer(type) ? fmt::format("{}", static_cast<std::int64_t>(std::min(outside, most)))
                                    : torch_number(outside));
  }
  if (!by_place && is_integer(dtype)) {
    const auto [lowest, highest] = integer_range(dtype);
    x = torch_call("clamp", torch_call("round", x), torch_number(lowest), torch_number(highest));
  }
  if (x == given) x = torch_call("clone", x);
  if (by_place) return out_as(writer, node, 0, x);
  ASSAY_TRY(const std::string made, type == dtype ? Result<std::string>(x) : torch_cast(node, x, dtype));
  writer.out(node, made);
  return {};
}

}  // namespace
}  // namespace torchscript::resizing

TorchOperators torch_resizing() {
  using namespace torchscript::resizing;
  return {since(10, "Resize", resized, "scales, sizes and regions that are not constants"),
          {{"", "Upsample", 7, 9, "scales that are not constants"}, resized}};
}

}  // namespace assay::lowering
