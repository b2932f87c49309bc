// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/audio/audio.hpp"

#include <algorithm>

#include "models/zoo/layers/tensors.hpp"

namespace assay::zoo {
namespace {}  // namespace

Value convolution_1d(const Module& at, const Value& input, const Convolution1d& shape) {
  return convolution_1d_with(
      at, input, at.parameter("weight", {shape.out, shape.in / shape.groups, shape.kernel}, Role::kWeight), shape);
}

Value convolution_1d_with(const Module& at, const Value& input, const Value& weight, const Convolution1d& shape) {
  std::vector<Value> inputs = {input, weight};
  if (shape.bias) inputs.push_back(at.parameter("bias", {shape.out}, Role::kBias));
  return at.node("Conv", inputs,
                 {{"kernel_shape", Integers{shape.kernel}},
                  {"strides", Integers{shape.stride}},
                  {"dilations", Integers{shape.dilation}},
                  {"group", shape.groups},
                  {"pads", Integers{shape.padding_left, shape.padding_right}}});
}

Value normalised_weight(const Module& at, const Shape& shape, const std::vector<std::int64_t>& norm_axes) {
  const Module parts = at / "parametrizations" / "weight";
  Shape scale_shape = shape;
  for (const std::int64_t axis : norm_axes) scale_shape[static_cast<std::size_t>(axis)] = 1;
  const Value direction = parts.parameter("original1", shape, Role::kWeight);
  const Value norm = parts.node("ReduceL2", {direction}, {{"axes", norm_axes}, {"keepdims", std::int64_t{1}}});
  const Value scale = parts.parameter("original0", scale_shape, Role::kScale);
  return parts.node("Mul", {direction, parts.node("Div", {scale, norm})});
}

Value gated_linear_unit(const Module& at, const Value& input) {
  const std::vector<Value> halves = at.nodes("Split", {input}, 2, {{"axis", std::int64_t{1}}});
  return at.node("Mul", {halves[0], at.node("Sigmoid", {halves[1]})});
}

Value channels_last(const Module& at, const Value& input) {
  return at.node("Transpose", {input}, {{"perm", Integers{0, 2, 1}}});
}

Value remaining_steps(const Module& at, const Value& mask, const Value& count, const std::vector<std::int64_t>& kernels,
                      const std::vector<std::int64_t>& strides) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;  // beyond any length: products stay within 64 bits
  GraphBuilder& graph = at.graph();
  std::int64_t stride = 1, reach = 0;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    reach = std::min(kMost, reach + stride * std::min(kMost, kernels[i] - 1));
    stride = std::min(kMost, stride * std::min(kMost, strides[i]));
  }
  const Value ones = cast(at, mask, DType::kInt64);
  const Value length = at.node("ReduceSum", {ones, graph.integers({1})}, {{"keepdims", std::int64_t{1}}});
  const Value first = at.node("Mul", {count_up(at, count), graph.integer(stride)});
  return at.node("Less", {at.node("Add", {first, graph.integer(reach)}), length}, {}, DType::kBool);
}

}  // namespace assay::zoo
