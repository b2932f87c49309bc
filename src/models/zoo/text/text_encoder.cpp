// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/text/text_encoder.hpp"

#include <fmt/format.h>

#include "models/zoo/catalogue/architecture.hpp"
#include "models/zoo/layers/tensors.hpp"

namespace assay::zoo {

Result<TextEncoder> TextEncoder::read(BuildContext& context, const Module& base) {
  const Config& config = context.config;
  TextEncoder encoder{.context = &context, .variations = &config.architecture().varied<TextVariations>(), .base = base};

  encoder.vocabulary = encoder.integer("vocab_size");
  encoder.hidden = encoder.integer("hidden_size");
  encoder.embedding = encoder.has("embedding_size") ? encoder.integer("embedding_size") : encoder.hidden;
  encoder.layers = encoder.integer("num_hidden_layers");
  if (encoder.has("intermediate_size")) encoder.intermediate = encoder.integer("intermediate_size");
  if (encoder.has("max_position_embeddings")) encoder.positions = encoder.integer("max_position_embeddings");
  encoder.positions += encoder.variations->embeddings.offset;
  if (encoder.has("type_vocab_size")) encoder.token_types = encoder.integer("type_vocab_size");
  if (encoder.has("num_attention_heads")) {
    encoder.heads.count = encoder.integer("num_attention_heads");
    std::optional<std::int64_t> width;
    if (encoder.has("head_dim")) width = config.optional_integer("head_dim");
    if (width) {
      encoder.heads.width = *width;
    } else if (!encoder.variations->layer.own_heads) {
      ASSAY_TRY(encoder.heads.width, head_width(encoder.hidden, encoder.heads.count));
    }
  }
  encoder.epsilon =
      encoder.has("layer_norm_eps") ? config.number(encoder.key_of("layer_norm_eps")) : *encoder.variations->epsilon;
  encoder.hidden_act = encoder.has("hidden_act") ? config.text(encoder.key_of("hidden_act")) : "gelu";
  return encoder;
}

bool TextEncoder::has(const std::string& key) const { return context->config.has(key_of(key)); }

std::int64_t TextEncoder::integer(const std::string& key) const { return context->config.integer(key_of(key)); }

std::string TextEncoder::key_of(const std::string& key) const {
  const auto found = variations->keys->find(key);
  return found == variations->keys->end() ? key : found->second;
}

Result<std::optional<Value>> token_input(const TextEncoder& encoder, const std::string& name,
                                         const std::vector<DType>& dtypes) {
  if (!encoder.inputs().wants(name)) return std::optional<Value>();
  ASSAY_TRY(Value input, encoder.inputs().take(name, dtypes, {"batch", "sequence"}));
  return std::optional(std::move(input));
}

Result<std::optional<Value>> mask_input(const TextEncoder& encoder) {
  return token_input(encoder, "attention_mask", kMaskTypes);
}

Status build_text_encoder(BuildContext& context, EncodeText encode, EmbedText embed) {
  // DPR's classes have bases of their own.
  const ClassSpec& own = context.config.class_spec();
  const Module base = own.base.stated() && !context.config.bare() ? context.model.at(own.base) : base_module(context);
  ASSAY_TRY(const TextEncoder encoder, TextEncoder::read(context, base));
  tie_text_heads(encoder);
  ASSAY_TRY(const Embedded embedded, embed(encoder));
  // The shape of `hidden` is not declared: if it is known, ONNX Runtime makes one node of each residual sum and
  // the norm after it, which on a CPU takes longer than the three of them (docs/performance.md).
  ASSAY_TRY(std::optional<Value> mask, mask_input(encoder));
  // DPR leaves padding out by itself if there is no mask.
  if (!mask && embedded.ids && encoder.variations->embeddings.masks_padding) {
    const Value& ids = *embedded.ids;
    if (const auto padding = context.config.optional_integer("pad_token_id")) {
      const Value is_padding = encoder.base.node(
          "Equal", {ids, cast(encoder.base, context.graph().integer(*padding), ids.dtype)}, {}, DType::kBool);
      mask = encoder.base.node("Not", {is_padding});
    }
  }
  ASSAY_TRY(const Value hidden, encode(encoder, embedded, mask));
  return build_text_heads(encoder, hidden);
}

}  // namespace assay::zoo
