// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/evaluate/kernel.hpp"

/// What the operators of quantisation share, those of ONNX and those of ONNX Runtime.
namespace assay::evaluate {

/// A number divided by the scale already, as an integer of `dtype`: rounded, halves to even, plus the zero point,
/// limited to what the type has.
[[nodiscard]] std::int64_t to_level(double scaled, std::int64_t zero_point, DType dtype);

/// Which scale belongs to each element of a tensor of shape `x`, for scales of one number, of one for each place of
/// `axis`, or of one for each block along it (`block` > 0). Errors: invalid_argument: the scales' shape does not fit.
[[nodiscard]] Result<std::vector<std::int64_t>> scale_places(const Call& call, const Shape& x, const Shape& scales,
                                                             std::int64_t axis, std::int64_t block);

/// (x − zero point) · scale of operand `x`, with the scale and the zero point at the two places behind it. An operand
/// without a zero point has 0. The result is float64, whatever its type is called.
[[nodiscard]] Result<Value> dequantised(const Call& call, std::size_t x, std::size_t scale, std::size_t zero_point,
                                        std::int64_t axis, std::int64_t block);
/// The inverse, of the number at each place. The zero point, if it is given, has the type `dtype`.
[[nodiscard]] Result<Value> quantised(const Call& call, std::span<const double> x, const Shape& shape,
                                      std::size_t scale, std::size_t zero_point, DType dtype, std::int64_t axis,
                                      std::int64_t block);

/// The integers of operand `x` minus its zero point, as float64. A list of zero points belongs to the places of `axis`.
[[nodiscard]] Result<Value> centred(const Call& call, std::size_t x, std::size_t zero_point, std::int64_t axis);

/// Integers that the type has, of whole numbers; the rest is cut off.
[[nodiscard]] Value as_integers(const Value& x, DType dtype);

/// A tensor as unsigned integers of 8 bits, and how.
struct DynamicLevels {
  Integers levels;
  double scale = 1;
  std::int64_t zero_point = 0;
};
/// As DynamicQuantizeLinear does.
[[nodiscard]] DynamicLevels dynamic_levels(std::span<const double> x);

[[nodiscard]] Outputs quantize_linear(const Call& call);
[[nodiscard]] Outputs dequantize_linear(const Call& call);

}  // namespace assay::evaluate
