// SPDX-License-Identifier: Apache-2.0
#include "models/evaluate/value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace assay::evaluate {
namespace {

template <class T>
T load(std::span<const std::byte> bytes, std::size_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

template <class T, class To, class Convert>
void read_all(std::span<const std::byte> bytes, To& into, Convert convert) {
  for (std::size_t i = 0; i < into.size(); ++i) into[i] = convert(load<T>(bytes, i));
}

template <class T>
void read_integers(std::span<const std::byte> bytes, Integers& into) {
  read_all<T>(bytes, into, [](T x) { return static_cast<std::int64_t>(x); });
}

// Two elements in a byte, the first in the low bits.
void read_nibbles(std::span<const std::byte> bytes, bool is_signed, Integers& into) {
  for (std::size_t i = 0; i < into.size(); ++i) {
    const auto byte = static_cast<std::int64_t>(bytes[i / 2]);
    const std::int64_t nibble = (byte >> (4 * (i % 2))) & 15;
    into[i] = is_signed && nibble > 7 ? nibble - 16 : nibble;
  }
}

bool read(const TensorView& view, Integers& into) {
  switch (view.dtype) {
    case DType::kInt8:
      return read_integers<std::int8_t>(view.bytes, into), true;
    case DType::kInt16:
      return read_integers<std::int16_t>(view.bytes, into), true;
    case DType::kInt32:
      return read_integers<std::int32_t>(view.bytes, into), true;
    case DType::kInt64:
    case DType::kUInt64:
      return read_integers<std::int64_t>(view.bytes, into), true;
    case DType::kUInt8:
    case DType::kBool:
      return read_integers<std::uint8_t>(view.bytes, into), true;
    case DType::kUInt16:
      return read_integers<std::uint16_t>(view.bytes, into), true;
    case DType::kUInt32:
      return read_integers<std::uint32_t>(view.bytes, into), true;
    case DType::kInt4:
    case DType::kUInt4:
      return read_nibbles(view.bytes, view.dtype == DType::kInt4, into), true;
    default:
      return false;
  }
}

void read(const TensorView& view, Reals& into) {
  switch (view.dtype) {
    case DType::kFloat64:
      return read_all<double>(view.bytes, into, [](double x) { return x; });
    case DType::kFloat32:
      return read_all<float>(view.bytes, into, [](float x) { return static_cast<double>(x); });
    case DType::kFloat16:
      return read_all<std::uint16_t>(view.bytes, into,
                                     [](std::uint16_t x) { return static_cast<double>(half_to_float(x)); });
    default:
      return read_all<std::uint16_t>(view.bytes, into,
                                     [](std::uint16_t x) { return static_cast<double>(bfloat16_to_float(x)); });
  }
}

// A double to the nearest number of a narrower type. Rounding to float32 first would round twice: the float is made odd
// where it is not exact, so that the second rounding sees on which side the number was.
float odd_float(double number) {
  auto nearest = static_cast<float>(number);
  if (!std::isfinite(nearest) || static_cast<double>(nearest) == number) return nearest;
  std::uint32_t bits = 0;
  std::memcpy(&bits, &nearest, sizeof bits);
  if ((bits & 1U) == 0) {
    const bool away = std::abs(number) > std::abs(static_cast<double>(nearest));
    bits = away ? bits + 1 : bits - 1;
    std::memcpy(&nearest, &bits, sizeof bits);
  }
  return nearest;
}

template <class T, class From, class Convert>
void write_all(const From& elements, std::span<std::byte> bytes, Convert convert) {
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const T value = convert(elements[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
}

void write(std::span<const double> elements, DType dtype, std::span<std::byte> bytes) {
  switch (dtype) {
    case DType::kFloat64:
      return write_all<double>(elements, bytes, [](double x) { return x; });
    case DType::kFloat32:
      return write_all<float>(elements, bytes, [](double x) { return static_cast<float>(x); });
    case DType::kFloat16:
      return write_all<std::uint16_t>(elements, bytes, [](double x) { return float_to_half(odd_float(x)); });
    default:
      return write_all<std::uint16_t>(elements, bytes, [](double x) { return float_to_bfloat16(odd_float(x)); });
  }
}

void write(std::span<const std::int64_t> elements, DType dtype, std::span<std::byte> bytes) {
  if (dtype == DType::kInt4 || dtype == DType::kUInt4) {
    for (std::size_t i = 0; i < elements.size(); ++i)
      bytes[i / 2] |= static_cast<std::byte>((elements[i] & 15) << (4 * (i % 2)));
    return;
  }
  // Little-endian: the low bytes come first.
  const auto width = static_cast<std::size_t>(bit_width(dtype) / 8);
  for (std::size_t i = 0; i < elements.size(); ++i) std::memcpy(bytes.data() + i * width, &elements[i], width);
}

}  // namespace

std::int64_t count_of(const Shape& shape) {
  if (std::ranges::find(shape, 0) != shape.end()) return 0;  // beside it extents may be huge
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

std::int64_t count_beside_zeros(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= std::max<std::int64_t>(extent, 1);
  return count;
}

Result<std::int64_t> checked_count(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0)
      return fail(ErrorCode::kInvalidArgument, fmt::format("the shape {} has a negative extent", to_string(shape)));
    if (__builtin_mul_overflow(count, std::max<std::int64_t>(extent, 1), &count) || count > kMostElements)
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("the shape {} has more than {} elements", to_string(shape), kMostElements));
  }
  return count_of(shape);
}

bool is_unsigned(DType dtype) {
  return dtype == DType::kBool || dtype == DType::kUInt8 || dtype == DType::kUInt16 || dtype == DType::kUInt32 ||
         dtype == DType::kUInt64 || dtype == DType::kUInt4;
}

IntegerRange range_of(DType dtype) {
  const int bits = dtype == DType::kBool ? 1 : std::max(bit_width(dtype), 1);
  if (dtype == DType::kUInt64) return {0, -1};
  if (is_unsigned(dtype)) return {0, (std::int64_t{1} << bits) - 1};
  const auto highest = static_cast<std::int64_t>((std::uint64_t{1} << (bits - 1)) - 1);
  return {-highest - 1, highest};
}

std::int64_t truncated_to(DType dtype, double number) {
  constexpr double kEnd = 9223372036854775808.0;  // 2^63
  if (std::isnan(number)) return 0;
  if (dtype == DType::kUInt64 && number >= kEnd)
    return number >= 2 * kEnd ? -1 : static_cast<std::int64_t>(static_cast<std::uint64_t>(number));
  if (number >= kEnd) return wrapped_to(dtype, INT64_MAX);
  return wrapped_to(dtype, number <= -kEnd ? INT64_MIN : static_cast<std::int64_t>(number));
}

bool is_real_type(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat64 || dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

double rounded_to(DType dtype, double number) {
  switch (dtype) {
    case DType::kFloat32:
      return static_cast<double>(static_cast<float>(number));
    case DType::kFloat16:
      return static_cast<double>(half_to_float(float_to_half(odd_float(number))));
    case DType::kBFloat16:
      return static_cast<double>(bfloat16_to_float(float_to_bfloat16(odd_float(number))));
    default:
      return number;
  }
}

std::int64_t wrapped_to(DType dtype, std::int64_t number) {
  switch (dtype) {
    case DType::kInt8:
      return static_cast<std::int8_t>(number);
    case DType::kInt16:
      return static_cast<std::int16_t>(number);
    case DType::kInt32:
      return static_cast<std::int32_t>(number);
    case DType::kUInt8:
      return static_cast<std::uint8_t>(number);
    case DType::kUInt16:
      return static_cast<std::uint16_t>(number);
    case DType::kUInt32:
      return static_cast<std::uint32_t>(number);
    case DType::kBool:
      return number != 0 ? 1 : 0;
    case DType::kUInt4:
      return number & 15;
    case DType::kInt4:
      return ((number & 15) ^ 8) - 8;
    default:
      return number;
  }
}

Value::Value(DType dtype, Shape shape, Reals elements)
    : dtype_(dtype), shape_(std::move(shape)), reals_(std::make_shared<const Reals>(std::move(elements))) {}
Value::Value(DType dtype, Shape shape, Integers elements)
    : dtype_(dtype), shape_(std::move(shape)), integers_(std::make_shared<const Integers>(std::move(elements))) {}

Value Value::with_shape(Shape shape) const {
  Value other = *this;
  other.shape_ = std::move(shape);
  return other;
}

Result<Value> Value::from(const TensorView& view) {
  ASSAY_TRY(const std::int64_t count, checked_count(view.shape));
  if (is_real_type(view.dtype)) {
    Reals elements(static_cast<std::size_t>(count));
    read(view, elements);
    return Value(view.dtype, view.shape, std::move(elements));
  }
  Integers elements(static_cast<std::size_t>(count));
  if (!read(view, elements))
    return fail(ErrorCode::kUnsupported,
                fmt::format("elements of type {} are not evaluated in float64", to_string(view.dtype)));
  return Value(view.dtype, view.shape, std::move(elements));
}

Result<Tensor> Value::to_tensor() const {
  ASSAY_TRY(Tensor tensor, Tensor::create(dtype_, shape_));
  if (is_real())
    write(reals(), dtype_, tensor.bytes());
  else
    write(integers(), dtype_, tensor.bytes());
  return tensor;
}

}  // namespace assay::evaluate
