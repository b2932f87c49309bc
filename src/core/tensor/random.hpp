// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/tensor/tensor.hpp"

namespace assay {

/// The generator of seeded weights and inputs: counter-based, so element i of a stream needs no earlier element. It is
/// pure integer arithmetic, shifted and scaled without libm, so every machine computes the same bytes.
///
/// bits(key, i) is the SplitMix64 finaliser of key + (i + 1) * 0x9E3779B97F4A7C15 (Steele, Lea, Flood: "Fast splittable
/// pseudorandom number generators", OOPSLA 2014).
class CounterRandom {
 public:
  /// Streams of different (seed, name) are independent; `name` is a parameter's or an input's.
  CounterRandom(std::uint64_t seed, std::string_view name);
  [[nodiscard]] std::uint64_t bits(std::uint64_t index) const;
  /// Uniform in [0, 1), a multiple of 2^-24.
  [[nodiscard]] float uniform(std::uint64_t index) const;
  /// Uniform in [low, high]; high - low < 2^63.
  [[nodiscard]] std::int64_t integer(std::uint64_t index, std::int64_t low, std::int64_t high) const;
  /// Mean 0, variance 1: the sum of four 16-bit uniforms, shifted and scaled (Irwin-Hall, n = 4; bounded by ±3.47).
  [[nodiscard]] float normal(std::uint64_t index) const;

 private:
  std::uint64_t key_;
};

/// Name of the scheme above as stored in identities: "splitmix64-ih4-1". Changes whenever bytes change.
[[nodiscard]] std::string_view seed_scheme();

/// Fills `out` (float32) with mean + deviation * normal, from element `first` of the stream on.
void fill_normal(const CounterRandom& random, float mean, float deviation, std::span<float> out,
                 std::uint64_t first = 0);

}  // namespace assay
