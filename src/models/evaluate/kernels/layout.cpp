// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <utility>

#include "models/evaluate/kernels/elementwise.hpp"
#include "models/evaluate/strides.hpp"
#include "models/graph/slice.hpp"

namespace assay::evaluate {
namespace {

Outputs identity(const Call& call) { return Values{call.operand(0)}; }

Outputs dropout(const Call& call) {
  const auto number = [&](std::size_t i, double otherwise) {
    return call.has(i) && call.operand(i).count() == 1 ? call.operand(i).number(0) : otherwise;
  };
  if (number(2, 0) != 0 && number(1, 0.5) != 0) return call.unsupported("its training mode");
  Values results{call.operand(0)};
  results.emplace_back(DType::kBool, call.shape(0), Integers(call.operand(0).count(), 1));
  return results;
}

Outputs shaped(const Call& call, Shape shape) {
  ASSAY_TRY(const std::size_t count, call.elements_of(shape));
  if (count != call.operand(0).count())
    return call.invalid("the shape " + to_string(shape) + " does not have as many elements as " +
                        to_string(call.shape(0)));
  return Values{call.operand(0).with_shape(std::move(shape))};
}

Outputs reshape(const Call& call) {
  ASSAY_TRY(Shape shape, call.list("shape", 1));
  const bool keeps_zero = call.integer("allowzero", 0) != 0;
  std::int64_t known = 1, open = -1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && !keeps_zero) {
      if (i >= call.shape(0).size()) return call.invalid("its shape has a 0 beyond the axes of the input");
      shape[i] = call.shape(0)[i];
    }
    if (shape[i] == -1)
      open = static_cast<std::int64_t>(i);
    else
      known = times(known, shape[i]);
    if (shape[i] < -1) return call.invalid("its shape has a negative extent");
  }
  if (open >= 0)
    shape[static_cast<std::size_t>(open)] = known == 0 ? 0 : static_cast<std::int64_t>(call.operand(0).count()) / known;
  return shaped(call, std::move(shape));
}

Outputs flatten(const Call& call) {
  const std::int64_t rank = call.operand(0).rank(), given = call.integer("axis", 1),
                     axis = given < 0 ? given + rank : given;
  if (axis < 0 || axis > rank) return call.invalid("an axis beyond the input");
  const Around parts = around(call.shape(0), axis, rank);
  return shaped(call, {parts.outer, parts.extent});
}

Outputs squeeze(const Call& call) {
  ASSAY_TRY(const Integers given, call.list("axes", 1));
  ASSAY_TRY(const std::vector<std::int64_t> axes, call.axes(given, call.operand(0).rank()));
  Shape shape;
  for (std::int64_t i = 0; i < call.operand(0).rank(); ++i) {
    const bool named = std::ranges::find(axes, i) != axes.end();
    if (named || (given.empty() && call.operand(0).extent(i) == 1)) continue;
    shape.push_back(call.operand(0).extent(i));
  }
  return shaped(call, std::move(shape));
}

Outputs unsqueeze(const Call& call) {
  ASSAY_TRY(const Integers given, call.list("axes", 1));
  const std::int64_t rank = call.operand(0).rank() + static_cast<std::int64_t>(given.size());
  ASSAY_TRY(const std::vector<std::int64_t> axes, call.axes(given, rank));
  Shape shape;
  std::size_t next = 0;
  for (std::int64_t i = 0; i < rank; ++i)
    shape.push_back(std::ranges::find(axes, i) != axes.end() ? 1 : call.shape(0)[next++]);
  return shaped(call, std::move(shape));
}

Outputs transpose(const Call& call) {
  const Value& x = call.operand(0);
  std::vector<std::int64_t> order(static_cast<std::size_t>(x.rank()));
  std::iota(order.rbegin(), order.rend(), std::int64_t{0});
  if (const auto given = call.node().integers("perm")) {
    ASSAY_TRY(order, call.axes(*given, x.rank()));
    if (order.size() != x.shape().size()) return call.invalid("perm does not name all axes");
  }
  const std::vector<std::int64_t> strides = strides_of(x.shape());
  Strided walk;
  for (const std::int64_t axis : order) {
    walk.shape.push_back(x.extent(axis));
    walk.strides.push_back(strides[static_cast<std::size_t>(axis)]);
  }
  return Values{gathered(x, walk)};
}

Outputs expand(const Call& call) {
  ASSAY_TRY(const auto wanted, call.integers(1));
  const Shape to(wanted.begin(), wanted.end());
  const std::optional<Shape> shape = broadcast(call.shape(0), to);
  if (!shape) return call.invalid("the shape " + to_string(call.shape(0)) + " cannot be repeated to " + to_string(to));
  ASSAY_CHECK_OK(call.elements_of(*shape));
  return Values{repeated(call.operand(0), *shape)};
}

Outputs concat(const Call& call) {
  const std::int64_t rank = call.operand(0).rank();
  ASSAY_TRY(const std::int64_t axis, call.axis(call.integer("axis", call.opset() < 4 ? 1 : 0), rank));
  Shape shape = call.shape(0);
  shape[static_cast<std::size_t>(axis)] = 0;
  for (std::size_t i = 0; i < call.operand_count(); ++i) {
    Shape other = call.shape(i);
    if (static_cast<std::int64_t>(other.size()) != rank || call.operand(i).is_real() != call.operand(0).is_real())
      return call.invalid("its operands have different ranks or types");
    shape[static_cast<std::size_t>(axis)] += other[static_cast<std::size_t>(axis)];
    other[static_cast<std::size_t>(axis)] = call.shape(0)[static_cast<std::size_t>(axis)];
    if (other != call.shape(0)) return call.invalid("its operands differ beside the axis");
  }
  ASSAY_TRY(const std::size_t count, call.elements_of(shape));
  return with_elements(call.operand(0), [&](auto first) -> Outputs {
    using T = std::remove_cvref_t<decltype(first[0])>;
    std::vector<T> y;
    y.reserve(count);
    const std::int64_t outer = count == 0 ? 0 : around(call.shape(0), axis).outer;
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::size_t i = 0; i < call.operand_count(); ++i) {
        const Around parts = around(call.shape(i), axis);
        const auto size = static_cast<std::size_t>(parts.extent * parts.inner);
        const auto add = [&](auto all) {
          const auto part = all.subspan(static_cast<std::size_t>(o) * size, size);
          for (const auto one : part) y.push_back(static_cast<T>(one));
        };
        with_elements(call.operand(i), add);
      }
    return Values{Value(call.dtype(0), std::move(shape), std::move(y))};
  });
}

// The part of the value with these places of one axis.
Value part_of(const Value& x, std::int64_t axis, std::int64_t first, std::int64_t count) {
  Strided walk{.shape = x.shape(), .strides = strides_of(x.shape())};
  walk.shape[static_cast<std::size_t>(axis)] = count;
  walk.offset = first * walk.strides[static_cast<std::size_t>(axis)];
  return gathered(x, walk);
}

Outputs split(const Call& call) {
  const Value& x = call.operand(0);
  ASSAY_TRY(const std::int64_t axis, call.axis(call.integer("axis", 0), x.rank()));
  ASSAY_TRY(Integers sizes, call.list("split", 1));
  const std::int64_t extent = x.extent(axis);
  if (sizes.empty()) {
    const auto outputs = static_cast<std::int64_t>(call.node().outputs.size());
    const std::int64_t parts = call.integer("num_outputs", outputs);
    if (parts < 1 || parts > outputs) return call.invalid("num_outputs is not the number of its outputs");
    const std::int64_t each = (extent + parts - 1) / parts;
    for (std::int64_t i = 0; i < parts; ++i)
      sizes.push_back(std::max<std::int64_t>(0, std::min(each, extent - i * each)));
  }
  Values results;
  std::int64_t first = 0;
  for (const std::int64_t size : sizes) {
    if (size < 0 || size > extent - first) return call.invalid("its parts do not fit the axis");
    results.push_back(part_of(x, axis, first, size));
    first += size;
  }
  if (first != extent) return call.invalid("its parts do not fit the axis");
  return results;
}

Outputs slice(const Call& call) {
  const Value& x = call.operand(0);
  ASSAY_TRY(const Integers starts, call.list("starts", 1));
  ASSAY_TRY(const Integers ends, call.list("ends", 2));
  ASSAY_TRY(Integers given, call.list("axes", 3));
  Integers steps(starts.size(), 1);
  if (call.has(4)) {
    ASSAY_TRY(steps, call.list("steps", 4));
  }
  if (given.empty()) {
    given.resize(starts.size());
    std::iota(given.begin(), given.end(), std::int64_t{0});
  }
  ASSAY_TRY(const std::vector<std::int64_t> axes, call.axes(given, x.rank()));
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    return call.invalid("lists of different lengths");
  Strided walk{.shape = x.shape(), .strides = strides_of(x.shape())};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    if (steps[i] == 0) return call.invalid("a step of 0");
    const graph::AxisSlice part = graph::slice_of(starts[i], ends[i], steps[i], x.shape()[axis]);
    walk.offset += part.begin * walk.strides[axis];
    walk.shape[axis] = part.count;
    walk.strides[axis] *= part.step;
  }
  if (count_of(walk.shape) == 0) walk.offset = 0;
  return Values{gathered(x, walk)};
}

Outputs tile(const Call& call) {
  const Value& x = call.operand(0);
  ASSAY_TRY(const auto repeats, call.integers(1));
  if (repeats.size() != x.shape().size()) return call.invalid("it does not have one repeat for each axis");
  Shape walked;
  std::vector<std::int64_t> strides;
  const std::vector<std::int64_t> own = strides_of(x.shape());
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    if (repeats[i] < 0) return call.invalid("a repeat below 0");
    walked.insert(walked.end(), {repeats[i], x.shape()[i]});
    strides.insert(strides.end(), {0, own[i]});
  }
  ASSAY_CHECK_OK(call.elements_of(walked));
  Shape shape;
  for (std::size_t i = 0; i < repeats.size(); ++i) shape.push_back(x.shape()[i] * repeats[i]);
  return Values{gathered(x, {walked, strides}).with_shape(std::move(shape))};
}

/// What is added to an axis, or cut off from it if it is negative.
struct Padding {
  std::int64_t before = 0, after = 0;
};

// Where each place of a padded axis comes from; −1: the constant.
std::vector<std::int64_t> padded_axis(std::string_view mode, std::int64_t extent, const Padding& padding) {
  std::vector<std::int64_t> places;
  for (std::int64_t i = -padding.before; i < extent + padding.after; ++i) {
    std::int64_t at = i;
    if (mode == "constant") {
      if (at < 0 || at >= extent) at = -1;
    } else if (extent == 0) {
      at = -1;
    } else if (mode == "edge") {
      at = std::clamp<std::int64_t>(at, 0, extent - 1);
    } else if (mode == "wrap") {
      at = (at % extent + extent) % extent;
    } else {  // reflect: the edge itself is not repeated
      const std::int64_t period = std::max<std::int64_t>(2 * (extent - 1), 1);
      at = (at % period + period) % period;
      if (at >= extent) at = period - at;
    }
    places.push_back(at);
  }
  return places;
}

// Chooses places along every axis of a result of this shape; a place with −1 on any axis is outside.
Value chosen(const Value& x, Shape shape, const std::vector<std::vector<std::int64_t>>& axes, double outside) {
  const std::vector<std::int64_t> strides = strides_of(x.shape());
  std::vector<std::int64_t> all(static_cast<std::size_t>(count_of(shape)));
  std::vector<std::size_t> index(shape.size(), 0);
  for (std::int64_t& place : all) {
    for (std::size_t i = 0; i < index.size() && place >= 0; ++i) {
      const std::int64_t at = axes[i][index[i]];
      place = at < 0 ? -1 : place + at * strides[i];
    }
    for (std::size_t i = index.size(); i-- > 0;) {
      if (++index[i] < axes[i].size()) break;
      index[i] = 0;
    }
  }
  return gathered(x, std::move(shape), all, outside);
}

// The input with the padding of each of its axes.
Outputs padded(const Call& call, const std::vector<Padding>& paddings, std::string_view mode, double constant) {
  const Value& x = call.operand(0);
  Shape shape = x.shape();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const auto [before, after] = paddings[i];
    // Sums of such numbers do not overflow. Larger ones fit no axis.
    if (std::min(before, after) < -kMostElements || std::max(before, after) > kMostElements)
      return call.invalid("padding that does not fit the axis");
    shape[i] += before + after;
  }
  ASSAY_CHECK_OK(call.elements_of(shape));
  std::vector<std::vector<std::int64_t>> places;
  for (std::size_t i = 0; i < shape.size(); ++i) places.push_back(padded_axis(mode, x.shape()[i], paddings[i]));
  return Values{chosen(x, std::move(shape), places, constant)};
}

Outputs pad(const Call& call) {
  const Value& x = call.operand(0);
  ASSAY_TRY(const Integers pads, call.list(call.opset() < 2 ? "paddings" : "pads", 1));
  std::vector<std::int64_t> axes(x.shape().size());
  std::iota(axes.begin(), axes.end(), std::int64_t{0});
  if (call.has(3)) {
    ASSAY_TRY(const auto given, call.integers(3));
    ASSAY_TRY(axes, call.axes(given, x.rank()));
  }
  if (pads.size() != 2 * axes.size()) return call.invalid("it does not have two numbers for each axis");
  double constant = call.number("value", 0);
  if (call.has(2)) {
    ASSAY_TRY(constant, call.scalar(2));
  }
  std::vector<Padding> paddings(x.shape().size());
  for (std::size_t i = 0; i < axes.size(); ++i)
    paddings[static_cast<std::size_t>(axes[i])] = {pads[i], pads[axes.size() + i]};
  return padded(call, paddings, call.text("mode", "constant"), constant);
}

Outputs center_crop_pad(const Call& call) {
  const Value& x = call.operand(0);
  ASSAY_TRY(const auto target, call.integers(1));
  std::vector<std::int64_t> axes(x.shape().size());
  std::iota(axes.begin(), axes.end(), std::int64_t{0});
  if (const auto given = call.node().integers("axes")) {
    ASSAY_TRY(axes, call.axes(*given, x.rank()));
  }
  if (axes.size() != target.size()) return call.invalid("it does not have one size for each axis");
  std::vector<Padding> paddings(x.shape().size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (target[i] < 0) return call.invalid("a size below 0");
    // The odd element is at the end, whether it is added or cut off.
    const std::int64_t difference = target[i] - x.extent(axes[i]), before = difference / 2;
    paddings[static_cast<std::size_t>(axes[i])] = {before, difference - before};
  }
  return padded(call, paddings, "constant", 0);
}

constexpr std::int64_t kMostBlock = std::int64_t{1} << 20;

Outputs depth_to_space(const Call& call) {
  const Value& x = call.operand(0);
  const std::int64_t b = call.integer("blocksize", 0);
  if (x.rank() != 4 || b < 1 || b > kMostBlock || x.extent(1) % (b * b) != 0)
    return call.invalid("its blocksize does not fit the input");
  const std::int64_t n = x.extent(0), c = x.extent(1) / (b * b), h = x.extent(2), w = x.extent(3), plane = h * w;
  const bool column_first = call.text("mode", "DCR") == "CRD";
  const std::int64_t of_c = column_first ? b * b * plane : plane, of_row = column_first ? b * plane : b * c * plane,
                     of_column = column_first ? plane : c * plane;
  const Shape apart{n, c, h, b, w, b};
  ASSAY_CHECK_OK(call.elements_of(apart));
  return Values{
      gathered(x, {apart, {x.extent(1) * plane, of_c, w, of_row, 1, of_column}}).with_shape({n, c, h * b, w * b})};
}

Outputs space_to_depth(const Call& call) {
  const Value& x = call.operand(0);
  const std::int64_t b = call.integer("blocksize", 0);
  if (x.rank() != 4 || b < 1 || b > kMostBlock || x.extent(2) % b != 0 || x.extent(3) % b != 0)
    return call.invalid("its blocksize does not fit the input");
  const std::int64_t n = x.extent(0), c = x.extent(1), h = x.extent(2) / b, w = x.extent(3) / b, row = x.extent(3),
                     plane = x.extent(2) * row;
  const bool by_channel = call.text("mode", "DCR") == "CRD";
  const Strided walk = by_channel ? Strided{{n, c, b, b, h, w}, {c * plane, plane, row, 1, b * row, b}}
                                  : Strided{{n, b, b, c, h, w}, {c * plane, row, 1, plane, b * row, b}};
  ASSAY_CHECK_OK(call.elements_of(walk.shape));
  return Values{gathered(x, walk).with_shape({n, c * b * b, h, w})};
}

Outputs reverse_sequence(const Call& call) {
  const Value& x = call.operand(0);
  ASSAY_TRY(const auto lengths, call.integers(1));
  ASSAY_TRY(const std::int64_t time, call.axis(call.integer("time_axis", 0), x.rank()));
  ASSAY_TRY(const std::int64_t batch, call.axis(call.integer("batch_axis", 1), x.rank()));
  if (time == batch || static_cast<std::int64_t>(lengths.size()) != x.extent(batch))
    return call.invalid("its lengths do not fit the input");
  const std::vector<std::int64_t> strides = strides_of(x.shape());
  std::vector<std::int64_t> places(x.count());
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto place = static_cast<std::int64_t>(i);
    const std::int64_t t = place / strides[static_cast<std::size_t>(time)] % x.extent(time),
                       b = place / strides[static_cast<std::size_t>(batch)] % x.extent(batch);
    const std::int64_t length = lengths[static_cast<std::size_t>(b)];
    if (length < 0 || length > x.extent(time)) return call.invalid("a length beyond the axis");
    places[i] = t < length ? place + (length - 1 - 2 * t) * strides[static_cast<std::size_t>(time)] : place;
  }
  return Values{gathered(x, x.shape(), places)};
}

Outputs trilu(const Call& call) {
  const Value& x = call.operand(0);
  if (x.rank() < 2) return call.invalid("an input of rank below 2");
  std::int64_t k = 0;
  if (call.has(1)) {
    ASSAY_TRY(k, call.integer_scalar(1));
  }
  const bool upper = call.integer("upper", 1) != 0;
  const std::int64_t rows = x.extent(x.rank() - 2), columns = x.extent(x.rank() - 1);
  std::vector<std::int64_t> places(x.count());
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto place = static_cast<std::int64_t>(i);
    const std::int64_t diagonal = place % columns - place / columns % rows;
    places[i] = (upper ? diagonal >= k : diagonal <= k) ? place : -1;
  }
  return Values{gathered(x, x.shape(), places)};
}

}  // namespace

Operators layout_operators() {
  return {{"CenterCropPad", &center_crop_pad, 2},
          {"Concat", &concat},
          {"DepthToSpace", &depth_to_space},
          {"Dropout", &dropout},
          {"Expand", &expand, 2},
          {"Flatten", &flatten},
          {"Identity", &identity},
          {"Pad", &pad},
          {"Reshape", &reshape},
          {"ReverseSequence", &reverse_sequence, 2},
          {"Slice", &slice},
          {"SpaceToDepth", &space_to_depth},
          {"Split", &split},
          {"Squeeze", &squeeze},
          {"Tile", &tile, 2},
          {"Transpose", &transpose},
          {"Trilu", &trilu},
          {"Unsqueeze", &unsqueeze}};
}

}  // namespace assay::evaluate
