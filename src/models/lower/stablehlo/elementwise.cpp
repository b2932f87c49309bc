// SPDX-License-Identifier: Apache-2.0
// Arithmetic, comparisons, logic, conversions.
#include "models/lower/stablehlo/elementwise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/graph/shape_rules.hpp"

namespace assay::lowering::stablehlo {
namespace {

// With channels last, of the rank of the output: [C, 1, 1] becomes [1, 1, 1, C].
Result<Hlo> operand_last(HloWriter& writer, const graph::Node& node, std::size_t index, const Shape& output) {
  const Shape& own = writer.program().shape(node.inputs[index]);
  if (own.size() == output.size()) return writer.input_last(node, index);
  ASSAY_TRY(Hlo plain, writer.input(node, index));
  if (own.empty()) return plain;
  Shape full(output.size(), 1);
  std::ranges::copy(own, full.end() - static_cast<std::ptrdiff_t>(own.size()));
  return writer.to_last(writer.reshape(plain, full));
}

Hlo integer_power(HloWriter& writer, const Hlo& x, std::int64_t exponent) {
  Hlo result = x;
  for (std::int64_t i = 1; i < exponent; ++i) result = writer.multiply(result, x);
  return result;
}

template <const char* const& Operation>
Hlo one(HloWriter& writer, const graph::Node&, const Hlo& x) {
  return writer.unary(Operation, x);
}
template <const char* const& Operation>
Hlo two(HloWriter& writer, const graph::Node&, const Hlo& a, const Hlo& b) {
  return writer.binary(Operation, a, b);
}
template <const char* const& Direction>
Hlo compared(HloWriter& writer, const graph::Node&, const Hlo& a, const Hlo& b) {
  return writer.compare(Direction, a, b);
}

#define ASSAY_HLO_NAME(name, text) constexpr const char* name = text  // NOLINT(bugprone-macro-parentheses)
ASSAY_HLO_NAME(kAbs, "stablehlo.abs");
ASSAY_HLO_NAME(kNegate, "stablehlo.negate");
ASSAY_HLO_NAME(kExp, "stablehlo.exponential");
ASSAY_HLO_NAME(kLog, "stablehlo.log");
ASSAY_HLO_NAME(kSqrt, "stablehlo.sqrt");
ASSAY_HLO_NAME(kSin, "stablehlo.sine");
ASSAY_HLO_NAME(kCos, "stablehlo.cosine");
ASSAY_HLO_NAME(kTan, "stablehlo.tan");
ASSAY_HLO_NAME(kTanh, "stablehlo.tanh");
ASSAY_HLO_NAME(kFloor, "stablehlo.floor");
ASSAY_HLO_NAME(kCeil, "stablehlo.ceil");
ASSAY_HLO_NAME(kRound, "stablehlo.round_nearest_even");
ASSAY_HLO_NAME(kNot, "stablehlo.not");
ASSAY_HLO_NAME(kErf, "chlo.erf");
ASSAY_HLO_NAME(kAcos, "chlo.acos");
ASSAY_HLO_NAME(kAsin, "chlo.asin");
ASSAY_HLO_NAME(kAtan, "chlo.atan");
ASSAY_HLO_NAME(kAcosh, "chlo.acosh");
ASSAY_HLO_NAME(kAsinh, "chlo.asinh");
ASSAY_HLO_NAME(kAtanh, "chlo.atanh");
ASSAY_HLO_NAME(kCosh, "chlo.cosh");
ASSAY_HLO_NAME(kSinh, "chlo.sinh");
ASSAY_HLO_NAME(kAnd, "stablehlo.and");
ASSAY_HLO_NAME(kOr, "stablehlo.or");
ASSAY_HLO_NAME(kXor, "stablehlo.xor");
ASSAY_HLO_NAME(kEqual, "EQ");
ASSAY_HLO_NAME(kLess, "LT");
ASSAY_HLO_NAME(kLessOrEqual, "LE");
ASSAY_HLO_NAME(kGreater, "GT");
ASSAY_HLO_NAME(kGreaterOrEqual, "GE");
#undef ASSAY_HLO_NAME

Hlo absolute(HloWriter& writer, const graph::Node& node, const Hlo& x) {
  return is_unsigned(x.dtype) ? x : one<kAbs>(writer, node, x);
}

Hlo identity(HloWriter&, const graph::Node&, const Hlo& x) { return x; }
Hlo reciprocal(HloWriter& writer, const graph::Node&, const Hlo& x) {
  return writer.divide(writer.splat_like(1, x), x);
}
// −1, 0 or 1; also for unsigned types, which stablehlo.sign lacks. NaN stays.
Hlo sign(HloWriter& writer, const graph::Node&, const Hlo& x) {
  if (is_unsigned(x.dtype)) return writer.convert(writer.convert(x, DType::kBool), x.dtype);
  return writer.unary("stablehlo.sign", x);
}
Hlo is_nan(HloWriter& writer, const graph::Node&, const Hlo& x) { return writer.compare("NE", x, x); }
Hlo is_infinite(HloWriter& writer, const graph::Node& node, const Hlo& x) {
  const bool positive = node.integer("detect_positive", 1) != 0, negative = node.integer("detect_negative", 1) != 0;
  if (!positive && !negative) return writer.splat(0, DType::kBool, x.shape);
  Hlo above = writer.compare("EQ", x, writer.highest(x.dtype, x.shape));
  const Hlo below = writer.compare("EQ", x, writer.lowest(x.dtype, x.shape));
  if (!negative) return above;
  return positive ? writer.binary(kOr, above, below) : below;
}

Hlo sum_two(HloWriter& writer, const graph::Node&, const Hlo& a, const Hlo& b) { return writer.add(a, b); }
Hlo subtracted(HloWriter& writer, const graph::Node&, const Hlo& a, const Hlo& b) { return writer.subtract(a, b); }
Hlo multiplied(HloWriter& writer, const graph::Node&, const Hlo& a, const Hlo& b) { return writer.multiply(a, b); }
Hlo divided(HloWriter& writer, const graph::Node&, const Hlo& a, const Hlo& b) { return writer.divide(a, b); }

// fmod = 0: the sign of the divisor, as Python's; 1: that of the dividend, as C's fmod.
Hlo modulo(HloWriter& writer, const graph::Node& node, const Hlo& a, const Hlo& b) {
  Hlo rest = writer.binary("stablehlo.remainder", a, b);
  if (node.integer("fmod", 0) != 0 || is_unsigned(a.dtype)) return rest;
  const Hlo zero = writer.splat_like(0, a);
  const Hlo differs = writer.binary(kXor, writer.compare("LT", rest, zero), writer.compare("LT", b, zero));
  const Hlo moved = writer.binary(kAnd, differs, writer.compare("NE", rest, zero));
  return writer.select(moved, writer.add(rest, b), rest);
}

Status power(HloWriter& writer, const graph::Node& node) {
  const std::optional<double> exponent = writer.program().number(node.inputs[1]);
  return map_elements(writer, node, [&](std::span<const Hlo> x) {
    const DType own = x[0].dtype;
    if (is_float(own)) {
      if (exponent == 1.0) return x[0];
      if (exponent == 2.0 || exponent == 3.0) return integer_power(writer, x[0], static_cast<std::int64_t>(*exponent));
      return writer.binary("stablehlo.power", x[0], writer.convert(x[1], own));
    }
    if (is_float(x[1].dtype)) {
      const DType type = wide(x[1].dtype);
      return writer.convert(writer.binary("stablehlo.power", writer.convert(x[0], type), writer.convert(x[1], type)),
                            own);
    }
    return writer.binary("stablehlo.power", x[0], writer.convert(x[1], own));
  });
}

Status shifted(HloWriter& writer, const graph::Node& node) {
  const bool left = node.text("direction", "") == "LEFT";
  return map_elements(writer, node, [&](std::span<const Hlo> x) {
    const char* const right =
        is_unsigned(x[0].dtype) ? "stablehlo.shift_right_logical" : "stablehlo.shift_right_arithmetic";
    return writer.binary(left ? "stablehlo.shift_left" : right, x[0], x[1]);
  });
}

template <Hlo (*Combine)(HloWriter&, const graph::Node&, const Hlo&, const Hlo&)>
Status folded(HloWriter& writer, const graph::Node& node) {
  return map_elements(writer, node, [&](std::span<const Hlo> x) {
    Hlo result = x[0];
    for (const Hlo& next : x.subspan(1)) result = Combine(writer, node, result, next);
    return result;
  });
}
Hlo larger(HloWriter& writer, const graph::Node&, const Hlo& a, const Hlo& b) { return writer.maximum(a, b); }
Hlo smaller(HloWriter& writer, const graph::Node&, const Hlo& a, const Hlo& b) { return writer.minimum(a, b); }

Status averaged(HloWriter& writer, const graph::Node& node) {
  return map_elements(writer, node, [&](std::span<const Hlo> x) {
    Hlo total = x[0];
    for (const Hlo& next : x.subspan(1)) total = writer.add(total, next);
    return writer.divide(total, writer.splat_like(static_cast<double>(x.size()), total));
  });
}

Status chosen(HloWriter& writer, const graph::Node& node) {
  return map_elements(writer, node, [&](std::span<const Hlo> x) { return writer.select(x[0], x[1], x[2]); });
}

// Before opset 11 the limits are attributes, then inputs that may be left out.
Status clipped(HloWriter& writer, const graph::Node& node) {
  const bool last = writer.prefers_last(node, 0);
  ASSAY_TRY(Hlo x, last ? writer.input_last(node, 0) : writer.input(node, 0));
  const auto limit = [&](std::size_t index, const char* name) -> Result<std::optional<Hlo>> {
    if (has_input(node, index)) {
      ASSAY_TRY(const Hlo given, writer.input(node, index));
      return writer.broadcast(writer.reshape(given, {}), x.shape);
    }
    const graph::Attribute* attribute = node.attribute(name);
    if (attribute == nullptr) return std::nullopt;
    return writer.splat_like(node.number(name, 0), x);
  };
  ASSAY_TRY(const std::optional<Hlo> low, limit(1, "min"));
  ASSAY_TRY(const std::optional<Hlo> high, limit(2, "max"));
  if (low) x = writer.maximum(x, *low);
  if (high) x = writer.minimum(x, *high);
  return element_output(writer, node, x, last);
}

Status cast(HloWriter& writer, const graph::Node& node) {
  const auto to = static_cast<DType>(node.integer("to", 0));
  const bool last = writer.prefers_last(node, 0);
  ASSAY_TRY(const Hlo x, last ? writer.input_last(node, 0) : writer.input(node, 0));
  if (!mlir_element(to)) return refuse(node, fmt::format("the type {}", to_string(to)));
  return element_output(writer, node, cast_to(writer, node, x, to), last);
}

Status cast_like(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo x, writer.input(node, 0));
  const DType to = writer.program().dtype(node.inputs[1]);
  if (!mlir_element(to)) return refuse(node, fmt::format("the type {}", to_string(to)));
  return writer.output(node, cast_to(writer, node, x, to));
}

Status bit_cast(HloWriter& writer, const graph::Node& node) {
  const auto to = static_cast<DType>(node.integer("to", 0));
  ASSAY_TRY(const Hlo x, writer.input(node, 0));
  if (!mlir_element(to) || bit_width(to) != bit_width(x.dtype) || to == DType::kBool || x.dtype == DType::kBool)
    return refuse(node, fmt::format("the type {}", to_string(to)));
  return writer.output(
      node, writer.operation("stablehlo.bitcast_convert", {&x, 1}, "", std::vector{HloWriter::type(to, x.shape)})[0]);
}

// Inference: the input as it is, and a mask of ones.
Status dropped(HloWriter& writer, const graph::Node& node) {
  if (has_input(node, 2)) {
    ASSAY_TRY(const auto training, writer.program().numbers(node, node.inputs[2]));
    if (!training.empty() && training[0] != 0) return refuse(node, "the training mode");
  }
  ASSAY_TRY(const Hlo x, writer.input(node, 0));
  if (node.outputs.size() > 1 && !node.outputs[1].empty())
    ASSAY_CHECK_OK(writer.output(node, 1, writer.splat(1, writer.program().dtype(node.outputs[1]), x.shape)));
  return writer.output(node, x);
}

constexpr std::string_view kNoText = "elements that are strings";

constexpr HloRow kElementwise[] = {
    {{"", "Abs", 1, kNewestOpset, ""}, map_one<absolute>},
    {{"", "Acos", 7, kNewestOpset, ""}, map_one<one<kAcos>>},
    {{"", "Acosh", 9, kNewestOpset, ""}, map_one<one<kAcosh>>},
    {{"", "Add", 7, kNewestOpset, ""}, map_two<sum_two>},
    {{"", "And", 7, kNewestOpset, ""}, map_two<two<kAnd>>},
    {{"", "Asin", 7, kNewestOpset, ""}, map_one<one<kAsin>>},
    {{"", "Asinh", 9, kNewestOpset, ""}, map_one<one<kAsinh>>},
    {{"", "Atan", 7, kNewestOpset, ""}, map_one<one<kAtan>>},
    {{"", "Atanh", 9, kNewestOpset, ""}, map_one<one<kAtanh>>},
    {{"", "BitCast", 26, kNewestOpset, "types of different widths, and bool"}, bit_cast},
    {{"", "BitShift", 11, kNewestOpset, ""}, shifted},
    {{"", "BitwiseAnd", 18, kNewestOpset, ""}, map_two<two<kAnd>>},
    {{"", "BitwiseNot", 18, kNewestOpset, ""}, map_one<one<kNot>>},
    {{"", "BitwiseOr", 18, kNewestOpset, ""}, map_two<two<kOr>>},
    {{"", "BitwiseXor", 18, kNewestOpset, ""}, map_two<two<kXor>>},
    {{"", "Cast", 6, kNewestOpset, "strings, and types of fewer than 8 bits"}, cast},
    {{"", "CastLike", 15, kNewestOpset, "strings, and types of fewer than 8 bits"}, cast_like},
    {{"", "Ceil", 1, kNewestOpset, ""}, map_one<one<kCeil>>},
    {{"", "Clip", 6, kNewestOpset, ""}, clipped},
    {{"", "Cos", 7, kNewestOpset, ""}, map_one<one<kCos>>},
    {{"", "Cosh", 9, kNewestOpset, ""}, map_one<one<kCosh>>},
    {{"", "Div", 7, kNewestOpset, ""}, map_two<divided>},
    {{"", "Dropout", 7, kNewestOpset, "the training mode"}, dropped},
    {{"", "Equal", 7, kNewestOpset, kNoText}, map_two<compared<kEqual>>},
    {{"", "Erf", 9, kNewestOpset, ""}, map_one<one<kErf>>},
    {{"", "Exp", 1, kNewestOpset, ""}, map_one<one<kExp>>},
    {{"", "Floor", 1, kNewestOpset, ""}, map_one<one<kFloor>>},
    {{"", "Greater", 7, kNewestOpset, ""}, map_two<compared<kGreater>>},
    {{"", "GreaterOrEqual", 12, kNewestOpset, ""}, map_two<compared<kGreaterOrEqual>>},
    {{"", "Identity", 1, kNewestOpset, "sequences"}, map_one<identity>},
    {{"", "IsInf", 10, kNewestOpset, ""}, map_one<is_infinite>},
    {{"", "IsNaN", 9, kNewestOpset, ""}, map_one<is_nan>},
    {{"", "Less", 7, kNewestOpset, ""}, map_two<compared<kLess>>},
    {{"", "LessOrEqual", 12, kNewestOpset, ""}, map_two<compared<kLessOrEqual>>},
    {{"", "Log", 1, kNewestOpset, ""}, map_one<one<kLog>>},
    {{"", "Max", 8, kNewestOpset, ""}, folded<larger>},
    {{"", "Mean", 8, kNewestOpset, ""}, averaged},
    {{"", "Min", 8, kNewestOpset, ""}, folded<smaller>},
    {{"", "Mod", 10, kNewestOpset, ""}, map_two<modulo>},
    {{"", "Mul", 7, kNewestOpset, ""}, map_two<multiplied>},
    {{"", "Neg", 1, kNewestOpset, ""}, map_one<one<kNegate>>},
    {{"", "Not", 1, kNewestOpset, ""}, map_one<one<kNot>>},
    {{"", "Or", 7, kNewestOpset, ""}, map_two<two<kOr>>},
    {{"", "Pow", 7, kNewestOpset, ""}, power},
    {{"", "Reciprocal", 1, kNewestOpset, ""}, map_one<reciprocal>},
    {{"", "Round", 11, kNewestOpset, ""}, map_one<one<kRound>>},
    {{"", "Sign", 9, kNewestOpset, ""}, map_one<sign>},
    {{"", "Sin", 7, kNewestOpset, ""}, map_one<one<kSin>>},
    {{"", "Sinh", 9, kNewestOpset, ""}, map_one<one<kSinh>>},
    {{"", "Sqrt", 1, kNewestOpset, ""}, map_one<one<kSqrt>>},
    {{"", "Sub", 7, kNewestOpset, ""}, map_two<subtracted>},
    {{"", "Sum", 8, kNewestOpset, ""}, folded<sum_two>},
    {{"", "Tan", 7, kNewestOpset, ""}, map_one<one<kTan>>},
    {{"", "Tanh", 1, kNewestOpset, ""}, map_one<one<kTanh>>},
    {{"", "Where", 9, kNewestOpset, kNoText}, chosen},
    {{"", "Xor", 7, kNewestOpset, ""}, map_two<two<kXor>>},
};

}  // namespace

Result<ElementOperands> element_operands(HloWriter& writer, const graph::Node& node) {
  const Shape& shape = writer.program().shape(node.outputs[0]);
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    if (has_input(node, i) && broadcast(writer.program().shape(node.inputs[i]), shape) != shape)
      return refuse(node,
                    fmt::format("an input of {} for an output of {},",
                                assay::to_string(writer.program().shape(node.inputs[i])), assay::to_string(shape)));
  ElementOperands operands;
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    operands.last = operands.last ||
                    (writer.prefers_last(node, i) && writer.program().shape(node.inputs[i]).size() == shape.size());
  Shape target = shape;
  if (operands.last) channels_to_last(target);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (!has_input(node, i)) continue;
    ASSAY_TRY(const Hlo value, operands.last ? operand_last(writer, node, i, shape) : writer.input(node, i));
    operands.values.push_back(writer.broadcast(value, target));
  }
  return operands;
}

Status element_output(HloWriter& writer, const graph::Node& node, const Hlo& value, bool last) {
  return last ? writer.output_last(node, 0, value) : writer.output(node, value);
}

Hlo cast_to(HloWriter& writer, const graph::Node& node, const Hlo& x, DType to) {
  if (bit_width(to) != 8 || !is_floating(to) || node.integer("saturate", 1) == 0 || !is_float(x.dtype))
    return writer.convert(x, to);
  const double most = to == DType::kFloat8E4M3FN ? 448 : to == DType::kFloat8E4M3FNUZ ? 240 : 57344;
  // NaN stays: it is smaller and larger than nothing.
  const Hlo limited = writer.maximum(writer.minimum(x, writer.splat_like(most, x)), writer.splat_like(-most, x));
  return writer.convert(limited, to);
}

std::span<const HloRow> hlo_elementwise() { return kElementwise; }

}  // namespace assay::lowering::stablehlo
