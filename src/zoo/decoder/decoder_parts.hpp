// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "zoo/decoder/decoder.hpp"
#include "zoo/decoder/native_attention.hpp"

namespace assay::zoo {

// What decode() is made of.

/// What the layers share: made once before the first.
struct DecoderShared {
  TokenSpan span;
  std::map<std::int64_t, Value> masks;  ///< additive, by window; 0: none
  std::map<std::string, Rotary> rotaries;
  std::optional<Value> bias;
  // With a runtime KV cache: no masks, and a table instead of a rotary if the operator rotates.
  std::optional<NativeTokens> native;
  std::map<std::string, RotaryTable> tables;
};

/// [B, S, hidden] → [B, S, hidden]: gives the layer's keys and values to `states`.
Value decoder_attention(const Module& at, const DecoderSpec& spec, const LayerKind& kind, const Value& input,
                        const DecoderShared& shared, const AttentionCache& cache, States& states);

/// Each head's slope times the number of tokens before. Shape: [B, heads, 1, T].
Value alibi_bias(const Module& at, const DecoderSpec& spec, const std::optional<Value>& mask, const TokenSpan& span);
/// Rows of the position table for this run, which are added to the embeddings.
Value decoder_positions(const Module& base, const DecoderSpec& spec, const DecoderInputs& inputs,
                        const TokenSpan& span);
/// Which tokens this run has, and their positions.
TokenSpan span_of(const Module& base, const DecoderSpec& spec, KvCache kv_cache, const DecoderInputs& inputs,
                  const std::vector<AttentionCache>& caches, const std::map<std::string, RotaryTable>& tables);

}  // namespace assay::zoo
