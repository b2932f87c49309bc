// SPDX-License-Identifier: Apache-2.0
#include "models/evaluate/kernels/quantisation.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/evaluate/kernels/convolution.hpp"
#include "models/evaluate/kernels/product.hpp"
#include "models/evaluate/strides.hpp"

namespace assay::evaluate {

std::int64_t to_level(double scaled, std::int64_t zero_point, DType dtype) {
  const double level = std::nearbyint(std::isnan(scaled) ? 0 : scaled) + static_cast<double>(zero_point);
  if (bit_width(dtype) > 32) return truncated_to(dtype, is_unsigned(dtype) ? std::max(level, 0.0) : level);
  const auto [lowest, highest] = range_of(dtype);
  return static_cast<std::int64_t>(std::clamp(level, static_cast<double>(lowest), static_cast<double>(highest)));
}

Result<std::vector<std::int64_t>> scale_places(const Call& call, const Shape& x, const Shape& scales, std::int64_t axis,
                                               std::int64_t block) {
  std::vector<std::int64_t> places(static_cast<std::size_t>(count_of(x)), 0);
  const auto misfit = [&] {
    return call.invalid("scales or zero points " + to_string(scales) + " do not fit the tensor " + to_string(x));
  };
  const auto rank = static_cast<std::int64_t>(x.size());
  if (block <= 0 && scales.size() <= 1 && count_of(scales) == 1) return places;
  ASSAY_TRY(const std::int64_t along, call.axis(axis, rank));
  const Around parts = around(x, along);
  std::int64_t blocks = parts.extent;
  if (block > 0) {
    Shape expected = x;
    blocks = parts.extent / block + (parts.extent % block != 0 ? 1 : 0);
    expected[static_cast<std::size_t>(along)] = blocks;
    if (scales != expected) return misfit();
  } else if (scales != Shape{parts.extent}) {
    return misfit();
  }
  std::size_t at = 0;
  for (std::int64_t o = 0; o < parts.outer; ++o)
    for (std::int64_t k = 0; k < parts.extent; ++k)
      for (std::int64_t i = 0; i < parts.inner; ++i)
        places[at++] = block > 0 ? (o * blocks + k / block) * parts.inner + i : k;
  return places;
}

Result<Value> dequantised(const Call& call, std::size_t x, std::size_t scale, std::size_t zero_point, std::int64_t axis,
                          std::int64_t block) {
  ASSAY_TRY(const auto levels, call.integers(x));
  ASSAY_TRY(const auto scales, call.reals(scale));
  ASSAY_TRY(const std::vector<std::int64_t> places, scale_places(call, call.shape(x), call.shape(scale), axis, block));
  std::span<const std::int64_t> zeros;
  if (call.has(zero_point)) {
    ASSAY_TRY(zeros, call.integers(zero_point));
    if (zeros.size() != scales.size()) return call.invalid("its scales and zero points have different shapes");
  }
  Reals y(levels.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    const auto at = static_cast<std::size_t>(places[i]);
    y[i] = (static_cast<double>(levels[i]) - (zeros.empty() ? 0 : static_cast<double>(zeros[at]))) * scales[at];
  }
  return Value(DType::kFloat64, call.shape(x), std::move(y));
}

Result<Value> quantised(const Call& call, std::span<const double> x, const Shape& shape, std::size_t scale,
                        std::size_t zero_point, DType dtype, std::int64_t axis, std::int64_t block) {
  ASSAY_TRY(const auto scales, call.reals(scale));
  ASSAY_TRY(const std::vector<std::int64_t> places, scale_places(call, shape, call.shape(scale), axis, block));
  std::span<const std::int64_t> zeros;
  if (call.has(zero_point)) {
    ASSAY_TRY(zeros, call.integers(zero_point));
    if (zeros.size() != scales.size() || call.dtype(zero_point) != dtype)
      return call.invalid("its scales and zero points do not fit together");
  }
  Integers y(x.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    const auto at = static_cast<std::size_t>(places[i]);
    y[i] = to_level(x[i] / scales[at], zeros.empty() ? 0 : zeros[at], dtype);
  }
  return Value(dtype, shape, std::move(y));
}

Result<Value> centred(const Call& call, std::size_t x, std::size_t zero_point, std::int64_t axis) {
  ASSAY_TRY(const auto levels, call.integers(x));
  Reals y(levels.begin(), levels.end());
  if (call.has(zero_point)) {
    ASSAY_TRY(const auto zeros, call.integers(zero_point));
    if (zeros.size() == 1) {
      for (double& one : y) one -= static_cast<double>(zeros[0]);
    } else {
      ASSAY_TRY(const std::int64_t along, call.axis(axis, call.operand(x).rank()));
      const Around parts = around(call.shape(x), along);
      // A list, or a tensor of the operand's rank with 1 along the axis that is summed.
      const auto places = static_cast<std::int64_t>(zeros.size());
      if (places != parts.extent && places != parts.outer * parts.extent)
        return call.invalid("zero points " + to_string(call.shape(zero_point)) + " do not fit " +
                            to_string(call.shape(x)));
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(y.size()); ++i)
        y[static_cast<std::size_t>(i)] -=
            static_cast<double>(zeros[static_cast<std::size_t>(i / parts.inner % places)]);
    }
  }
  return Value(DType::kFloat64, call.shape(x), std::move(y));
}

Value as_integers(const Value& x, DType dtype) {
  Integers y;
  for (const double one : x.reals()) y.push_back(truncated_to(dtype, one));
  return {dtype, x.shape(), std::move(y)};
}

DynamicLevels dynamic_levels(std::span<const double> x) {
  double least = 0, most = 0;
  for (const double one : x) {
    least = std::min(least, one);
    most = std::max(most, one);
  }
  DynamicLevels found;
  const double range = most == least ? 1 : most - least;
  found.scale = range / 255;
  found.zero_point = to_level(-least * 255 / range, 0, DType::kUInt8);
  for (const double one : x) found.levels.push_back(to_level(one * 255 / range, found.zero_point, DType::kUInt8));
  return found;
}

namespace {

bool is_level_type(DType dtype) { return is_integer(dtype) && bit_width(dtype) >= 4 && bit_width(dtype) <= 32; }

Reals numbers_of(const Value& value) {
  Reals all(value.count());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = value.number(i);
  return all;
}

}  // namespace

Outputs quantize_linear(const Call& call) {
  const std::int64_t stated = call.integer("output_dtype", 0);
  const DType dtype = call.has(2) ? call.dtype(2) : stated != 0 ? static_cast<DType>(stated) : DType::kUInt8;
  if (!is_level_type(dtype)) return call.unsupported("the type " + std::string(to_string(dtype)));
  ASSAY_TRY(Value y, quantised(call, numbers_of(call.operand(0)), call.shape(0), 1, 2, dtype, call.integer("axis", 1),
                               call.integer("block_size", 0)));
  return Values{std::move(y)};
}

Outputs dequantize_linear(const Call& call) {
  const std::int64_t stated = call.integer("output_dtype", 0);
  const DType dtype = stated != 0 ? static_cast<DType>(stated) : call.dtype(1);
  if (!is_real_type(dtype)) return call.unsupported("the type " + std::string(to_string(dtype)));
  ASSAY_TRY(const Value y, dequantised(call, 0, 1, 2, call.integer("axis", 1), call.integer("block_size", 0)));
  return Values{Value(dtype, y.shape(), Reals(y.reals().begin(), y.reals().end()))};
}

namespace {

Outputs dynamic_quantize_linear(const Call& call) {
  ASSAY_TRY(const auto x, call.reals(0));
  DynamicLevels found = dynamic_levels(x);
  return Values{Value(DType::kUInt8, call.shape(0), std::move(found.levels)),
                Value(DType::kFloat32, {}, Reals{found.scale}), Value(DType::kUInt8, {}, Integers{found.zero_point})};
}

Outputs mat_mul_integer(const Call& call) {
  ASSAY_TRY(const Value a, centred(call, 0, 2, -2));
  ASSAY_TRY(const Value b, centred(call, 1, 3, -1));
  ASSAY_TRY(const Value product, matrix_product(call, a, b));
  return Values{as_integers(product, DType::kInt32)};
}

Outputs conv_integer(const Call& call) {
  ASSAY_TRY(const Value x, centred(call, 0, 2, 1));
  ASSAY_TRY(const Value w, centred(call, 1, 3, 0));
  ASSAY_TRY(const Value y, convolution(call, x, w, nullptr));
  return Values{as_integers(y, DType::kInt32)};
}

// Sums of products of levels, times the scales of both operands: `axis` is the one that a list of scales belongs to.
Outputs rescaled(const Call& call, const Value& sums, std::size_t scale_a, std::size_t scale_b, std::size_t scale_y,
                 std::size_t zero_y, std::int64_t axis_a, std::int64_t axis_b) {
  ASSAY_TRY(const auto of_a, call.reals(scale_a));
  ASSAY_TRY(const auto of_b, call.reals(scale_b));
  const auto flat = [](std::size_t count) { return count == 1 ? Shape{} : Shape{static_cast<std::int64_t>(count)}; };
  ASSAY_TRY(const auto places_a, scale_places(call, sums.shape(), flat(of_a.size()), axis_a, 0));
  ASSAY_TRY(const auto places_b, scale_places(call, sums.shape(), flat(of_b.size()), axis_b, 0));
  Reals y(sums.reals().begin(), sums.reals().end());
  for (std::size_t i = 0; i < y.size(); ++i)
    y[i] *= of_a[static_cast<std::size_t>(places_a[i])] * of_b[static_cast<std::size_t>(places_b[i])];
  const DType dtype = call.has(zero_y) ? call.dtype(zero_y) : call.dtype(0);
  if (!is_level_type(dtype)) return call.invalid("its zero point is not an integer");
  ASSAY_TRY(Value result, quantised(call, y, sums.shape(), scale_y, zero_y, dtype, axis_a, 0));
  return Values{std::move(result)};
}

Outputs q_linear_mat_mul(const Call& call) {
  for (std::size_t i = 0; i < 8; ++i)
    if (!call.has(i)) return call.invalid("input " + std::to_string(i) + " is missing");
  ASSAY_TRY(const Value a, centred(call, 0, 2, -2));
  ASSAY_TRY(const Value b, centred(call, 3, 5, -1));
  ASSAY_TRY(const Value sums, matrix_product(call, a, b));
  return rescaled(call, sums, 1, 4, 6, 7, -2, -1);
}

Outputs q_linear_conv(const Call& call) {
  ASSAY_TRY(const Value x, centred(call, 0, 2, 1));
  ASSAY_TRY(const Value w, centred(call, 3, 5, 0));
  Value bias;
  if (call.has(8)) {
    ASSAY_TRY(const auto given, call.integers(8));
    bias = Value(DType::kFloat64, call.shape(8), Reals(given.begin(), given.end()));
  }
  ASSAY_TRY(const Value sums, convolution(call, x, w, call.has(8) ? &bias : nullptr));
  return rescaled(call, sums, 1, 4, 6, 7, 1, 1);
}

}  // namespace

Operators quantisation_operators() {
  return {{"ConvInteger", &conv_integer, 2},
          {"DequantizeLinear", &dequantize_linear, 2},
          {"DynamicQuantizeLinear", &dynamic_quantize_linear},
          {"MatMulInteger", &mat_mul_integer, 2},
          {"QLinearConv", &q_linear_conv, 8},
          {"QLinearMatMul", &q_linear_mat_mul, 8},
          {"QuantizeLinear", &quantize_linear, 2}};
}

}  // namespace assay::evaluate
