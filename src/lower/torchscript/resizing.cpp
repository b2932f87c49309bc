// SPDX-License-Identifier: Apache-2.0
// Resize and Upsample. Each axis is sampled by itself: either one element for each place, or a product with a matrix of
// weights. The formulas are those of ONNX's description of Resize.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "lower/torchscript/groups.hpp"

namespace assay::lowering {
namespace torchscript::resizing {
namespace {

using graph::Node;

struct Settings {
  std::string_view mode, coordinates, rounding;
  double cubic = -0.75, extrapolated = 0.0;
  bool outside_excluded = false, antialias = false;
};

struct Axis {
  std::int64_t in = 0, out = 0;
  double scale = 1.0;
  double begin = 0.0, end = 1.0;  ///< the region, for tf_crop_and_resize
};

// The place of the input that a place of the output shows.
double place_of(const Settings& settings, const Axis& axis, std::int64_t i) {
  const auto x = static_cast<double>(i), in = static_cast<double>(axis.in);
  const double length = axis.scale * in;
  if (settings.coordinates == "align_corners") return length == 1.0 ? 0.0 : x * (in - 1) / (length - 1);
  if (settings.coordinates == "asymmetric") return x / axis.scale;
  if (settings.coordinates == "tf_crop_and_resize")
    return axis.out > 1
               ? axis.begin * (in - 1) + x * (axis.end - axis.begin) * (in - 1) / static_cast<double>(axis.out - 1)
               : (axis.begin + axis.end) * (in - 1) / 2;
  if (settings.coordinates == "pytorch_half_pixel" && axis.out == 1) return 0.0;
  const double half = (x + 0.5) / axis.scale - 0.5;
  if (settings.coordinates != "half_pixel_symmetric") return half;
  return in / 2 * (1 - static_cast<double>(axis.out) / length) + half;
}

bool is_outside(const Settings& settings, const Axis& axis, double place) {
  return settings.coordinates == "tf_crop_and_resize" && (place < 0 || place > static_cast<double>(axis.in - 1));
}

std::int64_t nearest(const Settings& settings, const Axis& axis, double place) {
  double chosen = std::floor(place);
  if (settings.rounding == "ceil" || (settings.rounding == "round_prefer_ceil" && place - chosen >= 0.5) ||
      (settings.rounding == "round_prefer_floor" && place - chosen > 0.5))
    chosen = std::ceil(place);
  return std::clamp(static_cast<std::int64_t>(chosen), std::int64_t{0}, axis.in - 1);
}

// The kernel of cubic convolution, Keys (1981).
double cubic(double distance, double a) {
  const double x = std::abs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0.0;
}

// A row of the matrix: how much of each place of the input belongs to a place of the output.
std::vector<double> weights_at(const Settings& settings, const Axis& axis, double place) {
  std::vector<double> row(static_cast<std::size_t>(axis.in));
  const bool linear = settings.mode == "linear";
  // With antialiasing the kernel of a smaller output is as wide as its steps.
  const double narrow = settings.antialias ? std::min(axis.scale, 1.0) : 1.0;
  const auto base = static_cast<std::int64_t>(std::floor(place));
  const double reach = (linear ? 1.0 : 2.0) / narrow;
  double all = 0.0;
  for (std::int64_t at = base - static_cast<std::int64_t>(std::ceil(reach));
       at <= base + static_cast<std::int64_t>(std::ceil(reach)) + 1; ++at) {
    const double distance = (static_cast<double>(at) - place) * narrow;
    const double weight = linear ? std::max(1.0 - std::abs(distance), 0.0) : cubic(distance, settings.cubic);
    if (settings.outside_excluded && (at < 0 || at >= axis.in)) continue;
    row[static_cast<std::size_t>(std::clamp(at, std::int64_t{0}, axis.in - 1))] += weight;
    all += weight;
  }
  if ((settings.outside_excluded || settings.antialias) && all != 0.0)
    for (double& weight : row) weight /= all;
  return row;
}

// What the node has as scales, by axis of the input; nullopt: it has extents.
Result<std::optional<std::vector<double>>> scales_of(const TorchWriter& writer, const Node& node) {
  using Found = std::optional<std::vector<double>>;
  const auto input = [&](std::size_t i) -> Result<Found> {
    if (!has_input(node, i) || writer.shape(node, i) == Shape{0}) return Found();
    ASSAY_TRY(std::vector<double> scales, writer.program().numbers(node, node.inputs[i]));
    return Found(std::move(scales));
  };
  if (node.op_type == "Resize") return input(writer.opset(node) < 11 ? 1 : 2);
  if (const graph::Attribute* given = node.attribute("scales"); given != nullptr)
    if (const auto* all = given->get<std::span<const float>>())
      return Found(std::vector<double>(all->begin(), all->end()));
  return input(1);
}

Result<std::vector<Axis>> axes_of(const TorchWriter& writer, const Node& node, const std::vector<std::size_t>& which) {
  const Shape& in = writer.shape(node, 0);
  const Shape& out = writer.out_shape(node);
  std::vector<Axis> all;
  for (std::size_t i = 0; i < in.size(); ++i)
    all.push_back({in[i], out[i], static_cast<double>(out[i]) / static_cast<double>(std::max<std::int64_t>(in[i], 1))});
  ASSAY_TRY(const auto scales, scales_of(writer, node));
  if (scales && scales->size() != which.size()) return refuse(node, "the number of scales");
  for (std::size_t i = 0; scales && i < which.size(); ++i) all[which[i]].scale = (*scales)[i];
  const std::string_view policy = node.text("keep_aspect_ratio_policy", "stretch");
  if (!scales && policy != "stretch" && has_input(node, 3)) {
    ASSAY_TRY(const auto sizes, writer.program().integers(node, node.inputs[3]));
    if (sizes.size() != which.size()) return refuse(node, "the number of extents");
    double scale = policy == "not_larger" ? INFINITY : 0.0;
    for (std::size_t i = 0; i < which.size(); ++i) {
      const double own = static_cast<double>(sizes[i]) / static_cast<double>(in[which[i]]);
      scale = policy == "not_larger" ? std::min(scale, own) : std::max(scale, own);
    }
    for (const std::size_t axis : which) all[axis].scale = scale;
  }
  if (node.text("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize") {
    if (!has_input(node, 1)) return refuse(node, "a missing region");
    ASSAY_TRY(const std::vector<double> region, writer.program().numbers(node, node.inputs[1]));
    if (region.size() != 2 * which.size()) return refuse(node, "the region");
    for (std::size_t i = 0; i < which.size(); ++i) {
      all[which[i]].begin = region[i];
      all[which[i]].end = region[which.size() + i];
    }
  }
  return all;
}

Settings settings_of(const TorchWriter& writer, const Node& node) {
  Settings settings;
  settings.mode = node.text("mode", "nearest");
  if (settings.mode == "bilinear") settings.mode = "linear";
  const bool old = node.op_type == "Upsample" || writer.opset(node) < 11;
  settings.coordinates = old ? "asymmetric" : node.text("coordinate_transformation_mode", "half_pixel");
  settings.rounding = old ? "floor" : node.text("nearest_mode", "round_prefer_floor");
  settings.cubic = double{node.number("cubic_coeff_a", -0.75F)};
  settings.extrapolated = double{node.number("extrapolation_value", 0.0F)};
  settings.outside_excluded = node.integer("exclude_outside", 0) != 0;
  settings.antialias = node.integer("antialias", 0) != 0;
  return settings;
}

// What libtorch has one operator for: images in two dimensions, linear, without a region or antialiasing.
std::optional<std::string> native(const TorchWriter& writer, const Node& node, const Settings& settings,
                                  const std::vector<Axis>& axes, const std::string& x) {
  const bool corners = settings.coordinates == "align_corners";
  const bool half = settings.coordinates == "half_pixel" || (settings.coordinates == "pytorch_half_pixel" &&
                                                             axes.back().out > 1 && axes[axes.size() - 2].out > 1);
  if (axes.size() != 4 || axes[0].in != axes[0].out || axes[1].in != axes[1].out || settings.mode != "linear" ||
      settings.antialias || settings.outside_excluded || !(corners || half) || !is_floating(writer.dtype(node, 0)))
    return std::nullopt;
  for (const Axis& axis : axes)
    if (axis.scale != static_cast<double>(axis.out) / static_cast<double>(axis.in)) return std::nullopt;
  return torch_call("upsample_bilinear2d", x, torch_list(Shape{axes[2].out, axes[3].out}), torch_bool(corners));
}

Status resize(TorchWriter& writer, const Node& node) {
  const Settings settings = settings_of(writer, node);
  const bool by_place = settings.mode == "nearest";
  if (!by_place && settings.mode != "linear" && settings.mode != "cubic")
    return refuse(node, fmt::format("the mode {}", settings.mode));
  const std::size_t rank = writer.shape(node, 0).size();
  std::vector<std::size_t> which(rank);
  std::iota(which.begin(), which.end(), std::size_t{0});
  if (const auto given = node.integers("axes")) {
    which.clear();
    for (const std::int64_t axis : *given)
      which.push_back(static_cast<std::size_t>(TorchWriter::axis(axis, static_cast<std::int64_t>(rank))));
  }
  ASSAY_TRY(const std::vector<Axis> axes, axes_of(writer, node, which));
  const DType dtype = writer.dtype(node, 0);
  std::string x = writer.in(node, 0);
  if (const auto made = native(writer, node, settings, axes, x)) {
    writer.out(node, *made);
    return {};
  }
  const bool converted = !by_place && dtype != DType::kFloat32;
  if (converted) x = torch_call("to", x, *torch_type(DType::kFloat32));
  std::string inside;  // where every axis shows a place of the input
  for (const std::size_t at : which) {
    const Axis& axis = axes[at];
    if (axis.in == axis.out && axis.scale == 1.0 && settings.coordinates != "tf_crop_and_resize") continue;
    if (axis.in == 0 || axis.out == 0) return refuse(node, "an empty axis");
    std::vector<std::int64_t> places;
    std::vector<float> matrix;
    std::vector<std::int64_t> outside;
    for (std::int64_t i = 0; i < axis.out; ++i) {
      const double place = place_of(settings, axis, i);
      outside.push_back(is_outside(settings, axis, place) ? 1 : 0);
      if (by_place) {
        places.push_back(nearest(settings, axis, place));
      } else {
        const std::vector<double> row = weights_at(settings, axis, place);
        matrix.insert(matrix.end(), row.begin(), row.end());
      }
    }
    const bool last = at + 1 == rank;
    if (by_place) {
      x = torch_call("index_select", x, at, writer.integers(places));
    } else {
      const std::string rows = last ? x : torch_call("transpose", x, at, rank - 1);
      const std::string product = torch_call("linear", rows, writer.floats(matrix, {axis.out, axis.in}));
      x = last ? product : torch_call("transpose", product, at, rank - 1);
    }
    x = writer.let(x);
    if (std::ranges::count(outside, 1) == 0) continue;
    Shape along(rank, 1);
    along[at] = axis.out;
    const std::string own = torch_call("reshape", torch_call("eq", writer.integers(outside), 0), torch_list(along));
    inside = inside.empty() ? own : torch_call("logical_and", inside, own);
  }
  if (!inside.empty()) x = torch_call("where", inside, x, torch_number(settings.extrapolated));
  if (converted) {
    ASSAY_TRY(x, torch_cast(node, x, dtype));
  }
  writer.out(node, x == writer.in(node, 0) ? torch_call("clone", x) : x);
  return {};
}

}  // namespace
}  // namespace torchscript::resizing

TorchOperators torch_resizing() {
  using namespace torchscript::resizing;
  return {since(10, "Resize", resize, "scales, sizes and regions that are not constants"),
          {{"", "Upsample", 7, 9, "scales that are not constants"}, resize}};
}

}  // namespace assay::lowering
