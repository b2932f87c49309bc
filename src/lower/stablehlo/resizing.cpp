// SPDX-License-Identifier: Apache-2.0
// Resizing of images. An axis is resized at a time: by positions if each element is a copy of one, else as a product
// with a matrix of weights, which lowering computes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lower/stablehlo/elementwise.hpp"

namespace assay::lowering::stablehlo {
namespace {

/// How one axis is resized.
struct AxisResize {
  std::int64_t from = 0, to = 0;
  double scale = 1;
  double begin = 0, end = 1;  ///< the region of interest, as a share of the extent
};

struct ResizeRules {
  std::string_view mode, coordinates, nearest;
  double cubic = -0.75, outside = 0;
  bool excludes_outside = false, antialias = false;
};

// Weights of the elements around a place in one axis: those of `first`, `first` + 1, …
struct Neighbours {
  std::int64_t first = 0;
  std::vector<double> weights;
  bool is_outside = false;  ///< beyond the input, where tf_crop_and_resize has a constant
};

// The place in the input that an element of the output comes from (operator Resize, coordinate_transformation_mode).
double source_of(const AxisResize& axis, std::string_view coordinates, double x) {
  const double whole = axis.scale * static_cast<double>(axis.from), last = static_cast<double>(axis.from) - 1;
  if (coordinates == "align_corners") return whole == 1 ? 0 : x * last / (whole - 1);
  if (coordinates == "asymmetric") return x / axis.scale;
  if (coordinates == "tf_crop_and_resize") {
    const double start = axis.begin * last, reach = (axis.end - axis.begin) * last;
    return whole == 1 ? start + reach / 2 : start + x * reach / (whole - 1);
  }
  if (coordinates == "pytorch_half_pixel" && whole == 1) return -0.5;
  const double middle = (x + 0.5) / axis.scale - 0.5;
  if (coordinates != "half_pixel_symmetric") return middle;
  return middle + static_cast<double>(axis.from) / 2 * (1 - static_cast<double>(axis.to) / whole);
}

double cubic_weight(double distance, double a) {
  const double x = std::abs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

Neighbours nearest_of(double place, std::string_view rule) {
  const double below = std::floor(place), part = place - below;
  bool up = rule == "ceil" && part > 0;
  if (rule == "round_prefer_floor") up = part > 0.5;
  if (rule == "round_prefer_ceil") up = part >= 0.5;
  return {static_cast<std::int64_t>(below) + (up ? 1 : 0), {1}, false};
}

// An antialiased kernel is as many times wider as the image becomes smaller.
Neighbours interpolated_at(double place, const AxisResize& axis, const ResizeRules& rules) {
  const bool is_cubic = rules.mode == "cubic";
  const double reach = is_cubic ? 2 : 1, scale = rules.antialias ? std::min(axis.scale, 1.0) : 1;
  Neighbours found;
  found.first = static_cast<std::int64_t>(std::floor(place - reach / scale)) + 1;
  double total = 0;
  for (auto i = found.first; static_cast<double>(i) < place + reach / scale; ++i) {
    const double distance = (static_cast<double>(i) - place) * scale;
    found.weights.push_back(is_cubic ? cubic_weight(distance, rules.cubic) : std::max(0.0, 1 - std::abs(distance)));
    total += found.weights.back();
  }
  for (double& weight : found.weights) weight /= total;
  return found;
}

Neighbours neighbours_of(std::int64_t x, const AxisResize& axis, const ResizeRules& rules) {
  const double place = source_of(axis, rules.coordinates, static_cast<double>(x));
  Neighbours found = rules.mode == "nearest" ? nearest_of(place, rules.nearest) : interpolated_at(place, axis, rules);
  found.is_outside =
      rules.coordinates == "tf_crop_and_resize" && (place < 0 || place > static_cast<double>(axis.from) - 1);
  if (!rules.excludes_outside) return found;
  double total = 0;
  for (std::size_t i = 0; i < found.weights.size(); ++i) {
    const std::int64_t at = found.first + static_cast<std::int64_t>(i);
    if (at < 0 || at >= axis.from) found.weights[i] = 0;
    total += found.weights[i];
  }
  for (double& weight : found.weights) weight /= total == 0 ? 1 : total;
  return found;
}

Hlo resized_axis(HloWriter& writer, const Hlo& x, std::int64_t place, const AxisResize& axis,
                 const ResizeRules& rules) {
  std::vector<double> matrix(static_cast<std::size_t>(axis.from * axis.to), 0), outside;
  std::vector<std::int64_t> sources;
  bool any_outside = false;
  for (std::int64_t i = 0; i < axis.to; ++i) {
    const Neighbours found = neighbours_of(i, axis, rules);
    const auto inside = [&](std::int64_t at) { return std::clamp<std::int64_t>(at, 0, axis.from - 1); };
    sources.push_back(inside(found.first));
    for (std::size_t k = 0; k < found.weights.size(); ++k)
      matrix[static_cast<std::size_t>(i * axis.from + inside(found.first + static_cast<std::int64_t>(k)))] +=
          found.weights[k];
    outside.push_back(found.is_outside ? 1 : 0);
    any_outside = any_outside || found.is_outside;
  }
  Hlo y = x;
  if (rules.mode == "nearest") {
    y = writer.take(x, writer.list(sources, DType::kInt32), place);
  } else {
    const DType type = wide(x.dtype);
    const Hlo product = writer.dot(writer.convert(x, type), writer.computed(matrix, type, {axis.to, axis.from}),
                                   {.contract_a = {place}, .contract_b = {1}}, type);
    Axes order;
    for (std::int64_t i = 0; i < x.rank() - 1; ++i) order.push_back(i);
    order.insert(order.begin() + place, x.rank() - 1);
    y = writer.transpose(product, order);
  }
  if (!any_outside) return y;
  const Hlo is_outside =
      writer.broadcast_in_dim(writer.convert(writer.list(outside, DType::kFloat32), DType::kBool), y.shape, {place});
  return writer.select(is_outside, writer.splat_like(rules.outside, y), y);
}

// For each axis of the input; those that the node does not name stay.
Result<std::vector<AxisResize>> axes_of(HloWriter& writer, const graph::Node& node, const ResizeRules& rules) {
  const Shape &in = writer.program().shape(node.inputs[0]), &out = writer.program().shape(node.outputs[0]);
  const bool is_resize = node.op_type == "Resize";
  const bool has_roi = is_resize && writer.program().opset(node) >= 11;
  const std::size_t at_scales = has_roi ? 2 : 1;
  std::vector<double> scales, roi;
  if (has_input(node, at_scales)) {
    ASSAY_TRY(scales, writer.program().numbers(node, node.inputs[at_scales]));
  } else if (const auto* attribute = node.attribute("scales"); attribute != nullptr) {
    if (const auto* given = attribute->get<std::span<const float>>()) scales.assign(given->begin(), given->end());
  }
  if (rules.coordinates == "tf_crop_and_resize") {
    if (!has_input(node, 1)) return refuse(node, "the missing region");
    ASSAY_TRY(roi, writer.program().numbers(node, node.inputs[1]));
  }
  Axes named(in.size());
  std::iota(named.begin(), named.end(), 0);
  if (const auto given = node.integers("axes")) named.assign(given->begin(), given->end());
  if ((!scales.empty() && scales.size() != named.size()) || (!roi.empty() && roi.size() != 2 * named.size()))
    return refuse(node, "scales of another rank");
  std::vector<AxisResize> all;
  for (std::size_t i = 0; i < in.size(); ++i) all.push_back({in[i], out[i]});
  // With a policy about the aspect ratio, all named axes have the same scale.
  const std::string_view policy = node.text("keep_aspect_ratio_policy", "stretch");
  double common = 0;
  if (scales.empty() && policy != "stretch" && has_input(node, 3)) {
    ASSAY_TRY(const std::vector<std::int64_t> sizes, writer.program().integers(node, node.inputs[3]));
    for (std::size_t i = 0; i < sizes.size() && i < named.size(); ++i) {
      ASSAY_TRY(const std::int64_t place, axis_of(node, named[i], static_cast<std::int64_t>(in.size())));
      const double scale = static_cast<double>(sizes[i]) / static_cast<double>(in[static_cast<std::size_t>(place)]);
      common = i == 0 ? scale : policy == "not_larger" ? std::min(common, scale) : std::max(common, scale);
    }
  }
  for (std::size_t i = 0; i < named.size(); ++i) {
    ASSAY_TRY(const std::int64_t place, axis_of(node, named[i], static_cast<std::int64_t>(in.size())));
    AxisResize& axis = all[static_cast<std::size_t>(place)];
    axis.scale = static_cast<double>(axis.to) / static_cast<double>(axis.from);
    if (common != 0) axis.scale = common;
    if (!scales.empty()) axis.scale = scales[i];
    if (!roi.empty()) {
      axis.begin = roi[i];
      axis.end = roi[named.size() + i];
    }
  }
  return all;
}

Status resized(HloWriter& writer, const graph::Node& node) {
  ResizeRules rules;
  const bool is_first = node.op_type == "Upsample" || writer.program().opset(node) < 11;
  rules.mode = node.text("mode", "nearest");
  rules.coordinates = is_first ? "asymmetric" : node.text("coordinate_transformation_mode", "half_pixel");
  rules.nearest = is_first ? "floor" : node.text("nearest_mode", "round_prefer_floor");
  if (node.attribute("cubic_coeff_a") != nullptr) rules.cubic = node.number("cubic_coeff_a", 0);
  rules.outside = node.number("extrapolation_value", 0);
  rules.excludes_outside = node.integer("exclude_outside", 0) != 0;
  rules.antialias = node.integer("antialias", 0) != 0;
  if (rules.mode != "nearest" && rules.mode != "linear" && rules.mode != "cubic")
    return refuse(node, fmt::format("the mode '{}'", rules.mode));
  const bool last = writer.prefers_last(node, 0);
  ASSAY_TRY(const Hlo given, last ? writer.input_last(node, 0) : writer.input(node, 0));
  ASSAY_TRY(const std::vector<AxisResize> axes, axes_of(writer, node, rules));
  const bool is_copied = rules.mode == "nearest";
  Hlo x = is_copied ? given : writer.convert(given, wide(given.dtype));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const AxisResize& axis = axes[i];
    if (axis.from == axis.to && axis.scale == 1 && axis.begin == 0 && axis.end == 1) continue;
    const auto place = static_cast<std::int64_t>(i);
    const std::int64_t moved = place == 0 ? 0 : place == 1 ? x.rank() - 1 : place - 1;
    x = resized_axis(writer, x, last ? moved : place, axis, rules);
  }
  if (!is_float(given.dtype) && !is_copied) x = writer.unary("stablehlo.round_nearest_even", x);
  return element_output(writer, node, writer.convert(x, given.dtype), last);
}

constexpr HloRow kResizing[] = {
    {{"", "Resize", 10, kNewestOpset, "scales, sizes and regions that are not constants"}, resized},
    {{"", "Upsample", 7, 9, "scales that are not constants"}, resized},
};

}  // namespace

std::span<const HloRow> hlo_resizing() { return kResizing; }

}  // namespace assay::lowering::stablehlo
