// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/zoo/decoder/decoder.hpp"
#include "models/zoo/decoder/native_attention.hpp"

namespace assay::zoo {

// The parts of decode().

/// Values that all layers use: created once, before the first layer.
struct DecoderShared {
  TokenSpan span;
  /// Additive masks, by the size of the sliding window; 0: no window. A layer whose mask is not here sees all tokens.
  std::map<std::int64_t, Value> masks;
  std::map<std::string, Rotary> rotaries;
  std::optional<Value> bias;  ///< added to the attention scores, such as ALiBi
  // With a runtime KV cache there are no masks; RoPE tables are used instead of `rotaries` if the operator applies RoPE
  // itself.
  std::optional<NativeTokens> native;
  std::map<std::string, RotaryTable> tables;
};

/// [B, S, hidden] → [B, S, hidden]: gives the layer's keys and values to `states`.
Value decoder_attention(const Module& at, const DecoderSpec& spec, const LayerKind& kind, const Value& input,
                        const DecoderShared& shared, const AttentionCache& cache, States& states);

/// ALiBi: the slope of each head times the number of earlier tokens. Shape: [B, heads, 1, T].
Value alibi_bias(const Module& at, const DecoderSpec& spec, const std::optional<Value>& mask, const TokenSpan& span);
/// Rows of the position table for this run, which are added to the embeddings.
Value decoder_positions(const Module& base, const DecoderSpec& spec, const DecoderInputs& inputs,
                        const TokenSpan& span);
/// The number of new tokens of this run, and their positions.
TokenSpan span_of(const Module& base, const DecoderSpec& spec, KvCache kv_cache, const DecoderInputs& inputs,
                  const std::vector<AttentionCache>& caches, const std::map<std::string, RotaryTable>& tables);

}  // namespace assay::zoo
