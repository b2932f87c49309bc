// SPDX-License-Identifier: Apache-2.0
// Operators that move, cut and join elements.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "models/graph/shape_rules.hpp"
#include "models/graph/slice.hpp"

namespace assay {
namespace {

using Elements = std::vector<std::int64_t>;

bool is_small(const Shape& shape) { return count_of(shape) <= kMostElements; }

Status reshaped(Site& site) {
  const Elements* wanted = site.elements(1);
  if (wanted == nullptr) return {};
  const bool zero_is_zero = site.integer("allowzero", 0) != 0;
  Shape shape;
  std::optional<std::size_t> open;
  std::int64_t known = 1;
  for (std::size_t i = 0; i < wanted->size(); ++i) {
    std::int64_t extent = (*wanted)[i];
    if (extent == 0 && !zero_is_zero) {
      if (i >= site.shape(0).size()) return site.contradiction("a 0 beyond the input's rank");
      extent = site.shape(0)[i];
    }
    if (extent < -1 || (extent == -1 && open)) return site.contradiction("to " + to_string(Shape(*wanted)));
    if (extent == -1)
      open = i;
    else if (__builtin_mul_overflow(known, extent, &known))
      return site.contradiction("to " + to_string(Shape(*wanted)));
    shape.push_back(extent);
  }
  const std::int64_t count = count_of(site.shape(0));
  if (open) shape[*open] = known == 0 ? 0 : count / known;
  if (count_of(shape) != count)
    return site.contradiction(to_string(site.shape(0)) + " to " + to_string(Shape(*wanted)));
  site.give(0, site.in(0).dtype, shape);
  site.keep_elements();
  return {};
}

Status transposed(Site& site) {
  const Shape& shape = site.shape(0);
  Elements order = site.integers("perm").value_or(Elements{});
  if (order.empty())
    for (std::size_t i = shape.size(); i-- > 0;) order.push_back(static_cast<std::int64_t>(i));
  if (order.size() != shape.size()) return site.contradiction("perm of another rank");
  Shape result;
  const std::vector<std::int64_t> strides = strides_of(shape);
  std::vector<std::int64_t> steps;
  std::vector<bool> taken(shape.size(), false);
  for (const std::int64_t from : order) {
    ASSAY_TRY(const std::size_t axis, site.axis(from, site.rank(0)));
    if (taken[axis]) return site.contradiction("an axis twice in perm");
    taken[axis] = true;
    result.push_back(shape[axis]);
    steps.push_back(strides[axis]);
  }
  site.give(0, site.in(0).dtype, result);
  site.pick_elements(0, 0, steps);
  return {};
}

Status unsqueezed(Site& site) {
  bool given = false;
  const auto axes = site.integers_of("axes", 1, given);
  if (!axes) return {};
  const std::int64_t rank = site.rank(0) + static_cast<std::int64_t>(axes->size());
  std::vector<bool> added(static_cast<std::size_t>(rank), false);
  for (const std::int64_t axis : *axes) {
    ASSAY_TRY(const std::size_t at, site.axis(axis, rank));
    if (added[at]) return site.contradiction("an axis twice");
    added[at] = true;
  }
  Shape shape;
  std::size_t from = 0;
  for (const bool one : added) shape.push_back(one ? 1 : site.shape(0)[from++]);
  site.give(0, site.in(0).dtype, shape);
  site.keep_elements();
  return {};
}

Status squeezed(Site& site) {
  bool given = false;
  const auto axes = site.integers_of("axes", 1, given);
  if (given && !axes) return {};
  std::vector<bool> gone(site.shape(0).size(), false);
  for (std::size_t i = 0; !axes && i < gone.size(); ++i) gone[i] = site.shape(0)[i] == 1;
  for (const std::int64_t axis : axes.value_or(Elements{})) {
    ASSAY_TRY(const std::size_t at, site.axis(axis, site.rank(0)));
    if (site.shape(0)[at] != 1) return site.contradiction(fmt::format("axis {} of {}", axis, to_string(site.shape(0))));
    gone[at] = true;
  }
  Shape shape;
  for (std::size_t i = 0; i < gone.size(); ++i)
    if (!gone[i]) shape.push_back(site.shape(0)[i]);
  site.give(0, site.in(0).dtype, shape);
  site.keep_elements();
  return {};
}

Status flattened(Site& site) {
  const std::int64_t axis = site.integer("axis", 1);
  const std::int64_t from_0 = axis < 0 ? axis + site.rank(0) : axis;
  if (from_0 < 0 || from_0 > site.rank(0)) return site.contradiction(fmt::format("axis {}", axis));
  const Shape& shape = site.shape(0);
  site.give(
      0, site.in(0).dtype,
      {count_of(Shape(shape.begin(), shape.begin() + from_0)), count_of(Shape(shape.begin() + from_0, shape.end()))});
  site.keep_elements();
  return {};
}

// The elements of all inputs, interleaved: `outer` times a share of each. nullopt: some are not known.
template <class T>
std::optional<std::vector<T>> interleaved(const Site& site, std::int64_t outer,
                                          const std::vector<T>* (Site::*list)(std::size_t) const) {
  for (std::size_t i = 0; i < site.inputs(); ++i)
    if ((site.*list)(i) == nullptr) return std::nullopt;
  std::vector<T> all;
  for (std::int64_t row = 0; row < outer; ++row) {
    for (std::size_t i = 0; i < site.inputs(); ++i) {
      const std::vector<T>& part = *(site.*list)(i);
      const auto width = static_cast<std::ptrdiff_t>(part.size()) / outer;
      all.insert(all.end(), part.begin() + row * width, part.begin() + (row + 1) * width);
    }
  }
  return all;
}

Status joined(Site& site) {
  ASSAY_TRY(const std::size_t axis, site.axis(site.integer("axis", 0), site.rank(0)));
  Shape shape = site.shape(0);
  shape[axis] = 0;
  for (std::size_t i = 0; i < site.inputs(); ++i) {
    if (!site.has(i)) continue;
    Shape other = site.shape(i);
    if (other.size() != shape.size()) return site.contradiction("inputs of different ranks");
    const std::int64_t more = other[axis];
    other[axis] = shape[axis];
    if (other != shape) return site.contradiction(to_string(site.shape(0)) + " and " + to_string(site.shape(i)));
    shape[axis] = plus(shape[axis], more);
  }
  site.give(0, site.in(0).dtype, shape);
  const std::int64_t outer =
      count_of(shape) == 0 ? 0 : count_of(Shape(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(axis)));
  if (!is_small(shape)) return {};
  if (auto all = interleaved<std::int64_t>(site, outer, &Site::elements)) site.give_elements(0, std::move(*all));
  if (auto all = interleaved<double>(site, outer, &Site::reals)) site.give_reals(0, std::move(*all));
  return {};
}

// Opsets from 10 on; before, starts and ends are attributes.
Status sliced(Site& site) {
  bool given = false;
  const auto starts = site.integers_of("starts", 1, given);
  const auto ends = site.integers_of("ends", 2, given);
  const auto axes = site.integers_of("axes", 3, given);
  if (given && !axes) return {};
  const auto steps = site.has(4) ? (site.elements(4) != nullptr ? std::optional(*site.elements(4)) : std::nullopt)
                                 : std::optional(Elements{});
  if (!starts || !ends || !steps) return {};
  Shape shape = site.shape(0);
  if (ends->size() != starts->size() || (axes && axes->size() != starts->size()) ||
      (!steps->empty() && steps->size() != starts->size()))
    return site.contradiction("starts, ends, axes and steps of different lengths");
  std::int64_t first = 0;  // the place that the slice begins at
  std::vector<std::int64_t> along = strides_of(shape);
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const std::int64_t which = axes ? (*axes)[i] : static_cast<std::int64_t>(i);
    ASSAY_TRY(const std::size_t axis, site.axis(which, site.rank(0)));
    const std::int64_t step = steps->empty() ? 1 : (*steps)[i];
    if (step == 0) return site.contradiction("a step of 0");
    const graph::AxisSlice part = graph::slice_of((*starts)[i], (*ends)[i], step, shape[axis]);
    shape[axis] = part.count;
    first = plus(first, times(part.begin, along[axis]));
    along[axis] = part.count > 1 ? times(along[axis], part.step) : 0;
  }
  site.give(0, site.in(0).dtype, shape);
  site.pick_elements(0, first, along);
  return {};
}

Status split(Site& site) {
  ASSAY_TRY(const std::size_t axis, site.axis(site.integer("axis", 0), site.rank(0)));
  bool given = false;
  auto parts = site.integers_of("split", 1, given);
  if (given && !parts) return {};
  const std::int64_t extent = site.shape(0)[axis];
  const auto outputs = static_cast<std::int64_t>(site.outputs().size());
  if (!parts) {
    const std::int64_t each = (extent + outputs - 1) / outputs;
    parts.emplace(static_cast<std::size_t>(outputs), each);
    parts->back() = extent - each * (outputs - 1);
  }
  std::int64_t sum = 0;
  for (const std::int64_t part : *parts) sum = part < 0 ? INT64_MAX : plus(sum, part);
  if (sum != extent || static_cast<std::int64_t>(parts->size()) != outputs)
    return site.contradiction(fmt::format("{} into {}", extent, to_string(Shape(*parts))));
  std::int64_t first = 0;
  const std::vector<std::int64_t> strides = strides_of(site.shape(0));
  for (std::size_t i = 0; i < parts->size(); ++i) {
    Shape shape = site.shape(0);
    shape[axis] = (*parts)[i];
    site.give(i, site.in(0).dtype, shape);
    site.pick_elements(i, times(first, strides[axis]), strides);
    first += (*parts)[i];
  }
  return {};
}

Status expanded(Site& site) {
  ASSAY_TRY(const std::optional<Shape> to, extents_from(site, site.elements(1)));
  if (!to) return {};
  const std::optional<Shape> shape = broadcast(site.shape(0), *to);
  if (!shape) return site.contradiction(to_string(site.shape(0)) + " to " + to_string(*to));
  ASSAY_CHECK_OK(site.give_checked(site.in(0).dtype, *shape));
  const std::vector<std::int64_t> strides = strides_of(site.shape(0));
  std::vector<std::int64_t> steps(shape->size(), 0);
  for (std::size_t i = 0; i < strides.size(); ++i)
    if (site.shape(0)[i] != 1) steps[shape->size() - strides.size() + i] = strides[i];
  site.pick_elements(0, 0, steps);
  return {};
}

Status tiled(Site& site) {
  ASSAY_TRY(const std::optional<Shape> repeats, extents_from(site, site.elements(1)));
  if (!repeats) return {};
  Shape shape = site.shape(0);
  if (repeats->size() != shape.size()) return site.contradiction("repeats of another rank");
  for (std::size_t i = 0; i < shape.size(); ++i) {
    shape[i] = times(shape[i], (*repeats)[i]);
  }
  ASSAY_CHECK_OK(site.give_checked(site.in(0).dtype, shape));
  const Elements* elements = site.elements(0);
  if (elements == nullptr || !is_small(shape)) return {};
  // Each axis is two: how often, and the input's own.
  Shape twice;
  std::vector<std::int64_t> steps;
  const std::vector<std::int64_t> strides = strides_of(site.shape(0));
  for (std::size_t i = 0; i < strides.size(); ++i) {
    twice.insert(twice.end(), {(*repeats)[i], site.shape(0)[i]});
    steps.insert(steps.end(), {0, strides[i]});
  }
  Elements tiled;
  for (const std::size_t place : places_along(twice, 0, steps)) tiled.push_back((*elements)[place]);
  site.give_elements(0, std::move(tiled));
  return {};
}

Status padded(Site& site) {
  bool given = false;
  const auto pads = site.integers_of("pads", 1, given);
  if (!pads) return {};
  Elements axes;
  if (site.has(3)) {
    if (site.elements(3) == nullptr) return {};
    axes = *site.elements(3);
  } else {
    for (std::int64_t i = 0; i < site.rank(0); ++i) axes.push_back(i);
  }
  if (pads->size() != 2 * axes.size()) return site.contradiction("pads of another rank");
  Shape shape = site.shape(0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    ASSAY_TRY(const std::size_t axis, site.axis(axes[i], site.rank(0)));
    if (__builtin_add_overflow(shape[axis], (*pads)[i], &shape[axis]) ||
        __builtin_add_overflow(shape[axis], (*pads)[axes.size() + i], &shape[axis]) || shape[axis] < 0)
      return site.contradiction("an extent below 0, or too large");
  }
  return site.give_checked(site.in(0).dtype, shape);
}

Status depth_to_space(Site& site) {
  const std::int64_t block = site.integer("blocksize", 1);
  if (site.rank(0) != 4 || block < 1 || site.shape(0)[1] % times(block, block) != 0)
    return site.contradiction("blocksize");
  const Shape& in = site.shape(0);
  return site.give_checked(site.in(0).dtype,
                           {in[0], in[1] / times(block, block), times(in[2], block), times(in[3], block)});
}

Status space_to_depth(Site& site) {
  const std::int64_t block = site.integer("blocksize", 1);
  const Shape& in = site.shape(0);
  if (site.rank(0) != 4 || block < 1 || in[2] % block != 0 || in[3] % block != 0)
    return site.contradiction("blocksize");
  return site.give_checked(site.in(0).dtype, {in[0], times(in[1], times(block, block)), in[2] / block, in[3] / block});
}

}  // namespace

ShapeRule find_layout_rule(std::string_view op_type) {
  static const std::map<std::string_view, ShapeRule> all = {
      {"Reshape", reshaped},
      {"Transpose", transposed},
      {"Unsqueeze", unsqueezed},
      {"Squeeze", squeezed},
      {"Flatten", flattened},
      {"Concat", joined},
      {"Slice", sliced},
      {"Split", split},
      {"Expand", expanded},
      {"Tile", tiled},
      {"Pad", padded},
      {"DepthToSpace", depth_to_space},
      {"SpaceToDepth", space_to_depth},
  };
  const auto found = all.find(op_type);
  return found == all.end() ? nullptr : found->second;
}

}  // namespace assay
