// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "zoo/layers/module.hpp"
#include "zoo/layers/positions.hpp"

namespace assay::zoo {

// Attention on tensors that are split into heads already; the projections before and after it are the caller's.

/// Which earlier tokens a token may see; bool, to be turned into numbers once and shared by the layers.
///
/// `mask` [B, past + S], not zero where a token counts: [B, 1, S, past + S]; without it [S, past + S]. `window`: a
/// token sees itself and the `window` − 1 before it.
Value causal_mask(const Module& at, const TokenSpan& span, const std::optional<Value>& mask,
                  std::optional<std::int64_t> window = std::nullopt);

/// 0 where `allowed`, the smallest float elsewhere: to be added to scores.
Value additive(const Module& at, const Value& allowed);

/// Press et al. 2021 (arXiv:2108.12409): the slope of each head as transformers' alibi functions give it.
[[nodiscard]] std::vector<float> alibi_slopes(std::int64_t heads, double bias_max = 8.0);

struct Attention {
  std::int64_t heads = 0;
  std::int64_t key_value_heads = 0;  ///< divides `heads`: each serves heads / key_value_heads queries in a row
  std::int64_t key_width = 0, value_width = 0;
  float scale = 1.0F;               ///< of the scores
  std::optional<float> soft_cap{};  ///< scores become cap · tanh(scores / cap), before bias and mask
  std::optional<Value> bias{};      ///< added to the scaled scores; broadcasts to [B, heads, S, T]
  std::optional<Value> mask{};      ///< additive; broadcasts to [B, heads, S, T]
  std::optional<Value> sinks{};     ///< [1, heads, 1, 1]: a further score for which there is no value
};
/// softmax(scale · query keyᵀ + bias + mask) value. Shape: query [B, heads, S, K], key [B, key_value_heads, T, K],
/// value [B, key_value_heads, T, V]; the result [B, heads, S, V].
Value attend(const Module& at, const Value& query, const Value& key, const Value& value, const Attention& attention);

/// [B, S, heads · width] → [B, heads, S, width] and back.
Value split_heads(const Module& at, const Value& input, std::int64_t heads, std::int64_t width);
Value merge_heads(const Module& at, const Value& input, std::int64_t heads, std::int64_t width);

/// What was there before and what is new, along axis 2; `past` nullopt: what is new.
Value append(const Module& at, const std::optional<Value>& past, const Value& now);
/// `cache` [B, heads, cache, width] with `now` [B, heads, S, width] at `places` [S] of axis 2. Nothing else reads the
/// cache's former value, so that a runtime may write where it stands.
Value write_at(const Module& at, const Value& cache, const Value& now, const Value& places);

}  // namespace assay::zoo
