// SPDX-License-Identifier: Apache-2.0
#include "zoo/audio.hpp"

#include "zoo/seq2seq.hpp"

namespace assay::zoo {
namespace {

using Integers = std::vector<std::int64_t>;

}  // namespace

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

Value remaining_steps(const Module& at, const Value& mask, const Value& steps, const std::vector<std::int64_t>& kernels,
                      const std::vector<std::int64_t>& strides) {
  GraphBuilder& graph = at.graph();
  const Value ones = mask.dtype == DType::kInt64
                         ? mask
                         : at.node("Cast", {mask}, {{"to", static_cast<std::int64_t>(DType::kInt64)}}, DType::kInt64);
  Value length = at.node("ReduceSum", {ones, graph.integers({1})}, {{"keepdims", std::int64_t{1}}});
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const Value beyond = at.node("Sub", {length, graph.integer(kernels[i])});
    length = at.node("Add", {at.node("Div", {beyond, graph.integer(strides[i])}), graph.integer(1)});
  }
  return at.node("Less", {count_up(at, extent_of(at, steps, 1)), length}, {}, DType::kBool);
}

}  // namespace assay::zoo
