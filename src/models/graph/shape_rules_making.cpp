// SPDX-License-Identifier: Apache-2.0
// Operators that return shapes, and those whose output shapes are given by elements of their inputs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "models/graph/shape_rules.hpp"

namespace assay {
namespace {

using Elements = std::vector<std::int64_t>;

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

// The length of a range; the elements of a range of floats are computed by the runtime.
Status range_of_reals(Site& site) {
  for (std::size_t i = 0; i < 3; ++i)
    if (site.reals(i) == nullptr || site.reals(i)->size() != 1) return {};
  const double start = site.reals(0)->front(), limit = site.reals(1)->front(), step = site.reals(2)->front();
  if (step == 0) return site.contradiction("a step of 0");
  // As ONNX Runtime: the span in its own type, the division in double.
  const double span = site.in(0).dtype == DType::kFloat32 ? static_cast<float>(limit - start) : limit - start;
  const double count = std::ceil(span / step);
  if (!(count < 1e15)) return site.contradiction("too large");
  site.give(0, site.in(0).dtype, {count > 0 ? static_cast<std::int64_t>(count) : 0});
  return {};
}

Status range(Site& site) {
  if (has_reals(site.in(0).dtype)) return range_of_reals(site);
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
  ASSAY_TRY(const std::optional<Shape> shape, extents_from(site, site.elements(0)));
  if (!shape) return {};
  const StaticValue* value = site.value();
  const DType dtype = value == nullptr ? DType::kFloat32 : value->dtype;
  if (value != nullptr && value->shape && count_of(*value->shape) != 1)
    return site.contradiction(fmt::format("a value of {} instead of one element", to_string(*value->shape)));
  ASSAY_CHECK_OK(site.give_checked(dtype, *shape));
  if (value == nullptr || !value->elements || value->elements->size() != 1 || count_of(*shape) > kMostElements)
    return {};
  site.give_elements(0, Elements(static_cast<std::size_t>(count_of(*shape)), value->elements->front()));
  return {};
}

Status constant(Site& site) {
  const graph::Node& node = site.node();
  const auto value = [&]<class T>(const char* name, const T*& to) {
    const graph::Attribute* found = node.attribute(name);
    to = found == nullptr ? nullptr : found->get<T>();
    return to != nullptr;
  };
  const std::int64_t* integer = nullptr;
  const std::span<const std::int64_t>* integers = nullptr;
  const float* number = nullptr;
  const std::span<const float>* numbers = nullptr;
  const graph::Constant* sparse = nullptr;
  const std::string_view* text = nullptr;
  const std::vector<std::string_view>* texts = nullptr;
  if (site.value() != nullptr) {
    site.outputs().front() = *site.value();
  } else if (value("value_int", integer)) {
    site.give(0, DType::kInt64, {});
    site.give_elements(0, {*integer});
  } else if (value("value_ints", integers)) {
    site.give(0, DType::kInt64, {static_cast<std::int64_t>(integers->size())});
    site.give_elements(0, Elements(integers->begin(), integers->end()));
  } else if (value("value_float", number)) {
    site.give(0, DType::kFloat32, {});
    site.give_reals(0, {static_cast<double>(*number)});
  } else if (value("value_floats", numbers)) {
    site.give(0, DType::kFloat32, {static_cast<std::int64_t>(numbers->size())});
    site.give_reals(0, std::vector<double>(numbers->begin(), numbers->end()));
  } else if (value("sparse_value", sparse)) {
    site.give(0, sparse->dtype, sparse->shape);
  } else if (value("value_string", text)) {
    site.give(0, DType::kString, {});
  } else if (value("value_strings", texts)) {
    site.give(0, DType::kString, {static_cast<std::int64_t>(texts->size())});
  }
  return {};
}

// The axes that a node resizes: all, or from opset 18 on those that it names.
Result<std::vector<std::size_t>> resized_axes(const Site& site) {
  std::vector<std::size_t> axes;
  if (const auto stated = site.integers("axes")) {
    for (const std::int64_t each : *stated) {
      ASSAY_TRY(const std::size_t axis, site.axis(each, site.rank(0)));
      axes.push_back(axis);
    }
    return axes;
  }
  for (std::size_t axis = 0; axis < site.shape(0).size(); ++axis) axes.push_back(axis);
  return axes;
}

// With a policy, one scale for all axes: the smallest or the largest that the sizes need (ONNX, Resize-18,
// keep_aspect_ratio_policy).
Status resized_to(Site& site, const Elements& sizes, const std::vector<std::size_t>& axes) {
  Shape shape = site.shape(0);
  const std::string_view policy = site.node().text("keep_aspect_ratio_policy", "stretch");
  std::optional<double> scale;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t extent = shape[axes[i]];
    if (sizes[i] < 0 || (extent == 0 && (sizes[i] > 0 || policy != "stretch")))
      return site.contradiction("a size that cannot be");
    const double own = static_cast<double>(sizes[i]) / static_cast<double>(std::max<std::int64_t>(extent, 1));
    scale = !scale ? own : policy == "not_larger" ? std::min(*scale, own) : std::max(*scale, own);
  }
  for (std::size_t i = 0; i < axes.size(); ++i)
    shape[axes[i]] = policy == "stretch" ? sizes[i] : std::llround(*scale * static_cast<double>(shape[axes[i]]));
  return site.give_checked(site.in(0).dtype, shape);
}

// Opset 10 has scales as input 1, from 11 on they are input 2 and sizes input 3.
Status resized(Site& site) {
  const bool older = site.opset() < 11;
  Shape shape = site.shape(0);
  ASSAY_TRY(const std::vector<std::size_t> axes, resized_axes(site));
  if (const Elements* sizes = older ? nullptr : site.elements(3); sizes != nullptr && !sizes->empty()) {
    if (sizes->size() != axes.size()) return site.contradiction("sizes of another rank");
    return resized_to(site, *sizes, axes);
  }
  const std::vector<double>* scales = site.reals(older ? 1 : 2);
  if (scales == nullptr || scales->size() != axes.size()) return {};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const double scale = (*scales)[i];
    // In float, as runtimes and ONNX's own inference: 10 times 0.7 is 7 so.
    const double extent = std::floor(static_cast<float>(shape[axes[i]]) * static_cast<float>(scale));
    if (!(scale > 0) || !(extent < 1e15)) return site.contradiction(fmt::format("a scale of {}", scale));
    shape[axes[i]] = static_cast<std::int64_t>(extent);
  }
  return site.give_checked(site.in(0).dtype, shape);
}

// Replaced by Resize in opset 10. In opsets 7 and 8 the scales are an attribute.
Status upsampled(Site& site) {
  std::vector<double> scales;
  const graph::Attribute* attribute = site.node().attribute("scales");
  if (const auto* given = attribute == nullptr ? nullptr : attribute->get<std::span<const float>>())
    scales.assign(given->begin(), given->end());
  else if (const auto* reals = site.reals(1))
    scales = *reals;
  if (scales.size() != site.shape(0).size()) return {};
  Shape shape = site.shape(0);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const double extent = std::floor(static_cast<float>(shape[i]) * static_cast<float>(scales[i]));
    if (!(scales[i] > 0) || !(extent < 1e15)) return site.contradiction(fmt::format("a scale of {}", scales[i]));
    shape[i] = static_cast<std::int64_t>(extent);
  }
  return site.give_checked(site.in(0).dtype, shape);
}

}  // namespace

ShapeRule find_making_rule(std::string_view op_type) {
  static const std::map<std::string_view, ShapeRule> all = {
      {"Shape", shape_of},    {"Size", size_of},   {"Range", range},        {"ConstantOfShape", filled},
      {"Constant", constant}, {"Resize", resized}, {"Upsample", upsampled},
  };
  const auto found = all.find(op_type);
  return found == all.end() ? nullptr : found->second;
}

}  // namespace assay
