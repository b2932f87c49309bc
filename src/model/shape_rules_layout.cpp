// SPDX-License-Identifier: Apache-2.0
// Operators that move, cut and join elements, and those that make or tell shapes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "model/shape_rules.hpp"

namespace assay {
namespace {

using Elements = std::vector<std::int64_t>;

// Elements that stay as they are, in the same order.
void keep_elements(Site& site) {
  if (const auto* elements = site.elements(0)) site.give_elements(0, *elements);
}

bool is_small(const Shape& shape) { return count_of(shape) <= kMostElements; }

// Extents or counts given as elements, each from 0; nullopt: not known.
Result<std::optional<Shape>> as_shape(const Site& site, const Elements* elements) {
  if (elements == nullptr) return std::nullopt;
  if (std::any_of(elements->begin(), elements->end(), [](auto e) { return e < 0; }))
    return site.contradiction("a negative extent: " + to_string(Shape(*elements)));
  return Shape(elements->begin(), elements->end());
}

Status shape_of(Site& site) {
  const std::int64_t rank = site.rank(0);
  const auto clamped = [&](std::int64_t at) { return std::clamp(at < 0 ? at + rank : at, std::int64_t{0}, rank); };
  const std::int64_t start = clamped(site.integer("start", 0));
  const std::int64_t end = std::max(start, clamped(site.integer("end", rank)));
  const Shape& shape = site.shape(0);
  site.give(0, DType::kInt64, {end - start});
  site.give_elements(0, Elements(shape.begin() + start, shape.begin() + end));
  return {};
}

Status size_of(Site& site) {
  site.give(0, DType::kInt64, {});
  site.give_elements(0, {count_of(site.shape(0))});
  return {};
}

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
  keep_elements(site);
  return {};
}

// Where the elements of a transposed tensor were.
Status transposed(Site& site) {
  const Shape& shape = site.shape(0);
  Elements order = site.integers("perm").value_or(Elements{});
  if (order.empty())
    for (std::size_t i = shape.size(); i-- > 0;) order.push_back(static_cast<std::int64_t>(i));
  if (order.size() != shape.size()) return site.contradiction("perm of another rank");
  Shape result;
  std::vector<bool> taken(shape.size(), false);
  for (const std::int64_t from : order) {
    ASSAY_TRY(const std::size_t axis, site.axis(from, site.rank(0)));
    if (taken[axis]) return site.contradiction("an axis twice in perm");
    taken[axis] = true;
    result.push_back(shape[axis]);
  }
  site.give(0, site.in(0).dtype, result);
  if (site.elements(0) != nullptr && shape.size() < 2) keep_elements(site);
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
  keep_elements(site);
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
  keep_elements(site);
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
  return {};
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
  if (shape.size() != 1 || !is_small(shape)) return {};
  Elements all;
  for (std::size_t i = 0; i < site.inputs(); ++i) {
    const Elements* elements = site.elements(i);
    if (elements == nullptr) return {};
    all.insert(all.end(), elements->begin(), elements->end());
  }
  site.give_elements(0, std::move(all));
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
  // Of a vector, which places are taken.
  std::int64_t first = 0;
  std::int64_t stride = 1;
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const std::int64_t which = axes ? (*axes)[i] : static_cast<std::int64_t>(i);
    ASSAY_TRY(const std::size_t axis, site.axis(which, site.rank(0)));
    const std::int64_t step = steps->empty() ? 1 : (*steps)[i];
    if (step == 0) return site.contradiction("a step of 0");
    const std::int64_t extent = shape[axis];
    const auto from_0 = [&](std::int64_t at) { return at < 0 ? std::max(at, -extent - 1) + extent : at; };
    std::int64_t from = from_0((*starts)[i]);
    std::int64_t to = from_0((*ends)[i]);
    if (step > 0) {
      from = std::clamp(from, std::int64_t{0}, extent);
      to = std::clamp(to, std::int64_t{0}, extent);
    } else {
      from = std::clamp(from, std::int64_t{-1}, extent - 1);
      to = std::clamp(to, std::int64_t{-1}, extent - 1);
    }
    const std::int64_t span = step > 0 ? to - from : from - to;
    const std::int64_t width = step > 0 ? step : (step == INT64_MIN ? INT64_MAX : -step);
    shape[axis] = span > 0 ? 1 + (span - 1) / width : 0;
    first = from;
    stride = step;
  }
  site.give(0, site.in(0).dtype, shape);
  if (site.rank(0) != 1 || starts->size() != 1) return {};
  std::vector<std::size_t> places(static_cast<std::size_t>(shape[0]));
  for (std::int64_t i = 0; i < shape[0]; ++i)
    places[static_cast<std::size_t>(i)] = static_cast<std::size_t>(first + i * stride);
  site.pick_elements(places);
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
  for (std::size_t i = 0; i < parts->size(); ++i) {
    Shape shape = site.shape(0);
    shape[axis] = (*parts)[i];
    site.give(i, site.in(0).dtype, shape);
    if (const auto* elements = site.elements(0); elements != nullptr && shape.size() == 1) {
      site.give_elements(i, Elements(elements->begin() + first, elements->begin() + first + shape[0]));
    }
    first += (*parts)[i];
  }
  return {};
}

Status expanded(Site& site) {
  ASSAY_TRY(const std::optional<Shape> to, as_shape(site, site.elements(1)));
  if (!to) return {};
  const std::optional<Shape> shape = broadcast(site.shape(0), *to);
  if (!shape) return site.contradiction(to_string(site.shape(0)) + " to " + to_string(*to));
  ASSAY_CHECK_OK(site.give_checked(site.in(0).dtype, *shape));
  if (is_small(*shape) && site.elements(0) != nullptr) site.pick_elements(broadcast_places(site.shape(0), *shape));
  return {};
}

Status tiled(Site& site) {
  ASSAY_TRY(const std::optional<Shape> repeats, as_shape(site, site.elements(1)));
  if (!repeats) return {};
  Shape shape = site.shape(0);
  if (repeats->size() != shape.size()) return site.contradiction("repeats of another rank");
  for (std::size_t i = 0; i < shape.size(); ++i) {
    shape[i] = times(shape[i], (*repeats)[i]);
  }
  ASSAY_CHECK_OK(site.give_checked(site.in(0).dtype, shape));
  if (shape.size() == 1 && is_small(shape) && site.elements(0) != nullptr) {
    std::vector<std::size_t> places(static_cast<std::size_t>(shape[0]));
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = i % static_cast<std::size_t>(site.shape(0)[0]);
    site.pick_elements(places);
  }
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
      return site.contradiction("to less than nothing, or too much");
  }
  return site.give_checked(site.in(0).dtype, shape);
}

Status range(Site& site) {
  const Elements* start = site.elements(0);
  const Elements* limit = site.elements(1);
  const Elements* step = site.elements(2);
  if (start == nullptr || limit == nullptr || step == nullptr || start->empty() || limit->empty() || step->empty())
    return {};
  if (step->front() == 0) return site.contradiction("a step of 0");
  const double count = std::ceil((static_cast<double>(limit->front()) - static_cast<double>(start->front())) /
                                 static_cast<double>(step->front()));
  if (count > 1e15) return site.contradiction("too large");
  const std::int64_t length = count > 0 ? static_cast<std::int64_t>(count) : 0;
  site.give(0, site.in(0).dtype, {length});
  if (length > kMostElements) return {};
  Elements elements(static_cast<std::size_t>(length));
  for (std::int64_t i = 0; i < length; ++i)
    elements[static_cast<std::size_t>(i)] = plus(start->front(), times(i, step->front()));
  site.give_elements(0, std::move(elements));
  return {};
}

Status filled(Site& site) {
  ASSAY_TRY(const std::optional<Shape> shape, as_shape(site, site.elements(0)));
  if (!shape) return {};
  const onnx::AttributeProto* value = site.attribute("value");
  const DType dtype = value == nullptr ? DType::kFloat32 : static_cast<DType>(value->t().data_type());
  ASSAY_CHECK_OK(site.give_checked(dtype, *shape));
  if (dtype != DType::kInt64 || !is_small(*shape)) return {};
  std::int64_t element = 0;
  if (value->t().int64_data_size() == 1)
    element = value->t().int64_data(0);
  else if (value->t().raw_data().size() == sizeof element)
    std::memcpy(&element, value->t().raw_data().data(), sizeof element);
  else
    return {};
  site.give_elements(0, Elements(static_cast<std::size_t>(count_of(*shape)), element));
  return {};
}

Status constant(Site& site) {
  if (const onnx::AttributeProto* value = site.attribute("value")) {
    site.give(0, static_cast<DType>(value->t().data_type()), Shape(value->t().dims().begin(), value->t().dims().end()));
    Elements elements(value->t().int64_data().begin(), value->t().int64_data().end());
    if (value->t().data_type() != onnx::TensorProto::INT64) return {};
    const std::string& raw = value->t().raw_data();
    if (!raw.empty() && raw.size() <= kMostElements * sizeof(std::int64_t)) {
      elements.resize(raw.size() / sizeof(std::int64_t));
      std::memcpy(elements.data(), raw.data(), elements.size() * sizeof(std::int64_t));
    }
    if (static_cast<std::int64_t>(elements.size()) == count_of(*site.outputs()[0].shape))
      site.give_elements(0, std::move(elements));
  } else if (site.attribute("value_int") != nullptr) {
    site.give(0, DType::kInt64, {});
    site.give_elements(0, {site.integer("value_int", 0)});
  } else if (const auto integers = site.integers("value_ints")) {
    site.give(0, DType::kInt64, {static_cast<std::int64_t>(integers->size())});
    site.give_elements(0, *integers);
  } else if (site.attribute("value_float") != nullptr) {
    site.give(0, DType::kFloat32, {});
  } else if (const onnx::AttributeProto* floats = site.attribute("value_floats")) {
    site.give(0, DType::kFloat32, {floats->floats_size()});
  }
  return {};
}

// Opset 10 has scales as input 1, from 11 on they are input 2 and sizes input 3.
Status resized(Site& site) {
  const bool older = site.opset() < 11;
  Shape shape = site.shape(0);
  if (site.attribute("axes") != nullptr || site.text("keep_aspect_ratio_policy", "stretch") != "stretch") return {};
  if (const Elements* sizes = older ? nullptr : site.elements(3)) {
    if (sizes->size() != shape.size()) return site.contradiction("sizes of another rank");
    return site.give_checked(site.in(0).dtype, Shape(sizes->begin(), sizes->end()));
  }
  const std::vector<float>* scales = site.floats(older ? 1 : 2);
  if (scales == nullptr || scales->size() != shape.size()) return {};
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const auto scale = static_cast<double>((*scales)[i]);
    const double extent = std::floor(static_cast<double>(shape[i]) * scale);
    if (!(scale > 0) || !(extent < 1e15)) return site.contradiction(fmt::format("a scale of {}", scale));
    shape[i] = static_cast<std::int64_t>(extent);
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
      {"Shape", shape_of},
      {"Size", size_of},
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
      {"Range", range},
      {"ConstantOfShape", filled},
      {"Constant", constant},
      {"Resize", resized},
      {"DepthToSpace", depth_to_space},
      {"SpaceToDepth", space_to_depth},
  };
  const auto found = all.find(op_type);
  return found == all.end() ? nullptr : found->second;
}

}  // namespace assay
