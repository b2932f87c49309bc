// SPDX-License-Identifier: Apache-2.0
#include "models/graph/shape_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/base/text.hpp"

namespace assay {

Site::Site(const graph::Node& node, std::int64_t opset, std::vector<const StaticValue*> inputs,
           const StaticValue* value)
    : node_(&node), opset_(opset), inputs_(std::move(inputs)), value_(value), outputs_(node.outputs.size()) {}

const StaticValue& Site::in(std::size_t i) const {
  static const StaticValue missing{DType::kUndefined, Shape{}, std::nullopt};
  if (has(i)) return *inputs_[i];
  incomplete_ = true;
  return missing;
}

const std::vector<std::int64_t>* Site::elements(std::size_t i) const {
  return has(i) && in(i).elements ? &*in(i).elements : nullptr;
}

const std::vector<double>* Site::reals(std::size_t i) const { return has(i) && in(i).reals ? &*in(i).reals : nullptr; }

std::optional<std::vector<std::int64_t>> Site::integers(std::string_view name) const {
  const auto found = node_->integers(name);
  if (!found) return std::nullopt;
  return std::vector<std::int64_t>(found->begin(), found->end());
}

std::optional<std::vector<std::int64_t>> Site::integers_of(std::string_view name, std::size_t input,
                                                           bool& given) const {
  given = true;
  if (auto attribute = integers(name)) return attribute;
  if (has(input)) {
    const auto* found = elements(input);
    return found == nullptr ? std::nullopt : std::optional(*found);
  }
  given = false;
  return std::nullopt;
}

Result<std::size_t> Site::axis(std::int64_t value, std::int64_t rank) const {
  const std::int64_t from_0 = value < 0 ? value + rank : value;
  if (from_0 < 0 || from_0 >= rank) return contradiction(fmt::format("axis {} of a tensor of rank {}", value, rank));
  return static_cast<std::size_t>(from_0);
}

void Site::give(std::size_t i, DType dtype, Shape shape) {
  if (i >= outputs_.size()) return;  // an optional output that the node does not have
  outputs_[i].dtype = dtype;
  outputs_[i].shape = std::move(shape);
}

void Site::give_elements(std::size_t i, std::vector<std::int64_t> elements) {
  if (i < outputs_.size()) outputs_[i].elements = std::move(elements);
}

Status Site::give_checked(DType dtype, const Shape& shape) {
  if (!element_count(shape)) return contradiction("a tensor of shape " + to_string(shape));
  give(0, dtype, shape);
  return {};
}

void Site::give_reals(std::size_t i, std::vector<double> reals) {
  if (i < outputs_.size()) outputs_[i].reals = std::move(reals);
}

void Site::keep_elements() {
  if (const auto* from = elements(0)) give_elements(0, *from);
  if (const auto* from = reals(0)) give_reals(0, *from);
}

void Site::pick_elements(std::size_t i, std::int64_t first, const std::vector<std::int64_t>& steps) {
  if ((elements(0) == nullptr && reals(0) == nullptr) || i >= outputs_.size()) return;
  if (count_of(*outputs_[i].shape) > kMostElements) return;
  const std::vector<std::size_t> places = places_along(*outputs_[i].shape, first, steps);
  const auto picked = [&]<class T>(const std::vector<T>& from) {
    std::vector<T> to;
    to.reserve(places.size());
    for (const std::size_t place : places) to.push_back(from[place]);
    return to;
  };
  if (const auto* from = elements(0)) give_elements(i, picked(*from));
  if (const auto* from = reals(0)) give_reals(i, picked(*from));
}

tl::unexpected<Error> Site::contradiction(const std::string& what) const {
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("node {} ({}): {}", shown(node_->shown_name()), shown(node_->op_type), what));
}

Result<std::optional<Shape>> extents_from(const Site& site, const std::vector<std::int64_t>* elements) {
  if (elements == nullptr) return std::nullopt;
  if (std::any_of(elements->begin(), elements->end(), [](auto e) { return e < 0; }))
    return site.contradiction("a negative extent: " + to_string(Shape(*elements)));
  return Shape(elements->begin(), elements->end());
}

ShapeRule find_rule(std::string_view op_type) {
  for (const auto find : {find_elementwise_rule, find_reduce_rule, find_layout_rule, find_making_rule, find_index_rule,
                          find_linear_rule, find_attention_rule, find_image_rule, find_signal_rule}) {
    if (const ShapeRule rule = find(op_type)) return rule;
  }
  return nullptr;
}

std::int64_t count_of(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count = times(count, extent);
  return count;
}

std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

std::int64_t plus(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  Shape result(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) return std::nullopt;
    result[result.size() - 1 - i] = x == 1 ? y : x;
  }
  return result;
}

std::vector<std::int64_t> strides_of(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = times(strides[i], shape[i]);
  return strides;
}

std::vector<std::size_t> places_along(const Shape& shape, std::int64_t first, const std::vector<std::int64_t>& steps) {
  std::vector<std::size_t> places(static_cast<std::size_t>(count_of(shape)));
  Shape at(shape.size(), 0);
  std::int64_t place = first;
  for (std::size_t& one : places) {
    one = static_cast<std::size_t>(place);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      place += steps[axis];
      if (++at[axis] < shape[axis]) break;
      place -= steps[axis] * shape[axis];
      at[axis] = 0;
    }
  }
  return places;
}

std::vector<std::size_t> broadcast_places(const Shape& from, const Shape& to) {
  const std::vector<std::int64_t> strides = strides_of(from);
  const std::size_t offset = to.size() - from.size();
  std::vector<std::int64_t> steps(to.size(), 0);
  for (std::size_t i = 0; i < from.size(); ++i)
    if (from[i] != 1) steps[offset + i] = strides[i];
  return places_along(to, 0, steps);
}

bool folds(DType dtype) { return dtype == DType::kInt64 || dtype == DType::kInt32 || dtype == DType::kBool; }

bool has_reals(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat64 || dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

void settle_elements(StaticValue& value) {
  const std::int64_t count = value.shape ? count_of(*value.shape) : -1;
  const auto is_whole = [&](const auto& list, std::int64_t most) {
    return list && count <= most && static_cast<std::int64_t>(list->size()) == count;
  };
  if (!folds(value.dtype) || !is_whole(value.elements, kMostElements)) value.elements.reset();
  if (!has_reals(value.dtype) || !is_whole(value.reals, kMostReals)) value.reals.reset();
  if (value.elements && value.dtype == DType::kInt32)
    for (std::int64_t& element : *value.elements) element = static_cast<std::int32_t>(element);
  if (value.elements && value.dtype == DType::kBool)
    for (std::int64_t& element : *value.elements) element = element != 0 ? 1 : 0;
  if (!value.reals || value.dtype == DType::kFloat64) return;
  for (double& real : *value.reals) {
    const auto single = static_cast<float>(real);
    real = value.dtype == DType::kFloat16    ? half_to_float(float_to_half(single))
           : value.dtype == DType::kBFloat16 ? bfloat16_to_float(float_to_bfloat16(single))
                                             : single;
  }
}

}  // namespace assay
