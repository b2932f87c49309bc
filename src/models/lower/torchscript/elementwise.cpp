// SPDX-License-Identifier: Apache-2.0
// Arithmetic, comparisons and logic, element by element.
#include <cstdint>
#include <limits>

#include <fmt/format.h>

#include "models/lower/torchscript/groups.hpp"

namespace assay::lowering {
namespace torchscript::elementwise {
namespace {

using graph::Node;

std::string literal(double number, DType dtype) {
  return is_integer(dtype) ? fmt::format("{}", static_cast<std::int64_t>(number)) : torch_number(number);
}

// Input i as a number if that changes neither the shape nor the type of the result.
std::optional<std::string> as_number(const TorchWriter& writer, const Node& node, std::size_t i, std::size_t other) {
  const auto number = writer.program().number(node.inputs[i]);
  if (!number || writer.shape(node, other) != writer.out_shape(node)) return std::nullopt;
  return literal(*number, writer.dtype(node, i));
}

std::string tensor(TorchWriter& writer, const Node& node, std::size_t i) {
  return computable(writer.in(node, i), writer.dtype(node, i));
}

std::string operand(TorchWriter& writer, const Node& node, std::size_t i, std::size_t other) {
  const auto number = as_number(writer, node, i, other);
  return number ? *number : tensor(writer, node, i);
}

Status refuse_uint64(const TorchWriter& writer, const Node& node) {
  return writer.dtype(node, 0) == DType::kUInt64 ? Status(refuse(node, "the type uint64")) : Status();
}

template <TorchName Name>
Status unary(TorchWriter& writer, const Node& node) {
  return out_as(writer, node, 0, torch_call(Name.text, tensor(writer, node, 0)));
}

template <TorchName Name>
Status binary(TorchWriter& writer, const Node& node) {
  const std::string a = tensor(writer, node, 0);
  return out_as(writer, node, 0, torch_call(Name.text, a, operand(writer, node, 1, 0)));
}

// `Swapped`(b, a) is the same as `Name`(a, b).
template <TorchName Name, TorchName Swapped>
Status swappable(TorchWriter& writer, const Node& node) {
  const auto first = as_number(writer, node, 0, 1);
  if (!first) return binary<Name>(writer, node);
  return out_as(writer, node, 0, torch_call(Swapped.text, tensor(writer, node, 1), *first));
}

// As for signed integers, after the highest bit has been turned.
template <TorchName Name>
Status compare(TorchWriter& writer, const Node& node) {
  std::string a = tensor(writer, node, 0), b = operand(writer, node, 1, 0);
  if (writer.dtype(node, 0) == DType::kUInt64) {
    const std::string highest = fmt::format("(-{} - 1)", std::numeric_limits<std::int64_t>::max());
    a = torch_call("bitwise_xor", a, highest);
    b = torch_call("bitwise_xor", tensor(writer, node, 1), highest);
  }
  writer.out(node, torch_call(Name.text, a, b));
  return {};
}

Status divide(TorchWriter& writer, const Node& node) {
  ASSAY_CHECK_OK(refuse_uint64(writer, node));
  const std::string a = tensor(writer, node, 0), b = operand(writer, node, 1, 0);
  const bool whole = is_integer(writer.dtype(node, 0));
  return out_as(writer, node, 0, whole ? torch_call("div", a, b, "rounding_mode=\"trunc\"") : torch_call("div", a, b));
}

Status modulo(TorchWriter& writer, const Node& node) {
  ASSAY_CHECK_OK(refuse_uint64(writer, node));
  const std::string a = tensor(writer, node, 0), b = operand(writer, node, 1, 0);
  return out_as(writer, node, 0, torch_call(node.integer("fmod", 0) != 0 ? "fmod" : "remainder", a, b));
}

// The result has the type of the first input.
Status power(TorchWriter& writer, const Node& node) {
  ASSAY_CHECK_OK(refuse_uint64(writer, node));
  const DType base = writer.dtype(node, 0), exponent = writer.dtype(node, 1);
  const int float64 = *torch_type(DType::kFloat64);
  if (is_integer(base) && !is_integer(exponent)) {
    const std::string power =
        torch_call("pow", torch_call("to", writer.in(node, 0), float64), operand(writer, node, 1, 0));
    ASSAY_TRY(const std::string made, torch_cast(node, power, base));
    writer.out(node, made);
    return {};
  }
  std::string by = operand(writer, node, 1, 0);
  if (!as_number(writer, node, 1, 0) && base != exponent) {
    ASSAY_TRY(by, torch_cast(node, by, is_computable(base) ? base : DType::kInt64));
  }
  return out_as(writer, node, 0, torch_call("pow", tensor(writer, node, 0), by));
}

// Two or more tensors, from the left.
std::string folded(TorchWriter& writer, const Node& node, std::string_view name, bool native) {
  const auto each = [&](std::size_t i) { return native ? writer.in(node, i) : tensor(writer, node, i); };
  std::string all = each(0);
  for (std::size_t i = 1; i < node.inputs.size(); ++i) all = torch_call(name, all, each(i));
  return node.inputs.size() == 1 ? torch_call("clone", all) : all;
}

// libtorch has these for every type.
template <TorchName Name>
Status extreme(TorchWriter& writer, const Node& node) {
  writer.out(node, folded(writer, node, Name.text, true));
  return {};
}

Status sum(TorchWriter& writer, const Node& node) {
  return out_as(writer, node, 0, folded(writer, node, "add", false));
}

Status mean(TorchWriter& writer, const Node& node) {
  return out_as(
      writer, node, 0,
      torch_call("div", folded(writer, node, "add", false), torch_number(static_cast<double>(node.inputs.size()))));
}

Status where(TorchWriter& writer, const Node& node) {
  const auto branch = [&](std::size_t i) -> std::string {
    const auto number = writer.program().number(node.inputs[i]);
    // Two numbers, or one of a wider type than the other branch, would change the type of the result.
    if (!number || !is_floating(writer.dtype(node, i)) || writer.program().number(node.inputs[3 - i]))
      return writer.in(node, i);
    return torch_number(*number);
  };
  writer.out(node, torch_call("where", writer.in(node, 0), branch(1), branch(2)));
  return {};
}

Status clip(TorchWriter& writer, const Node& node) {
  const DType dtype = writer.dtype(node, 0);
  ASSAY_CHECK_OK(refuse_uint64(writer, node));
  std::optional<std::string> limits[2];
  const char* const attributes[] = {"min", "max"};
  bool tensors = false;
  for (std::size_t i = 0; i < 2; ++i) {
    if (const graph::Attribute* given = node.attribute(attributes[i]);
        given != nullptr && given->get<float>() != nullptr)
      limits[i] = torch_number(double{*given->get<float>()});
    if (!has_input(node, i + 1)) continue;
    const auto number = writer.program().number(node.inputs[i + 1]);
    limits[i] = number ? literal(*number, dtype) : tensor(writer, node, i + 1);
    tensors = tensors || !number;
  }
  if (!limits[0] && !limits[1]) {
    writer.out(node, torch_call("clone", writer.in(node, 0)));
    return {};
  }
  // Both limits are numbers, or both are tensors.
  for (std::size_t i = 0; tensors && i < 2; ++i)
    if (has_input(node, i + 1)) limits[i] = tensor(writer, node, i + 1);
  return out_as(writer, node, 0,
                torch_call("clamp", tensor(writer, node, 0), limits[0].value_or("None"), limits[1].value_or("None")));
}

Status shift(TorchWriter& writer, const Node& node) {
  const std::string a = tensor(writer, node, 0), b = tensor(writer, node, 1);
  if (node.text("direction", "") == "LEFT") return out_as(writer, node, 0, torch_call("bitwise_left_shift", a, b));
  if (writer.dtype(node, 0) != DType::kUInt64) return out_as(writer, node, 0, torch_call("bitwise_right_shift", a, b));
  // The first step fills in a zero, so that the others see a number that is not negative.
  const std::string half =
      torch_call("bitwise_and", torch_call("bitwise_right_shift", a, 1), std::numeric_limits<std::int64_t>::max());
  const std::string rest = torch_call("clamp", torch_call("sub", b, 1), 0);
  return out_as(writer, node, 0,
                torch_call("where", torch_call("eq", b, 0), a, torch_call("bitwise_right_shift", half, rest)));
}

Status is_infinite(TorchWriter& writer, const Node& node) {
  const bool negative = node.integer("detect_negative", 1) != 0, positive = node.integer("detect_positive", 1) != 0;
  const std::string x = writer.in(node, 0);
  const std::string up = torch_call("eq", x, "inf"), down = torch_call("eq", x, "-inf");
  writer.out(node, negative && positive ? torch_call("isinf", x)
                   : positive           ? up
                   : negative           ? down
                                        : torch_call("logical_and", torch_call("ne", x, x), torch_call("eq", x, x)));
  return {};
}

Status not_a_number(TorchWriter& writer, const Node& node) {
  writer.out(node, torch_call("ne", writer.in(node, 0), writer.in(node, 0)));
  return {};
}

Status identity(TorchWriter& writer, const Node& node) {
  if (!torch_type(writer.dtype(node, 0)))
    return refuse(node, fmt::format("the type {}", to_string(writer.dtype(node, 0))));
  writer.is(node.outputs[0], writer.in(node, 0));
  return {};
}

}  // namespace
}  // namespace torchscript::elementwise

TorchOperators torch_elementwise() {
  using namespace torchscript::elementwise;
  return {since(1, "Abs", unary<"abs">),
          since(7, "Acos", unary<"acos">),
          since(9, "Acosh", unary<"acosh">),
          since(7, "Add", swappable<"add", "add">),
          since(7, "And", binary<"logical_and">),
          since(7, "Asin", unary<"asin">),
          since(9, "Asinh", unary<"asinh">),
          since(7, "Atan", unary<"atan">),
          since(9, "Atanh", unary<"atanh">),
          since(11, "BitShift", shift),
          since(18, "BitwiseAnd", binary<"bitwise_and">),
          since(18, "BitwiseNot", unary<"bitwise_not">),
          since(18, "BitwiseOr", binary<"bitwise_or">),
          since(18, "BitwiseXor", binary<"bitwise_xor">),
          since(6, "Cast", lower_cast, "strings, types of 4 bits, float8_e8m0"),
          since(15, "CastLike", lower_cast, "strings, types of 4 bits, float8_e8m0"),
          since(1, "Ceil", unary<"ceil">),
          since(6, "Clip", clip, "uint64"),
          since(7, "Cos", unary<"cos">),
          since(9, "Cosh", unary<"cosh">),
          since(7, "Div", divide, "uint64"),
          since(7, "Equal", binary<"eq">, "strings"),
          since(9, "Erf", unary<"erf">),
          since(1, "Exp", unary<"exp">),
          since(1, "Floor", unary<"floor">),
          since(7, "Greater", compare<"gt">),
          since(12, "GreaterOrEqual", compare<"ge">),
          since(1, "Identity", identity, "sequences"),
          since(10, "IsInf", is_infinite),
          since(9, "IsNaN", not_a_number),
          since(7, "Less", compare<"lt">),
          since(12, "LessOrEqual", compare<"le">),
          since(1, "Log", unary<"log">),
          since(8, "Max", extreme<"maximum">),
          since(8, "Mean", mean),
          since(8, "Min", extreme<"minimum">),
          since(10, "Mod", modulo, "uint64"),
          since(7, "Mul", swappable<"mul", "mul">),
          since(1, "Neg", unary<"neg">),
          since(1, "Not", unary<"logical_not">),
          since(7, "Or", binary<"logical_or">),
          since(7, "Pow", power, "uint64"),
          since(1, "Reciprocal", unary<"reciprocal">),
          since(11, "Round", unary<"round">),
          since(9, "Sign", unary<"sign">),
          since(7, "Sin", unary<"sin">),
          since(9, "Sinh", unary<"sinh">),
          since(1, "Sqrt", unary<"sqrt">),
          since(7, "Sub", swappable<"sub", "rsub">),
          since(8, "Sum", sum),
          since(7, "Tan", unary<"tan">),
          since(1, "Tanh", unary<"tanh">),
          since(9, "Where", where),
          since(7, "Xor", binary<"logical_xor">)};
}

}  // namespace assay::lowering
