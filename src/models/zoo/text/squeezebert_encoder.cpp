// SPDX-License-Identifier: Apache-2.0
// SqueezeBERT (Iandola et al. 2020, arXiv:2006.11316): BERT whose matrices are grouped convolutions over [B, C, S].
#include <fmt/format.h>

#include "models/zoo/text/text_encoder.hpp"
#include "models/zoo/text/text_skeletons.hpp"

namespace assay::zoo {
namespace {

constexpr float kLayerEpsilon = 1e-12F;  ///< whatever the configuration says

// torch.nn.Conv1d with a kernel of 1.
Result<Value> grouped(const TextEncoder& encoder, const Module& at, const Value& input, Width width,
                      const char* groups_key) {
  const std::int64_t groups = encoder.integer(groups_key);
  if (width.in % groups != 0 || width.out % groups != 0) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} = {}: it does not divide {} and {}", groups_key, groups, width.in, width.out));
  }
  return at.node("Conv",
                 {input, at.parameter("weight", {width.out, width.in / groups, 1}, Role::kWeight),
                  at.parameter("bias", {width.out}, Role::kBias)},
                 {{"kernel_shape", Integers{1}}, {"group", groups}});
}

Value norm(const TextEncoder& encoder, const Module& at, const Value& input) {
  const Value rows = at.node("Transpose", {input}, {{"perm", Integers{0, 2, 1}}});
  return at.node("Transpose", {layer_norm(at, rows, encoder.hidden, kLayerEpsilon)}, {{"perm", Integers{0, 2, 1}}});
}

Result<Value> attention(const TextEncoder& encoder, const Module& at, const Value& input,
                        const std::optional<Value>& mask) {
  const Width square{encoder.hidden, encoder.hidden};
  const Heads heads = encoder.heads;
  const Value split = encoder.graph().integers({0, heads.count, heads.width, -1});
  const auto swapped = [&](const Value& value) {
    return at.node("Transpose", {value}, {{"perm", Integers{0, 1, 3, 2}}});
  };
  const auto project = [&](const char* name, const char* groups) -> Result<Value> {
    ASSAY_TRY(const Value value, grouped(encoder, at / name, input, square, groups));
    return at.node("Reshape", {value, split});
  };
  ASSAY_TRY(const Value query, project("query", "q_groups"));
  ASSAY_TRY(const Value key, project("key", "k_groups"));
  ASSAY_TRY(const Value value, project("value", "v_groups"));
  Value scores = scaled_scores(at, swapped(query), key, heads);
  if (mask) scores = at.node("Add", {scores, *mask});
  const Value context = swapped(mix_values(at, scores, swapped(value)));
  return at.node("Reshape", {context, encoder.graph().integers({0, encoder.hidden, -1})});
}

Result<Value> encoder_layer(const TextEncoder& encoder, const Module& layer, const Value& input,
                            const std::optional<Value>& mask) {
  const std::int64_t hidden = encoder.hidden;
  const Module after = layer / "post_attention";
  ASSAY_TRY(const Value context, attention(encoder, layer / "attention", input, mask));
  ASSAY_TRY(Value value, grouped(encoder, after / "conv1d", context, {hidden, hidden}, "post_attention_groups"));
  const Value attended = norm(encoder, after / "layernorm", after.node("Add", {value, input}));
  const Module intermediate = layer / "intermediate";
  ASSAY_TRY(value,
            grouped(encoder, intermediate / "conv1d", attended, {hidden, encoder.intermediate}, "intermediate_groups"));
  ASSAY_TRY(value, activation(intermediate, value, encoder.hidden_act, "hidden_act"));
  const Module output = layer / "output";
  ASSAY_TRY(value, grouped(encoder, output / "conv1d", value, {encoder.intermediate, hidden}, "output_groups"));
  return norm(encoder, output / "layernorm", output.node("Add", {value, attended}));
}

Result<Value> encode_squeezebert(const TextEncoder& encoder, const Embedded& embedded,
                                 const std::optional<Value>& mask) {
  if (encoder.embedding != encoder.hidden) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("embedding_size = {}: expected hidden_size = {}", encoder.embedding, encoder.hidden));
  }
  const Module at = encoder.base / "encoder";
  std::optional<Value> bias;
  if (mask) bias = additive_mask(encoder.base, *mask);
  Value hidden = at.node("Transpose", {embedded.hidden}, {{"perm", Integers{0, 2, 1}}});
  for (std::int64_t i = 0; i < encoder.layers; ++i) {
    ASSAY_TRY(hidden, encoder_layer(encoder, at / fmt::format("layers.{}", i), hidden, bias));
  }
  return at.node("Transpose", {hidden}, {{"perm", Integers{0, 2, 1}}});
}

}  // namespace

Status build_squeezebert_encoder(BuildContext& context) { return build_text_encoder(context, encode_squeezebert); }

}  // namespace assay::zoo
