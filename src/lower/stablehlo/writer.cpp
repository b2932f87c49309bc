// SPDX-License-Identifier: Apache-2.0
// Names, types and constants: what every operation needs.
#include "lower/stablehlo/writer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "base/text.hpp"
#include "graph/shape_rules.hpp"

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
  if (std::isfinite(single) || std::isfinite(number)) {
    if (dtype == DType::kFloat32 && std::isfinite(single)) return with_point(fmt::format("{}", single));
    if (std::isfinite(single)) return with_point(fmt::format("{}", single));
  }
  // Infinities and NaN are written as bits.
  if (dtype == DType::kFloat16) return fmt::format("0x{:04X}", float_to_half(single));
  if (dtype == DType::kBFloat16) return fmt::format("0x{:04X}", float_to_bfloat16(single));
  std::uint32_t bits = 0;
  std::memcpy(&bits, &single, sizeof bits);
  return fmt::format("0x{:08X}", bits);
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
        ASSAY_CHECK(dtype == DType::kFloat32, "a type that lowering computes constants in");
        store(bytes, static_cast<float>(number));
    }
  }
  return bytes;
}

}  // namespace

std::optional<std::string_view> mlir_element(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return "f32";
    case DType::kFloat64:
      return "f64";
    case DType::kFloat16:
      return "f16";
    case DType::kBFloat16:
      return "bf16";
    case DType::kInt8:
      return "i8";
    case DType::kInt16:
      return "i16";
    case DType::kInt32:
      return "i32";
    case DType::kInt64:
      return "i64";
    case DType::kUInt8:
      return "ui8";
    case DType::kUInt16:
      return "ui16";
    case DType::kUInt32:
      return "ui32";
    case DType::kUInt64:
      return "ui64";
    case DType::kBool:
      return "i1";
    case DType::kFloat8E4M3FN:
      return "f8E4M3FN";
    case DType::kFloat8E4M3FNUZ:
      return "f8E4M3FNUZ";
    case DType::kFloat8E5M2:
      return "f8E5M2";
    case DType::kFloat8E5M2FNUZ:
      return "f8E5M2FNUZ";
    default:
      return std::nullopt;
  }
}

std::optional<std::string> mlir_type(DType dtype, const Shape& shape) {
  const auto element = mlir_element(dtype);
  if (!element) return std::nullopt;
  std::string text = "tensor<";
  for (const std::int64_t extent : shape) text += fmt::format("{}x", extent);
  return text + std::string(*element) + ">";
}

std::string joined(const Axes& numbers) { return fmt::format("{}", fmt::join(numbers, ", ")); }

Axes all_axes(const Hlo& x) {
  Axes axes(x.shape.size());
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

bool is_float(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat64 || dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

DType wide(DType dtype) { return dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32; }

Result<std::int64_t> axis_of(const graph::Node& node, std::int64_t axis, std::int64_t rank) {
  const std::int64_t from_0 = axis < 0 ? axis + rank : axis;
  if (from_0 >= 0 && from_0 < rank) return from_0;
  return refuse(node, fmt::format("axis {} of a tensor of rank {}", axis, rank));
}

HloWriter::HloWriter(const StaticProgram& program, Program& into) : program_(&program), into_(&into) {
  for (std::size_t i = 0; i < program.inputs().size(); ++i) {
    const Value& input = program.inputs()[i];
    values_[input.name].plain = Hlo{fmt::format("%x{}", i), input.dtype, input.shape};
  }
}

std::string HloWriter::fresh() { return fmt::format("%{}", count_++); }

Hlo HloWriter::line(const std::string& text, DType dtype, Shape shape) {
  Hlo made{fresh(), dtype, std::move(shape)};
  body_ += fmt::format("    {} = {}\n", made.id, text);
  return made;
}

Hlo HloWriter::constant_text(const std::string& elements, DType dtype, const Shape& shape) {
  const std::string text = fmt::format("stablehlo.constant dense<{}> : {}", elements, *mlir_type(dtype, shape));
  const auto known = constants_.find(text);
  if (known != constants_.end()) return known->second;
  return constants_.emplace(text, line(text, dtype, shape)).first->second;
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
  const std::int64_t count = count_of(weight.shape);
  if (count > kMostInline) return add_weight(weight);
  ASSAY_TRY(const graph::ConstantData data, program_->elements(weight.name));
  return elements_of({weight.dtype, weight.shape, data.bytes});
}

Hlo HloWriter::elements_of(const TensorView& view) {
  std::vector<std::string> elements;
  for (std::int64_t i = 0; i < count_of(view.shape); ++i) elements.push_back(element_text(view, i));
  return constant_text(elements_text(elements, view.shape), view.dtype, view.shape);
}

Result<Hlo> HloWriter::tensor(const graph::Constant& constant, const std::string& name) {
  ASSAY_TRY(const graph::ConstantData data, program_->model().data(constant));
  if (count_of(constant.shape) <= kMostInline) return elements_of({constant.dtype, constant.shape, data.bytes});
  return add_weight(held_weight(name, constant.dtype, constant.shape, data.bytes));
}

Result<Hlo> HloWriter::value(std::string_view name) {
  const auto found = values_.find(name);
  if (found != values_.end()) {
    if (!found->second.plain) found->second.plain = from_last(*found->second.last);
    return *found->second.plain;
  }
  const Weight* weight = program_->constant(name);
  if (weight == nullptr)
    return fail(ErrorCode::kInternal, fmt::format("nothing was lowered for the value {}", shown(name)));
  ASSAY_TRY(const Hlo made, constant(*weight));
  // A constant in a region is only valid there.
  if (!made.id.starts_with("%w")) return made;
  values_[std::string(name)].plain = made;
  return made;
}

Result<Hlo> HloWriter::input(const graph::Node& node, std::size_t index) {
  if (!has_input(node, index)) return refuse(node, fmt::format("the missing input {}", index));
  return value(node.inputs[index]);
}

bool HloWriter::prefers_last(const graph::Node& node, std::size_t index) const {
  if (!has_input(node, index)) return false;
  const auto found = values_.find(node.inputs[index]);
  return found != values_.end() && found->second.last && !found->second.plain;
}

Result<Hlo> HloWriter::input_last(const graph::Node& node, std::size_t index) {
  if (has_input(node, index)) {
    const auto found = values_.find(node.inputs[index]);
    if (found != values_.end() && found->second.last) return *found->second.last;
  }
  ASSAY_TRY(const Hlo plain, input(node, index));
  const Hlo last = to_last(plain);
  values_[std::string(node.inputs[index])].last = last;
  values_[std::string(node.inputs[index])].plain = plain;
  return last;
}

std::optional<Hlo> HloWriter::permuted_constant(const graph::Node& node, std::size_t index, const Axes& permutation) {
  const Weight* weight = has_input(node, index) ? program_->constant(node.inputs[index]) : nullptr;
  if (weight == nullptr || !mlir_element(weight->dtype)) return std::nullopt;
  const std::string key = fmt::format("{} permuted {}", node.inputs[index], joined(permutation));
  if (const auto known = permuted_.find(key); known != permuted_.end()) return known->second;
  Weight turned = *weight;
  turned.permutation = permutation;
  for (std::size_t i = 0; i < permutation.size(); ++i)
    turned.shape[i] = weight->shape[static_cast<std::size_t>(permutation[i])];
  return permuted_.emplace(key, add_weight(std::move(turned))).first->second;
}

Status HloWriter::check_type(const graph::Node& node, std::size_t index, DType dtype, const Shape& shape) const {
  const StaticValue& known = program_->value(node.outputs[index]);
  if (dtype == known.dtype && shape == *known.shape) return {};
  return fail(ErrorCode::kInternal,
              fmt::format("lowering makes {} {} of output {} of node {} ({}), which is {} {}", to_string(dtype),
                          assay::to_string(shape), index, shown(node.shown_name()), sanitise(node.operator_name()),
                          to_string(known.dtype), assay::to_string(*known.shape)));
}

Status HloWriter::output(const graph::Node& node, std::size_t index, const Hlo& value) {
  if (index >= node.outputs.size() || node.outputs[index].empty()) return {};
  ASSAY_CHECK_OK(check_type(node, index, value.dtype, value.shape));
  values_[std::string(node.outputs[index])].plain = value;
  return {};
}

Status HloWriter::output_last(const graph::Node& node, std::size_t index, const Hlo& value) {
  if (index >= node.outputs.size() || node.outputs[index].empty()) return {};
  Shape plain = value.shape;
  std::rotate(plain.begin() + 1, plain.end() - 1, plain.end());
  ASSAY_CHECK_OK(check_type(node, index, value.dtype, plain));
  values_[std::string(node.outputs[index])].last = value;
  return {};
}

Hlo HloWriter::splat(double number, DType dtype, const Shape& shape) {
  return constant_text(literal(number, dtype), dtype, shape);
}

Hlo HloWriter::lowest(DType dtype, const Shape& shape) {
  if (is_floating(dtype)) return splat(-std::numeric_limits<double>::infinity(), dtype, shape);
  if (dtype == DType::kBool) return splat(0, dtype, shape);
  const bool is_signed =
      dtype == DType::kInt8 || dtype == DType::kInt16 || dtype == DType::kInt32 || dtype == DType::kInt64;
  if (!is_signed) return splat(0, dtype, shape);
  return constant_text(fmt::format("{}", std::numeric_limits<std::int64_t>::min() >> (64 - bit_width(dtype))), dtype,
                       shape);
}

Hlo HloWriter::highest(DType dtype, const Shape& shape) {
  if (is_floating(dtype)) return splat(std::numeric_limits<double>::infinity(), dtype, shape);
  if (dtype == DType::kBool) return splat(1, dtype, shape);
  const bool is_signed =
      dtype == DType::kInt8 || dtype == DType::kInt16 || dtype == DType::kInt32 || dtype == DType::kInt64;
  const int bits = bit_width(dtype) - (is_signed ? 1 : 0);
  return constant_text(fmt::format("{}", std::numeric_limits<std::uint64_t>::max() >> (64 - bits)), dtype, shape);
}

Hlo HloWriter::list(std::span<const std::int64_t> numbers, DType dtype) {
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
  const std::string elements = packed(numbers, dtype);
  return add_weight(
      held_weight(fmt::format("computed.{}", into_->weights.size()), dtype, shape, std::as_bytes(std::span(elements))));
}

Hlo HloWriter::iota(DType dtype, const Shape& shape, std::int64_t axis) {
  return line(fmt::format("stablehlo.iota dim = {} : {}", axis, *mlir_type(dtype, shape)), dtype, shape);
}

}  // namespace assay::lowering::stablehlo
