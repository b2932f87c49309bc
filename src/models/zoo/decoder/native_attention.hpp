// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <assay/result.hpp>

#include "models/zoo/decoder/decoder.hpp"
#include "models/zoo/layers/module.hpp"
#include "models/zoo/layers/positions.hpp"

namespace assay::zoo {

// A decode with the runtime's KV cache: ONNX Runtime's com.microsoft.GroupQueryAttention, which attends, rotates and
// keeps the cache. Its past and present are caches of a maximal length: bound to the same memory they are written in
// place.

/// Whether the operator can express these layers. Errors: unsupported, "unsupported: kv_cache = runtime".
[[nodiscard]] Status check_native(const DecoderSpec& spec, const DecoderInputs& inputs);

/// What the operator must know about a run, the same for all layers; from a mask [B, past + S] of ones for each
/// sequence's tokens and, behind them, zeros.
struct NativeTokens {
  Value last;   ///< int32 [B]: the index of each sequence's last token
  Value total;  ///< int32 scalar: past + S
};
NativeTokens native_tokens(const Module& at, const Value& mask);

/// Cosine and sine of every position that the configuration promises, [positions, width / 2]: weights of the file.
struct RotaryTable {
  Value cosine, sine;
  bool interleaved = false;
};
/// By rope, if the operator can rotate queries and keys and the table would not be too large.
std::map<std::string, RotaryTable> rotary_tables(const Module& at, const DecoderSpec& spec);

struct NativeAttention {
  std::int64_t heads = 0, key_value_heads = 0;
  float scale = 1.0F;
  std::optional<float> soft_cap{};
  std::optional<std::int64_t> window{};  ///< the same as in causal_mask()
  std::optional<RotaryTable> rotary{};   ///< rotates query and key; nullopt: they are rotated before, or never
};
struct NativeResult {
  Value mixed;         ///< [B, S, heads · width]
  Value keys, values;  ///< the caches after the run
};
/// `query` [B, S, heads · width], `key` and `value` [B, S, key_value_heads · width]. Without names for `key` and
/// `value`, `query` is all three: [B, S, (heads + 2 · key_value_heads) · width].
NativeResult attend_native(const Module& at, const Value& query, const Value& key, const Value& value,
                           const AttentionCache& cache, const NativeTokens& tokens, const NativeAttention& attention);

}  // namespace assay::zoo
