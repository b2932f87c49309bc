// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>

#include "models/evaluate/kernels/elementwise.hpp"
#include "models/evaluate/strides.hpp"

namespace assay::evaluate {
namespace {

/// The input with the reduced axes last: rows of `size` elements, each of which becomes one number.
struct Rows {
  Value sorted;  ///< [rows, size]
  std::size_t size = 1;
  Shape result_shape;
};

Result<Rows> rows_of(const Call& call) {
  const Value& x = call.operand(0);
  ASSAY_TRY(const Integers given, call.list("axes", 1));
  ASSAY_TRY(std::vector<std::int64_t> axes, call.axes(given, x.rank()));
  if (axes.empty() && call.integer("noop_with_empty_axes", 0) != 0) return Rows{x, 1, x.shape()};
  if (axes.empty()) {
    axes.resize(static_cast<std::size_t>(x.rank()));
    std::iota(axes.begin(), axes.end(), std::int64_t{0});
  }
  const std::vector<std::int64_t> strides = strides_of(x.shape());
  Rows rows;
  Strided walk;
  for (std::int64_t axis = 0; axis < x.rank(); ++axis) {
    const bool reduced = std::ranges::find(axes, axis) != axes.end();
    if (!reduced) {
      walk.shape.push_back(x.extent(axis));
      walk.strides.push_back(strides[static_cast<std::size_t>(axis)]);
    }
    if (!reduced || call.integer("keepdims", 1) != 0) rows.result_shape.push_back(reduced ? 1 : x.extent(axis));
  }
  std::ranges::sort(axes);
  for (const std::int64_t axis : axes) {
    walk.shape.push_back(x.extent(axis));
    walk.strides.push_back(strides[static_cast<std::size_t>(axis)]);
    rows.size *= static_cast<std::size_t>(x.extent(axis));
  }
  ASSAY_CHECK_OK(call.elements_of(rows.result_shape));
  rows.sorted = gathered(x, walk);
  return rows;
}

// f(row) of each row; integers are summed as integers.
template <class OfReals, class OfIntegers>
Outputs reduced(const Call& call, OfReals of_reals, OfIntegers of_integers) {
  ASSAY_TRY(const Rows rows, rows_of(call));
  const auto count = static_cast<std::size_t>(count_of(rows.result_shape));
  const auto each = [&](auto elements, auto f) {
    using T = std::remove_cvref_t<decltype(elements[0])>;
    std::vector<T> y(count);
    for (std::size_t i = 0; i < count; ++i) y[i] = f(elements.subspan(i * rows.size, rows.size));
    return y;
  };
  if (rows.sorted.is_real())
    return Values{Value(call.dtype(0), rows.result_shape, each(rows.sorted.reals(), of_reals))};
  Integers y = each(rows.sorted.integers(), of_integers);
  for (std::int64_t& one : y) one = wrapped_to(call.dtype(0), one);
  return Values{Value(call.dtype(0), rows.result_shape, std::move(y))};
}

template <class T, class F>
T folded(std::span<const T> row, T first, F f) {
  T result = first;
  for (const T x : row) result = f(result, x);
  return result;
}

template <class F>
Outputs summed(const Call& call, F of_each) {
  return reduced(
      call,
      [&](std::span<const double> row) {
        return folded(row, 0.0, [&](double sum, double x) { return plus(sum, of_each(x)); });
      },
      [&](std::span<const std::int64_t> row) {
        return folded(row, std::int64_t{0}, [&](std::int64_t sum, std::int64_t x) { return plus(sum, of_each(x)); });
      });
}
// Applies f to the result of summed().
template <class F>
Outputs then(const Call& call, Outputs sums, F f) {
  if (!sums) return sums;
  const Value& sum = sums->front();
  if (!sum.is_real()) {
    Integers y(sum.count());
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = truncated_to(sum.dtype(), f(sum.number(i)));
    return Values{Value(sum.dtype(), sum.shape(), std::move(y))};
  }
  Reals y(sum.reals().begin(), sum.reals().end());
  for (double& x : y) x = f(x);
  return Values{Value(call.dtype(0), sum.shape(), std::move(y))};
}

constexpr auto kSame = [](auto x) { return x; };
constexpr auto kAbsolute = [](auto x) { return x < 0 ? times(x, decltype(x){-1}) : x; };
constexpr auto kSquare = [](auto x) { return times(x, x); };

Outputs reduce_sum(const Call& call) { return summed(call, kSame); }
Outputs reduce_l1(const Call& call) {
  return is_unsigned(call.dtype(0)) ? summed(call, kSame) : summed(call, kAbsolute);
}
Outputs reduce_sum_square(const Call& call) { return summed(call, kSquare); }
Outputs reduce_l2(const Call& call) {
  return then(call, summed(call, kSquare), [](double x) { return std::sqrt(x); });
}
Outputs reduce_log_sum(const Call& call) {
  return then(call, summed(call, kSame), [](double x) { return std::log(x); });
}
Outputs reduce_mean(const Call& call) {
  ASSAY_TRY(const Rows rows, rows_of(call));
  const auto n = static_cast<double>(rows.size);
  return then(call, summed(call, kSame), [=](double x) { return x / n; });
}
Outputs reduce_log_sum_exp(const Call& call) {
  const auto of_row = [](std::span<const double> row) {
    const double most = folded(row, -HUGE_VAL, [](double a, double b) { return largest_of(DType::kFloat64, a, b); });
    if (std::isinf(most)) return most;
    return most + std::log(folded(row, 0.0, [=](double sum, double x) { return sum + std::exp(x - most); }));
  };
  return reduced(call, of_row, [&](std::span<const std::int64_t> row) {
    return truncated_to(call.dtype(0), of_row(Reals(row.begin(), row.end())));
  });
}
Outputs reduce_prod(const Call& call) {
  const auto product = [](auto a, auto b) { return times(a, b); };
  return reduced(
      call, [&](std::span<const double> row) { return folded(row, 1.0, product); },
      [&](std::span<const std::int64_t> row) { return folded(row, std::int64_t{1}, product); });
}

template <bool kMost>
Outputs extreme(const Call& call) {
  const DType dtype = call.dtype(0);
  const auto better = [=](auto a, auto b) { return kMost ? largest_of(dtype, a, b) : least_of(dtype, a, b); };
  const auto [lowest, highest] = range_of(dtype);
  const std::int64_t first = kMost ? lowest : highest;
  return reduced(
      call, [&](std::span<const double> row) { return folded(row, kMost ? -HUGE_VAL : HUGE_VAL, better); },
      [&](std::span<const std::int64_t> row) { return folded(row, first, better); });
}

template <bool kMost>
Outputs place_of_extreme(const Call& call) {
  const Value& x = call.operand(0);
  ASSAY_TRY(const std::int64_t axis, call.axis(call.integer("axis", 0), x.rank()));
  const bool last = call.integer("select_last_index", 0) != 0;
  const Around parts = around(x.shape(), axis);
  if (parts.extent == 0) return call.invalid("an axis without elements");
  Shape shape = x.shape();
  if (call.integer("keepdims", 1) != 0)
    shape[static_cast<std::size_t>(axis)] = 1;
  else
    shape.erase(shape.begin() + axis);
  ASSAY_TRY(const std::size_t count, call.elements_of(shape));
  return with_elements(x, [&](auto elements) -> Outputs {
    Integers y;
    y.reserve(count);
    for (std::int64_t i = 0; i < parts.outer * parts.inner; ++i) {
      const std::int64_t first = i / parts.inner * parts.extent * parts.inner + i % parts.inner;
      std::int64_t best = 0;
      for (std::int64_t k = 1; k < parts.extent; ++k) {
        const auto here = elements[static_cast<std::size_t>(first + k * parts.inner)],
                   there = elements[static_cast<std::size_t>(first + best * parts.inner)];
        const bool better = kMost ? is_less(x.dtype(), there, here) : is_less(x.dtype(), here, there);
        const bool both_nan = is_nan(here) && is_nan(there);
        // NaN is the extreme of every row that has one.
        if (is_nan(there) ? last && both_nan : better || is_nan(here) || (last && here == there)) best = k;
      }
      y.push_back(best);
    }
    return Values{Value(DType::kInt64, std::move(shape), std::move(y))};
  });
}

template <bool kProduct>
Outputs accumulated(const Call& call) {
  const Value& x = call.operand(0);
  ASSAY_TRY(const std::int64_t given, call.integer_scalar(1));
  ASSAY_TRY(const std::int64_t axis, call.axis(given, x.rank()));
  const bool exclusive = call.integer("exclusive", 0) != 0, reverse = call.integer("reverse", 0) != 0;
  const Around parts = around(x.shape(), axis);
  return with_elements(x, [&](auto elements) -> Outputs {
    using T = std::remove_cvref_t<decltype(elements[0])>;
    std::vector<T> y(elements.size());
    for (std::int64_t i = 0; i < parts.outer * parts.inner; ++i) {
      const std::int64_t first = i / parts.inner * parts.extent * parts.inner + i % parts.inner;
      T total = kProduct ? T{1} : T{0};
      for (std::int64_t k = 0; k < parts.extent; ++k) {
        const auto at = static_cast<std::size_t>(first + (reverse ? parts.extent - 1 - k : k) * parts.inner);
        const T before = total;
        total = kProduct ? times(total, elements[at]) : plus(total, elements[at]);
        if constexpr (std::is_same_v<T, std::int64_t>) total = wrapped_to(x.dtype(), total);
        y[at] = exclusive ? before : total;
      }
    }
    return Values{Value(x.dtype(), x.shape(), std::move(y))};
  });
}

}  // namespace

Operators reduction_operators() {
  return {{"ArgMax", &place_of_extreme<true>},
          {"ArgMin", &place_of_extreme<false>},
          {"CumProd", &accumulated<true>, 2},
          {"CumSum", &accumulated<false>, 2},
          {"ReduceL1", &reduce_l1},
          {"ReduceL2", &reduce_l2},
          {"ReduceLogSum", &reduce_log_sum},
          {"ReduceLogSumExp", &reduce_log_sum_exp},
          {"ReduceMax", &extreme<true>},
          {"ReduceMean", &reduce_mean},
          {"ReduceMin", &extreme<false>},
          {"ReduceProd", &reduce_prod},
          {"ReduceSum", &reduce_sum},
          {"ReduceSumSquare", &reduce_sum_square}};
}

}  // namespace assay::evaluate
