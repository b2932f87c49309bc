// SPDX-License-Identifier: Apache-2.0
// Reading images at places between their elements, and writing elements back to where they came from.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "models/graph/shape_rules.hpp"
#include "models/lower/stablehlo/elementwise.hpp"

namespace assay::lowering::stablehlo {
namespace {

enum class Border { kZeros, kEdge, kReflection };

// An image to read from, with channels last: [N, spatial…, C].
struct Image {
  Hlo x;
  Border border = Border::kZeros;
  bool aligned = false;  ///< the outermost elements are at the borders, which matters for reflection
  [[nodiscard]] std::int64_t extent(std::size_t axis) const { return x.shape[axis + 1]; }
};

Hlo number_of(HloWriter& writer, double value, const Hlo& like) { return writer.splat_like(value, like); }
Hlo floor_of(HloWriter& writer, const Hlo& x) { return writer.unary("stablehlo.floor", x); }

Hlo between(HloWriter& writer, const Hlo& x, double low, double high) {
  return writer.minimum(writer.maximum(x, number_of(writer, low, x)), number_of(writer, high, x));
}

// Places beyond the borders are mirrored at them, as often as needed.
Hlo mirrored_place(HloWriter& writer, const Hlo& x, std::int64_t extent, bool aligned) {
  const double low = aligned ? 0 : -0.5, reach = static_cast<double>(extent) - (aligned ? 1 : 0);
  if (reach == 0) return number_of(writer, low, x);
  const Hlo from = writer.unary("stablehlo.abs", writer.subtract(x, number_of(writer, low, x)));
  const Hlo round = writer.binary("stablehlo.remainder", from, number_of(writer, 2 * reach, x));
  const Hlo back = writer.subtract(number_of(writer, 2 * reach, x), round);
  return writer.add(writer.minimum(round, back), number_of(writer, low, x));
}

// The elements at whole places (floats), one list for each spatial axis, of shape [N, out…]. Result: [N, out…, C].
Hlo elements_at(HloWriter& writer, const Image& image, std::span<const Hlo> places) {
  const Shape& shape = places[0].shape;
  Shape apart = shape;
  apart.push_back(1);
  std::vector<Hlo> pieces{writer.iota(DType::kInt32, apart, 0)};
  std::optional<Hlo> inside;
  for (std::size_t axis = 0; axis < places.size(); ++axis) {
    const double last = static_cast<double>(image.extent(axis)) - 1;
    Hlo place = places[axis];
    if (image.border == Border::kReflection) place = mirrored_place(writer, place, image.extent(axis), image.aligned);
    const Hlo valid = between(writer, place, 0, last);
    if (image.border == Border::kZeros) {
      const Hlo is_inside = writer.compare("EQ", valid, place);
      inside = inside ? writer.binary("stablehlo.and", *inside, is_inside) : is_inside;
    }
    pieces.push_back(writer.reshape(writer.convert(valid, DType::kInt32), apart));
  }
  Hlo read = writer.gather_nd(image.x, writer.concatenate(pieces, static_cast<std::int64_t>(shape.size())));
  if (!inside) return read;
  Axes axes;
  for (std::int64_t i = 0; i < inside->rank(); ++i) axes.push_back(i);
  return writer.select(writer.broadcast_in_dim(*inside, read.shape, axes), read, writer.splat_like(0, read));
}

// Cubic convolution (R. G. Keys, 1981) with a = −0.75: the weights of the four elements around a place, `part` beyond
// the second.
std::vector<Hlo> cubic_weights(HloWriter& writer, const Hlo& part) {
  constexpr double kA = -0.75;
  const Hlo one = number_of(writer, 1, part);
  const auto polynomial = [&](const Hlo& x, std::array<double, 4> factors) {
    Hlo y = number_of(writer, factors[0], x);
    for (std::size_t i = 1; i < factors.size(); ++i)
      y = writer.add(writer.multiply(y, x), number_of(writer, factors[i], x));
    return y;
  };
  constexpr std::array<double, 4> kNear{kA + 2, -(kA + 3), 0, 1}, kFar{kA, -5 * kA, 8 * kA, -4 * kA};
  const Hlo rest = writer.subtract(one, part);
  return {polynomial(writer.add(part, one), kFar), polynomial(part, kNear), polynomial(rest, kNear),
          polynomial(writer.add(rest, one), kFar)};
}

// The weighted sum over the elements around places; one list of places for each spatial axis. Result: [N, out…, C].
Hlo interpolated(HloWriter& writer, const Image& image, std::span<const Hlo> places, bool cubic) {
  const std::size_t axes = places.size(), taps = cubic ? 4 : 2;
  std::vector<std::vector<Hlo>> weights, around;
  for (const Hlo& place : places) {
    const Hlo below = floor_of(writer, place), part = writer.subtract(place, below);
    weights.push_back(cubic ? cubic_weights(writer, part)
                            : std::vector<Hlo>{writer.subtract(number_of(writer, 1, part), part), part});
    std::vector<Hlo> elements;
    for (std::size_t tap = 0; tap < taps; ++tap)
      elements.push_back(writer.add(below, number_of(writer, static_cast<double>(tap) - (cubic ? 1 : 0), below)));
    around.push_back(std::move(elements));
  }
  std::optional<Hlo> total;
  std::vector<std::size_t> chosen(axes, 0);
  for (std::size_t i = 0;;) {
    Hlo weight = weights[0][chosen[0]];
    std::vector<Hlo> at{around[0][chosen[0]]};
    for (std::size_t axis = 1; axis < axes; ++axis) {
      weight = writer.multiply(weight, weights[axis][chosen[axis]]);
      at.push_back(around[axis][chosen[axis]]);
    }
    const Hlo read = elements_at(writer, image, at);
    const Hlo term = writer.multiply(
        read, writer.broadcast_in_dim(writer.convert(weight, read.dtype), read.shape, all_axes(weight)));
    total = total ? writer.add(*total, term) : term;
    for (i = 0; i < axes && ++chosen[i] == taps; ++i) chosen[i] = 0;
    if (i == axes) return *total;
  }
}

// X [N, C, spatial…], grid [N, out…, r] with the coordinates from the last axis to the first, −1 to 1.
Status sampled_grid(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo x, writer.input_last(node, 0));
  ASSAY_TRY(const Hlo given, writer.input(node, 1));
  const Hlo grid = writer.convert(given, wide(given.dtype));
  const bool aligned = node.integer("align_corners", 0) != 0;
  const std::string_view padding = node.text("padding_mode", "zeros"), mode = node.text("mode", "linear");
  const bool cubic = mode == "cubic" || mode == "bicubic", nearest = mode == "nearest";
  if (!cubic && !nearest && mode != "linear" && mode != "bilinear")
    return refuse(node, fmt::format("the mode '{}'", mode));
  const Border border = padding == "zeros" ? Border::kZeros : padding == "border" ? Border::kEdge : Border::kReflection;
  const Image image{writer.convert(x, wide(x.dtype)), border, aligned};
  std::vector<Hlo> places;
  const std::int64_t axes = x.rank() - 2;
  const Shape shape(grid.shape.begin(), grid.shape.end() - 1);
  for (std::int64_t axis = 0; axis < axes; ++axis) {
    const std::int64_t column = axes - 1 - axis;
    const auto extent = static_cast<double>(image.extent(static_cast<std::size_t>(axis)));
    const Hlo n = writer.reshape(writer.slice_axis(grid, grid.rank() - 1, column, column + 1), shape);
    const Hlo from_0 = writer.add(n, number_of(writer, 1, n));
    const Hlo place =
        aligned ? writer.multiply(from_0, number_of(writer, (extent - 1) / 2, n))
                : writer.subtract(writer.multiply(from_0, number_of(writer, extent / 2, n)), number_of(writer, 0.5, n));
    Hlo moved = nearest ? writer.unary("stablehlo.round_nearest_even", place) : place;
    if (border == Border::kEdge) moved = between(writer, moved, 0, extent - 1);
    if (border == Border::kReflection)
      moved = mirrored_place(writer, moved, static_cast<std::int64_t>(extent), aligned);
    places.push_back(moved);
  }
  const Hlo y = nearest ? elements_at(writer, image, places) : interpolated(writer, image, places, cubic);
  return writer.output_last(node, 0, writer.convert(y, x.dtype));
}

// theta [N, r, r + 1] applied to the places of an image, −1 to 1 along each axis.
Status affine_places(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo theta, writer.input(node, 0));
  const Shape& out = writer.program().shape(node.outputs[0]);
  const Shape spatial(out.begin() + 1, out.end() - 1);
  const bool aligned = node.integer("align_corners", 0) != 0;
  const auto axes = static_cast<std::int64_t>(spatial.size());
  Shape apart = spatial;
  apart.push_back(1);
  std::vector<Hlo> columns;
  for (std::int64_t axis = axes; axis-- > 0;) {  // x before y before z
    std::vector<double> along;
    const auto extent = static_cast<double>(spatial[static_cast<std::size_t>(axis)]);
    for (double i = 0; i < extent; ++i)
      along.push_back(aligned ? -1 + 2 * i / std::max(extent - 1, 1.0) : (2 * i + 1) / extent - 1);
    columns.push_back(writer.broadcast_in_dim(writer.list(along, theta.dtype), apart, {axis}));
  }
  columns.push_back(writer.splat(1, theta.dtype, apart));
  const Hlo whole = writer.reshape(writer.concatenate(columns, axes), {count_of(spatial), axes + 1});
  const Hlo y = writer.dot(theta, whole, {.contract_a = {2}, .contract_b = {1}}, theta.dtype);
  return writer.output(node, writer.reshape(writer.transpose(y, {0, 2, 1}), out));
}

// Each region is divided into bins, each bin has the same number of samples along both axes.
Status aligned_regions(HloWriter& writer, const graph::Node& node) {
  const std::int64_t samples = node.integer("sampling_ratio", 0);
  if (samples <= 0) return refuse(node, "a number of samples that depends on the regions");
  ASSAY_TRY(const Hlo x, writer.input_last(node, 0));
  ASSAY_TRY(const Hlo rois, writer.input(node, 1));
  ASSAY_TRY(const Hlo batches, writer.input(node, 2));
  const bool half =
      writer.program().opset(node) >= 16 && node.text("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  const double scale = node.attribute("spatial_scale") != nullptr ? node.number("spatial_scale", 1) : 1;
  const std::int64_t count = rois.extent(0);
  const Shape& out = writer.program().shape(node.outputs[0]);
  const Shape whole{count, out[2], samples, out[3], samples};
  std::vector<Hlo> places;  // y, x
  std::optional<Hlo> inside;
  for (const std::int64_t axis : {0, 1}) {
    const auto corner = [&](std::int64_t column) {
      const Hlo one = writer.reshape(writer.slice_axis(rois, 1, column, column + 1), {count});
      const Hlo scaled = writer.multiply(one, number_of(writer, scale, one));
      return half ? writer.subtract(scaled, number_of(writer, 0.5, scaled)) : scaled;
    };
    const Hlo start = corner(1 - axis);
    Hlo size = writer.subtract(corner(3 - axis), start);
    if (!half) size = writer.maximum(size, number_of(writer, 1, size));
    std::vector<double> offsets;  // of all samples, in bins
    const std::int64_t bins = out[static_cast<std::size_t>(axis + 2)];
    for (std::int64_t i = 0; i < bins * samples; ++i)
      offsets.push_back((static_cast<double>(i) + 0.5) / static_cast<double>(samples * bins));
    const Shape grid{count, bins * samples};
    const Hlo reach = writer.multiply(writer.broadcast_in_dim(size, grid, {0}),
                                      writer.broadcast_in_dim(writer.list(offsets, size.dtype), grid, {1}));
    const Hlo along =
        writer.reshape(writer.add(writer.broadcast_in_dim(start, grid, {0}), reach), {count, bins, samples});
    const double extent = static_cast<double>(x.extent(axis + 1));
    const Hlo place = writer.broadcast_in_dim(along, whole, axis == 0 ? Axes{0, 1, 2} : Axes{0, 3, 4});
    const Hlo is_inside = writer.binary("stablehlo.and", writer.compare("GE", place, number_of(writer, -1, place)),
                                        writer.compare("LE", place, number_of(writer, extent, place)));
    inside = inside ? writer.binary("stablehlo.and", *inside, is_inside) : is_inside;
    places.push_back(between(writer, place, 0, extent - 1));
  }
  const bool is_max = node.text("mode", "avg") == "max";
  // The image that each region belongs to.
  const Hlo chosen = writer.take(x, batches, 0);
  const Image image{chosen, Border::kEdge, false};
  Hlo y{};
  if (is_max) {  // the largest weighted neighbour, not the largest sum
    std::optional<Hlo> most;
    std::vector<Hlo> below, part;
    for (const Hlo& place : places) {
      below.push_back(floor_of(writer, place));
      part.push_back(writer.subtract(place, below.back()));
    }
    for (const int corner : {0, 1, 2, 3}) {
      std::vector<Hlo> at, weights;
      for (const std::size_t axis : {0, 1}) {
        const bool upper = ((corner >> axis) & 1) != 0;
        at.push_back(upper ? writer.add(below[axis], number_of(writer, 1, below[axis])) : below[axis]);
        weights.push_back(upper ? part[axis] : writer.subtract(number_of(writer, 1, part[axis]), part[axis]));
      }
      const Hlo read = elements_at(writer, image, at);
      const Hlo weight = writer.multiply(weights[0], weights[1]);
      const Hlo term = writer.multiply(read, writer.broadcast_in_dim(weight, read.shape, all_axes(weight)));
      most = most ? writer.maximum(*most, term) : term;
    }
    y = *most;
  } else {
    y = interpolated(writer, image, places, false);
  }
  y = writer.select(writer.broadcast_in_dim(*inside, y.shape, all_axes(*inside)), y, writer.splat_like(0, y));
  const Axes over{2, 4};
  return writer.output_last(node, 0, is_max ? writer.largest(y, over) : writer.mean(y, over));
}

constexpr HloRow kSampling[] = {
    {{"", "AffineGrid", 20, kNewestOpset, "a size that is not a constant"}, affine_places},
    {{"", "GridSample", 16, kNewestOpset, "more than three spatial axes"}, sampled_grid},
    {{"", "RoiAlign", 10, kNewestOpset, "a sampling_ratio of 0"}, aligned_regions},
};

}  // namespace

std::span<const HloRow> hlo_sampling() { return kSampling; }

}  // namespace assay::lowering::stablehlo
