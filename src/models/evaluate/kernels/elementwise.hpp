// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "models/evaluate/kernel.hpp"
#include "models/evaluate/strides.hpp"

/// What kernels of elements share.
namespace assay::evaluate {

/// Sums and products; of integers their low 64 bits.
inline double plus(double a, double b) { return a + b; }
inline double times(double a, double b) { return a * b; }
inline std::int64_t plus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
inline std::int64_t times(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

/// The order of the elements of a type. NaN is not less than a number, nor a number than NaN.
inline bool is_less(DType, double a, double b) { return a < b; }
inline bool is_less(DType dtype, std::int64_t a, std::int64_t b) {
  return dtype == DType::kUInt64 ? static_cast<std::uint64_t>(a) < static_cast<std::uint64_t>(b) : a < b;
}
inline bool is_nan(double x) { return std::isnan(x); }
inline bool is_nan(std::int64_t) { return false; }

/// The smaller and the larger of two elements, for every operator that has a minimum or a maximum; NaN if one of them
/// is NaN, as in NumPy.
template <class T>
T least_of(DType dtype, T a, T b) {
  return is_nan(a) || (!is_nan(b) && !is_less(dtype, b, a)) ? a : b;
}
template <class T>
T largest_of(DType dtype, T a, T b) {
  return is_nan(a) || (!is_nan(b) && !is_less(dtype, a, b)) ? a : b;
}

/// f(x) of each element of operand 0, which has a floating type.
template <class F>
Outputs map_reals(const Call& call, F f) {
  ASSAY_TRY(const auto x, call.reals(0));
  Reals y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = f(x[i]);
  return Values{Value(call.dtype(0), call.shape(0), std::move(y))};
}

/// f(a, b) of each pair of elements of two spans, repeated to the shape `to`.
template <class To, class A, class B, class F>
std::vector<To> combined(const A& a, const Shape& a_shape, const B& b, const Shape& b_shape, const Shape& to, F f) {
  std::vector<To> result(static_cast<std::size_t>(count_of(to)));
  const Strided of_a = repeated(a_shape, to), of_b = repeated(b_shape, to);
  std::size_t at = 0;
  // Both walks have the same rows: the second is remembered while the first goes on.
  std::vector<std::int64_t> rows;
  for_each_row(of_b, [&](std::int64_t place, std::int64_t, std::int64_t) { rows.push_back(place); });
  std::size_t row = 0;
  const std::int64_t step_b = to.empty() ? 0 : of_b.strides.back();
  for_each_row(of_a, [&](std::int64_t place, std::int64_t step, std::int64_t count) {
    const std::int64_t other = rows[row++];
    for (std::int64_t i = 0; i < count; ++i)
      result[at++] = static_cast<To>(
          f(a[static_cast<std::size_t>(place + i * step)], b[static_cast<std::size_t>(other + i * step_b)]));
  });
  return result;
}

}  // namespace assay::evaluate
