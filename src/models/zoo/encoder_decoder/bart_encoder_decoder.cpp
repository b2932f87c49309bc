// SPDX-License-Identifier: Apache-2.0
// transformers' modeling_bart.py and its relatives: encoder and decoder of attention and feed-forward layers with
// LayerNorms and biases.
#include "models/zoo/encoder_decoder/bart_encoder_decoder.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/zoo/encoder_decoder/encoder_decoder_skeletons.hpp"
#include "models/zoo/layers/outputs.hpp"
#include "models/zoo/layers/sinusoids.hpp"
#include "models/zoo/layers/tensors.hpp"

namespace assay::zoo {
namespace {

constexpr std::int64_t kMostBartPositions = 1 << 20;

struct Decoded {
  Value hidden;
  std::string axis;  ///< symbol of its token axis
};

// Parts of cross-attention that nothing reads.
void leave_cross_attention(const Module& stack, std::int64_t layers, const std::vector<std::string>& parts) {
  for (std::int64_t i = 0; i < layers; ++i) {
    const Module layer = stack / fmt::format("layers.{}", i);
    for (const std::string& part : parts) {
      for (const char* parameter : {"weight", "bias"}) {
        stack.parameters().unused((layer / part).name_of(parameter));
      }
    }
  }
}

// The symbol of an axis of batch times codebooks.
std::string book_rows(const Config& config) { return fmt::format("batch * {}", config.integer("num_codebooks")); }

// Ids of several codebooks [B · codebooks, S], whose embeddings are summed (musicgen).
Result<Value> embed_codebooks(BuildContext& context, const Module& stack, const BartSizes& sizes, const Value& ids,
                              const std::optional<Value>& past) {
  GraphBuilder& graph = context.graph();
  const std::int64_t books = context.config.integer("num_codebooks");
  const Module tokens = stack / "embed_tokens";
  const Value length = extent(tokens, ids, 1);
  const Value apart = tokens.node(
      "Reshape", {ids, tokens.node("Concat", {graph.integers({-1, books}), length}, {{"axis", std::int64_t{0}}})});
  std::optional<Value> sum;
  for (std::int64_t i = 0; i < books; ++i) {
    const Value book = tokens.node("Gather", {apart, graph.integer(i)}, {{"axis", std::int64_t{1}}});
    const Value found = embedding(tokens / std::to_string(i), book, sizes.decoder.vocabulary + 1, sizes.model);
    sum = sum ? tokens.node("Add", {*sum, found}) : found;
  }
  std::int64_t rows = std::max(sizes.decoder.positions, context.inputs.longest() + 1);
  if (const auto shape = context.inputs.shape("input_ids"); shape && shape->size() == 2) {
    rows = std::max(rows, (*shape)[1] + 1);  // transformers lengthens the table
  }
  if (sizes.model < 4 || rows > kMostBartPositions) return unsupported("hidden_size", std::to_string(sizes.model));
  const Module table = stack / "embed_positions";
  const Value weights = constant(table, "weights", {rows, sizes.model}, fairseq_sinusoids(rows, sizes.model, -1, true));
  Value places = count_up(table, length);
  if (past) places = table.node("Add", {places, *past});
  return stack.node("Add", {*sum, table.node("Gather", {weights, places})});
}

Result<Value> decode(BuildContext& context, const Module& stack, const BartSizes& sizes, const Value& ids,
                     const std::string& axis, SeqStates& states, const std::optional<BartEncoded>& encoded,
                     const std::string& mask_name) {
  const BartSizes::Stack& which = sizes.decoder;
  const std::optional<Value> past = states.past_length(stack);
  const bool codebooks = bart_variations(context.config).codebooks;
  ASSAY_TRY(Value hidden, codebooks ? embed_codebooks(context, stack, sizes, ids, past)
                                    : embed_bart_tokens(context, stack, sizes, which, ids, past));
  context.graph().declare(hidden, {"batch", axis, sizes.model});
  const std::string mask_rows = codebooks ? book_rows(context.config) : "batch";
  ASSAY_TRY(const DecoderPlaces places,
            decoder_places(context, stack, hidden, states, past, mask_name, axis, mask_rows));
  std::vector<Value> cross_biases;
  if (encoded && encoded->mask) cross_biases.push_back(*encoded->mask);
  for (std::int64_t i = 0; i < which.layers; ++i) {
    const Module layer = stack / fmt::format("layers.{}", i);
    hidden = bart_attention_layer(
        layer, "self_attn", hidden, sizes, which,
        [&](const Module& attention, const Value& from) {
          return states.own(attention, i, bart_keys_and_values(attention, from, sizes.model, sizes, which.heads));
        },
        {places.bias});
    if (encoded) {
      hidden = bart_attention_layer(
          layer, "encoder_attn", hidden, sizes, which,
          [&](const Module& attention, const Value&) {
            return states.encoder(i, [&] {
              return bart_keys_and_values(attention, *encoded->hidden, encoded->width, sizes, which.heads);
            });
          },
          cross_biases);
    }
    ASSAY_TRY(hidden, bart_feed_forward_layer(layer, hidden, sizes, which.inner));
  }
  if (!encoded) {
    leave_cross_attention(stack, which.layers,
                          {"encoder_attn.k_proj", "encoder_attn.v_proj", "encoder_attn.q_proj", "encoder_attn.out_proj",
                           "encoder_attn_layer_norm"});
  } else if (context.states.decodes()) {  // the encoder's keys and values are states of its own
    leave_cross_attention(stack, which.layers, {"encoder_attn.k_proj", "encoder_attn.v_proj"});
  }
  if (!bart_variations(context.config).final_norm) return hidden;
  return layer_norm(stack / "layer_norm", hidden, sizes.model, 1e-5F);
}

// The decoder's ids: those given or, where forward makes them itself, the encoder's one place to the right.
Result<Value> decoder_ids(BuildContext& context, const Module& stack, const std::optional<Value>& encoder_ids,
                          std::string& axis) {
  axis = kDecoderSequence;
  if (context.inputs.wants("decoder_input_ids")) {
    return context.inputs.take("decoder_input_ids", kIdTypes, {"batch", axis});
  }
  if (!encoder_ids || !bart_variations(context.config).shifts_ids) return missing_input("decoder_input_ids");
  axis = "sequence";
  ASSAY_TRY(const std::int64_t start, token_id(context.config, "decoder_start_token_id"));
  ASSAY_TRY(const std::int64_t padding, token_id(context.config, "pad_token_id"));
  if (start < 0 || padding < 0) return missing_input("decoder_input_ids");
  return shift_right(stack, *encoder_ids, start, padding);
}

// Ties as transformers does: only when the configuration says so.
void tie_tables(BuildContext& context, const Module& base) {
  const Config& config = context.config;
  Parameters& parameters = context.model.parameters();
  const std::string& shared = bart_variations(config).shared_table;
  const std::string& head = bart_variations(config).language_head;
  const std::string encoder_table = (base / "encoder" / "embed_tokens").name_of("weight");
  const std::string decoder_table = (base / "decoder" / "embed_tokens").name_of("weight");
  const std::string head_weight = (context.model / head).name_of("weight");
  const bool causal = config.head() == "causal_lm";
  const bool has_shared =
      !shared.empty() && !causal &&
      (!bart_variations(config).decoder_vocabulary || config.flag("share_encoder_decoder_embeddings"));
  if (has_shared) {
    const std::string table = (base / shared).name_of("weight");
    parameters.unused(table);  // if a checkpoint has different tables for encoder and decoder
    if (!config.flag("tie_word_embeddings")) return;
    parameters.tie(encoder_table, table);
    parameters.tie(decoder_table, table);
    parameters.tie(head_weight, table);
  } else if (config.flag("tie_word_embeddings")) {
    parameters.tie(head_weight, decoder_table);
  }
}

Status language_head(BuildContext& context, const BartSizes& sizes, const Decoded& decoded) {
  const std::string& name = bart_variations(context.config).language_head;
  const Module head = context.model / name;
  const std::int64_t words = sizes.decoder.vocabulary;
  const Value rows = rows_of_logits(context, head, decoded.hidden);
  Value logits = multiply_tied(head, rows, head.parameter("weight", {words, sizes.model}, Role::kTable));
  // A buffer of zeros if the checkpoint lacks it.
  const bool biased = bart_variations(context.config).logits_bias && context.config.head() == "generation";
  if (biased && context.model.parameters().has("final_logits_bias")) {
    logits = head.node("Add", {logits, context.model.parameter("final_logits_bias", {1, words}, Role::kMean)});
  }
  context.graph().output("logits", logits, {"batch", context.logit_rows(decoded.axis), words});
  return {};
}

Status decoder_outputs(BuildContext& context, const BartSizes& sizes, const Decoded& decoded,
                       const std::optional<Value>& ids) {
  const Config& config = context.config;
  const std::string& head = config.head();
  GraphBuilder& graph = context.graph();
  if (head == "generation" || head == "causal_lm") return language_head(context, sizes, decoded);
  if (head == "none") {
    graph.output("last_hidden_state", decoded.hidden, {"batch", decoded.axis, sizes.model});
    return {};
  }
  if (head == "question_answering") {  // always two, whatever num_labels says
    const Module outputs = context.model / "qa_outputs";
    question_answering_outputs(outputs, linear(outputs, decoded.hidden, {sizes.model, 2}), decoded.axis);
    return {};
  }
  ASSAY_TRY(const std::int64_t labels, positive_label_count(config));
  ASSAY_TRY(const std::int64_t end, token_id(config, "eos_token_id"));
  if (!ids) return unsupported("class", config.model_class());
  const Module at = context.model / "classification_head";
  const Value pooled = last_where(at, decoded.hidden, *ids, end);
  graph.output("logits", classification_head(at, pooled, sizes.model, labels), {"batch", labels});
  return {};
}

// One head for each codebook; [B · codebooks, S, words].
Status codebook_heads(BuildContext& context, const BartSizes& sizes, const Value& all) {
  GraphBuilder& graph = context.graph();
  const std::int64_t books = context.config.integer("num_codebooks");
  const std::int64_t words = sizes.decoder.vocabulary;
  const Module heads = context.model / "lm_heads";
  const Value hidden = rows_of_logits(context, heads, all);
  std::vector<Value> logits;
  for (std::int64_t i = 0; i < books; ++i) {
    const Value one = linear(heads / std::to_string(i), hidden, {sizes.model, words}, false);
    logits.push_back(heads.node("Unsqueeze", {one, graph.integers({1})}));
  }
  const Value together = heads.node("Concat", logits, {{"axis", std::int64_t{1}}});
  const Value shape = heads.node("Concat", {graph.integers({-1}), extent(heads, hidden, 1), graph.integers({words})},
                                 {{"axis", std::int64_t{0}}});
  graph.output("logits", heads.node("Reshape", {together, shape}),
               {book_rows(context.config), context.logit_rows("sequence"), words});
  return {};
}

// What a decoder without an encoder attends to, if it is an input.
Result<std::optional<BartEncoded>> given_encoder_states(BuildContext& context, const Module& stack,
                                                        const BartSizes& sizes) {
  if (!context.inputs.wants("encoder_hidden_states")) return std::optional<BartEncoded>();
  BartEncoded made;
  made.width = sizes.model;
  if (bart_variations(context.config).encoder_width) {
    made.width = context.config.optional_integer("cross_attention_hidden_size").value_or(sizes.model);
  }
  if (context.states.decodes()) {
    context.inputs.leave("encoder_hidden_states");
  } else {
    ASSAY_TRY(made.hidden, context.inputs.take("encoder_hidden_states", {DType::kFloat32},
                                               {"batch", "encoder_sequence", made.width}));
  }
  if (context.inputs.wants("encoder_attention_mask")) {
    ASSAY_TRY(const Value mask,
              context.inputs.take("encoder_attention_mask", kMaskTypes, {"batch", "encoder_sequence"}));
    made.mask = additive_mask(stack, mask);
  }
  return std::optional(made);
}

Status build_causal(BuildContext& context, const BartSizes& sizes) {
  const Module stack = context.model / "model" / "decoder";
  const bool codebooks = bart_variations(context.config).codebooks;
  const std::string rows = codebooks ? book_rows(context.config) : "batch";
  ASSAY_TRY(const Value ids, context.inputs.take("input_ids", kIdTypes, {rows, "sequence"}));
  ASSAY_TRY(const std::optional<BartEncoded> encoded, given_encoder_states(context, stack, sizes));
  std::optional<Extent> encoder_axis;
  if (encoded) encoder_axis = "encoder_sequence";
  SeqStates states(context, sizes.decoder.layers, sizes.decoder.heads, "sequence", encoder_axis);
  ASSAY_TRY(const Value hidden, decode(context, stack, sizes, ids, "sequence", states, encoded, "attention_mask"));
  if (codebooks) return codebook_heads(context, sizes, hidden);
  return language_head(context, sizes, {hidden, "sequence"});
}

// whisper's encoder with a mean over time.
Status build_audio_classification(BuildContext& context, const BartSizes& sizes) {
  ASSAY_TRY(const std::int64_t labels, positive_label_count(context.config));
  ASSAY_TRY(const BartEncoded encoded, encode_bart(context, context.model / "encoder", sizes));
  const std::int64_t width = context.config.integer("classifier_proj_size");
  const Value projected = linear(context.model / "projector", *encoded.hidden, {sizes.model, width});
  const Value pooled = mean(context.model, projected, {1});
  context.graph().output("logits", linear_rank2(context.model / "classifier", pooled, {width, labels}),
                         {"batch", labels});
  return {};
}

}  // namespace

Status build_bart_encoder_decoder(BuildContext& context) {
  const Config& config = context.config;
  ASSAY_TRY(const BartSizes sizes, read_bart_sizes(config));
  const std::string& head = config.head();
  const Module base = base_module(context);
  const bool token_encoder = *bart_variations(config).encoder == "tokens";
  const std::int64_t longest = token_encoder && head != "causal_lm"
                                   ? std::min(sizes.encoder.positions, sizes.decoder.positions)
                                   : sizes.decoder.positions;
  context.graph().metadata("assay.max_sequence", std::to_string(longest));
  tie_tables(context, base);
  ASSAY_CHECK_OK(refuse_parts(context, sizes.decoder.layers));
  if (head == "causal_lm") return build_causal(context, sizes);
  if (head == "audio_classification") return build_audio_classification(context, sizes);

  const std::string& kind = bart_variations(config).encoder;
  const bool decodes = context.states.decodes();
  BartEncoded encoded;
  if (!decodes) {
    ASSAY_TRY(encoded, encode_bart(context, base / "encoder", sizes));
  }
  Decoded decoded;
  ASSAY_TRY(const Value ids, decoder_ids(context, base / "decoder", encoded.ids, decoded.axis));
  const Extent encoder_axis = kind == "whisper"          ? Extent(sizes.encoder.positions)
                              : kind == "speech_to_text" ? Extent("frames")
                                                         : Extent("sequence");
  SeqStates states(context, sizes.decoder.layers, sizes.decoder.heads, decoded.axis, encoder_axis);
  if (decodes) {
    const Value length = states.encoder_length(base / "encoder");
    ASSAY_TRY(encoded, bart_encoded_before(context, base / "encoder", sizes, length));
  }
  ASSAY_TRY(decoded.hidden,
            decode(context, base / "decoder", sizes, ids, decoded.axis, states, encoded, "decoder_attention_mask"));
  ASSAY_CHECK_OK(decoder_outputs(context, sizes, decoded, encoded.ids));
  if (encoded.hidden) {
    context.graph().output("encoder_last_hidden_state", *encoded.hidden, {"batch", encoder_axis, sizes.model});
  }
  return {};
}

}  // namespace assay::zoo
