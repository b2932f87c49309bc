// SPDX-License-Identifier: Apache-2.0
// Operators that move elements and compute nothing.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "models/graph/slice.hpp"
#include "models/lower/stablehlo/elementwise.hpp"

namespace assay::lowering::stablehlo {
namespace {

const Shape& shape_made(HloWriter& writer, const graph::Node& node, std::size_t index = 0) {
  return writer.program().shape(node.outputs[index]);
}

// Reshape, Squeeze, Unsqueeze, Flatten: the graph knows the shape of the result.
Status reshaped(HloWriter& writer, const graph::Node& node) {
  const Shape& to = shape_made(writer, node);
  if (writer.prefers_last(node, 0)) {
    // Without extents in space the order of the axes does not matter.
    ASSAY_TRY(const Hlo x, writer.input_last(node, 0));
    if (std::all_of(x.shape.begin() + 1, x.shape.end() - 1, [](std::int64_t extent) { return extent == 1; }))
      return writer.output(node, writer.reshape(x, to));
  }
  ASSAY_TRY(const Hlo x, writer.input(node, 0));
  return writer.output(node, writer.reshape(x, to));
}

Status transposed(HloWriter& writer, const graph::Node& node) {
  const std::int64_t rank = static_cast<std::int64_t>(shape_made(writer, node).size());
  Axes permutation;
  if (const auto given = node.integers("perm"); given && !given->empty()) {
    for (const std::int64_t each : *given) {
      ASSAY_TRY(const std::int64_t axis, axis_of(node, each, rank));
      permutation.push_back(axis);
    }
  } else {
    for (std::int64_t axis = rank; axis-- > 0;) permutation.push_back(axis);
  }
  // A change of the order of channels is only a change of what the value is called.
  if (rank >= 3 && permutation == order_to_last(rank) && writer.prefers_last(node, 0)) {
    ASSAY_TRY(const Hlo x, writer.input_last(node, 0));
    return writer.output(node, x);
  }
  ASSAY_TRY(const Hlo x, writer.input(node, 0));
  if (rank >= 4 && permutation == order_from_last(rank)) return writer.output_last(node, 0, x);
  return writer.output(node, writer.transpose(x, permutation));
}

Status joined_along(HloWriter& writer, const graph::Node& node) {
  const std::int64_t rank = static_cast<std::int64_t>(shape_made(writer, node).size());
  ASSAY_TRY(const std::int64_t axis, axis_of(node, node.integer("axis", 0), rank));
  bool last = true;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) last = last && writer.prefers_last(node, i);
  std::vector<Hlo> values;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    ASSAY_TRY(Hlo value, last ? writer.input_last(node, i) : writer.input(node, i));
    values.push_back(std::move(value));
  }
  if (!last) return writer.output(node, writer.concatenate(values, axis));
  const std::int64_t moved = axis == 0 ? 0 : axis == 1 ? rank - 1 : axis - 1;
  return writer.output_last(node, 0, writer.concatenate(values, moved));
}

Status split_along(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo x, writer.input(node, 0));
  ASSAY_TRY(const std::int64_t axis, axis_of(node, node.integer("axis", 0), x.rank()));
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) return refuse(node, "an output without a name");
    const std::int64_t extent = shape_made(writer, node, i)[static_cast<std::size_t>(axis)];
    ASSAY_CHECK_OK(writer.output(node, i, writer.slice_axis(x, axis, begin, begin + extent)));
    begin += extent;
  }
  return {};
}

// Attributes before opset 10, then inputs. Steps are only ever an input.
Result<std::optional<Axes>> slice_numbers(HloWriter& writer, const graph::Node& node, std::size_t index,
                                          const char* name) {
  const auto attribute = name == nullptr ? std::nullopt : node.integers(name);
  if (attribute) return Axes(attribute->begin(), attribute->end());
  if (!has_input(node, index)) return std::nullopt;
  ASSAY_TRY(Axes numbers, writer.program().integers(node, node.inputs[index]));
  return numbers;
}

Status sliced(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo given, writer.input(node, 0));
  ASSAY_TRY(const auto starts, slice_numbers(writer, node, 1, "starts"));
  ASSAY_TRY(const auto ends, slice_numbers(writer, node, 2, "ends"));
  ASSAY_TRY(const auto axes, slice_numbers(writer, node, 3, "axes"));
  ASSAY_TRY(const auto steps, slice_numbers(writer, node, 4, nullptr));
  if (!starts || !ends) return refuse(node, "a slice without bounds");
  for (const auto* list : {&ends, &axes, &steps})
    if (*list && (*list)->size() != starts->size()) return refuse(node, "a list of another length");
  Axes begin(given.shape.size(), 0), end = given.shape, step(given.shape.size(), 1), reversed;
  for (std::size_t i = 0; i < starts->size(); ++i) {
    ASSAY_TRY(const std::int64_t axis, axis_of(node, axes ? (*axes)[i] : static_cast<std::int64_t>(i), given.rank()));
    const auto at = static_cast<std::size_t>(axis);
    const std::int64_t by = steps ? (*steps)[i] : 1;
    if (by == 0) return refuse(node, "a step of 0");
    graph::AxisSlice part = graph::slice_of((*starts)[i], (*ends)[i], by, given.shape[at]);
    if (part.step < 0) {  // from high to low: a slice of the reversed axis
      reversed.push_back(axis);
      part.begin = given.shape[at] - 1 - part.begin;
      part.step = -part.step;
    }
    begin[at] = part.begin;
    end[at] = part.end();
    step[at] = part.step;
  }
  return writer.output(node, writer.slice(writer.reverse(given, reversed), begin, end, step));
}

Status expanded(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo x, writer.input(node, 0));
  return writer.output(node, writer.broadcast(x, shape_made(writer, node)));
}

Status tiled(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo x, writer.input(node, 0));
  ASSAY_TRY(const Axes repeats, writer.program().integers(node, node.inputs[1]));
  Shape apart;
  Axes axes;
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    apart.push_back(repeats[i]);
    axes.push_back(static_cast<std::int64_t>(apart.size()));
    apart.push_back(x.shape[i]);
  }
  return writer.output(node, writer.reshape(writer.broadcast_in_dim(x, apart, axes), shape_made(writer, node)));
}

// Reflection, the edge and wrapping, one axis after the other: pieces of the axis are put beside it.
Hlo padded_axis(HloWriter& writer, const Hlo& x, std::int64_t axis, std::int64_t before, std::int64_t after,
                std::string_view mode) {
  const std::int64_t extent = x.extent(axis);
  if (before < 0 || after < 0) {
    const Hlo cut =
        writer.slice_axis(x, axis, std::max<std::int64_t>(-before, 0), extent - std::max<std::int64_t>(-after, 0));
    return padded_axis(writer, cut, axis, std::max<std::int64_t>(before, 0), std::max<std::int64_t>(after, 0), mode);
  }
  if (before == 0 && after == 0) return x;
  if (mode == "edge") {
    const auto edge = [&](std::int64_t at, std::int64_t count) {
      Shape shape = x.shape;
      shape[static_cast<std::size_t>(axis)] = count;
      return writer.broadcast(writer.slice_axis(x, axis, at, at + 1), shape);
    };
    std::vector<Hlo> pieces;
    if (before > 0) pieces.push_back(edge(0, before));
    pieces.push_back(x);
    if (after > 0) pieces.push_back(edge(extent - 1, after));
    return writer.concatenate(pieces, axis);
  }
  // At most one period is added at once.
  const std::int64_t most = mode == "reflect" ? std::max<std::int64_t>(extent - 1, 1) : extent;
  const std::int64_t left = std::min(before, most), right = std::min(after, most);
  std::vector<Hlo> pieces;
  if (mode == "reflect") {
    if (left > 0 && extent > 1) pieces.push_back(writer.reverse(writer.slice_axis(x, axis, 1, 1 + left), {axis}));
    if (left > 0 && extent == 1) pieces.push_back(x);
    pieces.push_back(x);
    if (right > 0 && extent > 1)
      pieces.push_back(writer.reverse(writer.slice_axis(x, axis, extent - 1 - right, extent - 1), {axis}));
    if (right > 0 && extent == 1) pieces.push_back(x);
  } else {
    if (left > 0) pieces.push_back(writer.slice_axis(x, axis, extent - left, extent));
    pieces.push_back(x);
    if (right > 0) pieces.push_back(writer.slice_axis(x, axis, 0, right));
  }
  return padded_axis(writer, writer.concatenate(pieces, axis), axis, before - left, after - right, mode);
}

Status padded(HloWriter& writer, const graph::Node& node) {
  Axes pads;
  if (const auto attribute = node.integers("pads")) {
    pads.assign(attribute->begin(), attribute->end());
  } else {
    ASSAY_TRY(pads, writer.program().integers(node, node.inputs[1]));
  }
  const std::string_view mode = node.text("mode", "constant");
  const bool last = mode == "constant" && writer.prefers_last(node, 0) && !has_input(node, 3);
  ASSAY_TRY(Hlo x, last ? writer.input_last(node, 0) : writer.input(node, 0));
  Axes axes = all_axes(x);
  if (has_input(node, 3)) {
    ASSAY_TRY(axes, writer.program().integers(node, node.inputs[3]));
  }
  if (pads.size() != 2 * axes.size()) return refuse(node, "pads of another rank");
  Axes before(x.shape.size(), 0), after(x.shape.size(), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    ASSAY_TRY(const std::int64_t axis, axis_of(node, axes[i], x.rank()));
    before[static_cast<std::size_t>(axis)] = pads[i];
    after[static_cast<std::size_t>(axis)] = pads[axes.size() + i];
  }
  if (mode == "constant") {
    Hlo scalar = writer.splat(node.number("value", 0), x.dtype);
    if (has_input(node, 2)) {
      ASSAY_TRY(const Hlo given, writer.input(node, 2));
      scalar = writer.reshape(given, {});
    }
    if (last) {
      channels_to_last(before);
      channels_to_last(after);
      return writer.output_last(node, 0, writer.pad(x, scalar, before, after));
    }
    return writer.output(node, writer.pad(x, scalar, before, after));
  }
  if (mode != "edge" && mode != "reflect" && mode != "wrap") return refuse(node, fmt::format("the mode '{}'", mode));
  for (std::int64_t axis = 0; axis < x.rank(); ++axis) {
    const std::int64_t front = before[static_cast<std::size_t>(axis)], behind = after[static_cast<std::size_t>(axis)];
    const double left = static_cast<double>(x.extent(axis)) + static_cast<double>(std::min<std::int64_t>(front, 0)) +
                        static_cast<double>(std::min<std::int64_t>(behind, 0));
    if (left < 1 && (front > 0 || behind > 0)) return refuse(node, "the padding of an empty axis");
    x = padded_axis(writer, x, axis, front, behind, mode);
  }
  return writer.output(node, x);
}

Status depth_to_space(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo x, writer.input(node, 0));
  const std::int64_t size = node.integer("blocksize", 1), depth = x.extent(1) / (size * size);
  const std::int64_t n = x.extent(0), rows = x.extent(2), columns = x.extent(3);
  const bool depth_first = node.text("mode", "DCR") == "DCR";
  const Hlo apart = writer.reshape(
      x, depth_first ? Shape{n, size, size, depth, rows, columns} : Shape{n, depth, size, size, rows, columns});
  const Hlo moved = writer.transpose(apart, depth_first ? Axes{0, 3, 4, 1, 5, 2} : Axes{0, 1, 4, 2, 5, 3});
  return writer.output(node, writer.reshape(moved, shape_made(writer, node)));
}

Status space_to_depth(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo x, writer.input(node, 0));
  const std::int64_t size = node.integer("blocksize", 1), rows = x.extent(2) / size, columns = x.extent(3) / size;
  const Hlo apart = writer.reshape(x, {x.extent(0), x.extent(1), rows, size, columns, size});
  const bool depth_first = node.text("mode", "DCR") == "DCR";
  const Hlo moved = writer.transpose(apart, depth_first ? Axes{0, 3, 5, 1, 2, 4} : Axes{0, 1, 3, 5, 2, 4});
  return writer.output(node, writer.reshape(moved, shape_made(writer, node)));
}

Status triangle(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo x, writer.input(node, 0));
  std::int64_t diagonal = 0;
  if (has_input(node, 1)) {
    ASSAY_TRY(const auto given, writer.program().integers(node, node.inputs[1]));
    diagonal = given.empty() ? 0 : given[0];
  }
  const Hlo rows = writer.iota(DType::kInt64, x.shape, x.rank() - 2),
            columns = writer.iota(DType::kInt64, x.shape, x.rank() - 1);
  const Hlo shifted = writer.add(rows, writer.splat_like(static_cast<double>(diagonal), rows));
  const Hlo kept = writer.compare(node.integer("upper", 1) != 0 ? "GE" : "LE", columns, shifted);
  return writer.output(node, writer.select(kept, x, writer.splat_like(0, x)));
}

// Sequences of different lengths, each reversed up to its own.
Status reversed_sequences(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo x, writer.input(node, 0));
  ASSAY_TRY(const Hlo lengths, writer.input(node, 1));
  const std::int64_t time = node.integer("time_axis", 0), batch = node.integer("batch_axis", 1);
  const Hlo places = writer.iota(DType::kInt64, {x.extent(0), x.extent(1)}, time);
  const Hlo ends = writer.broadcast_in_dim(writer.convert(lengths, DType::kInt64), places.shape, {batch});
  const Hlo mirrored = writer.subtract(writer.subtract(ends, writer.splat_like(1, places)), places);
  const Hlo from = writer.select(writer.compare("LT", places, ends), mirrored, places);
  const Hlo other = writer.iota(DType::kInt64, places.shape, batch);
  const Shape pair{x.extent(0), x.extent(1), 1};
  const Hlo indices[] = {writer.reshape(time == 0 ? from : other, pair),
                         writer.reshape(time == 0 ? other : from, pair)};
  return writer.output(node, writer.gather_nd(x, writer.concatenate(indices, 2)));
}

// The center is cropped or padded with zeros, axis by axis.
Status centered(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo x, writer.input(node, 0));
  const Shape& to = shape_made(writer, node);
  Axes before, after;
  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::int64_t difference = to[i] - x.shape[i];
    // A crop begins at half of what is cut off, rounded down; so does padding.
    const std::int64_t first = difference >= 0 ? difference / 2 : -((-difference) / 2);
    before.push_back(first);
    after.push_back(difference - first);
  }
  return writer.output(node, writer.pad(x, writer.splat(0, x.dtype), before, after));
}

constexpr std::string_view kFixed = "sizes, axes and bounds that are not constants";

constexpr HloRow kLayout[] = {
    {{"", "CenterCropPad", 18, kNewestOpset, kFixed}, centered},
    {{"", "Concat", 4, kNewestOpset, ""}, joined_along},
    {{"", "DepthToSpace", 1, kNewestOpset, ""}, depth_to_space},
    {{"", "Expand", 8, kNewestOpset, kFixed}, expanded},
    {{"", "Flatten", 1, kNewestOpset, ""}, reshaped},
    {{"", "Pad", 2, kNewestOpset, kFixed}, padded},
    {{"", "Reshape", 5, kNewestOpset, kFixed}, reshaped},
    {{"", "ReverseSequence", 10, kNewestOpset, ""}, reversed_sequences},
    {{"", "Slice", 1, kNewestOpset, kFixed}, sliced},
    {{"", "SpaceToDepth", 1, kNewestOpset, ""}, space_to_depth},
    {{"", "Split", 2, kNewestOpset, kFixed}, split_along},
    {{"", "Squeeze", 1, kNewestOpset, kFixed}, reshaped},
    {{"", "Tile", 6, kNewestOpset, kFixed}, tiled},
    {{"", "Transpose", 1, kNewestOpset, ""}, transposed},
    {{"", "Trilu", 14, kNewestOpset, kFixed}, triangle},
    {{"", "Unsqueeze", 1, kNewestOpset, kFixed}, reshaped},
};

}  // namespace

std::span<const HloRow> hlo_layout() { return kLayout; }

}  // namespace assay::lowering::stablehlo
