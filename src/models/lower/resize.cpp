// SPDX-License-Identifier: Apache-2.0
#include "models/lower/resize.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>

#include "core/base/text.hpp"
#include "models/graph/shape_rules.hpp"

namespace assay::lowering {
namespace {

using Mode = Resize::Mode;

constexpr std::int64_t kMostMatrix = std::int64_t{1} << 20;  // elements

bool is_crop(const Resize& resize) { return resize.coordinates == "tf_crop_and_resize"; }

// Scales are float32, so that 1/49 · 49 is only nearly 1.
bool is_one(double length) { return std::abs(length - 1) < 1e-6; }

// The place of the input that element x of the output shows.
double place_of(const Resize& resize, const ResizedAxis& axis, double x) {
  const auto from = static_cast<double>(axis.from), last = from - 1;
  if (resize.coordinates == "align_corners") return is_one(axis.length) ? 0 : x * last / (axis.length - 1);
  if (resize.coordinates == "asymmetric") return x / axis.scale;
  if (resize.coordinates == "tf_half_pixel_for_nn") return (x + 0.5) / axis.scale;
  if (is_crop(resize)) {
    const double reach = axis.end - axis.begin;
    return (is_one(axis.length) ? reach * last / 2 : x * reach * last / (axis.length - 1)) + axis.begin * last;
  }
  if (resize.coordinates == "pytorch_half_pixel" && is_one(axis.length)) return -0.5;
  const double middle =
      resize.coordinates == "half_pixel_symmetric" ? from / 2 * (1 - static_cast<double>(axis.to) / axis.length) : 0;
  return middle + (x + 0.5) / axis.scale - 0.5;
}

double nearest_to(const Resize& resize, double place) {
  const double below = std::floor(place), part = place - below;
  if (resize.rounding == "floor") return below;
  if (resize.rounding == "ceil") return std::ceil(place);
  const bool up = resize.rounding == "round_prefer_ceil" ? part >= 0.5 : part > 0.5;
  return up ? below + 1 : below;
}

double kernel_at(const Resize& resize, double distance) {
  const double x = std::abs(distance), a = resize.cubic;
  if (resize.mode == Mode::kLinear) return std::max(0.0, 1 - x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

// The weights of the elements from `first` on, around a place. An antialiased kernel is as many times wider as the axis
// becomes shorter.
void weigh(const Resize& resize, const ResizedAxis& axis, double place, double narrow, std::int64_t first,
           std::vector<double>& row) {
  double total = 0;
  for (std::size_t k = 0; k < row.size(); ++k) {
    const std::int64_t at = first + static_cast<std::int64_t>(k);
    const bool counts = !resize.excludes_outside || (at >= 0 && at < axis.from);
    row[k] = counts ? kernel_at(resize, (static_cast<double>(at) - place) * narrow) : 0;
    total += row[k];
  }
  if ((resize.excludes_outside || resize.antialias) && total != 0)
    for (double& weight : row) weight /= total;
}

Result<std::optional<std::vector<double>>> scales_of(const StaticProgram& program, const graph::Node& node) {
  using Found = std::optional<std::vector<double>>;
  if (const auto* given = node.attribute("scales"); given != nullptr && node.op_type == "Upsample")
    if (const auto* all = given->get<std::span<const float>>()) return Found({all->begin(), all->end()});
  const std::size_t input = node.op_type == "Resize" && program.opset(node) >= 11 ? 2 : 1;
  if (!has_input(node, input) || count_of(program.shape(node.inputs[input])) == 0) return Found();
  ASSAY_TRY(std::vector<double> scales, program.numbers(node, node.inputs[input]));
  return Found(std::move(scales));
}

Result<std::vector<std::size_t>> named_axes(const graph::Node& node, std::size_t rank) {
  std::vector<std::size_t> axes(rank);
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  const auto given = node.integers("axes");
  if (!given) return axes;
  axes.clear();
  for (const std::int64_t axis : *given) {
    ASSAY_TRY(const std::int64_t from_0, axis_of(node, axis, static_cast<std::int64_t>(rank)));
    axes.push_back(static_cast<std::size_t>(from_0));
  }
  return axes;
}

// With a policy about the aspect ratio all named axes have one scale, the smallest or the largest of their own.
Result<double> common_scale(const StaticProgram& program, const graph::Node& node,
                            const std::vector<std::size_t>& named, std::string_view policy) {
  const Shape& in = program.shape(node.inputs[0]);
  ASSAY_TRY(const std::vector<std::int64_t> sizes, program.integers(node, node.inputs[3]));
  if (sizes.size() != named.size() || sizes.empty()) return refuse(node, "sizes of another rank");
  std::vector<double> scales;
  for (std::size_t i = 0; i < named.size(); ++i)
    scales.push_back(static_cast<double>(sizes[i]) / static_cast<double>(in[named[i]]));
  return policy == "not_larger" ? std::ranges::min(scales) : std::ranges::max(scales);
}

Result<std::vector<ResizedAxis>> axes_of(const StaticProgram& program, const graph::Node& node, const Resize& resize) {
  const Shape &in = program.shape(node.inputs[0]), &out = program.shape(node.outputs[0]);
  ASSAY_TRY(const std::vector<std::size_t> named, named_axes(node, in.size()));
  ASSAY_TRY(const auto scales, scales_of(program, node));
  if (scales && scales->size() != named.size()) return refuse(node, "scales of another rank");
  const std::string_view policy = node.text("keep_aspect_ratio_policy", "stretch");
  std::optional<double> common;
  if (!scales && policy != "stretch" && has_input(node, 3)) {
    ASSAY_TRY(common, common_scale(program, node, named, policy));
  }
  std::vector<double> region;
  if (is_crop(resize)) {
    if (!has_input(node, 1)) return refuse(node, "a missing region");
    ASSAY_TRY(region, program.numbers(node, node.inputs[1]));
    if (region.size() != 2 * named.size()) return refuse(node, "a region of another rank");
  }
  std::vector<ResizedAxis> all;
  for (std::size_t i = 0; i < named.size(); ++i) {
    ResizedAxis axis{.axis = static_cast<std::int64_t>(named[i]), .from = in[named[i]], .to = out[named[i]]};
    if (axis.from < 1 || axis.to < 1 || std::max(axis.from, axis.to) > INT32_MAX)
      return refuse(node, fmt::format("an axis of {} elements that becomes one of {}", axis.from, axis.to));
    const auto from = static_cast<double>(axis.from), to = static_cast<double>(axis.to);
    axis.scale = scales ? (*scales)[i] : common.value_or(to / from);
    axis.length = scales || common ? from * axis.scale : to;
    if (!region.empty()) {
      axis.begin = region[i];
      axis.end = region[named.size() + i];
    }
    if (axis.from != axis.to || axis.scale != 1 || axis.begin != 0 || axis.end != 1) all.push_back(axis);
  }
  return all;
}

}  // namespace

Result<Resize> read_resize(const StaticProgram& program, const graph::Node& node) {
  Resize resize;
  const std::string_view mode = node.text("mode", "nearest");
  if (mode == "linear" || mode == "bilinear")
    resize.mode = Mode::kLinear;
  else if (mode == "cubic")
    resize.mode = Mode::kCubic;
  else if (mode != "nearest")
    return refuse(node, fmt::format("the mode {}", shown(mode)));
  const bool older = node.op_type == "Upsample" || program.opset(node) < 11;
  resize.coordinates = older ? "asymmetric" : node.text("coordinate_transformation_mode", "half_pixel");
  constexpr std::array<std::string_view, 7> kCoordinates{
      "align_corners",      "asymmetric",         "half_pixel",          "half_pixel_symmetric",
      "pytorch_half_pixel", "tf_crop_and_resize", "tf_half_pixel_for_nn"};
  if (std::ranges::find(kCoordinates, resize.coordinates) == kCoordinates.end())
    return refuse(node, fmt::format("the coordinate_transformation_mode {}", shown(resize.coordinates)));
  resize.rounding = older ? "floor" : node.text("nearest_mode", "round_prefer_floor");
  constexpr std::array<std::string_view, 4> kRoundings{"floor", "ceil", "round_prefer_floor", "round_prefer_ceil"};
  if (std::ranges::find(kRoundings, resize.rounding) == kRoundings.end())
    return refuse(node, fmt::format("the nearest_mode {}", shown(resize.rounding)));
  resize.cubic = double{node.number("cubic_coeff_a", -0.75F)};
  resize.outside = double{node.number("extrapolation_value", 0.0F)};
  resize.excludes_outside = node.integer("exclude_outside", 0) != 0;
  resize.antialias = node.integer("antialias", 0) != 0;
  const DType dtype = program.dtype(node.inputs[0]);
  if (resize.mode != Mode::kNearest && !is_floating(dtype) && !is_integer(dtype))
    return refuse(node, fmt::format("the mode {} of {}", shown(mode), to_string(dtype)));
  ASSAY_TRY(resize.axes, axes_of(program, node, resize));
  return resize;
}

Result<Samples> samples_of(const graph::Node& node, const Resize& resize, const ResizedAxis& axis) {
  const bool nearest = resize.mode == Mode::kNearest;
  const double narrow = resize.antialias ? std::min(axis.scale, 1.0) : 1;
  const double reach = (resize.mode == Mode::kCubic ? 2 : 1) / narrow;
  const double taps = nearest ? 1 : std::ceil(2 * reach);
  if (!(taps * static_cast<double>(axis.to) <= static_cast<double>(kMostSamples)))
    return refuse(node, fmt::format("axis {}, which reads {} places for each of {} elements (at most {} together),",
                                    axis.axis, taps, axis.to, kMostSamples));
  Samples samples{.to = axis.to, .taps = static_cast<std::int64_t>(taps)};
  const auto count = static_cast<std::size_t>(samples.taps * samples.to);
  samples.places.resize(count);
  samples.weights.resize(nearest ? 0 : count);
  std::vector<double> row(static_cast<std::size_t>(samples.taps));
  for (std::int64_t i = 0; i < axis.to; ++i) {
    const double place = place_of(resize, axis, static_cast<double>(i));
    if (is_crop(resize) && (place < 0 || place > static_cast<double>(axis.from) - 1)) {
      samples.outside.resize(static_cast<std::size_t>(axis.to), 0);
      samples.outside[static_cast<std::size_t>(i)] = 1;
    }
    // A place far outside is at the border, too.
    const double limit = reach + 1;
    const double near = std::clamp(place, -limit, static_cast<double>(axis.from) + limit);
    const auto first = static_cast<std::int64_t>(nearest ? nearest_to(resize, near) : std::floor(near - reach) + 1);
    if (!nearest) weigh(resize, axis, near, narrow, first, row);
    for (std::int64_t k = 0; k < samples.taps; ++k) {
      const auto at = static_cast<std::size_t>(k * axis.to + i);
      samples.places[at] = std::clamp<std::int64_t>(first + k, 0, axis.from - 1);
      if (!nearest) samples.weights[at] = row[static_cast<std::size_t>(k)];
    }
  }
  return samples;
}

bool is_small_matrix(const ResizedAxis& axis) { return axis.to <= kMostMatrix / axis.from; }

std::vector<double> matrix_of(const Samples& samples, std::int64_t from) {
  std::vector<double> matrix(static_cast<std::size_t>(samples.to * from), 0);
  for (std::size_t at = 0; at < samples.places.size(); ++at) {
    const std::int64_t row = static_cast<std::int64_t>(at) % samples.to;
    matrix[static_cast<std::size_t>(row * from + samples.places[at])] += samples.weights[at];
  }
  return matrix;
}

DType resize_type(DType dtype) {
  const bool is_wide = is_integer(dtype) ? bit_width(dtype) > 16 : dtype == DType::kFloat64;
  return is_wide ? DType::kFloat64 : DType::kFloat32;
}

IntegerRange integer_range(DType dtype) {
  const bool is_signed = !is_unsigned(dtype);
  const int bits = bit_width(dtype) - (is_signed ? 1 : 0);
  const double beyond = std::ldexp(1.0, bits);
  return {is_signed ? -beyond : 0, bits <= 32 ? beyond - 1 : std::nextafter(beyond, 0)};
}

double outside_element(const Resize& resize, DType dtype) {
  if (!is_integer(dtype)) return resize.outside;
  const auto [lowest, highest] = integer_range(dtype);
  return std::clamp(std::nearbyint(resize.outside), lowest, highest);
}

}  // namespace assay::lowering
