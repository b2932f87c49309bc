// SPDX-License-Identifier: Apache-2.0
// ConvBERT (Jiang et al. 2020, arXiv:2008.02496): half of each layer's attention is a convolution over neighbouring
// tokens whose kernel depends on the token.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "models/zoo/text/text_encoder.hpp"
#include "models/zoo/text/text_skeletons.hpp"

namespace assay::zoo {
namespace {

struct ConvBertSizes {
  Heads heads;
  std::int64_t inner = 0;  ///< width of all heads together
  std::int64_t kernel = 1;
  std::int64_t groups = 1;  ///< number of groups of the MLP's matrices
};

Result<ConvBertSizes> read_convbert_sizes(const TextEncoder& encoder) {
  ConvBertSizes sizes;
  sizes.heads.count = std::max<std::int64_t>(encoder.heads.count / encoder.integer("head_ratio"), 1);
  sizes.heads.width = encoder.hidden / sizes.heads.count / 2;
  sizes.inner = sizes.heads.count * sizes.heads.width;
  if (sizes.inner * 2 != encoder.hidden) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("hidden_size = {} is not a multiple of 2 · {} heads", encoder.hidden, sizes.heads.count));
  }
  sizes.kernel = encoder.integer("conv_kernel_size");
  if (sizes.kernel % 2 == 0) return unsupported("conv_kernel_size", std::to_string(sizes.kernel), "it must be odd");
  sizes.groups = encoder.integer("num_groups");
  if (encoder.hidden % sizes.groups != 0 || encoder.intermediate % sizes.groups != 0) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("num_groups = {}: it does not divide {} and {}", sizes.groups,
                                                         encoder.hidden, encoder.intermediate));
  }
  return sizes;
}

// Depthwise over the tokens, then from channel to channel. [B, S, hidden] → [B, S, inner].
Value separable(const TextEncoder& encoder, const Module& at, const Value& input, const ConvBertSizes& sizes) {
  const Module depthwise = at / "depthwise";
  const Module pointwise = at / "pointwise";
  Value value = at.node("Transpose", {input}, {{"perm", Integers{0, 2, 1}}});
  value = depthwise.node(
      "Conv", {value, depthwise.parameter("weight", {encoder.hidden, 1, sizes.kernel}, Role::kWeight)},
      {{"kernel_shape", Integers{sizes.kernel}}, {"pads", Integers(2, sizes.kernel / 2)}, {"group", encoder.hidden}});
  value =
      pointwise.node("Conv", {value, pointwise.parameter("weight", {sizes.inner, encoder.hidden, 1}, Role::kWeight)},
                     {{"kernel_shape", Integers{1}}});
  value = at.node("Add", {value, at.parameter("bias", {sizes.inner, 1}, Role::kBias)});
  return at.node("Transpose", {value}, {{"perm", Integers{0, 2, 1}}});
}

// Each token's neighbours, weighed by the kernel that the token computes. [B, S, heads, width].
Value span_convolution(const TextEncoder& encoder, const Module& self, const Value& input, const Value& query,
                       const ConvBertSizes& sizes) {
  GraphBuilder& graph = encoder.graph();
  const Value asked = self.node("Mul", {separable(encoder, self / "key_conv_attn_layer", input, sizes), query});
  const Module kernels = self / "conv_kernel_layer";
  Value kernel = linear(kernels, asked, {sizes.inner, sizes.heads.count * sizes.kernel});
  kernel = kernels.node("Reshape", {kernel, graph.integers({0, 0, sizes.heads.count, sizes.kernel})});
  kernel = kernels.node("Softmax", {kernel}, {{"axis", std::int64_t{-1}}});
  kernel = kernels.node("Unsqueeze", {kernel, graph.integers({4})});

  const Module out = self / "conv_out_layer";
  const std::int64_t reach = sizes.kernel / 2;
  const Value values = linear(out, input, {encoder.hidden, sizes.inner});
  const Value padded = out.node("Pad", {values, graph.integers({0, reach, 0, 0, reach, 0})});
  std::vector<Value> shifted;
  for (std::int64_t i = 0; i < sizes.kernel; ++i) {
    const std::int64_t end = i + 1 == sizes.kernel ? std::numeric_limits<std::int64_t>::max() : i + 1 - sizes.kernel;
    const Value part = out.node("Slice", {padded, graph.integers({i}), graph.integers({end}), graph.integers({1})});
    shifted.push_back(out.node("Unsqueeze", {part, graph.integers({3})}));
  }
  const Value windows = out.node("Concat", shifted, {{"axis", std::int64_t{3}}});
  const Value by_head =
      out.node("Reshape", {windows, graph.integers({0, 0, sizes.heads.count, sizes.heads.width, sizes.kernel})});
  return out.node("Squeeze", {out.node("MatMul", {by_head, kernel}), graph.integers({4})});
}

Value attention(const TextEncoder& encoder, const Module& self, const Value& input, const ConvBertSizes& sizes,
                const std::optional<Value>& mask) {
  GraphBuilder& graph = encoder.graph();
  const Width narrow{encoder.hidden, sizes.inner};
  const Value query = linear(self / "query", input, narrow);
  const Value attended = scaled_dot_product(self, query, linear(self / "key", input, narrow),
                                            linear(self / "value", input, narrow), sizes.heads, mask);
  const Value by_head = self.node("Reshape", {attended, graph.integers({0, 0, sizes.heads.count, sizes.heads.width})});
  const Value both =
      self.node("Concat", {by_head, span_convolution(encoder, self, input, query, sizes)}, {{"axis", std::int64_t{2}}});
  return self.node("Reshape", {both, graph.integers({0, 0, encoder.hidden})});
}

// A linear layer, or as many small ones side by side. Their weight is [groups, in, out].
Value grouped(const Module& at, const Value& input, Width width, std::int64_t groups) {
  if (groups == 1) return linear(at, input, width);
  GraphBuilder& graph = at.graph();
  const Value weight = at.parameter("weight", {groups, width.in / groups, width.out / groups}, Role::kWeight);
  const Value split = at.node("Reshape", {input, graph.integers({0, 0, groups, 1, width.in / groups})});
  const Value product = at.node("MatMul", {split, weight});
  const Value joined = at.node("Reshape", {product, graph.integers({0, 0, width.out})});
  return at.node("Add", {joined, at.parameter("bias", {width.out}, Role::kBias)});
}

Result<Value> encode_convbert(const TextEncoder& encoder, const Embedded& embedded, const std::optional<Value>& mask) {
  ASSAY_TRY(const ConvBertSizes sizes, read_convbert_sizes(encoder));
  std::optional<Value> bias;
  if (mask) bias = additive_mask(encoder.base, *mask);
  Value hidden = embedded.hidden;
  for (std::int64_t i = 0; i < encoder.layers; ++i) {
    const Module layer = encoder.base / "encoder" / fmt::format("layer.{}", i);
    const Module output = layer / "attention" / "output";
    const auto norm = [&](const Module& at, const Value& narrow, const Value& residual) {
      return layer_norm(at / "LayerNorm", at.node("Add", {narrow, residual}), encoder.hidden, encoder.epsilon);
    };
    const Value context = attention(encoder, layer / "attention" / "self", hidden, sizes, bias);
    const Value attended = norm(output, linear(output / "dense", context, {encoder.hidden, encoder.hidden}), hidden);
    const Module intermediate = layer / "intermediate";
    const Value wide = grouped(intermediate / "dense", attended, {encoder.hidden, encoder.intermediate}, sizes.groups);
    ASSAY_TRY(const Value active,
              activation(intermediate / "intermediate_act_fn", wide, encoder.hidden_act, "hidden_act"));
    const Value narrow =
        grouped(layer / "output" / "dense", active, {encoder.intermediate, encoder.hidden}, sizes.groups);
    hidden = norm(layer / "output", narrow, attended);
  }
  return hidden;
}

}  // namespace

Status build_convbert_encoder(BuildContext& context) { return build_text_encoder(context, encode_convbert); }

}  // namespace assay::zoo
