// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/tensor/dtype.hpp"
#include "core/tensor/random.hpp"

namespace assay {

/// Rounding and perturbing elements as another precision would, in their own type.
///
/// Elements are packed, of `dtype`; `precision` is the type whose arithmetic counts. Both are float64, float32, float16
/// or bfloat16; elements of any other type do not change.

[[nodiscard]] bool has_ulp(DType dtype);  ///< one of the four types above

/// Perturbs every element by one unit in the last place of the coarser of `dtype` and `precision`, up or down by a bit
/// of `random`'s stream from element `first` on; towards zero if the result would not be finite. Zeros, infinities and
/// NaN do not change.
void perturb_by_one_ulp(DType dtype, std::span<std::byte> elements, DType precision, const CounterRandom& random,
                        std::uint64_t first = 0);

/// The same for one element of a type of two bytes.
[[nodiscard]] std::uint16_t perturbed_by_one_ulp(DType dtype, std::uint16_t bits, bool up, DType precision);

/// Rounds every element to the nearest number of type `precision`, ties to even. Infinities, NaN and elements that
/// would become infinite do not change.
void round_to_precision(DType dtype, std::span<std::byte> elements, DType precision);

/// Floats of 16 bits, float16 or bfloat16, as float32, which represents them all. `out`: one for each element.
void widen(DType dtype, std::span<const std::byte> elements, std::span<float> out);

}  // namespace assay
