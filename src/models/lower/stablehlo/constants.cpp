// SPDX-License-Identifier: Apache-2.0
// Constants: text if they have few elements, else weights.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/base/text.hpp"
#include "models/graph/shape_rules.hpp"
#include "models/lower/stablehlo/text.hpp"

namespace assay::lowering::stablehlo {
namespace {

std::string with_point(std::string number) {
  if (number.find('.') != std::string::npos) return number;
  const auto exponent = number.find('e');
  return exponent == std::string::npos ? number + ".0" : number.insert(exponent, ".0");
}

// A number in MLIR's syntax. A float is the shortest decimal number that is rounded to it.
std::string literal(double number, DType dtype) {
  if (dtype == DType::kBool) return number != 0 ? "true" : "false";
  if (!is_floating(dtype)) {
    return dtype == DType::kUInt64 ? fmt::format("{}", static_cast<std::uint64_t>(number))
                                   : fmt::format("{}", static_cast<std::int64_t>(number));
  }
  if (dtype == DType::kFloat64) {
    if (std::isfinite(number)) return with_point(fmt::format("{}", number));
    std::uint64_t bits = 0;
    std::memcpy(&bits, &number, sizeof bits);
    return fmt::format("0x{:016X}", bits);
  }
  const auto single = static_cast<float>(number);
  constexpr float kMostHalf = 65504;
  const bool is_finite = dtype == DType::kFloat16 ? std::abs(single) <= kMostHalf : std::isfinite(single);
  if (is_finite) return with_point(fmt::format("{}", single));
  // Infinities and NaN are written as bits.
  if (dtype == DType::kFloat16) return fmt::format("0x{:04X}", float_to_half(single));
  if (dtype == DType::kBFloat16) return fmt::format("0x{:04X}", float_to_bfloat16(single));
  std::uint32_t bits = 0;
  std::memcpy(&bits, &single, sizeof bits);
  return fmt::format("0x{:08X}", bits);
}

// Complex numbers are not written as text.
bool is_inline(DType dtype, const Shape& shape) {
  return count_of(shape) <= HloWriter::kMostInline && dtype != DType::kComplex64 && dtype != DType::kComplex128;
}

std::int64_t whole(const TensorView& view, std::int64_t index) {
  std::int64_t number = 0;
  std::memcpy(&number, view.bytes.data() + index * 8, sizeof number);
  return number;
}

// 64-bit integers do not fit into a double.
std::string element_text(const TensorView& view, std::int64_t index) {
  if (view.dtype == DType::kInt64) return fmt::format("{}", whole(view, index));
  if (view.dtype == DType::kUInt64) return fmt::format("{}", static_cast<std::uint64_t>(whole(view, index)));
  return literal(element_as_double(view, index), view.dtype);
}

// Nested lists as the shape has them.
std::string nested(const std::vector<std::string>& elements, const Shape& shape, std::size_t axis, std::size_t& place) {
  if (axis == shape.size()) return elements[place++];
  std::string text = "[";
  for (std::int64_t i = 0; i < shape[axis]; ++i) text += (i > 0 ? ", " : "") + nested(elements, shape, axis + 1, place);
  return text + "]";
}

std::string elements_text(const std::vector<std::string>& elements, const Shape& shape) {
  if (!elements.empty() && std::ranges::all_of(elements, [&](const std::string& one) { return one == elements[0]; }))
    return elements[0];
  std::size_t place = 0;
  return nested(elements, shape, 0, place);
}

template <class T>
void store(std::string& bytes, T number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

// The types that lowering computes many constants in.
bool is_packable(DType dtype) {
  return dtype == DType::kFloat64 || dtype == DType::kFloat32 || dtype == DType::kFloat16 ||
         dtype == DType::kBFloat16 || dtype == DType::kInt64 || dtype == DType::kInt32 || dtype == DType::kBool;
}

// The packed form of numbers that a dtype's values are computed from.
std::string packed(std::span<const double> numbers, DType dtype) {
  std::string bytes;
  for (const double number : numbers) {
    switch (dtype) {
      case DType::kFloat64:
        store(bytes, number);
        break;
      case DType::kInt64:
        store(bytes, static_cast<std::int64_t>(number));
        break;
      case DType::kInt32:
        store(bytes, static_cast<std::int32_t>(number));
        break;
      case DType::kFloat16:
        store(bytes, float_to_half(static_cast<float>(number)));
        break;
      case DType::kBFloat16:
        store(bytes, float_to_bfloat16(static_cast<float>(number)));
        break;
      case DType::kBool:
        store(bytes, static_cast<std::uint8_t>(number != 0));
        break;
      default:
        store(bytes, static_cast<float>(number));
    }
  }
  return bytes;
}

}  // namespace

Hlo HloWriter::constant_text(const std::string& elements, DType dtype, const Shape& shape) {
  const std::string text = fmt::format("stablehlo.constant dense<{}> : {}", elements, type_text(type(dtype, shape)));
  const auto known = constants_.find(text);
  if (known != constants_.end()) return known->second;
  return constants_.emplace(text, line(text, dtype, shape)).first->second;
}

Hlo HloWriter::elements_of(const TensorView& view) {
  std::vector<std::string> elements;
  for (std::int64_t i = 0; i < count_of(view.shape); ++i) elements.push_back(element_text(view, i));
  return constant_text(elements_text(elements, view.shape), view.dtype, view.shape);
}

Result<Hlo> HloWriter::tensor(const graph::Constant& constant, const std::string& name) {
  ASSAY_TRY(const graph::ConstantData data, program_->model().data(constant));
  if (is_inline(constant.dtype, constant.shape)) return elements_of({constant.dtype, constant.shape, data.bytes});
  return add_weight(held_weight(name, constant.dtype, constant.shape, data.bytes));
}

Hlo HloWriter::splat(double number, DType dtype, const Shape& shape) {
  return constant_text(literal(number, dtype), dtype, shape);
}

Hlo HloWriter::splat_of(const TensorView& element, const Shape& shape) {
  return constant_text(element_text(element, 0), element.dtype, shape);
}

Hlo HloWriter::lowest(DType dtype, const Shape& shape) {
  if (is_floating(dtype)) return splat(-std::numeric_limits<double>::infinity(), dtype, shape);
  if (dtype == DType::kBool) return splat(0, dtype, shape);
  if (!is_integer(dtype)) return misfit(type(dtype, shape), fmt::format("the order of {}", to_string(dtype)));
  if (is_unsigned(dtype)) return splat(0, dtype, shape);
  return constant_text(fmt::format("{}", std::numeric_limits<std::int64_t>::min() >> (64 - bit_width(dtype))), dtype,
                       shape);
}

Hlo HloWriter::highest(DType dtype, const Shape& shape) {
  if (is_floating(dtype)) return splat(std::numeric_limits<double>::infinity(), dtype, shape);
  if (dtype == DType::kBool) return splat(1, dtype, shape);
  if (!is_integer(dtype)) return misfit(type(dtype, shape), fmt::format("the order of {}", to_string(dtype)));
  const int bits = bit_width(dtype) - (is_unsigned(dtype) ? 0 : 1);
  return constant_text(fmt::format("{}", std::numeric_limits<std::uint64_t>::max() >> (64 - bits)), dtype, shape);
}

Hlo HloWriter::list(std::span<const std::int64_t> numbers, DType dtype) {
  if (static_cast<std::int64_t>(numbers.size()) > kMostInline && dtype != DType::kInt64)
    return list(std::vector<double>(numbers.begin(), numbers.end()), dtype);
  std::vector<std::string> elements;
  for (const std::int64_t number : numbers)
    elements.push_back(is_floating(dtype) || dtype == DType::kBool ? literal(static_cast<double>(number), dtype)
                                                                   : fmt::format("{}", number));
  const Shape shape{static_cast<std::int64_t>(numbers.size())};
  return constant_text(elements_text(elements, shape), dtype, shape);
}

Hlo HloWriter::list(std::span<const double> numbers, DType dtype) {
  return computed(numbers, dtype, {static_cast<std::int64_t>(numbers.size())});
}

Hlo HloWriter::computed(std::span<const double> numbers, DType dtype, const Shape& shape) {
  if (static_cast<std::int64_t>(numbers.size()) <= kMostInline) {
    std::vector<std::string> elements;
    for (const double number : numbers) elements.push_back(literal(number, dtype));
    return constant_text(elements_text(elements, shape), dtype, shape);
  }
  if (!is_packable(dtype)) return misfit(type(dtype, shape), fmt::format("constants of type {}", to_string(dtype)));
  const std::string elements = packed(numbers, dtype);
  return add_weight(
      held_weight(fmt::format("computed.{}", into_->weights.size()), dtype, shape, std::as_bytes(std::span(elements))));
}

Hlo HloWriter::iota(DType dtype, const Shape& shape, std::int64_t axis) {
  return line(fmt::format("stablehlo.iota dim = {} : {}", axis, type_text(type(dtype, shape))), dtype, shape);
}

Hlo HloWriter::add_weight(Weight weight) {
  Hlo made{fmt::format("%w{}", into_->weights.size()), weight.dtype, weight.shape};
  into_->weights.push_back(std::move(weight));
  return made;
}

Result<Hlo> HloWriter::constant(const Weight& weight) {
  if (!mlir_element(weight.dtype))
    return fail(ErrorCode::kUnsupported,
                fmt::format("the constant {} has elements of type {}", shown(weight.name), to_string(weight.dtype)));
  if (!is_inline(weight.dtype, weight.shape)) return add_weight(weight);
  ASSAY_TRY(const graph::ConstantData data, program_->elements(weight.name));
  return elements_of({weight.dtype, weight.shape, data.bytes});
}

}  // namespace assay::lowering::stablehlo
