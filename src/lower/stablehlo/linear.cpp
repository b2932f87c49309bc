// SPDX-License-Identifier: Apache-2.0
// Matrix products.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lower/stablehlo/elementwise.hpp"
#include "lower/stablehlo/linear.hpp"

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

// ---- Einsum: operands with a letter for each axis

struct Lettered {
  Hlo value;
  std::string letters;
};

bool has(const std::string& letters, char letter) { return letters.find(letter) != std::string::npos; }

// The diagonal where a letter occurs twice, and sums over letters that nothing else needs.
Lettered simplified(HloWriter& writer, Lettered x, const std::string& needed) {
  for (std::size_t i = 0; i < x.letters.size(); ++i) {
    const auto again = x.letters.find(x.letters[i], i + 1);
    if (again == std::string::npos) continue;
    const auto first = static_cast<std::int64_t>(i), second = static_cast<std::int64_t>(again);
    const Hlo same = writer.compare("EQ", writer.iota(DType::kInt32, x.value.shape, first),
                                    writer.iota(DType::kInt32, x.value.shape, second));
    const Hlo diagonal = writer.select(same, x.value, writer.splat_like(0, x.value));
    x.value = writer.reduce("stablehlo.add", diagonal, writer.splat(0, diagonal.dtype), {second});
    x.letters.erase(again, 1);
    --i;
  }
  Axes summed;
  std::string kept;
  for (std::size_t i = 0; i < x.letters.size(); ++i) {
    if (has(needed, x.letters[i]))
      kept += x.letters[i];
    else
      summed.push_back(static_cast<std::int64_t>(i));
  }
  return {writer.reduce("stablehlo.add", x.value, writer.splat(0, x.value.dtype), summed), kept};
}

Lettered multiplied(HloWriter& writer, const Lettered& a, const Lettered& b, const std::string& needed) {
  HloWriter::DotAxes axes;
  std::string batch, rest_a, rest_b;
  for (std::size_t i = 0; i < a.letters.size(); ++i) {
    const char letter = a.letters[i];
    const auto at = b.letters.find(letter);
    if (at == std::string::npos) {
      rest_a += letter;
    } else if (has(needed, letter)) {
      axes.batch_a.push_back(static_cast<std::int64_t>(i));
      axes.batch_b.push_back(static_cast<std::int64_t>(at));
      batch += letter;
    } else {
      axes.contract_a.push_back(static_cast<std::int64_t>(i));
      axes.contract_b.push_back(static_cast<std::int64_t>(at));
    }
  }
  for (const char letter : b.letters)
    if (!has(a.letters, letter)) rest_b += letter;
  return {writer.dot(a.value, b.value, axes, a.value.dtype), batch + rest_a + rest_b};
}

// Letters for the axes of an ellipsis are capitals from the end on, which equations rarely use.
Result<std::string> with_ellipsis(const graph::Node& node, const std::string& term, std::size_t axes) {
  const auto at = term.find("...");
  if (at == std::string::npos) return term;
  std::string letters;
  for (std::size_t i = axes; i-- > 0;) letters += static_cast<char>('Z' - static_cast<int>(i));
  if (std::ranges::any_of(letters, [&](char letter) { return has(term, letter); })) return refuse(node, "the equation");
  return term.substr(0, at) + letters + term.substr(at + 3);
}

Status einsum(HloWriter& writer, const graph::Node& node) {
  std::string equation;
  for (const char letter : node.text("equation", ""))
    if (letter != ' ') equation += letter;
  const auto arrow = equation.find("->");
  const std::string left = equation.substr(0, arrow);
  std::vector<std::string> terms{""};
  for (const char letter : left) {
    if (letter == ',')
      terms.emplace_back();
    else
      terms.back() += letter;
  }
  if (terms.size() != node.inputs.size()) return refuse(node, "the equation");
  std::vector<Lettered> operands;
  std::size_t most = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    ASSAY_TRY(const Hlo x, writer.input(node, i));
    const bool open = terms[i].find("...") != std::string::npos;
    const std::size_t named = terms[i].size() - (open ? 3 : 0);
    if (x.shape.size() < named || (!open && x.shape.size() != named)) return refuse(node, "the equation");
    most = std::max(most, x.shape.size() - named);
    ASSAY_TRY(const std::string letters, with_ellipsis(node, terms[i], x.shape.size() - named));
    operands.push_back({x, letters});
  }
  std::string result;
  if (arrow != std::string::npos) {
    ASSAY_TRY(result, with_ellipsis(node, equation.substr(arrow + 2), most));
  } else {  // the letters that occur once, in the order of the alphabet
    std::map<char, int> counts;
    for (const Lettered& operand : operands)
      for (const char letter : operand.letters) ++counts[letter];
    for (const auto& [letter, count] : counts)
      if (count == 1) result += letter;
  }
  Lettered product{};
  for (std::size_t i = 0; i < operands.size(); ++i) {
    std::string later = result;
    for (std::size_t j = i + 1; j < operands.size(); ++j) later += operands[j].letters;
    const Lettered next = simplified(writer, operands[i], i == 0 ? later : later + product.letters);
    product = i == 0 ? next : multiplied(writer, product, next, later);
  }
  product = simplified(writer, product, result);
  Axes order;
  for (const char letter : result) {
    const auto at = product.letters.find(letter);
    if (at == std::string::npos) return refuse(node, "the equation");
    order.push_back(static_cast<std::int64_t>(at));
  }
  return writer.output(node, writer.transpose(product.value, order));
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
  const Hlo x = writer.convert(given, DType::kInt32);
  if (!has_input(node, zero_index)) return x;
  ASSAY_TRY(const Hlo read, writer.input(node, zero_index));
  Hlo zero = writer.convert(read, DType::kInt32);
  if (zero.rank() == 1 && zero.extent(0) == 1) zero = writer.reshape(zero, {});
  if (rows && zero.rank() == 1) zero = writer.reshape(zero, {zero.extent(0), 1});
  return writer.subtract(x, writer.broadcast(zero, x.shape));
}

std::span<const HloRow> hlo_linear() { return kLinear; }

}  // namespace assay::lowering::stablehlo
