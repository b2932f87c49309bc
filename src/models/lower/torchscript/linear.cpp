// SPDX-License-Identifier: Apache-2.0
// Products of matrices.
#include "models/lower/torchscript/linear.hpp"

#include <fmt/format.h>

#include <functional>
#include <numeric>

#include "models/lower/torchscript/groups.hpp"

namespace assay::lowering {
namespace torchscript::linear {
namespace {

using graph::Node;

// From this number of rows on, a product that reads the weights as they are is faster than oneDNN's with packed ones if
// the result is narrower than the input. Measured on AVX2: bench/torch_linear.py, docs/performance.md.
constexpr std::int64_t kManyRows = 256;

bool is_faster_packed(const TorchLayer& layer) { return layer.rows < kManyRows || layer.outputs >= layer.inputs; }

std::string transposed(const std::string& matrix, bool is_needed) {
  return is_needed ? torch_call("t", matrix) : matrix;
}

Status matmul(TorchWriter& writer, const Node& node) {
  return out_as(writer, node, 0,
                torch_call("matmul", computable(writer.in(node, 0), writer.dtype(node, 0)),
                           computable(writer.in(node, 1), writer.dtype(node, 1))));
}

Status gemm(TorchWriter& writer, const Node& node) {
  const double alpha = double{node.number("alpha", 1.0F)}, beta = double{node.number("beta", 1.0F)};
  const bool flip_a = node.integer("transA", 0) != 0, flip_b = node.integer("transB", 0) != 0;
  const DType dtype = writer.dtype(node, 0);
  if (dtype == DType::kUInt64) return refuse(node, "the type uint64");
  const bool whole = is_integer(dtype);
  if (whole && (alpha != 1.0 || beta != 1.0)) return refuse(node, "a factor of integers");
  const std::string a = transposed(computable(writer.in(node, 0), dtype), flip_a);
  const bool has_c = has_input(node, 2) && beta != 0.0;
  const bool is_bias = !has_c || (writer.rank(node, 2) == 1 && writer.shape(node, 2)[0] == writer.out_shape(node)[1]);
  const Shape rows{writer.shape(node, 0)[flip_a ? 1 : 0], writer.shape(node, 0)[flip_a ? 0 : 1]};
  const auto layer = layer_of(writer.program(), rows, node.inputs[1], flip_b);
  if (layer && is_bias && alpha == 1.0 && (!has_c || beta == 1.0)) {
    const std::optional<std::string> bias = has_c ? std::optional(writer.in(node, 2)) : std::nullopt;
    writer.out(node, torch_layer(writer, *layer, a, bias, writer.out_shape(node)));
    return {};
  }
  const std::string b = transposed(computable(writer.in(node, 1), dtype), flip_b);
  if (!has_c) {
    const std::string product = torch_call("mm", a, b);
    return out_as(writer, node, 0, alpha == 1.0 ? product : torch_call("mul", product, torch_number(alpha)));
  }
  const std::string c = computable(writer.in(node, 2), dtype);
  return out_as(writer, node, 0,
                whole ? torch_call("addmm", c, a, b)
                      : torch_call("addmm", c, a, b, fmt::format("beta={}", torch_number(beta)),
                                   fmt::format("alpha={}", torch_number(alpha))));
}

Status einsum(TorchWriter& writer, const Node& node) {
  for (const std::string_view input : node.inputs)
    if (!is_floating(writer.program().dtype(input))) return refuse(node, "the type of integers");
  const std::string_view equation = node.text("equation", "");
  if (equation.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ,->. ") != equation.npos)
    return refuse(node, "the equation");
  writer.out(node, torch_call("einsum", fmt::format("\"{}\"", equation), torch_list(writer.ins(node))));
  return {};
}

}  // namespace
}  // namespace torchscript::linear

std::optional<TorchLayer> layer_of(const StaticProgram& program, const Shape& x, std::string_view weights,
                                   bool turned) {
  if (program.constant(weights) == nullptr || x.size() < 2 || !is_floating(program.dtype(weights))) return std::nullopt;
  const Shape& matrix = program.shape(weights);
  if (matrix.size() != 2) return std::nullopt;
  TorchLayer layer{.weights = weights, .turned = turned};
  layer.rows = std::accumulate(x.begin(), x.end() - 1, std::int64_t{1}, std::multiplies<>());
  layer.inputs = matrix[turned ? 1 : 0];
  layer.outputs = matrix[turned ? 0 : 1];
  return layer;
}

std::string torch_layer(TorchWriter& writer, const TorchLayer& layer, const std::string& x,
                        const std::optional<std::string>& bias, const Shape& result) {
  using torchscript::linear::transposed;
  const std::string weights = writer.value(layer.weights);
  if (torchscript::linear::is_faster_packed(layer)) {
    const std::string matrix = transposed(weights, !layer.turned);
    return bias ? torch_call("linear", x, matrix, *bias) : torch_call("linear", x, matrix);
  }
  const bool is_matrix = result.size() == 2;
  const std::vector<std::int64_t> rows{layer.rows, layer.inputs};
  const std::string matrix = transposed(weights, layer.turned),
                    all = is_matrix ? x : torch_call("reshape", x, torch_list(rows));
  const std::string product = bias ? torch_call("addmm", *bias, all, matrix) : torch_call("mm", all, matrix);
  return is_matrix ? product : torch_call("reshape", product, torch_list(result));
}

TorchOperators torch_linear() {
  using namespace torchscript::linear;
  return {since(12, "Einsum", einsum, "integers"), since(7, "Gemm", gemm, "uint64"), since(1, "MatMul", matmul)};
}

}  // namespace assay::lowering
