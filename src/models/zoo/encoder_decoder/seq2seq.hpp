// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "models/zoo/layers/attention.hpp"
#include "models/zoo/layers/blocks.hpp"
#include "models/zoo/layers/build_context.hpp"
#include "models/zoo/layers/input_types.hpp"

namespace assay::zoo {

// What encoder-decoders and decoders with cross-attention have in common: attention over keys and values by head,
// masks, positions, heads.

/// The symbol of the decoder's token axis if the encoder's is "sequence".
inline constexpr const char* kDecoderSequence = "decoder_sequence";

/// The keys and values of a decoder that attends to itself and, if it has an encoder, to that. A decode takes them
/// all as states: its graph has no encoder. With a static KV cache it also takes `cache_position`, the places of the
/// new tokens, one after another.
class SeqStates {
 public:
  /// `tokens`: symbol of the decoder's token axis; `encoder_tokens`: that of the encoder's states, nullopt without one.
  SeqStates(BuildContext& context, std::int64_t layers, Heads heads, const std::string& tokens,
            const std::optional<Extent>& encoder_tokens);

  /// How many tokens came before, int64 [1]; nullopt: none.
  [[nodiscard]] std::optional<Value> past_length(const Module& at) const;
  /// The number of keys after `past` and `added` tokens, int64 [1] each: of a static KV cache, all of its places.
  [[nodiscard]] Value keys_length(const Module& at, const Value& added, const Value& past) const;
  /// The symbol of the axis of all tokens in a mask; `tokens`: that of the new ones.
  [[nodiscard]] std::string mask_axis(const std::string& tokens) const;
  /// How many states the encoder gave, int64 [1]. For a decode with an encoder.
  [[nodiscard]] Value encoder_length(const Module& at) const;
  /// Those before and those of this run.
  KeyValue own(const Module& at, std::int64_t layer, const KeyValue& now);
  /// The encoder's, made once: by the prefill.
  KeyValue encoder(std::int64_t layer, const std::function<KeyValue()>& make);

 private:
  struct Layer {
    AttentionCache own;
    std::optional<AttentionCache> encoder;
  };
  States* states_;
  std::vector<Layer> layers_;
  std::optional<Value> places_{};  ///< the input cache_position
};

/// Errors: unsupported, for a decode or a prefill of a class that does not generate, or of a
/// decoder without `layers`.
[[nodiscard]] Status refuse_parts(const BuildContext& context, std::int64_t layers);

/// The last token's row [B, 1, …] of `input` [B, S, …] if the graph has its logits alone, else `input`.
Value rows_of_logits(const BuildContext& context, const Module& at, const Value& input);

/// The ids one place to the right: `start`, ids[0], …, ids[S-2], with -100 replaced by `padding`.
Value shift_right(const Module& at, const Value& ids, std::int64_t start, std::int64_t padding);

/// The hidden state [B, H] at the last position where ids [B, S] equal `token`.
Value last_where(const Module& at, const Value& hidden, const Value& ids, std::int64_t token);

/// tanh between two linear layers: dense, out_proj.
Value classification_head(const Module& at, const Value& pooled, std::int64_t width, std::int64_t labels);

/// Where a decoder's tokens stand and what they may see.
struct DecoderPlaces {
  Value queries, keys;  ///< positions, int64 [Q], [K]
  Value bias;           ///< additive: which keys a query may see
};
/// For `tokens` [B, S, …] after `past` ones, the past_length() of `states`, with the mask of the input `mask_name` if
/// it is wanted. `axis`: symbol of the token axis; `mask_rows`: of the mask's first, of which only the first B rows
/// count.
[[nodiscard]] Result<DecoderPlaces> decoder_places(BuildContext& context, const Module& at, const Value& tokens,
                                                   const SeqStates& states, const std::optional<Value>& past,
                                                   const std::string& mask_name, const std::string& axis,
                                                   const std::string& mask_rows = "batch");

/// "unsupported: inputs without NAME".
[[nodiscard]] tl::unexpected<Error> missing_input(const std::string& name);

}  // namespace assay::zoo
