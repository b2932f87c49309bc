// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/zoo/audio/audio.hpp"
#include "models/zoo/encoder_decoder/bart_encoder_decoder.hpp"
#include "models/zoo/layers/positions.hpp"
#include "models/zoo/layers/sinusoids.hpp"
#include "models/zoo/layers/tensors.hpp"

namespace assay::zoo {
namespace {

constexpr float kBartEpsilon = 1e-5F;  // torch.nn.LayerNorm's own

Result<Heads> heads_of(const Config& config, const std::string& key, std::int64_t model) {
  const std::int64_t count = config.integer(key);
  if (model % count != 0) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("d_model = {} is not a multiple of {} = {}", model, key, count));
  }
  return Heads{count, model / count};
}

// What the configuration calls a key of BART's.
std::string key_of(const Config& config, const std::string& usual) {
  const std::map<std::string, std::string>& keys = bart_variations(config).keys;
  const auto found = keys.find(usual);
  return found == keys.end() ? usual : found->second;
}

std::string positions_key(const Config& config, const char* which) {
  const std::string own = key_of(config, which);
  return own == which ? "max_position_embeddings" : own;
}

// Rows of the position table for `ids` [B, S].
Result<Value> positions(BuildContext& context, const Module& stack, const BartSizes& sizes,
                        const BartSizes::Stack& which, const Value& ids, const std::optional<Value>& past) {
  const Module table = stack / "embed_positions";
  std::string kind = bart_variations(context.config).positions;
  if (kind == "config") {
    kind = context.config.flag("use_learned_position_embeddings") ? "learned" : "sinusoidal_by_ids";
  }
  GraphBuilder& graph = context.graph();
  if (kind == "sinusoidal_by_ids") {
    if (sizes.padding < 0) return unsupported("pad_token_id", "null", "positions are counted by it");
    // transformers lengthens the table when it is too short; here it is made long enough for what was requested.
    std::int64_t longest = context.inputs.longest();
    for (const char* input : {"input_ids", "decoder_input_ids", "input_features"}) {
      if (const auto shape = context.inputs.shape(input); shape && shape->size() >= 2)
        longest = std::max(longest, (*shape)[1]);
    }
    const std::int64_t rows = std::max(which.positions + 2, sizes.padding + 2 + longest);
    if (rows > (std::int64_t{1} << 24)) return unsupported("pad_token_id", std::to_string(sizes.padding));
    if (sizes.model < 4) return unsupported("d_model", std::to_string(sizes.model));
    const Value weights =
        constant(table, "weights", {rows, sizes.model}, fairseq_sinusoids(rows, sizes.model, sizes.padding));
    return table.node("Gather", {weights, positions_after_padding(table, ids, sizes.padding, past)});
  }
  Value places;
  bool given = false;
  // Without a mask transformers takes positions that start again for sequences packed into one.
  if (context.inputs.wants("decoder_position_ids") && context.inputs.wants("decoder_attention_mask") &&
      &which == &sizes.decoder) {
    ASSAY_TRY(places, context.inputs.take("decoder_position_ids", kIdTypes, {"batch", kDecoderSequence}));
    given = true;
  } else {
    places = count_up(table, extent(table, ids, 1));
    if (past) places = table.node("Add", {places, *past});
  }
  const std::int64_t offset = bart_variations(context.config).position_offset;
  if (offset != 0) places = table.node("Add", {places, graph.integer(offset)});
  const std::int64_t rows = which.positions + offset;
  Value weight;
  if (kind == "sinusoidal" && !context.model.parameters().has(table.name_of("weight"))) {
    weight = constant(table, "weight", {rows, sizes.model}, halved_sinusoids(rows, sizes.model));
  } else {
    weight = table.parameter("weight", {rows, sizes.model}, Role::kTable);
  }
  const Value found = table.node("Gather", {weight, places});
  return given ? found : table.node("Unsqueeze", {found, graph.integers({0})});
}

}  // namespace

Result<BartSizes> read_bart_sizes(const Config& config) {
  const auto integer = [&](const char* usual) { return config.integer(key_of(config, usual)); };
  BartSizes sizes;
  sizes.model = integer("d_model");
  sizes.activation = config.text("activation_function");
  if (config.flag("scale_embedding") && !bart_variations(config).no_embedding_scale)
    sizes.scale = static_cast<float>(std::sqrt(static_cast<double>(sizes.model)));
  sizes.pre_norm = bart_variations(config).pre_norm;
  sizes.bias = !bart_variations(config).no_bias;
  sizes.key_bias = sizes.bias && !bart_variations(config).no_key_bias;
  ASSAY_TRY(sizes.padding, token_id(config, "pad_token_id"));
  const std::int64_t words = config.integer("vocab_size");
  sizes.decoder = {integer("decoder_layers"),
                   integer("decoder_ffn_dim"),
                   config.integer(positions_key(config, "decoder_positions")),
                   words,
                   {}};
  ASSAY_TRY(sizes.decoder.heads, heads_of(config, key_of(config, "decoder_attention_heads"), sizes.model));
  if (*bart_variations(config).encoder == "none") return sizes;
  sizes.encoder = {integer("encoder_layers"),
                   integer("encoder_ffn_dim"),
                   config.integer(positions_key(config, "encoder_positions")),
                   words,
                   {}};
  ASSAY_TRY(sizes.encoder.heads, heads_of(config, key_of(config, "encoder_attention_heads"), sizes.model));
  if (bart_variations(config).decoder_vocabulary) {
    sizes.decoder.vocabulary = config.optional_integer("decoder_vocab_size").value_or(words);
    // One table for both: then the encoder's vocabulary counts.
    if (config.flag("share_encoder_decoder_embeddings") && sizes.decoder.vocabulary != words) {
      return unsupported("decoder_vocab_size", std::to_string(sizes.decoder.vocabulary));
    }
  }
  return sizes;
}

Result<Value> embed_bart_tokens(BuildContext& context, const Module& stack, const BartSizes& sizes,
                                const BartSizes::Stack& which, const Value& ids, const std::optional<Value>& past) {
  GraphBuilder& graph = context.graph();
  const Module tokens = stack / "embed_tokens";
  Value hidden = embedding(tokens, ids, which.vocabulary, sizes.model);
  const bool decodes = &which == &sizes.decoder;
  const bool scaled = sizes.scale != 1.0F && !(decodes && bart_variations(context.config).decoder_unscaled);
  if (scaled) hidden = tokens.node("Mul", {hidden, graph.number(sizes.scale)});
  ASSAY_TRY(const Value places, positions(context, stack, sizes, which, ids, past));
  std::string norm = bart_variations(context.config).embedding_norm;
  if (norm == "config") norm = context.config.flag("layernorm_embedding") ? "sum" : "none";
  const bool tokens_only = norm == "decoder_tokens" && decodes;
  const auto normed = [&](const Value& x) {
    return layer_norm(stack / "layernorm_embedding", x, sizes.model, kBartEpsilon);
  };
  if (tokens_only) hidden = normed(hidden);
  hidden = stack.node("Add", {hidden, places});
  return tokens_only || norm == "none" ? hidden : normed(hidden);
}

Result<Value> bart_feed_forward(const Module& layer, const Value& input, const BartSizes& sizes, std::int64_t inner) {
  const Value wide = linear(layer / "fc1", input, {sizes.model, inner}, sizes.bias);
  ASSAY_TRY(const Value active, activation(layer / "activation_fn", wide, sizes.activation, "activation_function"));
  return linear(layer / "fc2", active, {inner, sizes.model}, sizes.bias);
}

KeyValue bart_keys_and_values(const Module& attention, const Value& from, std::int64_t from_width,
                              const BartSizes& sizes, Heads heads) {
  const Width width{from_width, sizes.model};
  return {split_heads(attention / "k_proj", linear(attention / "k_proj", from, width, sizes.key_bias), heads),
          split_heads(attention / "v_proj", linear(attention / "v_proj", from, width, sizes.bias), heads)};
}

Value bart_attention_layer(const Module& layer, const std::string& name, const Value& input, const BartSizes& sizes,
                           const BartSizes::Stack& which,
                           const std::function<KeyValue(const Module&, const Value&)>& states,
                           const std::vector<Value>& biases) {
  const Module attention = layer / name;
  const auto normed = [&](const Value& x) {
    return layer_norm(layer / (name + "_layer_norm"), x, sizes.model, kBartEpsilon);
  };
  const Value from = sizes.pre_norm ? normed(input) : input;
  const Width square{sizes.model, sizes.model};
  const auto divisor = static_cast<float>(std::sqrt(static_cast<double>(which.heads.width)));
  const Value attended =
      attend_merged(attention, linear(attention / "q_proj", from, square, sizes.bias), states(attention, from),
                    {.heads = which.heads, .divisor = divisor, .biases = biases});
  const Value sum = layer.node("Add", {input, linear(attention / "out_proj", attended, square, sizes.bias)});
  return sizes.pre_norm ? sum : normed(sum);
}

Result<Value> bart_feed_forward_layer(const Module& layer, const Value& input, const BartSizes& sizes,
                                      std::int64_t inner) {
  const auto normed = [&](const Value& x) {
    return layer_norm(layer / "final_layer_norm", x, sizes.model, kBartEpsilon);
  };
  ASSAY_TRY(const Value hidden, bart_feed_forward(layer, sizes.pre_norm ? normed(input) : input, sizes, inner));
  const Value sum = layer.node("Add", {input, hidden});
  return sizes.pre_norm ? sum : normed(sum);
}

namespace {

// Mel frames, exactly twice as many as positions; whisper takes no mask.
Result<Value> whisper_stem(BuildContext& context, const Module& stack, const BartSizes& sizes) {
  const std::int64_t bands = context.config.integer("num_mel_bins");
  ASSAY_TRY(Value hidden,
            context.inputs.take("input_features", {DType::kFloat32}, {"batch", bands, 2 * sizes.encoder.positions}));
  hidden = convolution_1d(stack / "conv1", hidden,
                          {.in = bands, .out = sizes.model, .kernel = 3, .padding_left = 1, .padding_right = 1});
  ASSAY_TRY(hidden, activation(stack / "conv1", hidden, "gelu", "activation"));
  hidden = convolution_1d(
      stack / "conv2", hidden,
      {.in = sizes.model, .out = sizes.model, .kernel = 3, .stride = 2, .padding_left = 1, .padding_right = 1});
  ASSAY_TRY(hidden, activation(stack / "conv2", hidden, "gelu", "activation"));
  const Value places =
      (stack / "embed_positions").parameter("weight", {sizes.encoder.positions, sizes.model}, Role::kTable);
  return stack.node("Add", {channels_last(stack, hidden), places});
}

// 1 if a frame is left by `mask` [B, frames] after convolutions of stride 2. int64 [B, T]; `frames`: T as int64 [1].
Value subsampled_mask(const Module& at, const Value& mask, const Value& frames, std::int64_t layers) {
  const auto count = static_cast<std::size_t>(layers);
  // Padded on both sides, they leave ⌊(n − 1) / 2⌋ + 1, whatever their kernels.
  const std::vector<std::int64_t> kernels(count, 1), strides(count, 2);
  return cast(at, remaining_steps(at, mask, frames, kernels, strides), DType::kInt64);
}

Result<std::optional<Value>> frames_mask(BuildContext& context) {
  if (!context.inputs.wants("attention_mask")) return std::optional<Value>();
  ASSAY_TRY(const Value mask, context.inputs.take("attention_mask", kMaskTypes, {"batch", "sequence"}));
  return std::optional(mask);
}

Result<BartEncoded> speech_to_text_stem(BuildContext& context, const Module& stack, const BartSizes& sizes) {
  const Config& config = context.config;
  GraphBuilder& graph = context.graph();
  const std::int64_t bands = config.integer("input_feat_per_channel") * config.integer("input_channels");
  ASSAY_TRY(Value hidden, context.inputs.take("input_features", {DType::kFloat32}, {"batch", "sequence", bands}));
  ASSAY_TRY(const std::optional<Value> mask, frames_mask(context));
  hidden = channels_last(stack, hidden);
  const std::int64_t layers = config.integer("num_conv_layers");
  const std::vector<std::int64_t> kernels = config.integers("conv_kernel_sizes");
  if (static_cast<std::int64_t>(kernels.size()) != layers) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("conv_kernel_sizes has {} entries, num_conv_layers = {}", kernels.size(), layers));
  }
  const std::int64_t middle = config.integer("conv_channels");
  for (std::int64_t i = 0; i < layers; ++i) {
    const Module at = stack / "conv" / fmt::format("conv_layers.{}", i);
    const std::int64_t kernel = kernels[static_cast<std::size_t>(i)];
    const std::int64_t out = i + 1 < layers ? middle : 2 * sizes.model;
    hidden = convolution_1d(at, hidden,
                            {.in = i == 0 ? bands : middle / 2,
                             .out = out,
                             .kernel = kernel,
                             .stride = 2,
                             .padding_left = kernel / 2,
                             .padding_right = kernel / 2});
    if (out % 2 != 0) {
      return fail(ErrorCode::kInvalidArgument, fmt::format("conv_channels = {}: expected an even number", middle));
    }
    hidden = gated_linear_unit(at, hidden);
  }
  hidden = channels_last(stack, hidden);
  if (sizes.scale != 1.0F) hidden = stack.node("Mul", {hidden, graph.number(sizes.scale)});

  // Positions are counted over a mask of padding as if its zeros and ones were tokens.
  Value padding;
  BartEncoded made;
  if (mask) {
    const Value kept = subsampled_mask(stack, *mask, extent(stack, hidden, 1), layers);
    made.mask = additive_mask(stack, kept);
    padding = stack.node("Sub", {graph.integer(1), kept});
  } else {
    const Value extents =
        stack.node("Concat", {extent(stack, hidden, 0), extent(stack, hidden, 1)}, {{"axis", std::int64_t{0}}});
    padding = stack.node("Expand", {graph.integer(0), extents});
  }
  ASSAY_TRY(const Value places, positions(context, stack, sizes, sizes.encoder, padding, std::nullopt));
  made.hidden = stack.node("Add", {hidden, places});
  return made;
}

// The bias that an encoder of tokens makes of its mask.
Result<std::optional<Value>> tokens_mask(BuildContext& context, const Module& stack) {
  if (!context.inputs.wants("attention_mask")) return std::optional<Value>();
  ASSAY_TRY(const Value mask, context.inputs.take("attention_mask", kMaskTypes, {"batch", "sequence"}));
  return std::optional(additive_mask(stack, mask));
}

}  // namespace

Result<BartEncoded> bart_encoded_before(BuildContext& context, const Module& stack, const BartSizes& sizes,
                                        const Value& length) {
  const std::string& kind = bart_variations(context.config).encoder;
  context.inputs.leave(kind == "tokens" ? "input_ids" : "input_features");
  stack.parameters().unused_below(stack.name_of(""));
  BartEncoded made;
  made.width = sizes.model;
  if (kind == "tokens") {
    ASSAY_TRY(made.mask, tokens_mask(context, stack));
  } else if (kind == "speech_to_text") {
    ASSAY_TRY(const std::optional<Value> mask, frames_mask(context));
    if (mask) {
      made.mask =
          additive_mask(stack, subsampled_mask(stack, *mask, length, context.config.integer("num_conv_layers")));
    }
  }
  return made;
}

Result<BartEncoded> encode_bart(BuildContext& context, const Module& stack, const BartSizes& sizes) {
  const std::string& kind = bart_variations(context.config).encoder;
  BartEncoded made;
  made.width = sizes.model;
  Value hidden;
  if (kind == "whisper") {
    ASSAY_TRY(hidden, whisper_stem(context, stack, sizes));
    context.graph().declare(hidden, {"batch", sizes.encoder.positions, sizes.model});
  } else if (kind == "speech_to_text") {
    ASSAY_TRY(made, speech_to_text_stem(context, stack, sizes));
    made.width = sizes.model;
    hidden = *made.hidden;
  } else {
    ASSAY_TRY(const Value ids, context.inputs.take("input_ids", kIdTypes, {"batch", "sequence"}));
    made.ids = ids;
    ASSAY_TRY(made.mask, tokens_mask(context, stack));
    ASSAY_TRY(hidden, embed_bart_tokens(context, stack, sizes, sizes.encoder, ids, std::nullopt));
    context.graph().declare(hidden, {"batch", "sequence", sizes.model});
  }
  const std::vector<Value> biases = made.mask ? std::vector<Value>{*made.mask} : std::vector<Value>{};
  for (std::int64_t i = 0; i < sizes.encoder.layers; ++i) {
    const Module layer = stack / fmt::format("layers.{}", i);
    hidden = bart_attention_layer(
        layer, "self_attn", hidden, sizes, sizes.encoder,
        [&](const Module& attention, const Value& from) {
          return bart_keys_and_values(attention, from, sizes.model, sizes, sizes.encoder.heads);
        },
        biases);
    ASSAY_TRY(hidden, bart_feed_forward_layer(layer, hidden, sizes, sizes.encoder.inner));
  }
  if (bart_variations(context.config).final_norm) {
    hidden = layer_norm(stack / "layer_norm", hidden, sizes.model, kBartEpsilon);
  }
  made.hidden = hidden;
  return made;
}

}  // namespace assay::zoo
