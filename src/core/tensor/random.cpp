// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/random.hpp"

namespace assay {
namespace {

constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15;

constexpr std::uint64_t mix(std::uint64_t z) {
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
  z = (z ^ z >> 27) * 0x94D049BB133111EB;
  return z ^ z >> 31;
}

// FNV-1a, 64 bits: names are short and need no more.
constexpr std::uint64_t hash(std::string_view text) {
  std::uint64_t h = 0xCBF29CE484222325;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return h;
}

// Four uniform integers in [0, 2^16) have the mean 2 * 65535 and the variance (2^32 - 1) / 3.
constexpr std::int32_t kNormalMean = 2 * 65535;
constexpr float kNormalScale = 2.6428997921303014e-05F;

}  // namespace

CounterRandom::CounterRandom(std::uint64_t seed, std::string_view name) : key_(mix(mix(seed + kGolden) ^ hash(name))) {}

std::uint64_t CounterRandom::bits(std::uint64_t index) const { return mix(key_ + (index + 1) * kGolden); }

float CounterRandom::uniform(std::uint64_t index) const { return static_cast<float>(bits(index) >> 40) * 0x1p-24F; }

std::int64_t CounterRandom::integer(std::uint64_t index, std::int64_t low, std::int64_t high) const {
  // The upper half of bits * range: a bias of at most range / 2^64.
  __extension__ using Wide = unsigned __int128;
  const auto range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
  const auto offset = static_cast<std::uint64_t>(static_cast<Wide>(bits(index)) * range >> 64);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + offset);
}

float CounterRandom::normal(std::uint64_t index) const {
  const std::uint64_t b = bits(index);
  const auto sum = static_cast<std::int32_t>((b & 0xFFFF) + (b >> 16 & 0xFFFF) + (b >> 32 & 0xFFFF) + (b >> 48));
  return static_cast<float>(sum - kNormalMean) * kNormalScale;
}

std::string_view seed_scheme() { return "splitmix64-ih4-1"; }

void fill_normal(const CounterRandom& random, float mean, float deviation, std::span<float> out, std::uint64_t first) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = mean + deviation * random.normal(first + i);
}

}  // namespace assay
