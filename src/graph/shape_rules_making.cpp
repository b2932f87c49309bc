// SPDX-License-Identifier: Apache-2.0
// Operators that tell shapes, and those whose outputs are as large as their inputs' elements say.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "graph/shape_rules.hpp"

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

// The length of a range; its elements, where they are numbers with a fraction, are computed.
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

// Of a tensor of int64, int32 or bool; nullopt: it has several, or none.
std::optional<std::int64_t> only_element(const onnx::TensorProto& tensor) {
  if (tensor.int64_data_size() == 1) return tensor.int64_data(0);
  if (tensor.int32_data_size() == 1) return tensor.int32_data(0);
  const std::string& raw = tensor.raw_data();
  const auto width = static_cast<std::size_t>(bit_width(static_cast<DType>(tensor.data_type()))) / 8;
  if (raw.empty() || raw.size() != width) return std::nullopt;
  std::int64_t element = 0;  // of a narrower type, its low bytes: settle_elements() tells their sign
  std::memcpy(&element, raw.data(), std::min(width, sizeof element));
  return element;
}

Status filled(Site& site) {
  ASSAY_TRY(const std::optional<Shape> shape, extents_from(site, site.elements(0)));
  if (!shape) return {};
  const onnx::AttributeProto* value = site.attribute("value");
  const DType dtype = value == nullptr ? DType::kFloat32 : static_cast<DType>(value->t().data_type());
  ASSAY_CHECK_OK(site.give_checked(dtype, *shape));
  if (!folds(dtype) || count_of(*shape) > kMostElements) return {};
  if (const std::optional<std::int64_t> element = only_element(value->t()))
    site.give_elements(0, Elements(static_cast<std::size_t>(count_of(*shape)), *element));
  return {};
}

// The elements of a tensor are read when the file is opened: they may lie outside the message.
Status constant(Site& site) {
  if (const onnx::AttributeProto* value = site.attribute("value")) {
    site.give(0, static_cast<DType>(value->t().data_type()), Shape(value->t().dims().begin(), value->t().dims().end()));
  } else if (site.attribute("value_int") != nullptr) {
    site.give(0, DType::kInt64, {});
    site.give_elements(0, {site.integer("value_int", 0)});
  } else if (const auto integers = site.integers("value_ints")) {
    site.give(0, DType::kInt64, {static_cast<std::int64_t>(integers->size())});
    site.give_elements(0, *integers);
  } else if (site.attribute("value_float") != nullptr) {
    site.give(0, DType::kFloat32, {});
    site.give_reals(0, {static_cast<double>(site.attribute("value_float")->f())});
  } else if (const onnx::AttributeProto* floats = site.attribute("value_floats")) {
    site.give(0, DType::kFloat32, {floats->floats_size()});
    site.give_reals(0, std::vector<double>(floats->floats().begin(), floats->floats().end()));
  } else if (const onnx::AttributeProto* sparse = site.attribute("sparse_value")) {
    const auto& tensor = sparse->sparse_tensor();
    site.give(0, static_cast<DType>(tensor.values().data_type()), Shape(tensor.dims().begin(), tensor.dims().end()));
  } else if (site.attribute("value_string") != nullptr) {
    site.give(0, DType::kString, {});
  } else if (const onnx::AttributeProto* strings = site.attribute("value_strings")) {
    site.give(0, DType::kString, {strings->strings_size()});
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
  const std::vector<double>* scales = site.reals(older ? 1 : 2);
  if (scales == nullptr || scales->size() != shape.size()) return {};
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const double scale = (*scales)[i];
    // In float, as runtimes and ONNX's own inference: 10 times 0.7 is 7 so.
    const double extent = std::floor(static_cast<float>(shape[i]) * static_cast<float>(scale));
    if (!(scale > 0) || !(extent < 1e15)) return site.contradiction(fmt::format("a scale of {}", scale));
    shape[i] = static_cast<std::int64_t>(extent);
  }
  return site.give_checked(site.in(0).dtype, shape);
}

}  // namespace

ShapeRule find_making_rule(std::string_view op_type) {
  static const std::map<std::string_view, ShapeRule> all = {
      {"Shape", shape_of},         {"Size", size_of},      {"Range", range},
      {"ConstantOfShape", filled}, {"Constant", constant}, {"Resize", resized},
  };
  const auto found = all.find(op_type);
  return found == all.end() ? nullptr : found->second;
}

}  // namespace assay
