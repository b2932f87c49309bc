// SPDX-License-Identifier: Apache-2.0
// Nyströmformer (Xiong et al. 2021, arXiv:2102.03902) with a landmark for each token, which is full attention with a
// convolution of the values beside it. With fewer landmarks, transformers takes inputs of one length and no mask.
#include <fmt/format.h>

#include "models/zoo/text/text_encoder.hpp"
#include "models/zoo/text/text_skeletons.hpp"

namespace assay::zoo {
namespace {

Value attention(const TextEncoder& encoder, const Module& self, const Value& input, std::int64_t kernel,
                const std::optional<Value>& mask) {
  const Heads heads = encoder.heads;
  const auto project = [&](const char* name) { return linear(self / name, input, {encoder.hidden, encoder.hidden}); };
  const Value value = split_heads(self, project("value"), heads);
  const Value query = split_heads(self, project("query"), heads);
  Value scores = scaled_scores(self, query, split_keys(self, project("key"), heads), heads);
  if (mask) scores = self.node("Add", {scores, *mask});
  const Module conv = self / "conv";
  const Value beside = conv.node("Conv", {value, conv.parameter("weight", {heads.count, 1, kernel, 1}, Role::kWeight)},
                                 {{"kernel_shape", Integers{kernel, 1}},
                                  {"pads", Integers{kernel / 2, 0, kernel / 2, 0}},
                                  {"group", heads.count}});
  return merge_heads(self, self.node("Add", {mix_values(self, scores, value), beside}), heads);
}

Result<Value> encode_nystromformer(const TextEncoder& encoder, const Embedded& embedded,
                                   const std::optional<Value>& mask) {
  const std::int64_t landmarks = encoder.integer("num_landmarks");
  if (landmarks != encoder.integer("segment_means_seq_len")) {
    return unsupported("num_landmarks", std::to_string(landmarks), "built is as many as segment_means_seq_len");
  }
  const std::int64_t kernel = encoder.integer("conv_kernel_size");
  if (kernel % 2 == 0) return unsupported("conv_kernel_size", std::to_string(kernel), "it must be odd");
  std::optional<Value> bias;
  if (mask) bias = additive_mask(encoder.base, *mask);
  Value hidden = embedded.hidden;
  for (std::int64_t i = 0; i < encoder.layers; ++i) {
    const Module layer = encoder.base / "encoder" / fmt::format("layer.{}", i);
    const auto finish = [&](const Module& at, const Value& value, std::int64_t width, const Value& residual) {
      const Value narrow = linear(at / "dense", value, {width, encoder.hidden});
      return layer_norm(at / "LayerNorm", at.node("Add", {narrow, residual}), encoder.hidden, encoder.epsilon);
    };
    const Value context = attention(encoder, layer / "attention" / "self", hidden, kernel, bias);
    const Value attended = finish(layer / "attention" / "output", context, encoder.hidden, hidden);
    const Module intermediate = layer / "intermediate";
    const Value wide = linear(intermediate / "dense", attended, {encoder.hidden, encoder.intermediate});
    ASSAY_TRY(const Value active,
              activation(intermediate / "intermediate_act_fn", wide, encoder.hidden_act, "hidden_act"));
    hidden = finish(layer / "output", active, encoder.intermediate, attended);
  }
  return hidden;
}

}  // namespace

Status build_nystromformer_encoder(BuildContext& context) { return build_text_encoder(context, encode_nystromformer); }

}  // namespace assay::zoo
