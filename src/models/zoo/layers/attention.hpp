// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <assay/result.hpp>

#include "models/zoo/layers/module.hpp"

namespace assay::zoo {

// Attention; the projections before and after it are the caller's.

/// Which keys a query may see: those up to its own position that `kept` [B, K] leaves (not zero). Bool, [Q, K], with
/// `kept` [B, 1, Q, K]. `queries` [Q], `keys` [K]: positions, int64. `window`: a token sees itself and the `window` − 1
/// before it.
Value causal_mask(const Module& at, const Value& queries, const Value& keys, const std::optional<Value>& kept,
                  std::optional<std::int64_t> window = std::nullopt);

/// The same without an order: a query sees the keys that are at most `distance` places before or behind it.
Value nearby_mask(const Module& at, const Value& queries, const Value& keys, const std::optional<Value>& kept,
                  std::int64_t distance);

/// 0 where `allowed`, the smallest float elsewhere: to be added to scores.
Value additive(const Module& at, const Value& allowed);
/// 0 where `mask` [B, S] is not zero, the smallest float elsewhere; [B, 1, 1, S], to be added to attention scores.
Value additive_mask(const Module& at, const Value& mask);

/// Press et al. 2021 (arXiv:2108.12409): the slope of each head as transformers' alibi functions give it.
[[nodiscard]] std::vector<float> alibi_slopes(std::int64_t heads, double bias_max = 8.0);

struct Heads {
  std::int64_t count = 0, width = 0;
};
/// hidden_size / heads. Errors: invalid_argument when it leaves a rest.
[[nodiscard]] Result<std::int64_t> head_width(std::int64_t hidden_size, std::int64_t heads);

/// [B, S, count · width] → [B, count, S, width] and back.
Value split_heads(const Module& at, const Value& input, Heads heads);
Value merge_heads(const Module& at, const Value& input, Heads heads);
/// [B, S, count · width] → [B, count, width, S]: keys, as a product with queries takes them.
Value split_keys(const Module& at, const Value& input, Heads heads);

/// query · keys / √width. Shape: query [B, heads, S, width], keys [B, heads, width, T].
Value scaled_scores(const Module& at, const Value& query, const Value& keys, Heads heads);
/// softmax(scores) · value. Shape: scores [B, heads, S, T], value [B, heads, T, W].
Value mix_values(const Module& at, const Value& scores, const Value& value);

/// Attention's keys and values by head. Shape: [B, heads, S, width].
struct KeyValue {
  Value key, value;
};

struct Attention {
  Heads heads{};
  std::int64_t key_value_heads = 0;  ///< divides `heads`: each serves as many queries in a row; 0: one for each query
  float scale = 1.0F;                ///< scores are multiplied by it
  float divisor = 1.0F;              ///< scores are divided by it: runtimes recognise encoders by a division
  std::optional<float> soft_cap{};   ///< scores become cap · tanh(scores / cap), before the biases
  std::vector<Value> biases{};       ///< added to the scaled scores in this order; broadcast to [B, heads, S, T]
};
/// softmax(query keyᵀ · scale / divisor + biases) value. Shape: query [B, heads, S, width], `states`
/// [B, key_value_heads, T, width]; the result [B, heads, S, width].
Value attend(const Module& at, const Value& query, const KeyValue& states, const Attention& attention);
/// The same with query and result [B, S, heads · width].
Value attend_merged(const Module& at, const Value& query, const KeyValue& states, const Attention& attention);

/// softmax(q kᵀ / sqrt(width) + mask) v. Shape: q, k, v [B, S, count·width]; `mask` broadcasts to [B, count, S, S].
Value scaled_dot_product(const Module& at, const Value& query, const Value& key, const Value& value, Heads heads,
                         const std::optional<Value>& mask);

/// What was there before and what is new, along axis 2; `past` nullopt: what is new.
Value append(const Module& at, const std::optional<Value>& past, const Value& now);
/// `cache` [B, heads, cache, width] with `now` [B, heads, S, width] at `places` [S] of axis 2. Nothing else reads the
/// cache's former value, so that a runtime may write in place.
Value write_at(const Module& at, const Value& cache, const Value& now, const Value& places);

}  // namespace assay::zoo
