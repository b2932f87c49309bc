// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/zoo/encoder_decoder/seq2seq.hpp"

namespace assay::zoo {

/// What the parts of a BART-like model share. Made once, from configuration and variations.
struct BartSizes {
  struct Stack {
    std::int64_t layers = 0, inner = 0, positions = 0, vocabulary = 0;
    Heads heads;
  };
  std::int64_t model = 0;
  Stack encoder, decoder;
  std::string activation;
  float scale = 1.0F;  ///< token embeddings are multiplied by it
  bool pre_norm = false;
  bool bias = true, key_bias = true;  ///< bias: linear layers have one; key_bias: k_proj has one
  std::int64_t padding = -1;          ///< the padding token
};

[[nodiscard]] inline const BartVariations& bart_variations(const Config& config) {
  return config.architecture().varied<BartVariations>();
}
[[nodiscard]] Result<BartSizes> read_bart_sizes(const Config& config);

/// An encoder's output and the bias of cross-attention on it.
struct BartEncoded {
  std::optional<Value> hidden;  ///< nullopt in a decode, whose states have what is made of it
  std::optional<Value> mask;    ///< [B, 1, 1, S]
  std::int64_t width = 0;       ///< width of `hidden`
  std::optional<Value> ids;     ///< token ids, if the encoder reads tokens
};

/// Encoders by variation "encoder": tokens; mel frames through two convolutions (whisper); filter banks through strided
/// gated convolutions (speech_to_text).
[[nodiscard]] Result<BartEncoded> encode_bart(BuildContext& context, const Module& stack, const BartSizes& sizes);

/// The same for a decode: the bias alone. `length`: how many states the encoder gave, int64 [1].
[[nodiscard]] Result<BartEncoded> bart_encoded_before(BuildContext& context, const Module& stack,
                                                      const BartSizes& sizes, const Value& length);

/// The embedded tokens of a decoder or a token encoder with their positions, normed if the variation says so.
/// `past`: how many tokens came before (int64 [1]).
[[nodiscard]] Result<Value> embed_bart_tokens(BuildContext& context, const Module& stack, const BartSizes& sizes,
                                              const BartSizes::Stack& which, const Value& ids,
                                              const std::optional<Value>& past);

/// fc2(activation(fc1(x))).
[[nodiscard]] Result<Value> bart_feed_forward(const Module& layer, const Value& input, const BartSizes& sizes,
                                              std::int64_t inner);

/// Attention with its norm ("NAME_layer_norm") and its residual connection, before or after.
Value bart_attention_layer(const Module& layer, const std::string& name, const Value& input, const BartSizes& sizes,
                           const BartSizes::Stack& which,
                           const std::function<KeyValue(const Module&, const Value&)>& states,
                           const std::vector<Value>& biases);

/// k_proj and v_proj of `from` [B, S, from_width], by head.
KeyValue bart_keys_and_values(const Module& attention, const Value& from, std::int64_t from_width,
                              const BartSizes& sizes, Heads heads);

/// The feed-forward part of a layer with its norm ("final_layer_norm") and its residual connection.
[[nodiscard]] Result<Value> bart_feed_forward_layer(const Module& layer, const Value& input, const BartSizes& sizes,
                                                    std::int64_t inner);

}  // namespace assay::zoo
