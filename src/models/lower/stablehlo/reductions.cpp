// SPDX-License-Identifier: Apache-2.0
// Reductions over axes, positions of extremes, sums along an axis.
#include <fmt/format.h>

#include <algorithm>

#include "models/lower/stablehlo/elementwise.hpp"

namespace assay::lowering::stablehlo {
namespace {

// From an attribute (older opsets) or an input. Empty list: all axes, or none with noop_with_empty_axes.
Result<Axes> reduced_axes(HloWriter& writer, const graph::Node& node, std::int64_t rank) {
  Axes given;
  if (const auto attribute = node.integers("axes")) {
    given.assign(attribute->begin(), attribute->end());
  } else if (has_input(node, 1)) {
    ASSAY_TRY(given, writer.program().integers(node, node.inputs[1]));
  }
  Axes axes;
  for (const std::int64_t axis : given) {
    ASSAY_TRY(const std::int64_t from_0, axis_of(node, axis, rank));
    axes.push_back(from_0);
  }
  if (axes.empty() && node.integer("noop_with_empty_axes", 0) == 0)
    for (std::int64_t axis = 0; axis < rank; ++axis) axes.push_back(axis);
  std::ranges::sort(axes);
  axes.erase(std::ranges::unique(axes).begin(), axes.end());
  return axes;
}

using Reduce = Hlo (*)(HloWriter&, const Hlo&, const Axes&);

Hlo sum_of(HloWriter& writer, const Hlo& x, const Axes& axes) { return writer.sum(x, axes); }
Hlo mean_of(HloWriter& writer, const Hlo& x, const Axes& axes) { return writer.mean(x, axes); }
Hlo largest_of(HloWriter& writer, const Hlo& x, const Axes& axes) {
  if (x.dtype == DType::kBool) return writer.reduce("stablehlo.or", x, writer.splat(0, x.dtype), axes);
  return writer.largest(x, axes);
}
Hlo smallest_of(HloWriter& writer, const Hlo& x, const Axes& axes) {
  if (x.dtype == DType::kBool) return writer.reduce("stablehlo.and", x, writer.splat(1, x.dtype), axes);
  return writer.reduce("stablehlo.minimum", x, writer.highest(x.dtype), axes);
}
Hlo product_of(HloWriter& writer, const Hlo& x, const Axes& axes) {
  return writer.reduce("stablehlo.multiply", x, writer.splat(1, x.dtype), axes);
}
Hlo magnitude(HloWriter& writer, const Hlo& x) { return is_unsigned(x.dtype) ? x : writer.unary("stablehlo.abs", x); }
Hlo magnitudes_of(HloWriter& writer, const Hlo& x, const Axes& axes) { return writer.sum(magnitude(writer, x), axes); }
Hlo squares_of(HloWriter& writer, const Hlo& x, const Axes& axes) { return writer.sum(writer.multiply(x, x), axes); }
Hlo length_of(HloWriter& writer, const Hlo& given, const Axes& axes) {
  return in_wide(writer, given,
                 [&](const Hlo& x) { return writer.unary("stablehlo.sqrt", writer.sum(writer.multiply(x, x), axes)); });
}
Hlo log_sum_of(HloWriter& writer, const Hlo& given, const Axes& axes) {
  return in_wide(writer, given, [&](const Hlo& x) { return writer.unary("stablehlo.log", writer.sum(x, axes)); });
}
Hlo log_sum_exp_of(HloWriter& writer, const Hlo& given, const Axes& axes) {
  return in_wide(writer, given, [&](const Hlo& x) {
    const Hlo most = writer.largest(x, axes);
    // An infinite shift would make NaN.
    const Hlo endless =
        writer.compare("EQ", writer.unary("stablehlo.abs", most), writer.highest(most.dtype, most.shape));
    const Hlo shift = writer.select(endless, writer.splat_like(0, most), most);
    const Hlo shifted = writer.subtract(x, writer.broadcast(writer.keep_axes(shift, x, axes), x.shape));
    const Hlo total = writer.sum(writer.unary("stablehlo.exponential", shifted), axes);
    return writer.add(writer.unary("stablehlo.log", total), shift);
  });
}

// Axes of ONNX's order in a value with channels last.
Axes axes_last(const Axes& axes, std::int64_t rank) {
  Axes moved;
  for (const std::int64_t axis : axes) moved.push_back(axis == 0 ? 0 : axis == 1 ? rank - 1 : axis - 1);
  std::ranges::sort(moved);
  return moved;
}

template <Reduce Compute>
Status reduced(HloWriter& writer, const graph::Node& node) {
  const bool keep = node.integer("keepdims", 1) != 0;
  if (writer.prefers_last(node, 0) && keep) {
    ASSAY_TRY(const Hlo x, writer.input_last(node, 0));
    ASSAY_TRY(const Axes axes, reduced_axes(writer, node, x.rank()));
    const Axes moved = axes_last(axes, x.rank());
    return writer.output_last(node, 0, writer.keep_axes(Compute(writer, x, moved), x, moved));
  }
  ASSAY_TRY(const Hlo x, writer.input(node, 0));
  ASSAY_TRY(const Axes axes, reduced_axes(writer, node, x.rank()));
  const Hlo y = Compute(writer, x, axes);
  return writer.output(node, keep ? writer.keep_axes(y, x, axes) : y);
}

// The place of the largest (or smallest) element; NaN counts as the extreme, as in NumPy.
template <bool Largest>
Status best_place(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo x, writer.input(node, 0));
  ASSAY_TRY(const std::int64_t axis, axis_of(node, node.integer("axis", 0), std::max<std::int64_t>(x.rank(), 1)));
  const bool last = node.integer("select_last_index", 0) != 0, keep = node.integer("keepdims", 1) != 0;
  if (x.shape.empty()) return writer.output(node, writer.splat(0, DType::kInt64));
  const Hlo places = writer.iota(DType::kInt64, x.shape, axis);
  Shape shape = x.shape;
  shape.erase(shape.begin() + axis);
  const Hlo start = Largest ? writer.lowest(x.dtype) : writer.highest(x.dtype);
  const Hlo operands[] = {x, places, start,
                          writer.splat(last ? -1 : static_cast<double>(x.extent(axis)), DType::kInt64)};
  const Hlo results[] = {HloWriter::type(x.dtype, shape), HloWriter::type(DType::kInt64, shape)};
  const Hlo element = HloWriter::type(x.dtype), place = HloWriter::type(DType::kInt64);
  const std::pair<std::vector<Hlo>, HloWriter::Region> region{
      {element, place, element, place}, [last](HloWriter& w, std::span<const Hlo> a) -> std::vector<Hlo> {
        Hlo better = w.compare(Largest ? "GT" : "LT", a[0], a[2]);
        if (is_float(a[0].dtype)) better = w.binary("stablehlo.or", better, w.compare("NE", a[0], a[0]));
        // Equal elements, and two NaNs, are decided by their places.
        Hlo tie = w.compare("EQ", a[0], a[2]);
        if (is_float(a[0].dtype))
          tie = w.binary("stablehlo.or", tie,
                         w.binary("stablehlo.and", w.compare("NE", a[0], a[0]), w.compare("NE", a[2], a[2])));
        const Hlo sooner = w.compare(last ? "GT" : "LT", a[1], a[3]);
        const Hlo wins = w.select(tie, sooner, better);
        return {w.select(wins, a[0], a[2]), w.select(wins, a[1], a[3])};
      }};
  const Hlo found = writer.operation("stablehlo.reduce", operands, fmt::format("dimensions = array<i64: {}>", axis),
                                     results, {&region, 1})[1];
  return writer.output(node, keep ? writer.keep_axes(found, x, {axis}) : found);
}

// Doubles the reach of each partial result in every step.
template <bool Product>
Status accumulated(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo given, writer.input(node, 0));
  ASSAY_TRY(const std::vector<std::int64_t> chosen, writer.program().integers(node, node.inputs[1]));
  if (chosen.size() != 1) return refuse(node, "an axis that is not one number");
  ASSAY_TRY(const std::int64_t axis, axis_of(node, chosen[0], given.rank()));
  const auto place = static_cast<std::size_t>(axis);
  const bool backwards = node.integer("reverse", 0) != 0, exclusive = node.integer("exclusive", 0) != 0;
  const Hlo neutral = writer.splat(Product ? 1 : 0, given.dtype);
  const auto moved = [&](const Hlo& x, std::int64_t by) {
    Axes before(x.shape.size(), 0), after(x.shape.size(), 0);
    before[place] = by;
    after[place] = -by;
    return writer.pad(x, neutral, before, after);
  };
  Hlo x = backwards ? writer.reverse(given, {axis}) : given;
  if (exclusive) x = moved(x, 1);
  for (std::int64_t reach = 1; reach < x.extent(axis); reach *= 2)
    x = writer.binary(Product ? "stablehlo.multiply" : "stablehlo.add", x, moved(x, reach));
  return writer.output(node, backwards ? writer.reverse(x, {axis}) : x);
}

constexpr HloRow kReductions[] = {
    {{"", "ArgMax", 1, kNewestOpset, ""}, best_place<true>},
    {{"", "ArgMin", 1, kNewestOpset, ""}, best_place<false>},
    {{"", "CumProd", 26, kNewestOpset, "an axis that is not a constant"}, accumulated<true>},
    {{"", "CumSum", 11, kNewestOpset, "an axis that is not a constant"}, accumulated<false>},
    {{"", "ReduceL1", 1, kNewestOpset, "axes that are not constants"}, reduced<magnitudes_of>},
    {{"", "ReduceL2", 1, kNewestOpset, "axes that are not constants"}, reduced<length_of>},
    {{"", "ReduceLogSum", 1, kNewestOpset, "axes that are not constants"}, reduced<log_sum_of>},
    {{"", "ReduceLogSumExp", 1, kNewestOpset, "axes that are not constants"}, reduced<log_sum_exp_of>},
    {{"", "ReduceMax", 1, kNewestOpset, "axes that are not constants"}, reduced<largest_of>},
    {{"", "ReduceMean", 1, kNewestOpset, "axes that are not constants"}, reduced<mean_of>},
    {{"", "ReduceMin", 1, kNewestOpset, "axes that are not constants"}, reduced<smallest_of>},
    {{"", "ReduceProd", 1, kNewestOpset, "axes that are not constants"}, reduced<product_of>},
    {{"", "ReduceSum", 1, kNewestOpset, "axes that are not constants"}, reduced<sum_of>},
    {{"", "ReduceSumSquare", 1, kNewestOpset, "axes that are not constants"}, reduced<squares_of>},
};

}  // namespace

std::span<const HloRow> hlo_reductions() { return kReductions; }

}  // namespace assay::lowering::stablehlo
