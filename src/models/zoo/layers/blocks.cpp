// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/layers/blocks.hpp"

#include "models/zoo/layers/tensors.hpp"

namespace assay::zoo {
namespace {}  // namespace

Value linear(const Module& at, const Value& input, Width width, bool bias) {
  const Value product = at.node("MatMul", {input, at.transposed_parameter("weight", width.out, width.in)});
  return bias ? at.node("Add", {product, at.parameter("bias", {width.out}, Role::kBias)}) : product;
}

Value joined_linear(const Module& at, const Value& input, std::int64_t in,
                    const std::vector<Module::Projection>& projections, bool bias) {
  const Value product = at.node("MatMul", {input, at.joined_weights(projections, in)});
  return bias ? at.node("Add", {product, at.joined_biases(projections)}) : product;
}

Value linear_rank2(const Module& at, const Value& input, Width width) {
  return at.node("Gemm",
                 {input, at.parameter("weight", {width.out, width.in}, Role::kWeight),
                  at.parameter("bias", {width.out}, Role::kBias)},
                 {{"transB", std::int64_t{1}}});
}

Value multiply_tied(const Module& at, const Value& input, const Value& weight) {
  return at.node("MatMul", {input, transpose(at, weight, {1, 0})});
}

Value embedding(const Module& at, const Value& ids, std::int64_t rows, std::int64_t width) {
  return at.node("Gather", {at.parameter("weight", {rows, width}, Role::kTable), ids});
}

Value layer_norm(const Module& at, const Value& input, std::int64_t width, float epsilon) {
  return at.node("LayerNormalization",
                 {input, at.parameter("weight", {width}, Role::kScale), at.parameter("bias", {width}, Role::kBias)},
                 {{"axis", std::int64_t{-1}}, {"epsilon", epsilon}});
}

Value layer_norm_without_bias(const Module& at, const Value& input, std::int64_t width, float epsilon) {
  return at.node("LayerNormalization", {input, at.parameter("weight", {width}, Role::kScale)},
                 {{"axis", std::int64_t{-1}}, {"epsilon", epsilon}});
}

Value plain_layer_norm(const Module& at, const Value& input, std::int64_t width, float epsilon) {
  const std::vector<float> ones(static_cast<std::size_t>(width), 1.0F);
  return at.node("LayerNormalization", {input, at.graph().numbers(ones, {width})},
                 {{"axis", std::int64_t{-1}}, {"epsilon", epsilon}});
}

Value rms_norm_with(const Module& at, const Value& input, const Value& weight, float epsilon) {
  const Value square = at.node("Pow", {input, at.graph().number(2.0F)});
  const Value mean_square = at.node("ReduceMean", {square}, {{"axes", Integers{-1}}});
  const Value root = at.node("Sqrt", {at.node("Add", {mean_square, at.graph().number(epsilon)})});
  return multiply(at, at.node("Div", {input, root}), weight);
}

Value rms_norm(const Module& at, const Value& input, std::int64_t width, float epsilon) {
  return rms_norm_with(at, input, at.parameter("weight", {width}, Role::kScale), epsilon);
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

Value token(const Module& at, const Value& input, std::int64_t index) {
  return at.node("Gather", {input, at.graph().integer(index)}, {{"axis", std::int64_t{1}}});
}

}  // namespace assay::zoo
