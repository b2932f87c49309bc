// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/tensor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace assay {
namespace {

constexpr std::size_t kAlignment = 64;

std::uint64_t physical_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long size = ::sysconf(_SC_PAGE_SIZE);
  if (pages <= 0 || size <= 0) return std::numeric_limits<std::uint64_t>::max();
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size);
}

template <class T>
T load(const TensorView& view, std::int64_t index) {
  T value;
  std::memcpy(&value, view.bytes.data() + static_cast<std::size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

template <class T>
double load_double(const TensorView& view, std::int64_t index) {
  return static_cast<double>(load<T>(view, index));
}

// Elements of `bits` < 8 bits are packed, the first in the lowest bits.
unsigned load_packed(const TensorView& view, std::int64_t index, int bits) {
  const auto per_byte = static_cast<std::int64_t>(8 / bits);
  const auto byte = std::to_integer<unsigned>(view.bytes[static_cast<std::size_t>(index / per_byte)]);
  return byte >> (bits * static_cast<int>(index % per_byte)) & ((1U << bits) - 1U);
}

int sign_extend(unsigned value, int bits) {
  const unsigned sign = 1U << (bits - 1);
  return static_cast<int>(value ^ sign) - static_cast<int>(sign);
}

// A small float: sign, `exponent_bits`, then mantissa; no infinities or NaN treated here.
double small_float(unsigned bits, int exponent_bits, int mantissa_bits, int bias) {
  const unsigned mantissa = bits & ((1U << mantissa_bits) - 1U);
  const unsigned exponent = bits >> mantissa_bits & ((1U << exponent_bits) - 1U);
  const bool negative = (bits >> (exponent_bits + mantissa_bits) & 1U) != 0;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, 1 - bias - mantissa_bits)
                    : std::ldexp((1U << mantissa_bits) + mantissa, static_cast<int>(exponent) - bias - mantissa_bits);
  return negative ? -magnitude : magnitude;
}

double float8_to_double(DType dtype, unsigned bits) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  switch (dtype) {
    case DType::kFloat8E4M3FN:
      return (bits & 0x7FU) == 0x7FU ? kNaN : small_float(bits, 4, 3, 7);
    case DType::kFloat8E4M3FNUZ:
      return bits == 0x80U ? kNaN : small_float(bits, 4, 3, 8);
    case DType::kFloat8E5M2FNUZ:
      return bits == 0x80U ? kNaN : small_float(bits, 5, 2, 16);
    case DType::kFloat8E8M0:
      return bits == 0xFFU ? kNaN : std::ldexp(1.0, static_cast<int>(bits) - 127);
    default:  // E5M2 is IEEE-like: infinities, then NaN
      if ((bits & 0x7CU) != 0x7CU) return small_float(bits, 5, 2, 15);
      if ((bits & 0x03U) != 0) return kNaN;
      return (bits & 0x80U) != 0 ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  }
}

}  // namespace

std::string to_string(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

Result<std::int64_t> element_count(const Shape& shape) {
  std::int64_t count = 1;
  bool empty = false, overflow = false;
  for (const std::int64_t extent : shape) {
    if (extent < 0)
      return fail(ErrorCode::kInvalidArgument, fmt::format("the shape {} has a negative extent", to_string(shape)));
    empty = empty || extent == 0;
    overflow = overflow || (extent > 0 && __builtin_mul_overflow(count, extent, &count));
  }
  if (empty) return 0;
  if (overflow)
    return fail(ErrorCode::kInvalidArgument, fmt::format("the shape {} has more than 2^63 elements", to_string(shape)));
  return count;
}

Result<std::uint64_t> byte_size(DType dtype, const Shape& shape) {
  const int bits = bit_width(dtype);
  if (bits == 0)
    return fail(ErrorCode::kUnsupported, fmt::format("elements of type {} have no fixed size", to_string(dtype)));
  ASSAY_TRY(const std::int64_t elements, element_count(shape));
  const auto count = static_cast<std::uint64_t>(elements);
  if (bits < 8) {
    const auto per_byte = static_cast<std::uint64_t>(8 / bits);
    return count / per_byte + (count % per_byte != 0 ? 1 : 0);
  }
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(count, static_cast<std::uint64_t>(bits / 8), &bytes))
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} elements of {} need more bytes than a 64-bit number can count", to_string(shape),
                            to_string(dtype)));
  return bytes;
}

void Tensor::Free::operator()(std::byte* p) const noexcept { std::free(p); }

Result<Tensor> Tensor::create(DType dtype, Shape shape) {
  ASSAY_TRY(const std::uint64_t size, byte_size(dtype, shape));
  // Overcommitting kernels grant anything and kill later: what cannot fit is refused here.
  const std::uint64_t memory = physical_memory();
  const auto refuse = [&](std::string_view why) {
    return fail(ErrorCode::kOutOfMemory,
                fmt::format("a {} tensor of {} needs {} bytes{}", to_string(dtype), to_string(shape), size, why));
  };
  if (size > memory) return refuse(fmt::format(", this machine has {}", memory));
  Tensor tensor;
  const std::size_t allocated = (static_cast<std::size_t>(size) / kAlignment + 1) * kAlignment;
  tensor.data_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, allocated)));
  if (tensor.data_ == nullptr) return refuse(", which the system refused");
  std::memset(tensor.data_.get(), 0, allocated);
  tensor.dtype_ = dtype;
  tensor.shape_ = std::move(shape);
  tensor.size_ = static_cast<std::size_t>(size);
  return tensor;
}

Result<Tensor> Tensor::copy_of(const TensorView& view) {
  ASSAY_TRY(const std::uint64_t size, byte_size(view.dtype, view.shape));
  if (size != view.bytes.size())
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("a {} tensor of {} has {} bytes, not {}", to_string(view.dtype), to_string(view.shape),
                            size, view.bytes.size()));
  ASSAY_TRY(Tensor tensor, create(view.dtype, view.shape));
  if (size > 0) std::memcpy(tensor.data_.get(), view.bytes.data(), view.bytes.size());
  return tensor;
}

double element_as_double(const TensorView& view, std::int64_t index) {
  switch (view.dtype) {
    case DType::kFloat32:
      return load_double<float>(view, index);
    case DType::kFloat64:
      return load<double>(view, index);
    case DType::kFloat16:
      return static_cast<double>(half_to_float(load<std::uint16_t>(view, index)));
    case DType::kBFloat16:
      return static_cast<double>(bfloat16_to_float(load<std::uint16_t>(view, index)));
    case DType::kUInt8:
      return load_double<std::uint8_t>(view, index);
    case DType::kInt8:
      return load_double<std::int8_t>(view, index);
    case DType::kUInt16:
      return load_double<std::uint16_t>(view, index);
    case DType::kInt16:
      return load_double<std::int16_t>(view, index);
    case DType::kUInt32:
      return load_double<std::uint32_t>(view, index);
    case DType::kInt32:
      return load_double<std::int32_t>(view, index);
    case DType::kUInt64:
      return load_double<std::uint64_t>(view, index);
    case DType::kInt64:
      return load_double<std::int64_t>(view, index);
    case DType::kBool:
      return load<std::uint8_t>(view, index) != 0 ? 1.0 : 0.0;
    case DType::kFloat8E4M3FN:
    case DType::kFloat8E4M3FNUZ:
    case DType::kFloat8E5M2:
    case DType::kFloat8E5M2FNUZ:
    case DType::kFloat8E8M0:
      return float8_to_double(view.dtype, load<std::uint8_t>(view, index));
    case DType::kUInt4:
      return load_packed(view, index, 4);
    case DType::kInt4:
      return sign_extend(load_packed(view, index, 4), 4);
    case DType::kFloat4E2M1:
      return small_float(load_packed(view, index, 4), 2, 1, 1);
    case DType::kUInt2:
      return load_packed(view, index, 2);
    case DType::kInt2:
      return sign_extend(load_packed(view, index, 2), 2);
    case DType::kUndefined:
    case DType::kString:
    case DType::kComplex64:
    case DType::kComplex128:
      break;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

float half_to_float(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16;
  const std::uint32_t exponent = bits >> 10 & 0x1FU;
  const std::uint32_t mantissa = bits & 0x3FFU;
  if (exponent == 0x1FU) return std::bit_cast<float>(sign | 0x7F800000U | mantissa << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112U) << 23 | mantissa << 13);
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;  // subnormal: exact
  return sign != 0 ? -magnitude : magnitude;
}

std::uint16_t float_to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U)  // NaN: keep the payload's upper bits, stay quiet
    return static_cast<std::uint16_t>(sign | 0x7E00U | (magnitude >> 13 & 0x1FFU));
  if (magnitude >= 0x477FF000U) return static_cast<std::uint16_t>(sign | 0x7C00U);  // rounds to 2^16 or more
  if (magnitude < 0x38800000U) {                                                    // below 2^-14: subnormal
    // Adding 0.5 puts 2^-24 at the last place of the sum, so the addition itself rounds to nearest even.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3F000000U));
  }
  const std::uint32_t rounded = magnitude + 0xFFFU + (magnitude >> 13 & 1U);
  return static_cast<std::uint16_t>(sign | (rounded - 0x38000000U) >> 13);
}

float bfloat16_to_float(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

std::uint16_t float_to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<std::uint16_t>(bits >> 16 | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
}

}  // namespace assay
