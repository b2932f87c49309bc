// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/dtype.hpp"
#include "tensor/random.hpp"

namespace assay {

/// What another precision would make of elements that stay in their own type.
///
/// Elements are packed, of `dtype`; `precision` is whose arithmetic is meant. Both are float64, float32, float16 or
/// bfloat16; elements of any other type are left as they are.

[[nodiscard]] bool has_ulp(DType dtype);  ///< one of the four types above

/// Moves every element by one unit in the last place of the coarser of `dtype` and `precision`, up or down by a bit of
/// `random`'s stream from element `first` on; towards zero where the other way leads out of the finite numbers. Zeros,
/// infinities and NaN stay.
void move_by_one_ulp(DType dtype, std::span<std::byte> elements, DType precision, const CounterRandom& random,
                     std::uint64_t first = 0);

/// The same for one element of a type of two bytes.
[[nodiscard]] std::uint16_t moved_by_one_ulp(DType dtype, std::uint16_t bits, bool up, DType precision);

/// Rounds every element to the nearest number that `precision` has, ties to even. Infinities, NaN and what would become
/// infinite stay.
void round_to_precision(DType dtype, std::span<std::byte> elements, DType precision);

/// Floats of 16 bits, float16 or bfloat16, as float32, which holds them all. `out`: one for each element.
void widen(DType dtype, std::span<const std::byte> elements, std::span<float> out);

}  // namespace assay
