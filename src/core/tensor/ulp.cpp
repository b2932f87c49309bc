// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/ulp.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace assay {
namespace {

// The distance of neighbours just above 1, and the smallest normal number.
struct Format {
  double unit;
  double smallest;
};

Format format_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return {0x1p-52, 0x1p-1022};
    case DType::kFloat16:
      return {0x1p-10, 0x1p-14};
    case DType::kBFloat16:
      return {0x1p-7, 0x1p-126};
    default:
      return {0x1p-23, 0x1p-126};
  }
}

Format coarser(DType a, DType b) {
  const Format x = format_of(a), y = format_of(b);
  return {std::max(x.unit, y.unit), std::max(x.smallest, y.smallest)};
}

// The power of two at or below |x|; 0 for subnormal numbers.
double binade(double x) { return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & 0x7FF0'0000'0000'0000U); }

// How elements of a type are kept and computed with.
template <class F, class S>
struct Elements {
  using Float = F;
  using Store = S;
  F (*load)(S);
  S (*store)(F);
};

template <class Float>
Float same(Float x) {
  return x;
}

constexpr Elements<float, std::uint16_t> kHalf{half_to_float, float_to_half};
constexpr Elements<float, std::uint16_t> kBrainHalf{bfloat16_to_float, float_to_bfloat16};

template <class Kind>
typename Kind::Store perturbed(typename Kind::Store stored, bool up, Format format, const Kind& kind) {
  using Float = typename Kind::Float;
  const Float x = kind.load(stored);
  if (x == Float{0} || !std::isfinite(x)) return stored;
  const double step = std::max(binade(static_cast<double>(x)), format.smallest) * format.unit;
  const Float outward = std::copysign(static_cast<Float>(step), x);
  const auto result = kind.store(up ? x + outward : x - outward);
  return std::isfinite(kind.load(result)) ? result : kind.store(x - outward);
}

// Calls change(element, index) -> element.
template <class Kind, class Change>
void for_each(std::span<std::byte> elements, const Kind& kind, const Change& change) {
  using Store = typename Kind::Store;
  for (std::size_t i = 0; (i + 1) * sizeof(Store) <= elements.size(); ++i) {
    Store value;
    std::memcpy(&value, elements.data() + i * sizeof(Store), sizeof value);
    value = change(value, i, kind);
    std::memcpy(elements.data() + i * sizeof(Store), &value, sizeof value);
  }
}

template <class Change>
void for_each(DType dtype, std::span<std::byte> elements, const Change& change) {
  switch (dtype) {
    case DType::kFloat64:
      return for_each(elements, Elements<double, double>{same, same}, change);
    case DType::kFloat32:
      return for_each(elements, Elements<float, float>{same, same}, change);
    case DType::kFloat16:
      return for_each(elements, kHalf, change);
    case DType::kBFloat16:
      return for_each(elements, kBrainHalf, change);
    default:
      return;
  }
}

// Rounding a double through float32 could round twice; by 2^-29 of a unit, which 16-bit arithmetic cannot distinguish.
double rounded(double x, DType precision) {
  switch (precision) {
    case DType::kFloat32:
      return static_cast<double>(static_cast<float>(x));
    case DType::kFloat16:
      return static_cast<double>(half_to_float(float_to_half(static_cast<float>(x))));
    case DType::kBFloat16:
      return static_cast<double>(bfloat16_to_float(float_to_bfloat16(static_cast<float>(x))));
    default:
      return x;
  }
}

}  // namespace

bool has_ulp(DType dtype) {
  return dtype == DType::kFloat64 || dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

void perturb_by_one_ulp(DType dtype, std::span<std::byte> elements, DType precision, const CounterRandom& random,
                        std::uint64_t first) {
  const Format format = coarser(dtype, precision);
  for_each(dtype, elements, [&](auto value, std::size_t i, const auto& kind) {
    return perturbed(value, (random.bits(first + i) & 1) != 0, format, kind);
  });
}

std::uint16_t perturbed_by_one_ulp(DType dtype, std::uint16_t bits, bool up, DType precision) {
  return perturbed(bits, up, coarser(dtype, precision), dtype == DType::kFloat16 ? kHalf : kBrainHalf);
}

void widen(DType dtype, std::span<const std::byte> elements, std::span<float> out) {
  const auto load = dtype == DType::kFloat16 ? half_to_float : bfloat16_to_float;
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, elements.data() + i * sizeof bits, sizeof bits);
    out[i] = load(bits);
  }
}

void round_to_precision(DType dtype, std::span<std::byte> elements, DType precision) {
  for_each(dtype, elements, [&](auto value, std::size_t, const auto& kind) {
    using Float = typename std::remove_cvref_t<decltype(kind)>::Float;
    const auto result = kind.store(static_cast<Float>(rounded(static_cast<double>(kind.load(value)), precision)));
    return std::isfinite(kind.load(result)) ? result : value;
  });
}

}  // namespace assay
