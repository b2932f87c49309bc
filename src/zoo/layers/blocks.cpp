// SPDX-License-Identifier: Apache-2.0
#include "zoo/layers/blocks.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "zoo/layers/sinusoids.hpp"

namespace assay::zoo {
namespace {}  // namespace

Value linear(const Module& at, const Value& input, Width width, bool bias) {
  const Value product = at.node("MatMul", {input, at.transposed_parameter("weight", width.out, width.in)});
  return bias ? at.node("Add", {product, at.parameter("bias", {width.out}, Role::kBias)}) : product;
}

Value linear_rank2(const Module& at, const Value& input, Width width) {
  return at.node("Gemm",
                 {input, at.parameter("weight", {width.out, width.in}, Role::kWeight),
                  at.parameter("bias", {width.out}, Role::kBias)},
                 {{"transB", std::int64_t{1}}});
}

Value linear_with(const Module& at, const Value& input, const Value& weight, Width width) {
  const Value turned = at.node("Transpose", {weight}, {{"perm", Integers{1, 0}}});
  return at.node("Add", {at.node("MatMul", {input, turned}), at.parameter("bias", {width.out}, Role::kBias)});
}

Value embedding(const Module& at, const Value& ids, std::int64_t rows, std::int64_t width) {
  return at.node("Gather", {at.parameter("weight", {rows, width}, Role::kTable), ids});
}

Value layer_norm(const Module& at, const Value& input, std::int64_t width, float epsilon) {
  return at.node("LayerNormalization",
                 {input, at.parameter("weight", {width}, Role::kScale), at.parameter("bias", {width}, Role::kBias)},
                 {{"axis", std::int64_t{-1}}, {"epsilon", epsilon}});
}

Value plain_layer_norm(const Module& at, const Value& input, std::int64_t width, float epsilon) {
  const std::vector<float> ones(static_cast<std::size_t>(width), 1.0F);
  return at.node("LayerNormalization", {input, constant(at, "ones", ones, {width})},
                 {{"axis", std::int64_t{-1}}, {"epsilon", epsilon}});
}

Value batch_norm(const Module& at, const Value& input, std::int64_t channels) {
  return at.node(
      "BatchNormalization",
      {input, at.parameter("weight", {channels}, Role::kScale), at.parameter("bias", {channels}, Role::kBias),
       at.parameter("running_mean", {channels}, Role::kMean), at.parameter("running_var", {channels}, Role::kVariance)},
      {{"epsilon", 1e-5F}});
}

Value convolution(const Module& at, const Value& input, const Convolution& shape) {
  std::vector<Value> inputs = {
      input, at.parameter("weight", {shape.out, shape.in, shape.kernel_height, shape.kernel_width}, Role::kWeight)};
  if (shape.bias) inputs.push_back(at.parameter("bias", {shape.out}, Role::kBias));
  return at.node("Conv", inputs,
                 {{"kernel_shape", Integers{shape.kernel_height, shape.kernel_width}},
                  {"strides", Integers{shape.stride_height, shape.stride_width}},
                  {"pads", Integers(4, shape.padding)}});
}

Value scaled_dot_product(const Module& at, const Value& query, const Value& key, const Value& value, Heads heads,
                         const std::optional<Value>& mask) {
  // 0 keeps an extent: batch and sequence stay dynamic without computing shapes.
  const Value split = at.graph().integers({0, 0, heads.count, heads.width});
  const auto by_head = [&](const Value& input, const Integers& order) {
    return at.node("Transpose", {at.node("Reshape", {input, split})}, {{"perm", order}});
  };
  const Value q = by_head(query, {0, 2, 1, 3});
  const Value k = by_head(key, {0, 2, 3, 1});
  const Value v = by_head(value, {0, 2, 1, 3});
  const auto scale = static_cast<float>(std::sqrt(static_cast<double>(heads.width)));
  Value scores = at.node("Div", {at.node("MatMul", {q, k}), at.graph().number(scale)});
  if (mask) scores = at.node("Add", {scores, *mask});
  const Value weights = at.node("Softmax", {scores}, {{"axis", std::int64_t{-1}}});
  const Value merged = at.node("Transpose", {at.node("MatMul", {weights, v})}, {{"perm", Integers{0, 2, 1, 3}}});
  return at.node("Reshape", {merged, at.graph().integers({0, 0, heads.count * heads.width})});
}

Value additive_mask(const Module& at, const Value& mask) {
  GraphBuilder& graph = at.graph();
  Value kept = mask;
  if (mask.dtype != DType::kBool) {
    kept = at.node("Cast", {mask}, {{"to", static_cast<std::int64_t>(DType::kBool)}}, DType::kBool);
  }
  kept = at.node("Unsqueeze", {kept, graph.integers({1, 2})});
  return at.node("Where", {kept, graph.number(0.0F), graph.number(std::numeric_limits<float>::lowest())}, {},
                 DType::kFloat32);
}

Value token(const Module& at, const Value& input, std::int64_t index) {
  return at.node("Gather", {input, at.graph().integer(index)}, {{"axis", std::int64_t{1}}});
}

Result<std::int64_t> head_width(std::int64_t hidden_size, std::int64_t heads) {
  if (hidden_size % heads == 0) return hidden_size / heads;
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("hidden_size = {} is no multiple of num_attention_heads = {}", hidden_size, heads));
}

}  // namespace assay::zoo
