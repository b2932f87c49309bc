// SPDX-License-Identifier: Apache-2.0
// Pooling, in the order of axes that the input has.
#include <fmt/format.h>

#include <algorithm>

#include "models/graph/shape_rules.hpp"
#include "models/lower/stablehlo/elementwise.hpp"
#include "models/lower/stablehlo/text.hpp"
#include "models/lower/stablehlo/windows.hpp"

namespace assay::lowering::stablehlo {
namespace {

struct Pooled {
  Hlo x;
  bool last = false;
  graph::Window given;  ///< the node's own window
  HloWindow spatial;    ///< padded as far as the last window reaches
  HloWindow all;        ///< `spatial`, extended to all axes of x
};

Result<Pooled> pooling_of(HloWriter& writer, const graph::Node& node) {
  Pooled pooled;
  pooled.last = writer.prefers_last(node, 0);
  const Shape &in = writer.program().shape(node.inputs[0]), &out = writer.program().shape(node.outputs[0]);
  const auto kernel = node.integers("kernel_shape");
  if (!kernel) return refuse(node, "the missing kernel_shape");
  ASSAY_TRY(pooled.given, window_of(node, in, Axes(kernel->begin(), kernel->end())));
  pooled.spatial = hlo_window(pooled.given);
  for (std::size_t i = 0; i < pooled.given.axes(); ++i)
    pooled.spatial.after[i] = pooled.given.exact_after(i, in[i + 2], out[i + 2]);
  ASSAY_TRY(pooled.x, pooled.last ? writer.input_last(node, 0) : writer.input(node, 0));
  pooled.all = over_all_axes(pooled.spatial, pooled.last);
  return pooled;
}

Status pooled_output(HloWriter& writer, const graph::Node& node, const Pooled& pooled, const Hlo& y) {
  return pooled.last ? writer.output_last(node, 0, y) : writer.output(node, y);
}

Status average_pool(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Pooled pooled, pooling_of(writer, node));
  const bool with_padding = node.integer("count_include_pad", 0) != 0;
  const Shape &in = writer.program().shape(node.inputs[0]), &out = writer.program().shape(node.outputs[0]);
  const DType own = pooled.x.dtype;
  const Hlo x = writer.convert(pooled.x, wide(own));
  Hlo y = writer.reduce_window("stablehlo.add", x, writer.splat(0, x.dtype), pooled.all);
  double common = 1;
  std::optional<Hlo> varying;
  for (std::size_t i = 0; i < pooled.spatial.size.size(); ++i) {
    const std::vector<std::int64_t> elements = pooled.given.elements(i, in[i + 2], out[i + 2], with_padding);
    const std::vector<double> counts(elements.begin(), elements.end());
    if (std::ranges::all_of(counts, [&](double each) { return each == counts.front(); })) {
      common *= counts.front();
      continue;
    }
    const auto axis = static_cast<std::int64_t>(i) + (pooled.last ? 1 : 2);
    const Hlo along = writer.broadcast_in_dim(writer.list(counts, x.dtype), y.shape, {axis});
    varying = varying ? writer.multiply(*varying, along) : along;
  }
  Hlo count = writer.splat_like(common, y);
  if (varying) count = common == 1 ? *varying : writer.multiply(*varying, count);
  y = writer.divide(y, count);
  return pooled_output(writer, node, pooled, writer.convert(y, own));
}

// The largest element of each window, and its place in the whole input.
Status max_pool_with_places(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Pooled pooled, pooling_of(writer, node));
  ASSAY_TRY(const Hlo x, writer.input(node, 0));
  const HloWindow window = over_all_axes(pooled.spatial, false);
  const bool by_columns = node.integer("storage_order", 0) != 0;
  // Row-major places; with storage_order the last axis is the slowest one.
  Hlo places = writer.splat(0, DType::kInt64, x.shape);
  std::int64_t step = 1;
  std::vector<std::int64_t> order;
  for (std::int64_t axis = x.rank(); axis-- > 2;) order.push_back(axis);
  if (by_columns) std::ranges::reverse(order);
  for (const std::int64_t axis : {std::int64_t{1}, std::int64_t{0}}) order.push_back(axis);
  for (const std::int64_t axis : order) {
    const Hlo along = writer.iota(DType::kInt64, x.shape, axis);
    places = writer.add(places, writer.multiply(along, writer.splat_like(static_cast<double>(step), along)));
    step *= x.extent(axis);
  }
  const Hlo operands[] = {x, places, writer.lowest(x.dtype), writer.highest(DType::kInt64)};
  const Shape& out = writer.program().shape(node.outputs[0]);
  const Hlo results[] = {HloWriter::type(x.dtype, out), HloWriter::type(DType::kInt64, out)};
  const Hlo element = HloWriter::type(x.dtype), place = HloWriter::type(DType::kInt64);
  const std::pair<std::vector<Hlo>, HloWriter::Region> region{
      {element, place, element, place}, [](HloWriter& w, std::span<const Hlo> a) -> std::vector<Hlo> {
        const Hlo wins = w.binary("stablehlo.or", w.compare("GT", a[0], a[2]),
                                  w.binary("stablehlo.and", w.compare("EQ", a[0], a[2]), w.compare("LT", a[1], a[3])));
        return {w.select(wins, a[0], a[2]), w.select(wins, a[1], a[3])};
      }};
  const std::vector<Hlo> found =
      writer.operation("stablehlo.reduce_window", operands, window_text(window), results, {&region, 1});
  ASSAY_CHECK_OK(writer.output(node, 0, found[0]));
  return writer.output(node, 1, found[1]);
}

Status max_pool(HloWriter& writer, const graph::Node& node) {
  if (node.outputs.size() > 1 && !node.outputs[1].empty()) return max_pool_with_places(writer, node);
  ASSAY_TRY(const Pooled pooled, pooling_of(writer, node));
  const Hlo y = writer.reduce_window("stablehlo.maximum", pooled.x, writer.lowest(pooled.x.dtype), pooled.all);
  return pooled_output(writer, node, pooled, y);
}

Hlo power_of_magnitude(HloWriter& writer, const Hlo& x, double p) {
  if (p == 2) return writer.multiply(x, x);
  const Hlo size = writer.unary("stablehlo.abs", x);
  return p == 1 ? size : writer.binary("stablehlo.power", size, writer.splat_like(p, size));
}
Hlo root_of(HloWriter& writer, const Hlo& x, double p) {
  if (p == 1) return x;
  return p == 2 ? writer.unary("stablehlo.sqrt", x) : writer.binary("stablehlo.power", x, writer.splat_like(1 / p, x));
}

Status lp_pool(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Pooled pooled, pooling_of(writer, node));
  const auto p = static_cast<double>(node.integer("p", 2));
  const Hlo raised = power_of_magnitude(writer, pooled.x, p);
  const Hlo total = writer.reduce_window("stablehlo.add", raised, writer.splat(0, raised.dtype), pooled.all);
  return pooled_output(writer, node, pooled, root_of(writer, total, p));
}

enum class Whole { kMean, kMax, kLp };

template <Whole Kind>
Status pooled_over_all(HloWriter& writer, const graph::Node& node) {
  const bool last = writer.prefers_last(node, 0);
  ASSAY_TRY(const Hlo x, last ? writer.input_last(node, 0) : writer.input(node, 0));
  Axes axes;
  for (std::int64_t axis = last ? 1 : 2; axis < x.rank() - (last ? 1 : 0); ++axis) axes.push_back(axis);
  const auto p = static_cast<double>(node.integer("p", 2));
  const Hlo y = Kind == Whole::kMean  ? writer.mean(x, axes)
                : Kind == Whole::kMax ? writer.largest(x, axes)
                                      : root_of(writer, writer.sum(power_of_magnitude(writer, x, p), axes), p);
  return element_output(writer, node, writer.keep_axes(y, x, axes), last);
}

// Each element goes to its place in the output before it is padded to its shape; the rest is 0.
Status unpooled(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo x, writer.input(node, 0));
  ASSAY_TRY(const Hlo places, writer.input(node, 1));
  const Shape& out = writer.program().shape(node.outputs[0]);
  const auto kernel = node.integers("kernel_shape");
  if (!kernel) return refuse(node, "the missing kernel_shape");
  ASSAY_TRY(const graph::Window window, window_of(node, x.shape, {kernel->begin(), kernel->end()}));
  Shape whole = x.shape;
  Axes none(out.size(), 0), after(out.size(), 0);
  for (std::size_t i = 0; i < kernel->size(); ++i) {
    whole[i + 2] = window.transposed_extent(i, x.shape[i + 2]) - window.before[i] - window.after[i];
    after[i + 2] = out[i + 2] - whole[i + 2];
  }
  const std::int64_t count = count_of(whole), read = count_of(x.shape);
  const Hlo written = writer.scatter_nd(writer.splat(0, x.dtype, {count}), writer.reshape(places, {read, 1}),
                                        writer.reshape(x, {read}), "");
  return writer.output(node, writer.pad(writer.reshape(written, whole), writer.splat(0, x.dtype), none, after));
}

// Columns [N, C · block, windows] are added where im2col read them: for each place of the block, its elements are
// spread by the stride and moved.
Status image_from_columns(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo x, writer.input(node, 0));
  const Shape& out = writer.program().shape(node.outputs[0]);
  ASSAY_TRY(const Axes block, writer.program().integers(node, node.inputs[2]));
  const std::size_t axes = block.size();
  const std::int64_t n = x.extent(0), channels = out[1], places = count_of(block);
  constexpr std::int64_t kMostPlaces = 4096;  // each is a term of a sum
  if (places > kMostPlaces) return refuse(node, fmt::format("a block of {} places (at most {})", places, kMostPlaces));
  ASSAY_TRY(const graph::Window window, window_of(node, out, block));
  Shape windows{n, channels};
  for (std::size_t i = 0; i < axes; ++i) windows.push_back(window.count(i, out[i + 2]));
  if (count_of(windows) * places != count_of(x.shape)) return refuse(node, "columns of another number of windows");
  const Hlo apart = writer.reshape(x, {n, channels, places, x.extent(2)});
  std::optional<Hlo> total;
  for (std::int64_t place = 0; place < places; ++place) {
    Axes before(out.size(), 0), after(out.size(), 0), between(out.size(), 0);
    std::int64_t rest = place;
    for (std::size_t i = axes; i-- > 0;) {
      const std::int64_t offset = rest % block[i] * window.dilation[i];
      rest /= block[i];
      between[i + 2] = window.stride[i] - 1;
      before[i + 2] = offset - window.before[i];
      after[i + 2] = out[i + 2] - before[i + 2] - (windows[i + 2] - 1) * window.stride[i] - 1;
    }
    const Hlo one = writer.reshape(writer.slice_axis(apart, 2, place, place + 1), windows);
    const Hlo moved = writer.pad(one, writer.splat(0, x.dtype), before, after, between);
    total = total ? writer.add(*total, moved) : moved;
  }
  return writer.output(node, *total);
}

constexpr HloRow kPooling[] = {
    {{"", "AveragePool", 1, kNewestOpset, ""}, average_pool},
    {{"", "Col2Im", 18, kNewestOpset, "shapes that are not constants"}, image_from_columns},
    {{"", "GlobalAveragePool", 1, kNewestOpset, ""}, pooled_over_all<Whole::kMean>},
    {{"", "GlobalLpPool", 2, kNewestOpset, ""}, pooled_over_all<Whole::kLp>},
    {{"", "GlobalMaxPool", 1, kNewestOpset, ""}, pooled_over_all<Whole::kMax>},
    {{"", "LpPool", 2, kNewestOpset, ""}, lp_pool},
    {{"", "MaxPool", 1, kNewestOpset, ""}, max_pool},
    {{"", "MaxUnpool", 9, kNewestOpset, "an output_shape that is not a constant"}, unpooled},
};

}  // namespace

std::span<const HloRow> hlo_pooling() { return kPooling; }

}  // namespace assay::lowering::stablehlo
