// SPDX-License-Identifier: Apache-2.0
// Operators that multiply and add: matrix products, convolutions, pooling, recurrent layers; and what nodes cost.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "graph/shape_rules.hpp"

namespace assay {
namespace {

// NumPy's matmul: vectors lose the axis that they gain.
Result<Shape> matrix_product(const Site& site, std::size_t left, std::size_t right) {
  Shape a = site.shape(left);
  Shape b = site.shape(right);
  if (a.empty() || b.empty()) return site.contradiction("a scalar");
  const bool row = a.size() == 1;
  const bool column = b.size() == 1;
  if (row) a.insert(a.begin(), 1);
  if (column) b.push_back(1);
  if (a.back() != b[b.size() - 2]) return site.contradiction(to_string(a) + " times " + to_string(b));
  const std::optional<Shape> outer = broadcast(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2));
  if (!outer) return site.contradiction(to_string(a) + " times " + to_string(b));
  Shape shape = *outer;
  if (!row) shape.push_back(a[a.size() - 2]);
  if (!column) shape.push_back(b.back());
  return shape;
}

Status matmul(Site& site) {
  ASSAY_TRY(const Shape shape, matrix_product(site, 0, 1));
  site.give(0, site.in(0).dtype, shape);
  return {};
}

Status matmul_integer(Site& site) {
  ASSAY_TRY(const Shape shape, matrix_product(site, 0, 1));
  site.give(0, DType::kInt32, shape);
  return {};
}

// a, its scale and zero point, b, its scale and zero point, y's scale and zero point.
Status quantised_matmul(Site& site) {
  ASSAY_TRY(const Shape shape, matrix_product(site, 0, 3));
  site.give(0, site.has(7) ? site.in(7).dtype : DType::kUInt8, shape);
  return {};
}

Status gemm(Site& site) {
  if (site.rank(0) != 2 || site.rank(1) != 2) return site.contradiction("operands that are not matrices");
  const bool turned_a = site.integer("transA", 0) != 0;
  const bool turned_b = site.integer("transB", 0) != 0;
  const Shape& a = site.shape(0);
  const Shape& b = site.shape(1);
  if (a[turned_a ? 0 : 1] != b[turned_b ? 1 : 0]) return site.contradiction(to_string(a) + " times " + to_string(b));
  site.give(0, site.in(0).dtype, {a[turned_a ? 1 : 0], b[turned_b ? 0 : 1]});
  return {};
}

// What convolutions and pooling have in common, for each spatial axis.
struct Window {
  std::vector<std::int64_t> kernel, stride, dilation, before, after;
  bool same = false, ceil = false;
};

Result<Window> window_of(const Site& site, const Shape& kernel) {
  Window window;
  const std::size_t axes = kernel.size();
  const auto of = [&](const char* name, std::int64_t otherwise, std::size_t count) {
    return site.integers(name).value_or(std::vector<std::int64_t>(count, otherwise));
  };
  window.kernel = kernel;
  window.stride = of("strides", 1, axes);
  window.dilation = of("dilations", 1, axes);
  const std::vector<std::int64_t> pads = of("pads", 0, 2 * axes);
  if (window.stride.size() != axes || window.dilation.size() != axes || pads.size() != 2 * axes)
    return site.contradiction("attributes of another rank");
  window.before.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(axes));
  window.after.assign(pads.begin() + static_cast<std::ptrdiff_t>(axes), pads.end());
  const std::string_view automatic = site.node().text("auto_pad", "NOTSET");
  window.same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  if (automatic == "VALID") window.before = window.after = std::vector<std::int64_t>(axes, 0);
  window.ceil = site.integer("ceil_mode", 0) != 0;
  constexpr std::int64_t kMost = 1 << 24;
  for (std::size_t i = 0; i < axes; ++i) {
    for (const std::int64_t value : {window.kernel[i], window.stride[i], window.dilation[i]}) {
      if (value < 1 || value > kMost) return site.contradiction("a kernel, stride or dilation below 1 or too large");
    }
    for (const std::int64_t value : {window.before[i], window.after[i]}) {
      if (value < -kMost || value > kMost) return site.contradiction("padding that is too large");
    }
  }
  return window;
}

Result<std::int64_t> steps(const Site& site, const Window& window, std::size_t i, std::int64_t extent) {
  if (window.same) return (extent + window.stride[i] - 1) / window.stride[i];
  const std::int64_t reach = (window.kernel[i] - 1) * window.dilation[i] + 1;
  const std::int64_t room = extent + window.before[i] + window.after[i] - reach;
  if (room < 0) return site.contradiction(fmt::format("a kernel of {} over {} elements", reach, extent));
  std::int64_t count = (room + (window.ceil ? window.stride[i] - 1 : 0)) / window.stride[i] + 1;
  // A last window that would begin in the padding behind the end does not count.
  if (window.ceil && (count - 1) * window.stride[i] >= extent + window.before[i]) --count;
  return count;
}

Status convolution_of(Site& site, std::size_t weights, DType dtype) {
  const Shape& in = site.shape(0);
  const Shape& weight = site.shape(weights);
  if (in.size() < 3 || weight.size() != in.size()) return site.contradiction("input and weight of different ranks");
  const std::int64_t group = site.integer("group", 1);
  if (group < 1 || in[1] != times(weight[1], group) || weight[0] % group != 0)
    return site.contradiction(fmt::format("{} channels, weight {}, group {}", in[1], to_string(weight), group));
  const Shape kernel(weight.begin() + 2, weight.end());
  if (const auto stated = site.integers("kernel_shape"); stated && *stated != kernel)
    return site.contradiction(fmt::format("kernel_shape {}, weight {}", to_string(Shape(*stated)), to_string(weight)));
  ASSAY_TRY(const Window window, window_of(site, kernel));
  Shape shape{in[0], weight[0]};
  for (std::size_t i = 0; i + 2 < in.size(); ++i) {
    ASSAY_TRY(const std::int64_t extent, steps(site, window, i, in[i + 2]));
    shape.push_back(extent);
  }
  site.give(0, dtype, shape);
  return {};
}

Status convolution(Site& site) {
  ASSAY_CHECK_OK(convolution_of(site, 1, site.in(0).dtype));
  if (site.has(2) && site.shape(2) != Shape{site.shape(1)[0]})
    return site.contradiction(fmt::format("a bias of {} for {} channels", to_string(site.shape(2)), site.shape(1)[0]));
  return {};
}
Status integer_convolution(Site& site) { return convolution_of(site, 1, DType::kInt32); }
Status quantised_convolution(Site& site) {
  return convolution_of(site, 3, site.has(7) ? site.in(7).dtype : DType::kUInt8);
}

Status transposed_convolution(Site& site) {
  const Shape& in = site.shape(0);
  const Shape& weight = site.shape(1);
  if (in.size() < 3 || weight.size() != in.size() || in[1] != weight[0])
    return site.contradiction(to_string(in) + " with weight " + to_string(weight));
  const std::int64_t group = site.integer("group", 1);
  if (group < 1 || in[1] % group != 0) return site.contradiction(fmt::format("{} channels, group {}", in[1], group));
  ASSAY_TRY(const Window window, window_of(site, Shape(weight.begin() + 2, weight.end())));
  const std::string_view automatic = site.node().text("auto_pad", "NOTSET");
  if (const auto stated = site.integers("output_shape"); stated || window.same) {
    Shape shape{in[0], times(weight[1], group)};
    for (std::size_t i = 0; i + 2 < in.size(); ++i) shape.push_back(times(in[i + 2], window.stride[i]));
    if (stated && stated->size() + 2 != in.size()) return site.contradiction("output_shape of another rank");
    if (stated) std::ranges::copy(*stated, shape.begin() + 2);
    return site.give_checked(site.in(0).dtype, shape);
  }
  if (automatic != "NOTSET" && automatic != "VALID") return site.contradiction("auto_pad");
  const auto more = site.integers("output_padding").value_or(std::vector<std::int64_t>(in.size() - 2, 0));
  Shape shape{in[0], times(weight[1], group)};
  for (std::size_t i = 0; i + 2 < in.size(); ++i) {
    if (i >= more.size()) return site.contradiction("output_padding of another rank");
    if (in[i + 2] > INT32_MAX || more[i] < 0 || more[i] > INT32_MAX) return site.contradiction("too large");
    const std::int64_t extent = window.stride[i] * (in[i + 2] - 1) + more[i] +
                                (window.kernel[i] - 1) * window.dilation[i] + 1 - window.before[i] - window.after[i];
    if (extent < 0) return site.contradiction("padding beyond the output");
    shape.push_back(extent);
  }
  site.give(0, site.in(0).dtype, shape);
  return {};
}

Status pooled(Site& site) {
  const Shape& in = site.shape(0);
  const auto kernel = site.integers("kernel_shape");
  if (!kernel || kernel->size() + 2 != in.size()) return site.contradiction("a kernel of another rank");
  ASSAY_TRY(const Window window, window_of(site, Shape(kernel->begin(), kernel->end())));
  Shape shape{in[0], in[1]};
  for (std::size_t i = 0; i + 2 < in.size(); ++i) {
    ASSAY_TRY(const std::int64_t extent, steps(site, window, i, in[i + 2]));
    shape.push_back(extent);
  }
  site.give(0, site.in(0).dtype, shape);
  site.give(1, DType::kInt64, shape);
  return {};
}

Status pooled_over_all(Site& site) {
  Shape shape = site.shape(0);
  if (shape.size() < 3) return site.contradiction("an input without spatial axes");
  std::fill(shape.begin() + 2, shape.end(), 1);
  site.give(0, site.in(0).dtype, shape);
  return {};
}

// LSTM, GRU, RNN: X [S, B, in], R [directions, …, hidden].
Status recurrent(Site& site) {
  if (site.rank(0) != 3 || site.rank(2) != 3) return site.contradiction("operands of another rank");
  const bool batch_first = site.integer("layout", 0) != 0;
  const std::int64_t length = site.shape(0)[batch_first ? 1 : 0];
  const std::int64_t batch = site.shape(0)[batch_first ? 0 : 1];
  const std::int64_t directions = site.shape(2)[0];
  const std::int64_t hidden = site.shape(2)[2];
  if (batch_first) {
    site.give(0, site.in(0).dtype, {batch, length, directions, hidden});
    site.give(1, site.in(0).dtype, {batch, directions, hidden});
    site.give(2, site.in(0).dtype, {batch, directions, hidden});
    return {};
  }
  site.give(0, site.in(0).dtype, {length, directions, batch, hidden});
  site.give(1, site.in(0).dtype, {directions, batch, hidden});
  site.give(2, site.in(0).dtype, {directions, batch, hidden});
  return {};
}

double elements_of(const StaticValue& value) { return value.shape ? static_cast<double>(count_of(*value.shape)) : 0.0; }

// Extents from `axis` on, multiplied.
double product(const Shape& shape, std::size_t axis) {
  double all = 1;
  for (std::size_t i = axis; i < shape.size(); ++i) all *= static_cast<double>(shape[i]);
  return all;
}

// The products of queries and keys, and of their shares and values.
double attention_flops(const Site& site) {
  const Shape& keys = site.shape(1);
  const bool packed = keys.size() == 3;
  const double past = site.has(4) ? static_cast<double>(site.shape(4)[2]) : 0;
  const double length = static_cast<double>(keys[packed ? 1 : 2]) + past;
  return 2 * length * (elements_of(site.in(0)) + elements_of(site.outputs().front()));
}

}  // namespace

ShapeRule find_linear_rule(std::string_view op_type) {
  static const std::map<std::string_view, ShapeRule> all = {
      {"MatMul", matmul},
      {"MatMulInteger", matmul_integer},
      {"QLinearMatMul", quantised_matmul},
      {"Gemm", gemm},
      {"Conv", convolution},
      {"ConvInteger", integer_convolution},
      {"QLinearConv", quantised_convolution},
      {"ConvTranspose", transposed_convolution},
      {"MaxPool", pooled},
      {"AveragePool", pooled},
      {"LpPool", pooled},
      {"GlobalAveragePool", pooled_over_all},
      {"GlobalMaxPool", pooled_over_all},
      {"LSTM", recurrent},
      {"GRU", recurrent},
      {"RNN", recurrent},
  };
  const auto found = all.find(op_type);
  return found == all.end() ? nullptr : found->second;
}

double flops_of(const Site& site) {
  const std::string_view op = site.node().op_type;
  const double out = elements_of(site.outputs().front());
  if (op == "MatMul" || op == "MatMulInteger" || op == "QLinearMatMul")
    return 2 * out * static_cast<double>(site.shape(0).back());
  if (op == "Gemm") return 2 * out * static_cast<double>(site.shape(0)[site.integer("transA", 0) != 0 ? 0 : 1]);
  if (op == "Conv" || op == "ConvInteger") return 2 * out * product(site.shape(1), 1);
  if (op == "QLinearConv") return 2 * out * product(site.shape(3), 1);
  if (op == "DeformConv") return 2 * out * product(site.shape(1), 1);
  if (op == "Attention") return attention_flops(site);
  if (op == "ConvTranspose") return 2 * elements_of(site.in(0)) * product(site.shape(1), 1);
  if (op == "LSTM" || op == "GRU" || op == "RNN") {
    const auto steps = static_cast<double>(times(site.shape(0)[0], site.shape(0)[1]));
    return 2 * steps * (product(site.shape(1), 0) + product(site.shape(2), 0));
  }
  // Operators that only copy, cut, join or convert elements, or return shapes, compute nothing.
  static const std::set<std::string_view> moves = {
      "BitCast", "CenterCropPad", "EyeLike", "OneHot",         "ReverseSequence", "TensorScatter",
      "Cast",    "CastLike",      "Concat",  "Constant",       "ConstantOfShape", "DepthToSpace",
      "Expand",  "Flatten",       "Gather",  "GatherElements", "GatherND",        "Identity",
      "Pad",     "Range",         "Reshape", "Scatter",        "ScatterElements", "ScatterND",
      "Shape",   "Size",          "Slice",   "SpaceToDepth",   "Split",           "Squeeze",
      "Tile",    "Transpose",     "Trilu",   "Unsqueeze",      "Where",           "Dropout"};
  if (moves.contains(op)) return 0;
  // Reductions and pooling read each element once.
  if (op.starts_with("Reduce") || op.starts_with("Global")) return elements_of(site.in(0));
  if (op == "MaxPool" || op == "AveragePool" || op == "LpPool") {
    const auto kernel = site.integers("kernel_shape");
    return kernel ? out * product(Shape(kernel->begin(), kernel->end()), 0) : out;
  }
  return out;
}

}  // namespace assay
