// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "models/evaluate/kernels/elementwise.hpp"
#include "models/evaluate/strides.hpp"

namespace assay::evaluate {
namespace {

Result<Value> value_of(const Call& call, const graph::Constant& constant) {
  ASSAY_TRY(const graph::ConstantData data, call.model().data(constant));
  return Value::from({constant.dtype, constant.shape, data.bytes});
}

Outputs constant(const Call& call) {
  const graph::Node& node = call.node();
  if (const auto* found = node.attribute("value")) {
    const auto* tensor = found->get<graph::Constant>();
    if (tensor == nullptr) return call.invalid("its value is not a tensor");
    ASSAY_TRY(Value value, value_of(call, *tensor));
    return Values{std::move(value)};
  }
  if (node.attribute("value_float") != nullptr)
    return Values{Value(DType::kFloat32, {}, Reals{call.number("value_float", 0)})};
  if (node.attribute("value_int") != nullptr)
    return Values{Value(DType::kInt64, {}, Integers{call.integer("value_int", 0)})};
  if (const auto* found = node.attribute("value_floats"))
    if (const auto* all = found->get<std::span<const float>>())
      return Values{Value(DType::kFloat32, {static_cast<std::int64_t>(all->size())}, Reals(all->begin(), all->end()))};
  if (const auto all = node.integers("value_ints"))
    return Values{Value(DType::kInt64, {static_cast<std::int64_t>(all->size())}, Integers(all->begin(), all->end()))};
  return call.unsupported("its kind of constant");
}

Outputs constant_of_shape(const Call& call) {
  ASSAY_TRY(const auto given, call.integers(0));
  Value one(DType::kFloat32, {1}, Reals{0.0});
  if (const auto* found = call.node().attribute("value"))
    if (const auto* tensor = found->get<graph::Constant>()) {
      ASSAY_TRY(one, value_of(call, *tensor));
    }
  Shape shape(given.begin(), given.end());
  ASSAY_TRY(const std::size_t count, call.elements_of(shape));
  if (one.count() != 1) return call.invalid("its value does not have one element");
  if (one.is_real()) return Values{Value(one.dtype(), std::move(shape), Reals(count, one.reals()[0]))};
  return Values{Value(one.dtype(), std::move(shape), Integers(count, one.integers()[0]))};
}

Outputs shape_of(const Call& call) {
  const std::int64_t rank = call.operand(0).rank();
  const auto bound = [&](std::int64_t given) {
    return std::clamp<std::int64_t>(given < 0 ? given + rank : given, 0, rank);
  };
  const std::int64_t start = bound(call.integer("start", 0)), end = std::max(start, bound(call.integer("end", rank)));
  Integers extents(call.shape(0).begin() + start, call.shape(0).begin() + end);
  return Values{Value(DType::kInt64, {end - start}, std::move(extents))};
}

Outputs size_of(const Call& call) {
  return Values{Value(DType::kInt64, {}, Integers{static_cast<std::int64_t>(call.operand(0).count())})};
}

// The numbers from `start` to before `end`, which differ by `step`.
Result<std::int64_t> steps_between(const Call& call, double start, double end, double step) {
  const double count = std::max(0.0, std::ceil((end - start) / step));
  if (!(count <= static_cast<double>(kMostElements))) return call.invalid("a step of 0, or too many elements");
  return static_cast<std::int64_t>(count);
}
Result<std::int64_t> steps_between(const Call& call, std::int64_t start, std::int64_t end, std::int64_t step) {
  if (step == 0) return call.invalid("a step of 0");
  if (step > 0 ? end <= start : end >= start) return 0;
  const auto bits = [](std::int64_t x) { return static_cast<std::uint64_t>(x); };
  const std::uint64_t distance = step > 0 ? bits(end) - bits(start) : bits(start) - bits(end),
                      width = step > 0 ? bits(step) : 0 - bits(step), count = 1 + (distance - 1) / width;
  if (count > bits(kMostElements)) return call.invalid("too many elements");
  return static_cast<std::int64_t>(count);
}

template <class T>
Outputs progression(const Call& call, std::span<const T> start, std::span<const T> end, std::span<const T> step) {
  ASSAY_TRY(const std::int64_t count, steps_between(call, start[0], end[0], step[0]));
  ASSAY_TRY(const std::size_t elements, call.elements_of({count}));
  std::vector<T> y(elements);
  for (std::size_t i = 0; i < elements; ++i) y[i] = plus(start[0], times(static_cast<T>(i), step[0]));
  return Values{Value(call.dtype(0), {count}, std::move(y))};
}

Outputs range(const Call& call) {
  for (std::size_t i = 0; i < 3; ++i)
    if (call.operand(i).count() != 1 || call.operand(i).is_real() != call.operand(0).is_real())
      return call.invalid("its operands are not three numbers of one type");
  const Value &start = call.operand(0), &end = call.operand(1), &step = call.operand(2);
  return start.is_real() ? progression(call, start.reals(), end.reals(), step.reals())
                         : progression(call, start.integers(), end.integers(), step.integers());
}

Outputs eye_like(const Call& call) {
  const Value& x = call.operand(0);
  if (x.rank() != 2) return call.invalid("its operand is not a matrix");
  const auto dtype = static_cast<DType>(call.integer("dtype", static_cast<std::int64_t>(x.dtype())));
  if (!is_real_type(dtype) && dtype != DType::kBool && !is_integer(dtype))
    return call.unsupported("the type " + std::string(to_string(dtype)));
  const std::int64_t k = call.integer("k", 0);
  ASSAY_TRY(const std::size_t count, call.elements_of(x.shape()));
  Integers y;
  y.reserve(count);
  for (std::int64_t i = 0; i < x.extent(0); ++i)
    for (std::int64_t j = 0; j < x.extent(1); ++j) y.push_back(j - i == k ? 1 : 0);
  if (is_real_type(dtype)) return Values{Value(dtype, x.shape(), Reals(y.begin(), y.end()))};
  return Values{Value(dtype, x.shape(), std::move(y))};
}

}  // namespace

Operators making_operators() {
  return {{"Constant", &constant, 0}, {"ConstantOfShape", &constant_of_shape},
          {"EyeLike", &eye_like},     {"Range", &range, 3},
          {"Shape", &shape_of},       {"Size", &size_of}};
}

}  // namespace assay::evaluate
