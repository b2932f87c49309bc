// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime's operators on quantised tensors.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "models/evaluate/kernels/activations.hpp"
#include "models/evaluate/kernels/elementwise.hpp"
#include "models/evaluate/kernels/microsoft.hpp"
#include "models/evaluate/kernels/product.hpp"
#include "models/evaluate/kernels/quantisation.hpp"

namespace assay::evaluate {
namespace {

// An operand and the scale and zero point behind it.
Result<Value> operand_at(const Call& call, std::size_t i) {
  if (!call.has(i) || !call.has(i + 1)) return call.invalid("input " + std::to_string(i) + " or its scale is missing");
  return dequantised(call, i, i + 1, i + 2, 1, 0);
}

// The result, with the scale at `scale` and the zero point behind it.
Outputs requantised(const Call& call, const Value& x, std::size_t scale, DType dtype) {
  if (!call.has(scale)) return call.invalid("the scale of its result is missing");
  if (call.has(scale + 1)) dtype = call.dtype(scale + 1);
  ASSAY_TRY(Value y, quantised(call, x.reals(), x.shape(), scale, scale + 1, dtype, 1, 0));
  return Values{std::move(y)};
}

template <class F>
Outputs q_linear_binary(const Call& call, F f) {
  ASSAY_TRY(const Value a, operand_at(call, 0));
  ASSAY_TRY(const Value b, operand_at(call, 3));
  const std::optional<Shape> to = broadcast(a.shape(), b.shape());
  if (!to) return call.invalid("the shapes of its operands do not fit together");
  ASSAY_CHECK_OK(call.elements_of(*to));
  return requantised(call,
                     Value(DType::kFloat64, *to, combined<double>(a.reals(), a.shape(), b.reals(), b.shape(), *to, f)),
                     6, call.dtype(0));
}
Outputs q_linear_add(const Call& call) {
  return q_linear_binary(call, [](double a, double b) { return a + b; });
}
Outputs q_linear_mul(const Call& call) {
  return q_linear_binary(call, [](double a, double b) { return a * b; });
}

// ONNX's operator on floating numbers, between quantised ones.
Outputs q_linear_of(const Call& call, std::string_view name, std::int64_t opset) {
  if (call.integer("channels_last", 0) != 0) return call.unsupported("channels on the last axis");
  ASSAY_TRY(const Value x, operand_at(call, 0));
  ASSAY_TRY(const Values y, as_onnx(call, name, opset, {&x}));
  return requantised(call, y[0], 3, call.dtype(0));
}
Outputs q_linear_sigmoid(const Call& call) { return q_linear_of(call, "Sigmoid", 13); }
Outputs q_linear_leaky_relu(const Call& call) { return q_linear_of(call, "LeakyRelu", 16); }
Outputs q_linear_average_pool(const Call& call) { return q_linear_of(call, "AveragePool", 11); }
Outputs q_linear_global_average_pool(const Call& call) { return q_linear_of(call, "GlobalAveragePool", 1); }
Outputs q_linear_softmax(const Call& call) { return q_linear_of(call, "Softmax", call.integer("opset", 13)); }

Outputs q_linear_concat(const Call& call) {
  if (call.operand_count() < 5 || (call.operand_count() - 2) % 3 != 0)
    return call.invalid("its operands are not triples");
  Values parts;
  for (std::size_t i = 2; i < call.operand_count(); i += 3) {
    ASSAY_TRY(Value one, operand_at(call, i));
    parts.push_back(std::move(one));
  }
  std::vector<const Value*> operands;
  for (const Value& one : parts) operands.push_back(&one);
  ASSAY_TRY(const Values y, as_onnx(call, "Concat", 13, operands));
  return requantised(call, y[0], 0, call.dtype(2));
}

Value plus_row(const Value& x, const Value& bias) {
  Reals y = combined<double>(x.reals(), x.shape(), bias.reals(), bias.shape(), x.shape(),
                             [](double a, double b) { return a + b; });
  return {x.dtype(), x.shape(), std::move(y)};
}

// A, B, the scales of both, their zero points, a bias: a floating product.
Outputs mat_mul_integer_to_float(const Call& call) {
  ASSAY_TRY(const Value a, centred(call, 0, 4, -2));
  ASSAY_TRY(const Value b, centred(call, 1, 5, -1));
  ASSAY_TRY(const Value sums, matrix_product(call, a, b));
  ASSAY_TRY(const auto of_a, call.reals(2));
  ASSAY_TRY(const auto of_b, call.reals(3));
  const auto flat = [](std::size_t count) { return count == 1 ? Shape{} : Shape{static_cast<std::int64_t>(count)}; };
  ASSAY_TRY(const auto places_a, scale_places(call, sums.shape(), flat(of_a.size()), -2, 0));
  ASSAY_TRY(const auto places_b, scale_places(call, sums.shape(), flat(of_b.size()), -1, 0));
  Reals y(sums.reals().begin(), sums.reals().end());
  for (std::size_t i = 0; i < y.size(); ++i)
    y[i] *= of_a[static_cast<std::size_t>(places_a[i])] * of_b[static_cast<std::size_t>(places_b[i])];
  Value result(call.dtype(2), sums.shape(), std::move(y));
  if (call.has(6)) {
    ASSAY_TRY([[maybe_unused]] const auto bias, call.reals(6));
    if (broadcast(call.shape(6), result.shape()) != result.shape())
      return call.invalid("its bias does not fit the product");
    result = plus_row(result, call.operand(6));
  }
  return Values{std::move(result)};
}

// A floating, B quantised: A is quantised as DynamicQuantizeLinear does.
Outputs dynamic_quantize_mat_mul(const Call& call) {
  ASSAY_TRY(const auto a, call.reals(0));
  const DynamicLevels levels = dynamic_levels(a);
  Reals whole;
  for (const std::int64_t one : levels.levels)
    whole.push_back(static_cast<double>(one - levels.zero_point) * levels.scale);
  ASSAY_TRY(const Value b, centred(call, 1, 3, -1));
  ASSAY_TRY(const Value sums, matrix_product(call, Value(DType::kFloat64, call.shape(0), std::move(whole)), b));
  ASSAY_TRY(const auto of_b, call.reals(2));
  ASSAY_TRY(const auto places,
            scale_places(call, sums.shape(), of_b.size() == 1 ? Shape{} : Shape{static_cast<std::int64_t>(of_b.size())},
                         -1, 0));
  Reals y(sums.reals().begin(), sums.reals().end());
  for (std::size_t i = 0; i < y.size(); ++i) y[i] *= of_b[static_cast<std::size_t>(places[i])];
  Value result(call.dtype(0), sums.shape(), std::move(y));
  if (call.has(4)) {
    ASSAY_TRY([[maybe_unused]] const auto bias, call.reals(4));
    if (broadcast(call.shape(4), result.shape()) != result.shape())
      return call.invalid("its bias does not fit the product");
    result = plus_row(result, call.operand(4));
  }
  return Values{std::move(result)};
}

constexpr std::int64_t kMostBlockSize = std::int64_t{1} << 20;

/// Weights of a few bits each, several in a byte, the first in the lowest bits; blocks of a row share a scale.
struct PackedWeights {
  std::int64_t rows = 0, columns = 0, bits = 4, block = 32, blocks = 0;
};

std::int64_t packed_at(std::span<const std::int64_t> bytes, std::int64_t first_byte, std::int64_t i,
                       std::int64_t bits) {
  const std::int64_t in_byte = 8 / bits;
  return (bytes[static_cast<std::size_t>(first_byte + i / in_byte)] >> (i % in_byte * bits)) & ((1 << bits) - 1);
}

// The zero point of each block of each row; without an operand half of the range.
Result<Reals> block_zeros(const Call& call, const PackedWeights& w) {
  Reals zeros(static_cast<std::size_t>(w.rows * w.blocks), static_cast<double>(1 << (w.bits - 1)));
  if (!call.has(3)) return zeros;
  if (call.operand(3).is_real()) {
    if (call.operand(3).count() != zeros.size()) return call.invalid("its zero points do not fit the weights");
    return Reals(call.operand(3).reals().begin(), call.operand(3).reals().end());
  }
  const std::int64_t row_bytes = (w.blocks * w.bits + 7) / 8;
  ASSAY_TRY(const auto bytes, call.integers(3));
  if (static_cast<std::int64_t>(bytes.size()) != w.rows * row_bytes)
    return call.invalid("its zero points do not fit the weights");
  for (std::int64_t r = 0; r < w.rows; ++r)
    for (std::int64_t b = 0; b < w.blocks; ++b)
      zeros[static_cast<std::size_t>(r * w.blocks + b)] =
          static_cast<double>(packed_at(bytes, r * row_bytes, b, w.bits));
  return zeros;
}

// A times the transpose of B [N, blocks, bytes of a block], which is made floating first.
Outputs mat_mul_n_bits(const Call& call) {
  PackedWeights w{.rows = call.integer("N", 0),
                  .columns = call.integer("K", 0),
                  .bits = call.integer("bits", 4),
                  .block = call.integer("block_size", 32)};
  if (w.rows < 1 || w.columns < 1 || w.block < 1 || w.block > kMostBlockSize ||
      (w.bits != 2 && w.bits != 4 && w.bits != 8) || w.block * w.bits % 8 != 0)
    return call.invalid("K, N, bits or block_size that cannot be");
  if (call.has(4)) return call.unsupported("g_idx");
  ASSAY_TRY(const std::size_t count, call.elements_of({w.rows, w.columns}));
  w.blocks = (w.columns + w.block - 1) / w.block;
  const std::int64_t blob = w.block * w.bits / 8;
  ASSAY_TRY(const auto bytes, call.integers(1));
  ASSAY_TRY(const auto scales, call.reals(2));
  ASSAY_TRY(const Reals zeros, block_zeros(call, w));
  if (static_cast<std::int64_t>(bytes.size()) != w.rows * w.blocks * blob || scales.size() != zeros.size())
    return call.invalid("its weights or scales do not fit K and N");
  Reals whole(count);
  for (std::int64_t r = 0; r < w.rows; ++r)
    for (std::int64_t k = 0; k < w.columns; ++k) {
      const std::int64_t block = r * w.blocks + k / w.block;
      const auto at = static_cast<std::size_t>(block);
      whole[static_cast<std::size_t>(r * w.columns + k)] =
          (static_cast<double>(packed_at(bytes, block * blob, k % w.block, w.bits)) - zeros[at]) * scales[at];
    }
  ASSAY_TRY(Value y, matrix_product(call, call.operand(0),
                                    Value(DType::kFloat64, {w.rows, w.columns}, std::move(whole)), false, true));
  if (call.has(5)) {
    ASSAY_TRY([[maybe_unused]] const auto bias, call.reals(5));
    if (call.shape(5) != Shape{w.rows}) return call.invalid("its bias does not fit N");
    y = plus_row(y, call.operand(5));
  }
  return Values{std::move(y)};
}

}  // namespace

Operators microsoft_quantised_operators() {
  return {{"DequantizeLinear", &dequantize_linear, 2, kMicrosoft},
          {"DynamicQuantizeMatMul", &dynamic_quantize_mat_mul, 3, kMicrosoft},
          {"MatMulIntegerToFloat", &mat_mul_integer_to_float, 4, kMicrosoft},
          {"MatMulNBits", &mat_mul_n_bits, 3, kMicrosoft},
          {"QLinearAdd", &q_linear_add, 2, kMicrosoft},
          {"QLinearAveragePool", &q_linear_average_pool, 2, kMicrosoft},
          {"QLinearConcat", &q_linear_concat, 2, kMicrosoft},
          {"QLinearGlobalAveragePool", &q_linear_global_average_pool, 2, kMicrosoft},
          {"QLinearLeakyRelu", &q_linear_leaky_relu, 2, kMicrosoft},
          {"QLinearMul", &q_linear_mul, 2, kMicrosoft},
          {"QLinearSigmoid", &q_linear_sigmoid, 2, kMicrosoft},
          {"QLinearSoftmax", &q_linear_softmax, 2, kMicrosoft},
          {"QuantizeLinear", &quantize_linear, 2, kMicrosoft}};
}

}  // namespace assay::evaluate
