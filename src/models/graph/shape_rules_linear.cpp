// SPDX-License-Identifier: Apache-2.0
// Operators that multiply and add: matrix products, convolutions, pooling, recurrent layers; and what nodes cost.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "models/graph/shape_rules.hpp"
#include "models/graph/window.hpp"

namespace assay {
namespace {

using graph::pads_itself;
using graph::read_window;
using graph::Window;

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

Result<Window> window_of(const Site& site, const Shape& kernel) {
  auto window = read_window(site.node(), site.shape(0), kernel);
  if (!window) return site.contradiction(window.error());
  return *std::move(window);
}

// [N, channels, windows…] of the input.
Result<Shape> windows_of(const Site& site, const Window& window, std::int64_t channels) {
  const Shape& in = site.shape(0);
  Shape shape{in[0], channels};
  for (std::size_t i = 0; i < window.axes(); ++i) {
    const std::int64_t count = window.count(i, in[i + 2], site.integer("ceil_mode", 0) != 0);
    if (count < 1)
      return site.contradiction(fmt::format("a kernel of {} over {} elements", window.reach(i), in[i + 2]));
    shape.push_back(count);
  }
  return shape;
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
  ASSAY_TRY(const Shape shape, windows_of(site, window, weight[0]));
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
  if (const auto stated = site.integers("output_shape"); stated || pads_itself(site.node())) {
    Shape shape{in[0], times(weight[1], group)};
    for (std::size_t i = 0; i + 2 < in.size(); ++i) shape.push_back(times(in[i + 2], window.stride[i]));
    if (stated && stated->size() + 2 != in.size()) return site.contradiction("output_shape of another rank");
    if (stated) std::ranges::copy(*stated, shape.begin() + 2);
    return site.give_checked(site.in(0).dtype, shape);
  }
  const std::vector<std::int64_t>& more = window.output_padding;
  Shape shape{in[0], times(weight[1], group)};
  for (std::size_t i = 0; i + 2 < in.size(); ++i) {
    if (in[i + 2] > INT32_MAX || more[i] < 0 || more[i] > INT32_MAX) return site.contradiction("too large");
    const std::int64_t extent = window.transposed_extent(i, in[i + 2]) + more[i] - window.before[i] - window.after[i];
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
  ASSAY_TRY(const Shape shape, windows_of(site, window, in[1]));
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

// LSTM, GRU, RNN: X [S, B, in], W [directions, …, in], R [directions, …, hidden].
Status recurrent(Site& site) {
  if (site.rank(0) != 3 || site.rank(1) != 3 || site.rank(2) != 3)
    return site.contradiction("operands of another rank");
  const std::int64_t expected = site.node().text("direction", "forward") == "bidirectional" ? 2 : 1;
  for (const std::size_t weights : {1U, 2U})
    if (site.shape(weights)[0] != expected)
      return site.contradiction(
          fmt::format("weights for {} directions instead of {}", site.shape(weights)[0], expected));
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
      {"GlobalLpPool", pooled_over_all},
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
