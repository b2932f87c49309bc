// SPDX-License-Identifier: Apache-2.0
// Matrix products.
#include "models/lower/stablehlo/linear.hpp"
#include "models/lower/stablehlo/elementwise.hpp"

namespace assay::lowering::stablehlo {
namespace {

Status matmul(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo a, writer.input(node, 0));
  ASSAY_TRY(const Hlo b, writer.input(node, 1));
  return writer.output(node, product_of(writer, a, b, a.dtype, writer.program().shape(node.outputs[0])));
}

Status gemm(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo a, writer.input(node, 0));
  ASSAY_TRY(const Hlo b, writer.input(node, 1));
  const std::int64_t of_a = node.integer("transA", 0) != 0 ? 0 : 1, of_b = node.integer("transB", 0) != 0 ? 1 : 0;
  Hlo y = writer.dot(a, b, {.contract_a = {of_a}, .contract_b = {of_b}}, a.dtype);
  const double alpha = node.number("alpha", 1), beta = node.number("beta", 1);
  if (alpha != 1) y = writer.multiply(y, writer.splat_like(alpha, y));
  if (has_input(node, 2)) {
    ASSAY_TRY(Hlo c, writer.input(node, 2));
    if (beta != 1) c = writer.multiply(c, writer.splat_like(beta, c));
    y = writer.add(y, writer.broadcast(c, y.shape));
  }
  return writer.output(node, y);
}

Status integer_matmul(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo a, centred(writer, node, 0, 2, true));
  ASSAY_TRY(const Hlo b, centred(writer, node, 1, 3, false));
  return writer.output(node, product_of(writer, a, b, DType::kInt32, writer.program().shape(node.outputs[0])));
}

constexpr HloRow kLinear[] = {
    {{"", "Einsum", 12, kNewestOpset, ""}, einsum},
    {{"", "Gemm", 7, kNewestOpset, ""}, gemm},
    {{"", "MatMul", 1, kNewestOpset, ""}, matmul},
    {{"", "MatMulInteger", 10, kNewestOpset, ""}, integer_matmul},
};

}  // namespace

// Vectors become matrices, and the graph's shape removes the axis again.
Hlo product_of(HloWriter& writer, const Hlo& a, const Hlo& b, DType result, const Shape& shape) {
  const Hlo left = a.rank() == 1 ? writer.reshape(a, {1, a.extent(0)}) : a;
  const Hlo right = b.rank() == 1 ? writer.reshape(b, {b.extent(0), 1}) : b;
  return writer.reshape(writer.matmul(left, right, result), shape);
}

Result<Hlo> centred(HloWriter& writer, const graph::Node& node, std::size_t index, std::size_t zero_index, bool rows) {
  ASSAY_TRY(const Hlo given, writer.input(node, index));
  Hlo x = writer.convert(given, DType::kInt32);
  if (!has_input(node, zero_index)) return x;
  ASSAY_TRY(const Hlo read, writer.input(node, zero_index));
  Hlo zero = writer.convert(read, DType::kInt32);
  if (zero.rank() == 1 && zero.extent(0) == 1) zero = writer.reshape(zero, {});
  if (rows && zero.rank() == 1) zero = writer.reshape(zero, {zero.extent(0), 1});
  return writer.subtract(x, writer.broadcast(zero, x.shape));
}

std::span<const HloRow> hlo_linear() { return kLinear; }

}  // namespace assay::lowering::stablehlo
