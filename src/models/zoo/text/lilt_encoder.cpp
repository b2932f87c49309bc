// SPDX-License-Identifier: Apache-2.0
// LiLT (Wang et al. 2022, arXiv:2202.13669): a RoBERTa beside a narrow encoder of the layout; each adds the other's
// attention scores to its own.
#include <fmt/format.h>

#include "models/zoo/text/text_encoder.hpp"
#include "models/zoo/text/text_skeletons.hpp"

namespace assay::zoo {
namespace {

/// One of the two streams: its names in a layer and its widths.
struct Stream {
  std::string prefix;  ///< "" or "layout_"
  std::int64_t hidden = 0, intermediate = 0;
  Heads heads;
};

Result<Value> layout_embeddings(const TextEncoder& encoder, const Embedded& embedded, const Stream& layout) {
  const Module at = encoder.base / "layout_embeddings";
  ASSAY_TRY(std::vector<Value> rows, box_rows(encoder, at, embedded.tokens, encoder.hidden / 6));
  const Value joined = at.node("Concat", rows, {{"axis", std::int64_t{-1}}});
  const Value boxes = linear(at / "box_linear_embeddings", joined, {encoder.hidden, layout.hidden});
  const Value positions = position_rows(encoder, at / "box_position_embeddings", embedded, layout.hidden);
  return layer_norm(at / "LayerNorm", at.node("Add", {boxes, positions}), layout.hidden, encoder.epsilon);
}

struct LiltAttended {
  Value scores;  ///< scaled, without mask
  Value value;
};

LiltAttended scores_of(const Module& self, const Stream& stream, const Value& input) {
  const auto project = [&](const char* name) {
    return linear(self / (stream.prefix + name), input, {stream.hidden, stream.hidden});
  };
  const Value query = split_heads(self, project("query"), stream.heads);
  const Value keys = split_keys(self, project("key"), stream.heads);
  return {scaled_scores(self, query, keys, stream.heads), split_heads(self, project("value"), stream.heads)};
}

Value context_of(const Module& self, const Stream& stream, const Value& own, const Value& other, const Value& value,
                 const std::optional<Value>& mask) {
  Value scores = self.node("Add", {own, other});
  if (mask) scores = self.node("Add", {scores, *mask});
  return merge_heads(self, mix_values(self, scores, value), stream.heads);
}

// What follows the attention, in either stream.
Result<Value> rest_of_layer(const TextEncoder& encoder, const Module& layer, const Stream& stream, const Value& input,
                            const Value& context) {
  const auto finish = [&](const Module& at, const Value& value, std::int64_t width, const Value& residual) {
    const Value narrow = linear(at / "dense", value, {width, stream.hidden});
    return layer_norm(at / "LayerNorm", at.node("Add", {narrow, residual}), stream.hidden, encoder.epsilon);
  };
  const Value attended = finish(layer / "attention" / (stream.prefix + "output"), context, stream.hidden, input);
  const Module intermediate = layer / (stream.prefix + "intermediate");
  const Value wide = linear(intermediate / "dense", attended, {stream.hidden, stream.intermediate});
  ASSAY_TRY(const Value active,
            activation(intermediate / "intermediate_act_fn", wide, encoder.hidden_act, "hidden_act"));
  return finish(layer / (stream.prefix + "output"), active, stream.intermediate, attended);
}

Result<Value> encode_lilt(const TextEncoder& encoder, const Embedded& embedded, const std::optional<Value>& mask) {
  const std::int64_t ratio = encoder.integer("channel_shrink_ratio");
  const Heads narrow{encoder.heads.count, encoder.heads.width / ratio};
  const Stream text{"", encoder.hidden, encoder.intermediate, encoder.heads};
  const Stream layout{"layout_", encoder.hidden / ratio, encoder.intermediate / ratio, narrow};
  if (encoder.hidden % 6 != 0) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("hidden_size = {}: expected a multiple of 6", encoder.hidden));
  }
  if (narrow.width < 1 || narrow.count * narrow.width != layout.hidden || layout.intermediate < 1) {
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("channel_shrink_ratio = {}: it does not divide the head's width {}", ratio, encoder.heads.width));
  }
  ASSAY_TRY(Value boxes, layout_embeddings(encoder, embedded, layout));
  std::optional<Value> bias;
  if (mask) bias = additive_mask(encoder.base, *mask);
  Value hidden = embedded.hidden;
  for (std::int64_t i = 0; i < encoder.layers; ++i) {
    const Module layer = encoder.base / "encoder" / fmt::format("layer.{}", i);
    const Module self = layer / "attention" / "self";
    const LiltAttended words = scores_of(self, text, hidden);
    const LiltAttended places = scores_of(self, layout, boxes);
    const Value context = context_of(self, text, words.scores, places.scores, words.value, bias);
    ASSAY_TRY(const Value next, rest_of_layer(encoder, layer, text, hidden, context));
    const Value box_context = context_of(self, layout, places.scores, words.scores, places.value, bias);
    ASSAY_TRY(boxes, rest_of_layer(encoder, layer, layout, boxes, box_context));
    hidden = next;
  }
  return hidden;
}

}  // namespace

Status build_lilt_encoder(BuildContext& context) { return build_text_encoder(context, encode_lilt); }

}  // namespace assay::zoo
