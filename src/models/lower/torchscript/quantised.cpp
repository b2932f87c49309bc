// SPDX-License-Identifier: Apache-2.0
// Conversions between real numbers and quantised integers, and products of quantised tensors. Sums of products are
// exact: they are computed in float64, which has all integers of 53 bits.
#include <fmt/format.h>

#include "models/lower/torchscript/groups.hpp"

namespace assay::lowering {
namespace torchscript::quantised {
namespace {

using graph::Node;

std::string to(const std::string& x, DType dtype) { return torch_call("to", x, *torch_type(dtype)); }

// The integers that a type has; nullopt: it is not an integer type of at most 16 bits.
std::optional<std::pair<std::int64_t, std::int64_t>> range_of(DType dtype) {
  switch (dtype) {
    case DType::kUInt8:
      return {{0, 255}};
    case DType::kInt8:
      return {{-128, 127}};
    case DType::kUInt16:
      return {{0, 65535}};
    case DType::kInt16:
      return {{-32768, 32767}};
    default:
      return std::nullopt;
  }
}

// Rounded to integers (halves to even), with the zero point added, within the range of the type.
Result<std::string> quantised(const Node& node, const std::string& x, const std::optional<std::string>& zero,
                              DType dtype) {
  const auto range = range_of(dtype);
  if (!range) return refuse(node, fmt::format("the type {}", to_string(dtype)));
  std::string made = torch_call("round", x);
  if (zero) made = torch_call("add", made, *zero);
  made = torch_call("clamp", made, range->first, range->second);
  return to(dtype == DType::kUInt16 ? to(made, DType::kInt64) : made, dtype);
}

// Input i, a scale or zero point, with one element for each of input 0, or each of its axis, or one for all.
Result<std::string> spread(TorchWriter& writer, const Node& node, std::size_t i) {
  const std::string given = writer.in(node, i);
  const Shape& shape = writer.shape(node, i);
  const Shape& whole = writer.shape(node, 0);
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  if (count == 1) return torch_call("reshape", given, "[]");
  ASSAY_TRY(const std::int64_t axis, axis_of(node, node.integer("axis", 1), writer.rank(node, 0)));
  const auto along = static_cast<std::size_t>(axis);
  if (const std::int64_t block = node.integer("block_size", 0); block > 0 && shape.size() == whole.size()) {
    std::string wide = torch_call("repeat_interleave", given, block, axis);
    return shape[along] * block == whole[along] ? wide : torch_call("narrow", wide, axis, 0, whole[along]);
  }
  Shape extents(whole.size(), 1);
  extents[along] = count;
  return torch_call("reshape", given, torch_list(extents));
}

Status quantize(TorchWriter& writer, const Node& node) {
  const DType out = writer.out_dtype(node);
  const std::int64_t precision = node.integer("precision", 0);
  const DType type = precision != 0                       ? static_cast<DType>(precision)
                     : is_floating(writer.dtype(node, 0)) ? writer.dtype(node, 0)
                                                          : DType::kFloat32;
  if (!torch_type(type) || !torch_type(out)) return refuse(node, fmt::format("the type {}", to_string(out)));
  ASSAY_TRY(const std::string scale, spread(writer, node, 1));
  const std::string x = torch_call("div", to(writer.in(node, 0), type), to(scale, type));
  if (is_floating(out)) {  // 8 bits; their zero point is zero
    ASSAY_TRY(const std::string made, torch_cast_saturated(node, x, out, node.integer("saturate", 1) != 0));
    writer.out(node, made);
    return {};
  }
  std::optional<std::string> zero;
  if (has_input(node, 2)) {
    ASSAY_TRY(const std::string given, spread(writer, node, 2));
    zero = to(given, DType::kFloat32);
  }
  ASSAY_TRY(const std::string made, quantised(node, to(x, DType::kFloat32), zero, out));
  writer.out(node, made);
  return {};
}

Status dequantize(TorchWriter& writer, const Node& node) {
  const DType given = writer.dtype(node, 0), out = writer.out_dtype(node);
  if (!torch_type(given)) return refuse(node, fmt::format("the type {}", to_string(given)));
  std::string x = writer.in(node, 0);
  if (has_input(node, 2) && is_integer(given)) {
    const bool wide = given == DType::kInt32 || given == DType::kUInt32;  // float32 does not have all of them
    const DType type = wide ? DType::kInt64 : DType::kFloat32;
    ASSAY_TRY(const std::string zero, spread(writer, node, 2));
    x = torch_call("sub", to(x, type), to(zero, type));
  }
  ASSAY_TRY(const std::string scale, spread(writer, node, 1));
  const std::string made = torch_call("mul", to(x, DType::kFloat32), to(scale, DType::kFloat32));
  ASSAY_TRY(const std::string typed, torch_cast(node, made, out));
  writer.out(node, typed);
  return {};
}

Status quantize_dynamically(TorchWriter& writer, const Node& node) {
  const std::string x = writer.in(node, 0);
  const std::string most = writer.let(torch_call("clamp", torch_call("amax", x), 0.0));
  const std::string least = writer.let(torch_call("clamp", torch_call("amin", x), "None", "0.0"));
  const std::string width = writer.let(torch_call("sub", most, least));
  const std::string scale = writer.let(torch_call(
      "div", torch_call("where", torch_call("eq", width, 0), torch_call("ones_like", width), width), "255.0"));
  const std::string zero = writer.let(
      torch_call("round", torch_call("clamp", torch_call("neg", torch_call("div", least, scale)), "0.0", "255.0")));
  ASSAY_TRY(const std::string made, quantised(node, torch_call("div", x, scale), zero, DType::kUInt8));
  writer.out(node, 0, made);
  writer.out(node, 1, scale);
  writer.out(node, 2, to(zero, DType::kUInt8));
  return {};
}

// Input i as float64 without its zero point, which has one element or one for each place of `axis`.
std::string exact(TorchWriter& writer, const Node& node, std::size_t i, std::size_t zero, std::size_t axis) {
  std::string x = to(writer.in(node, i), DType::kFloat64);
  if (!has_input(node, zero)) return x;
  std::string point = to(writer.in(node, zero), DType::kFloat64);
  if (const Shape& shape = writer.shape(node, zero); shape.size() == 1) {
    Shape extents(writer.shape(node, i).size(), 1);
    if (shape[0] != 1) extents[axis] = shape[0];
    point = torch_call("reshape", point, torch_list(extents));
  }
  return torch_call("sub", x, point);
}

// The product of two quantised matrices, whose zero points are for rows and for columns.
std::string product_of(TorchWriter& writer, const Node& node, std::size_t a, std::size_t a_zero, std::size_t b,
                       std::size_t b_zero) {
  const std::size_t rows = writer.shape(node, a).size() < 2 ? 0 : writer.shape(node, a).size() - 2;
  return torch_call("matmul", exact(writer, node, a, a_zero, rows),
                    exact(writer, node, b, b_zero, writer.shape(node, b).size() - 1));
}

Status matmul_of_integers(TorchWriter& writer, const Node& node) {
  writer.out(node, to(product_of(writer, node, 0, 2, 1, 3), writer.out_dtype(node)));
  return {};
}

Status convolution_of_integers(TorchWriter& writer, const Node& node) {
  ASSAY_TRY(const std::string made,
            torch_convolution(writer, node, exact(writer, node, 0, 2, 1), 1, exact(writer, node, 1, 3, 0), "None"));
  writer.out(node, to(made, writer.out_dtype(node)));
  return {};
}

// The scale of one operand; `rows`: its shape if it has an element for each row or channel.
std::string scale_of(TorchWriter& writer, const Node& node, std::size_t i, const Shape& rows) {
  std::string scale = to(writer.in(node, i), DType::kFloat32);
  const Shape& shape = writer.shape(node, i);
  if (shape.empty()) return scale;
  return torch_call("reshape", scale,
                    shape == Shape{1}   ? "[]"
                    : shape.size() == 1 ? torch_list(rows)
                                        : torch_list(shape));
}

// sums · scale of a · scale of b / scale of y, quantised.
Status write_quantised(TorchWriter& writer, const Node& node, const std::string& sums, const std::string& a,
                       const std::string& b, std::size_t scale) {
  const std::string factor = torch_call("div", torch_call("mul", a, b),
                                        to(torch_call("reshape", writer.in(node, scale), "[]"), DType::kFloat32));
  const std::string x = torch_call("mul", sums, to(factor, DType::kFloat64));
  std::optional<std::string> zero;
  if (has_input(node, scale + 1)) zero = to(torch_call("reshape", writer.in(node, scale + 1), "[]"), DType::kFloat64);
  ASSAY_TRY(const std::string made, quantised(node, x, zero, writer.out_dtype(node)));
  writer.out(node, made);
  return {};
}

Status quantised_matmul(TorchWriter& writer, const Node& node) {
  Shape rows(writer.shape(node, 0).size(), 1);
  if (rows.size() > 1 && writer.rank(node, 1) == 1) rows[rows.size() - 2] = writer.shape(node, 1)[0];
  const std::string a = scale_of(writer, node, 1, rows);
  const std::string b = scale_of(writer, node, 4, writer.shape(node, 4));
  return write_quantised(writer, node, product_of(writer, node, 0, 2, 3, 5), a, b, 6);
}

Status quantised_convolution(TorchWriter& writer, const Node& node) {
  Shape channels(writer.shape(node, 0).size(), 1);
  if (writer.rank(node, 4) == 1) channels[1] = writer.shape(node, 4)[0];
  const std::string bias = has_input(node, 8) ? to(writer.in(node, 8), DType::kFloat64) : "None";
  ASSAY_TRY(const std::string sums,
            torch_convolution(writer, node, exact(writer, node, 0, 2, 1), 3, exact(writer, node, 3, 5, 0), bias));
  return write_quantised(writer, node, sums, scale_of(writer, node, 1, {}), scale_of(writer, node, 4, channels), 6);
}

}  // namespace
}  // namespace torchscript::quantised

TorchOperators torch_quantised() {
  using namespace torchscript::quantised;
  return {since(10, "ConvInteger", convolution_of_integers, "more than three spatial axes"),
          since(10, "DequantizeLinear", dequantize, "types of fewer than 8 bits"),
          since(11, "DynamicQuantizeLinear", quantize_dynamically),
          since(10, "MatMulInteger", matmul_of_integers),
          since(10, "QLinearConv", quantised_convolution, "more than three spatial axes"),
          since(10, "QLinearMatMul", quantised_matmul, "float8"),
          since(10, "QuantizeLinear", quantize, "types of fewer than 8 bits")};
}

}  // namespace assay::lowering
