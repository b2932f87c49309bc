// SPDX-License-Identifier: Apache-2.0
// Resize and Upsample: each axis is sampled by itself.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "models/evaluate/kernels/quantisation.hpp"
#include "models/evaluate/kernels/resize_places.hpp"
#include "models/evaluate/kernels/sampling.hpp"
#include "models/evaluate/strides.hpp"

namespace assay::evaluate {
namespace {

constexpr double kMostExtent = 2147483647;

/// What a node says about extents, one element for each axis that it resizes.
struct Sizes {
  std::vector<std::int64_t> axes{}, sizes{};
  Reals scales{}, region{};
};

Result<ResizeRules> rules_of(const Call& call) {
  ResizeRules rules;
  const bool older = call.node().op_type == "Upsample" || call.opset() < 11;
  const std::string_view mode = call.text("mode", "nearest");
  if (mode == "linear" || mode == "bilinear")
    rules.mode = ResizeMode::kLinear;
  else if (mode == "cubic")
    rules.mode = ResizeMode::kCubic;
  else if (mode != "nearest")
    return call.invalid("an unknown mode");
  rules.coordinates = older ? "asymmetric" : call.text("coordinate_transformation_mode", "half_pixel");
  constexpr std::array<std::string_view, 7> kCoordinates{
      "align_corners",      "asymmetric",         "half_pixel",          "half_pixel_symmetric",
      "pytorch_half_pixel", "tf_crop_and_resize", "tf_half_pixel_for_nn"};
  if (std::ranges::find(kCoordinates, rules.coordinates) == kCoordinates.end())
    return call.invalid("an unknown coordinate_transformation_mode");
  rules.rounding = older ? "floor" : call.text("nearest_mode", "round_prefer_floor");
  constexpr std::array<std::string_view, 4> kRoundings{"floor", "ceil", "round_prefer_floor", "round_prefer_ceil"};
  if (std::ranges::find(kRoundings, rules.rounding) == kRoundings.end()) return call.invalid("an unknown nearest_mode");
  rules.cubic = call.number("cubic_coeff_a", -0.75F);
  rules.outside = call.number("extrapolation_value", 0);
  rules.excludes_outside = call.integer("exclude_outside", 0) != 0;
  rules.antialias = call.integer("antialias", 0) != 0;
  return rules;
}

// Upsample-7 has its scales as an attribute, Upsample-9 and Resize-10 as input 1, Resize-11 as input 2 beside sizes.
Result<Sizes> sizes_of(const Call& call, bool needs_region) {
  Sizes sizes;
  const std::int64_t rank = call.operand(0).rank();
  Integers named;
  if (const auto given = call.node().integers("axes"))
    named.assign(given->begin(), given->end());
  else
    for (std::int64_t axis = 0; axis < rank; ++axis) named.push_back(axis);
  ASSAY_TRY(sizes.axes, call.axes(named, rank));
  const bool newer = call.node().op_type == "Resize" && call.opset() >= 11;
  if (const std::size_t place = newer ? 2 : 1; call.has(place)) {
    ASSAY_TRY(const auto scales, call.reals(place));
    sizes.scales.assign(scales.begin(), scales.end());
  } else if (const auto* given = call.node().attribute("scales")) {
    if (const auto* all = given->get<std::span<const float>>()) sizes.scales.assign(all->begin(), all->end());
  }
  if (newer && call.has(3) && sizes.scales.empty()) {
    ASSAY_TRY(const auto all, call.integers(3));
    sizes.sizes.assign(all.begin(), all.end());
  }
  const std::size_t given = sizes.scales.empty() ? sizes.sizes.size() : sizes.scales.size();
  if (given != sizes.axes.size()) return call.invalid("its scales or sizes do not fit its axes");
  if (needs_region) {
    if (!call.has(1)) return call.invalid("tf_crop_and_resize without a region");
    ASSAY_TRY(const auto region, call.reals(1));
    if (region.size() != 2 * given) return call.invalid("its region does not fit its axes");
    sizes.region.assign(region.begin(), region.end());
  }
  return sizes;
}

// With a policy about the aspect ratio all axes have one scale, the smallest or the largest of their own.
std::optional<double> common_scale(const Call& call, const Sizes& sizes) {
  const std::string_view policy = call.text("keep_aspect_ratio_policy", "stretch");
  if (sizes.sizes.empty() || policy == "stretch") return std::nullopt;
  Reals own;
  for (std::size_t i = 0; i < sizes.axes.size(); ++i)
    own.push_back(static_cast<double>(sizes.sizes[i]) / static_cast<double>(call.operand(0).extent(sizes.axes[i])));
  return policy == "not_larger" ? std::ranges::min(own) : std::ranges::max(own);
}

Result<std::vector<ResizedAxis>> resized_axes(const Call& call, const Sizes& sizes) {
  const std::optional<double> common = common_scale(call, sizes);
  std::vector<ResizedAxis> all;
  for (std::size_t i = 0; i < sizes.axes.size(); ++i) {
    ResizedAxis axis{.axis = sizes.axes[i], .from = call.operand(0).extent(sizes.axes[i])};
    const auto from = static_cast<double>(axis.from);
    double to = 0;
    if (!sizes.scales.empty()) {
      axis.scale = static_cast<float>(sizes.scales[i]);
      // In float, as ONNX's own inference: 10 times 0.7 is 7 so.
      to = static_cast<double>(std::floor(static_cast<float>(from) * axis.scale));
    } else {
      to = common ? std::round(*common * from) : static_cast<double>(sizes.sizes[i]);
      axis.scale = static_cast<float>(common.value_or(to / from));
    }
    if (!(axis.from == 0 ? to == 0 || !sizes.scales.empty() : axis.scale >= 0 && to >= 0 && to <= kMostExtent))
      return call.invalid("a size or scale that cannot be");
    axis.to = axis.from == 0 ? 0 : static_cast<std::int64_t>(to);
    axis.length = !sizes.scales.empty() || common ? static_cast<float>(from) * axis.scale : static_cast<float>(to);
    if (!sizes.region.empty()) {
      axis.begin = static_cast<float>(sizes.region[i]);
      axis.end = static_cast<float>(sizes.region[sizes.axes.size() + i]);
    }
    if (axis.from != axis.to || axis.scale != 1 || axis.begin != 0 || axis.end != 1) all.push_back(axis);
  }
  return all;
}

Shape resized(Shape shape, const ResizedAxis& axis) {
  shape[static_cast<std::size_t>(axis.axis)] = axis.to;
  return shape;
}

// The elements that an axis shows, one for each of its new places.
Result<Value> picked(const Call& call, const Value& x, const ResizedAxis& axis, const AxisPlaces& from,
                     double outside) {
  const Around parts = around(x.shape(), axis.axis);
  Shape shape = resized(x.shape(), axis);
  ASSAY_TRY(const std::size_t count, call.elements_of(shape));
  std::vector<std::int64_t> places;
  places.reserve(count);
  for (std::int64_t o = 0; o < parts.outer; ++o)
    for (const std::int64_t place : from.places)
      for (std::int64_t k = 0; k < parts.inner; ++k)
        places.push_back(place < 0 ? -1 : (o * parts.extent + place) * parts.inner + k);
  return gathered(x, std::move(shape), places, outside);
}

// The same, of sums of elements with weights.
Result<Value> blended(const Call& call, const Value& x, const ResizedAxis& axis, const AxisPlaces& from,
                      double outside) {
  const Around parts = around(x.shape(), axis.axis);
  const auto inner = static_cast<std::size_t>(parts.inner);
  Shape shape = resized(x.shape(), axis);
  ASSAY_TRY(const std::size_t count, call.elements_of(shape));
  Reals y(count, 0.0);
  const double cost = static_cast<double>(2 * from.taps * parts.inner);
  parallel(call.threads(), parts.outer * axis.to, cost, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      double* const to = y.data() + static_cast<std::size_t>(row) * inner;
      for (std::int64_t k = 0; k < from.taps; ++k) {
        const auto at = static_cast<std::size_t>(row % axis.to * from.taps + k);
        if (from.places[at] < 0) {
          std::fill_n(to, inner, outside);
          break;
        }
        if (from.weights[at] == 0) continue;  // an infinite element beside the place does not count
        const double* const element =
            x.reals().data() + static_cast<std::size_t>(row / axis.to * parts.extent + from.places[at]) * inner;
        for (std::size_t n = 0; n < inner; ++n) to[n] += from.weights[at] * element[n];
      }
    }
  });
  return Value(x.dtype(), std::move(shape), std::move(y));
}

// Sums of integers are rounded to integers once, at the end.
Value rounded_back(const Value& x, DType dtype) {
  if (is_real_type(dtype)) return x;
  Integers y;
  for (const double one : x.reals()) y.push_back(to_level(one, 0, dtype));
  return {dtype, x.shape(), std::move(y)};
}

Outputs resize(const Call& call) {
  ASSAY_TRY(const ResizeRules rules, rules_of(call));
  ASSAY_TRY(const Sizes sizes, sizes_of(call, rules.reads_a_region()));
  ASSAY_TRY(const std::vector<ResizedAxis> axes, resized_axes(call, sizes));
  const DType dtype = call.dtype(0);
  const bool nearest = rules.mode == ResizeMode::kNearest;
  if (!nearest && dtype == DType::kBool) return call.invalid("a mode that blends elements of type bool");
  Value x = call.operand(0);
  if (!nearest && !x.is_real()) {
    Reals all(x.count());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = x.number(i);
    x = Value(DType::kFloat64, x.shape(), std::move(all));
  }
  Shape shape = x.shape();
  for (const ResizedAxis& axis : axes) shape = resized(std::move(shape), axis);
  ASSAY_TRY(const std::size_t count, call.elements_of(shape));
  if (count == 0) return Values{gathered(call.operand(0), std::move(shape), {})};
  const double outside =
      nearest && !x.is_real() ? static_cast<double>(to_level(rules.outside, 0, dtype)) : rules.outside;
  for (const ResizedAxis& axis : axes) {
    ASSAY_TRY(const AxisPlaces from, places_of(call, rules, axis));
    ASSAY_TRY(x, nearest ? picked(call, x, axis, from, outside) : blended(call, x, axis, from, outside));
  }
  return Values{nearest ? x : rounded_back(x, dtype)};
}

}  // namespace

Operators resizing_operators() {
  return {{"AffineGrid", &affine_grid, 2},
          {"DeformConv", &deformed_convolution, 3},
          {"GridSample", &grid_sample, 2},
          {"MaxRoiPool", &region_pool, 2},
          {"Resize", &resize},
          {"RoiAlign", &region_align, 3},
          {"Upsample", &resize}};
}

}  // namespace assay::evaluate
