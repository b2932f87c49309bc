// SPDX-License-Identifier: Apache-2.0
// Operators that move elements and compute none.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "models/graph/slice.hpp"
#include "models/lower/torchscript/groups.hpp"

namespace assay::lowering {
namespace torchscript::layout {
namespace {

using graph::Node;

// Reshape, Flatten, Squeeze, Unsqueeze: the result's shape says all.
Status reshape(TorchWriter& writer, const Node& node) {
  writer.out(node, torch_call("reshape", writer.in(node, 0), torch_list(writer.out_shape(node))));
  return {};
}

Status transpose(TorchWriter& writer, const Node& node) {
  std::vector<std::int64_t> order(writer.shape(node, 0).size());
  std::iota(order.rbegin(), order.rend(), 0);
  if (const auto given = node.integers("perm"); given && !given->empty()) order.assign(given->begin(), given->end());
  writer.out(node, torch_call("permute", writer.in(node, 0), torch_list(order)));
  return {};
}

Status concat(TorchWriter& writer, const Node& node) {
  ASSAY_TRY(const std::int64_t axis, axis_of(node, node.integer("axis", 0), writer.rank(node, 0)));
  writer.out(node, torch_call("cat", torch_list(writer.ins(node)), axis));
  return {};
}

Status split(TorchWriter& writer, const Node& node) {
  ASSAY_TRY(const std::int64_t axis, axis_of(node, node.integer("axis", 0), writer.rank(node, 0)));
  const std::string x = writer.in(node, 0);
  std::int64_t from = 0;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) return refuse(node, "an output without a name");
    const std::int64_t length = writer.out_shape(node, i)[static_cast<std::size_t>(axis)];
    writer.out(node, i, torch_call("narrow", x, axis, from, length));
    from += length;
  }
  return {};
}

Status slice(TorchWriter& writer, const Node& node) {
  ASSAY_TRY(const auto starts, integers_of(writer, node, "starts", 1));
  ASSAY_TRY(const auto ends, integers_of(writer, node, "ends", 2));
  ASSAY_TRY(const auto axes, integers_of(writer, node, "axes", 3));
  ASSAY_TRY(const auto steps, integers_at(writer, node, 4));
  if (!starts || !ends) return refuse(node, "a missing start or end");
  for (const auto* list : {&ends, &axes, &steps})
    if (*list && (*list)->size() != starts->size()) return refuse(node, "a list of another length");
  std::string x = writer.in(node, 0);
  for (std::size_t i = 0; i < starts->size(); ++i) {
    ASSAY_TRY(const std::int64_t axis,
              axis_of(node, axes ? (*axes)[i] : static_cast<std::int64_t>(i), writer.rank(node, 0)));
    const std::int64_t extent = writer.shape(node, 0)[static_cast<std::size_t>(axis)], by = steps ? (*steps)[i] : 1;
    if (by == 0) return refuse(node, "a step of 0");
    const graph::AxisSlice part = graph::slice_of((*starts)[i], (*ends)[i], by, extent);
    if (part.step > 0) {
      x = torch_call("slice", x, axis, part.begin, part.end(), part.step);
    } else if (part.step == -1 && part.count == extent) {
      x = torch_call("flip", x, fmt::format("[{}]", axis));
    } else {
      ASSAY_CHECK_OK(check_listed(node, static_cast<double>(part.count)));
      std::vector<std::int64_t> places;
      for (std::int64_t k = 0; k < part.count; ++k) places.push_back(part.begin + k * part.step);
      x = torch_call("index_select", x, axis, writer.integers(places));
    }
  }
  writer.out(node, starts->empty() ? torch_call("clone", x) : x);
  return {};
}

Status expand(TorchWriter& writer, const Node& node) {
  writer.out(node, torch_call("broadcast_to", writer.in(node, 0), torch_list(writer.out_shape(node))));
  return {};
}

Status tile(TorchWriter& writer, const Node& node) {
  ASSAY_TRY(const auto repeats, integers_of(writer, node, "repeats", 1));
  if (!repeats) return refuse(node, "a missing number of repeats");
  writer.out(node, torch_call("tile", writer.in(node, 0), torch_list(*repeats)));
  return {};
}

// Extents to add before and behind each axis.
struct Padding {
  std::vector<std::int64_t> before, behind;
};

Result<Padding> padding_of(TorchWriter& writer, const Node& node) {
  ASSAY_TRY(const auto pads, integers_of(writer, node, "pads", 1));
  ASSAY_TRY(const auto axes, integers_at(writer, node, 3));
  const std::size_t rank = writer.shape(node, 0).size();
  if (!pads) return refuse(node, "a missing padding");
  if (pads->size() != 2 * (axes ? axes->size() : rank)) return refuse(node, "pads of another rank");
  Padding padding{std::vector<std::int64_t>(rank), std::vector<std::int64_t>(rank)};
  const std::size_t count = pads->size() / 2;
  for (std::size_t i = 0; i < count; ++i) {
    ASSAY_TRY(const std::int64_t place,
              axis_of(node, axes ? (*axes)[i] : static_cast<std::int64_t>(i), static_cast<std::int64_t>(rank)));
    const auto axis = static_cast<std::size_t>(place);
    padding.before[axis] = (*pads)[i];
    padding.behind[axis] = (*pads)[count + i];
  }
  return padding;
}

// Negative padding removes.
std::string cropped(TorchWriter& writer, const Node& node, Padding& padding) {
  std::string x = writer.in(node, 0);
  for (std::size_t axis = 0; axis < padding.before.size(); ++axis) {
    const std::int64_t before = std::max<std::int64_t>(-padding.before[axis], 0);
    const std::int64_t behind = std::max<std::int64_t>(-padding.behind[axis], 0);
    if (before + behind > 0) x = torch_call("narrow", x, axis, before, writer.shape(node, 0)[axis] - before - behind);
    padding.before[axis] = std::max<std::int64_t>(padding.before[axis], 0);
    padding.behind[axis] = std::max<std::int64_t>(padding.behind[axis], 0);
  }
  return x;
}

// The place of an axis of `extent` elements that a mode reads for each place of the padded axis.
std::vector<std::int64_t> padded_places(std::int64_t extent, std::int64_t before, std::int64_t behind,
                                        std::string_view mode) {
  std::vector<std::int64_t> places;
  for (std::int64_t i = -before; i < extent + behind; ++i) {
    std::int64_t place = i;
    if (mode == "edge") place = std::clamp<std::int64_t>(i, 0, extent - 1);
    if (mode == "wrap") place = ((i % extent) + extent) % extent;
    if (mode == "reflect" && extent > 1) {
      const std::int64_t period = 2 * (extent - 1);
      place = ((i % period) + period) % period;
      if (place >= extent) place = period - place;
    }
    places.push_back(std::clamp<std::int64_t>(place, 0, extent - 1));
  }
  return places;
}

Status pad(TorchWriter& writer, const Node& node) {
  ASSAY_TRY(Padding padding, padding_of(writer, node));
  const std::string_view mode = node.text("mode", "constant");
  if (mode != "constant" && mode != "edge" && mode != "reflect" && mode != "wrap")
    return refuse(node, fmt::format("the mode '{}'", mode));
  const std::size_t rank = padding.before.size();
  std::string x = cropped(writer, node, padding);
  if (mode == "constant") {
    std::string fill = torch_number(double{node.number("value", 0.0F)});
    if (has_input(node, 2)) {
      fill = writer.scalar(node, 2);
    }
    std::vector<std::int64_t> pads;  // libtorch begins with the last axis
    for (std::size_t axis = rank; axis-- > 0;) {
      pads.push_back(padding.before[axis]);
      pads.push_back(padding.behind[axis]);
    }
    writer.out(node, torch_call("constant_pad_nd", x, torch_list(pads), fill));
    return {};
  }
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const std::int64_t before = padding.before[axis], behind = padding.behind[axis];
    if (before == 0 && behind == 0) continue;
    const std::int64_t extent = writer.out_shape(node)[axis] - before - behind;
    if (extent <= 0) return refuse(node, "the padding of an empty axis");
    ASSAY_CHECK_OK(check_listed(node, static_cast<double>(writer.out_shape(node)[axis])));
    x = torch_call("index_select", x, axis, writer.integers(padded_places(extent, before, behind, mode)));
  }
  writer.out(node, x);
  return {};
}

Status depth_to_space(TorchWriter& writer, const Node& node) {
  const Shape& s = writer.shape(node, 0);
  const std::int64_t b = node.integer("blocksize", 1), depth = s[1] / (b * b);
  const bool columns = node.text("mode", "DCR") == "CRD";
  const std::vector<std::int64_t> apart =
      columns ? std::vector{s[0], depth, b, b, s[2], s[3]} : std::vector{s[0], b, b, depth, s[2], s[3]};
  const std::vector<std::int64_t> order =
      columns ? std::vector<std::int64_t>{0, 1, 4, 2, 5, 3} : std::vector<std::int64_t>{0, 3, 4, 1, 5, 2};
  const std::string moved =
      torch_call("permute", torch_call("reshape", writer.in(node, 0), torch_list(apart)), torch_list(order));
  writer.out(node, torch_call("reshape", moved, torch_list(writer.out_shape(node))));
  return {};
}

Status space_to_depth(TorchWriter& writer, const Node& node) {
  const Shape& s = writer.shape(node, 0);
  const std::int64_t b = node.integer("blocksize", 1);
  const std::vector<std::int64_t> apart{s[0], s[1], s[2] / b, b, s[3] / b, b};
  const std::string moved = torch_call("permute", torch_call("reshape", writer.in(node, 0), torch_list(apart)),
                                       node.text("mode", "DCR") == "CRD" ? "[0, 1, 3, 5, 2, 4]" : "[0, 3, 5, 1, 2, 4]");
  writer.out(node, torch_call("reshape", moved, torch_list(writer.out_shape(node))));
  return {};
}

Status dropout(TorchWriter& writer, const Node& node) {
  if (has_input(node, 2)) {
    ASSAY_TRY(const std::vector<std::int64_t> training, writer.program().integers(node, node.inputs[2]));
    if (!training.empty() && training.front() != 0) return refuse(node, "the mode of training");
  }
  writer.is(node.outputs[0], writer.in(node, 0));
  if (node.outputs.size() > 1 && !node.outputs[1].empty())
    writer.out(node, 1, torch_call("ones_like", writer.in(node, 0), "dtype=11"));
  return {};
}

Status trilu(TorchWriter& writer, const Node& node) {
  std::int64_t diagonal = 0;
  if (has_input(node, 1)) {
    ASSAY_TRY(const std::vector<std::int64_t> k, writer.program().integers(node, node.inputs[1]));
    if (!k.empty()) diagonal = k.front();
  }
  const DType dtype = writer.dtype(node, 0);
  return out_as(
      writer, node, 0,
      torch_call(node.integer("upper", 1) != 0 ? "triu" : "tril", computable(writer.in(node, 0), dtype), diagonal));
}

}  // namespace
}  // namespace torchscript::layout

TorchOperators torch_layout() {
  using namespace torchscript::layout;
  return {since(4, "Concat", concat),
          since(1, "DepthToSpace", depth_to_space),
          since(7, "Dropout", dropout, "the training mode"),
          since(8, "Expand", expand),
          since(1, "Flatten", reshape),
          since(2, "Pad", pad, "padding that is not a constant"),
          since(5, "Reshape", reshape),
          since(1, "Slice", slice, "bounds that are not constants"),
          since(1, "SpaceToDepth", space_to_depth),
          since(2, "Split", split),
          since(1, "Squeeze", reshape),
          since(6, "Tile", tile, "a number of repeats that is not a constant"),
          since(1, "Transpose", transpose),
          since(14, "Trilu", trilu),
          since(1, "Unsqueeze", reshape)};
}

}  // namespace assay::lowering
