// SPDX-License-Identifier: Apache-2.0
// transformers' modeling_t5.py and its relatives: pre-norm stacks with RMS norms, no biases in linear layers, and
// positions that are a learned bias on attention scores, by distance.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/zoo/encoder_decoder/encoder_decoder_skeletons.hpp"
#include "models/zoo/encoder_decoder/seq2seq.hpp"
#include "models/zoo/layers/distance.hpp"
#include "models/zoo/layers/outputs.hpp"
#include "models/zoo/layers/tensors.hpp"

namespace assay::zoo {
namespace {

const T5Variations& t5_variations(const Config& config) { return config.architecture().varied<T5Variations>(); }

struct T5Sizes {
  std::int64_t vocabulary, model, inner, buckets, max_distance;
  Heads heads;
  float epsilon;
  std::string activation;
  bool gated;
};

Result<T5Sizes> read_t5_sizes(const Config& config) {
  T5Sizes sizes{config.integer("vocab_size"),
                config.integer("d_model"),
                config.integer("d_ff"),
                config.integer("relative_attention_num_buckets"),
                config.integer("relative_attention_max_distance"),
                {config.integer("num_heads"), config.integer("d_kv")},
                config.number("layer_norm_epsilon"),
                {},
                false};
  // Half of the buckets of the encoder, whose other half is for the other direction, count exactly.
  if (sizes.max_distance <= sizes.buckets / 2) {
    return unsupported("relative_attention_max_distance", std::to_string(sizes.max_distance),
                       fmt::format("it must be above {}", sizes.buckets / 2));
  }
  if (t5_variations(config).sparse) {
    sizes.activation = config.text("dense_act_fn");
    return sizes;
  }
  // "relu", "gated-gelu"; the two keys that transformers derives from it stand above it when the file has them.
  const std::string projection = config.text("feed_forward_proj");
  const std::size_t dash = projection.find('-');
  sizes.gated = projection.substr(0, dash) == "gated";
  sizes.activation = dash == std::string::npos ? projection : projection.substr(dash + 1);
  if (dash != std::string::npos && (!sizes.gated || sizes.activation.find('-') != std::string::npos)) {
    return unsupported("feed_forward_proj", projection, "ACTIVATION or gated-ACTIVATION");
  }
  if (projection == "gated-gelu") sizes.activation = "gelu_new";
  if (const auto given = config.optional_text("dense_act_fn")) sizes.activation = *given;
  if (const auto given = config.optional_flag("is_gated_act")) sizes.gated = *given;
  return sizes;
}

std::int64_t decoder_layers(const Config& config) {
  return config.optional_integer("num_decoder_layers").value_or(config.integer("num_layers"));
}

// Every how many layers one is sparse: the key, or what transformers derives from the number of sparse layers.
std::int64_t sparse_step(const Config& config, const std::string& stack) {
  if (const auto given = config.optional_integer(stack + "_sparse_step")) return *given;
  const std::int64_t layers = stack == "encoder" ? config.integer("num_layers") : decoder_layers(config);
  const std::int64_t sparse = config.integer(fmt::format("num_sparse_{}_layers", stack));
  return sparse > 0 ? layers / sparse : layers;
}

// wo(activation(wi(x))), gated or not.
Result<Value> dense(const Module& at, const Value& input, const T5Sizes& sizes) {
  const Width wide{sizes.model, sizes.inner};
  Value hidden = linear(at / (sizes.gated ? "wi_0" : "wi"), input, wide, false);
  ASSAY_TRY(hidden, activation(at / "act", hidden, sizes.activation, "feed_forward_proj"));
  if (sizes.gated) hidden = at.node("Mul", {hidden, linear(at / "wi_1", input, wide, false)});
  return linear(at / "wo", hidden, {sizes.inner, sizes.model}, false);
}

// switch_transformers: each token goes to its best expert, times the router's probability of it, as long as the expert
// has room in that sequence; no expert gives zero. Every expert computes every token: which goes where is data.
Result<Value> experts(BuildContext& context, const Module& at, const Value& input, const T5Sizes& sizes) {
  const Config& config = context.config;
  GraphBuilder& graph = context.graph();
  const std::int64_t count = config.integer("num_experts");
  const Module router = at / "router";
  const Value scores = linear(router / "classifier", input, {sizes.model, count}, config.flag("router_bias"));
  const Value shares = router.node("Softmax", {scores}, {{"axis", std::int64_t{-1}}});
  const Value best =
      router.node("ArgMax", {shares}, {{"axis", std::int64_t{-1}}, {"keepdims", std::int64_t{1}}}, DType::kInt64);
  const Value each = count_up(router, graph.integers({count}));
  const Value chosen = router.node("Cast", {router.node("Equal", {best, each}, {}, DType::kBool)},
                                   {{"to", static_cast<std::int64_t>(DType::kFloat32)}}, DType::kFloat32);
  const Value order = router.node("CumSum", {chosen, graph.integer(1)});
  const auto capacity = static_cast<float>(config.integer("expert_capacity"));
  const Value room =
      router.node("Cast", {router.node("LessOrEqual", {order, graph.number(capacity)}, {}, DType::kBool)},
                  {{"to", static_cast<std::int64_t>(DType::kFloat32)}}, DType::kFloat32);
  const Value weights = router.node("Mul", {router.node("Mul", {chosen, room}), shares});
  std::optional<Value> sum;
  for (std::int64_t i = 0; i < count; ++i) {
    ASSAY_TRY(const Value one, dense(at / "experts" / fmt::format("expert_{}", i), input, sizes));
    const Value weight = at.node("Gather", {weights, graph.integers({i})}, {{"axis", std::int64_t{2}}});
    const Value part = at.node("Mul", {one, weight});
    sum = sum ? at.node("Add", {*sum, part}) : part;
  }
  if (!sum) return fail(ErrorCode::kInvalidArgument, fmt::format("num_experts is {}, at least 1 was expected", count));
  return *sum;
}

// `layer`: its place in the stack, for those that are sparse.
Result<Value> feed_forward(BuildContext& context, const Module& at, const Value& input, const T5Sizes& sizes,
                           std::int64_t layer, const char* step_key) {
  const Value normed = rms_norm(at / "layer_norm", input, sizes.model, sizes.epsilon);
  Value fed;
  if (!t5_variations(context.config).sparse) {
    ASSAY_TRY(fed, dense(at / "DenseReluDense", normed, sizes));
  } else {
    const std::int64_t step = sparse_step(context.config, step_key);
    const bool is_sparse = step == 1 || (step > 1 && layer % step == 1);
    ASSAY_TRY(fed, is_sparse ? experts(context, at / "mlp", normed, sizes) : dense(at / "mlp", normed, sizes));
  }
  return at.node("Add", {input, fed});
}

// One attention with its norm and its residual connection. `states` makes or fetches keys and values from what the
// norm gives.
Value attention_layer(const Module& layer, const char* name, const Value& input, const T5Sizes& sizes,
                      const std::function<KeyValue(const Module&, const Value&)>& states,
                      const std::function<std::vector<Value>(const Module&)>& biases) {
  const Module attention = layer / name;
  const Value normed = rms_norm(layer / "layer_norm", input, sizes.model, sizes.epsilon);
  const std::int64_t inner = sizes.heads.count * sizes.heads.width;
  const Value query = linear(attention / "q", normed, {sizes.model, inner}, false);
  const Value attended =
      attend_merged(attention, query, states(attention, normed), {.heads = sizes.heads, .biases = biases(attention)});
  return layer.node("Add", {input, linear(attention / "o", attended, {inner, sizes.model}, false)});
}

KeyValue keys_and_values(const Module& attention, const Value& from, const T5Sizes& sizes) {
  const Width width{sizes.model, sizes.heads.count * sizes.heads.width};
  return {split_heads(attention / "k", linear(attention / "k", from, width, false), sizes.heads),
          split_heads(attention / "v", linear(attention / "v", from, width, false), sizes.heads)};
}

// Biases of self-attention: the positions', computed once where layers share the first one's, then the mask's.
class SelfBiases {
 public:
  SelfBiases(const Config& config, const Module& stack, const T5Sizes& sizes, bool decoder)
      : shared_(!t5_variations(config).bias_in_every_layer), stack_(stack), sizes_(sizes), decoder_(decoder) {}

  void at_positions(const Value& query, const Value& key) {
    query_ = query;
    key_ = key;
  }
  void add_mask(const Value& mask) { mask_ = mask; }

  std::vector<Value> operator()(const Module& attention) {
    if (!first_ || !shared_)
      first_ = distance_bias(attention / "relative_attention_bias", {sizes_.buckets, sizes_.max_distance, !decoder_},
                             sizes_.heads.count, query_, key_);
    std::vector<Value> biases{*first_};
    if (mask_ && !shared_) {
      biases.push_back(*mask_);
    } else if (mask_) {
      // One sum for all layers.
      if (!sum_) sum_ = stack_.node("Add", {*first_, *mask_});
      biases = {*sum_};
    }
    return biases;
  }

 private:
  bool shared_;
  Module stack_;
  const T5Sizes& sizes_;
  bool decoder_;
  Value query_, key_;
  std::optional<Value> first_, mask_, sum_;
};

Result<Value> encode_t5(BuildContext& context, const T5Sizes& sizes, const Value& ids,
                        const std::optional<Value>& mask) {
  const Module stack = context.model / "encoder";
  Value hidden = embedding(stack / "embed_tokens", ids, sizes.vocabulary, sizes.model);
  context.graph().declare(hidden, {"batch", "sequence", sizes.model});
  const Value positions = count_up(stack, extent(stack, ids, 1));
  SelfBiases biases(context.config, stack, sizes, false);
  biases.at_positions(positions, positions);
  if (mask) biases.add_mask(*mask);
  const std::int64_t layers = context.config.integer("num_layers");
  for (std::int64_t i = 0; i < layers; ++i) {
    const Module block = stack / fmt::format("block.{}", i) / "layer";
    hidden = attention_layer(
        block / "0", "SelfAttention", hidden, sizes,
        [&](const Module& attention, const Value& normed) { return keys_and_values(attention, normed, sizes); },
        [&](const Module& attention) { return biases(attention); });
    ASSAY_TRY(hidden, feed_forward(context, block / "1", hidden, sizes, i, "encoder"));
  }
  return rms_norm(stack / "final_layer_norm", hidden, sizes.model, sizes.epsilon);
}

// The projections of the encoder's states, which a decode has as states of its own.
void leave_keys_and_values(const Module& stack, std::int64_t layers) {
  for (std::int64_t i = 0; i < layers; ++i) {
    const Module attention = stack / fmt::format("block.{}", i) / "layer" / "1" / "EncDecAttention";
    for (const char* name : {"k", "v"}) stack.parameters().unused((attention / name).name_of("weight"));
  }
}

// `encoded`: nullopt in a decode.
Result<Value> decode(BuildContext& context, const T5Sizes& sizes, const Value& ids, const std::string& axis,
                     const std::optional<Value>& encoded, const std::optional<Value>& encoder_mask) {
  const Module stack = context.model / "decoder";
  const std::int64_t layers = decoder_layers(context.config);
  SeqStates states(context, layers, sizes.heads, axis, "sequence");
  const std::optional<Value> past = states.past_length(stack);
  Value hidden = embedding(stack / "embed_tokens", ids, sizes.vocabulary, sizes.model);
  context.graph().declare(hidden, {"batch", axis, sizes.model});
  ASSAY_TRY(const DecoderPlaces places,
            decoder_places(context, stack, ids, states, past, "decoder_attention_mask", axis));
  SelfBiases biases(context.config, stack, sizes, true);
  biases.at_positions(places.queries, places.keys);
  biases.add_mask(places.bias);
  for (std::int64_t i = 0; i < layers; ++i) {
    const Module block = stack / fmt::format("block.{}", i) / "layer";
    hidden = attention_layer(
        block / "0", "SelfAttention", hidden, sizes,
        [&](const Module& attention, const Value& normed) {
          return states.own(attention, i, keys_and_values(attention, normed, sizes));
        },
        [&](const Module& attention) { return biases(attention); });
    hidden = attention_layer(
        block / "1", "EncDecAttention", hidden, sizes,
        [&](const Module& attention, const Value&) {
          return states.encoder(i, [&] { return keys_and_values(attention, *encoded, sizes); });
        },
        [&](const Module&) { return encoder_mask ? std::vector<Value>{*encoder_mask} : std::vector<Value>{}; });
    ASSAY_TRY(hidden, feed_forward(context, block / "2", hidden, sizes, i, "decoder"));
  }
  if (!encoded) leave_keys_and_values(stack, layers);
  // A bias that the first published checkpoints have and no attention reads.
  context.model.parameters().unused("decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight");
  return rms_norm(stack / "final_layer_norm", hidden, sizes.model, sizes.epsilon);
}

bool logits_scaled(const Config& config) {
  const std::string& how = t5_variations(config).scaled_logits;
  if (how == "tied") return config.flag("tie_word_embeddings");
  if (how != "config") return how == "always";
  if (const auto given = config.optional_flag("scale_decoder_outputs")) return *given;
  return config.optional_flag("tie_word_embeddings").value_or(true);
}

Result<Value> decoder_ids(BuildContext& context, const std::optional<Value>& ids, const std::string& head) {
  if (context.inputs.wants("decoder_input_ids")) {
    return context.inputs.take("decoder_input_ids", kIdTypes, {"batch", kDecoderSequence});
  }
  if (!ids || (head != "classification" && head != "question_answering")) return missing_input("decoder_input_ids");
  ASSAY_TRY(const std::int64_t start, token_id(context.config, "decoder_start_token_id"));
  ASSAY_TRY(const std::int64_t padding, token_id(context.config, "pad_token_id"));
  if (start < 0 || padding < 0) return missing_input("decoder_input_ids");
  return shift_right(context.model / "decoder", *ids, start, padding);
}

Status decoder_outputs(BuildContext& context, const T5Sizes& sizes, const std::string& head,
                       const std::optional<Value>& ids, const Value& hidden, const std::string& axis) {
  GraphBuilder& graph = context.graph();
  const Config& config = context.config;
  if (head == "generation") {
    const Module at = context.model / "lm_head";
    Value scaled = hidden;
    if (logits_scaled(config)) {
      const auto factor = static_cast<float>(1.0 / std::sqrt(static_cast<double>(sizes.model)));
      scaled = at.node("Mul", {hidden, graph.number(factor)});
    }
    const Value weight = at.parameter("weight", {sizes.vocabulary, sizes.model}, Role::kTable);
    const Value logits = multiply_tied(at, rows_of_logits(context, at, scaled), weight);
    graph.output("logits", logits, {"batch", context.logit_rows(axis), sizes.vocabulary});
  } else if (head == "none") {
    graph.output("last_hidden_state", hidden, {"batch", axis, sizes.model});
  } else if (head == "question_answering") {
    if (config.label_count() != 2) return unsupported("num_labels", std::to_string(config.label_count()));
    const Module outputs = context.model / "qa_outputs";
    question_answering_outputs(outputs, linear(outputs, hidden, {sizes.model, 2}), axis);
  } else {  // classification
    ASSAY_TRY(const std::int64_t labels, positive_label_count(config));
    ASSAY_TRY(const std::int64_t end, token_id(config, "eos_token_id"));
    const Module at = context.model / "classification_head";
    const Value pooled = last_where(at, hidden, *ids, end);
    graph.output("logits", classification_head(at, pooled, sizes.model, labels), {"batch", labels});
  }
  return {};
}

}  // namespace

Status build_t5_encoder_decoder(BuildContext& context) {
  const Config& config = context.config;
  ASSAY_TRY(const T5Sizes sizes, read_t5_sizes(config));
  const std::string& head = config.head();
  Parameters& parameters = context.model.parameters();
  parameters.unused("shared.weight");  // if a checkpoint has different tables for encoder and decoder
  if (*t5_variations(config).scaled_logits != "tied" || config.flag("tie_word_embeddings")) {
    for (const char* copy : {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight"}) {
      parameters.tie(copy, "shared.weight");
    }
  }

  ASSAY_CHECK_OK(refuse_parts(context, decoder_layers(config)));
  const bool decodes = context.states.decodes();
  std::optional<Value> ids;
  if (decodes) {
    context.inputs.leave("input_ids");
  } else {
    ASSAY_TRY(ids, context.inputs.take("input_ids", kIdTypes, {"batch", "sequence"}));
  }
  std::optional<Value> mask;
  if (context.inputs.wants("attention_mask")) {
    ASSAY_TRY(const Value input, context.inputs.take("attention_mask", kMaskTypes, {"batch", "sequence"}));
    mask = additive_mask(context.model, input);
  }
  GraphBuilder& graph = context.graph();
  const Extents encoder_extents{"batch", "sequence", sizes.model};
  if (head == "encoder" || head == "token_classification") {
    ASSAY_TRY(const Value encoded, encode_t5(context, sizes, *ids, mask));
    if (head == "encoder") {
      graph.output("last_hidden_state", encoded, encoder_extents);
      return {};
    }
    ASSAY_TRY(const std::int64_t labels, positive_label_count(config));
    graph.output("logits", linear(context.model / "classifier", encoded, {sizes.model, labels}),
                 {"batch", "sequence", labels});
    return {};
  }
  const std::string axis = context.inputs.wants("decoder_input_ids") ? kDecoderSequence : "sequence";
  ASSAY_TRY(const Value target_ids, decoder_ids(context, ids, head));
  std::optional<Value> encoded;
  if (decodes) {
    parameters.unused_below("encoder.");
  } else {
    ASSAY_TRY(encoded, encode_t5(context, sizes, *ids, mask));
  }
  ASSAY_TRY(const Value hidden, decode(context, sizes, target_ids, axis, encoded, mask));
  ASSAY_CHECK_OK(decoder_outputs(context, sizes, head, ids, hidden, axis));
  if (encoded) graph.output("encoder_last_hidden_state", *encoded, encoder_extents);
  return {};
}

}  // namespace assay::zoo
