// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/layers/attention.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "models/zoo/layers/tensors.hpp"

namespace assay::zoo {
namespace {

// [B, S, count · width] with its four axes (batch, tokens, heads, width) in another order. 0 keeps an extent: batch and
// sequence stay dynamic without computing shapes.
Value by_head(const Module& at, const Value& input, Heads heads, const std::vector<std::int64_t>& order) {
  return transpose(at, reshape(at, input, {0, 0, heads.count, heads.width}), order);
}

// [B, n, T, W] → [B, n · times, T, W], each head `times` in a row: the pattern that runtimes know from exporters.
Value repeat_heads(const Module& at, const Value& input, const Attention& attention) {
  const auto [heads, width] = attention.heads;
  const std::int64_t times = attention.key_value_heads == 0 ? 1 : heads / attention.key_value_heads;
  if (times == 1) return input;
  GraphBuilder& graph = at.graph();
  const Value apart = at.node("Unsqueeze", {input, graph.integers({2})});
  const Value repeated = at.node("Expand", {apart, graph.integers({1, 1, times, 1, 1})});
  return reshape(at, repeated, {0, heads, -1, width});
}

// `allowed` [Q, K] and what `kept` [B, K] leaves: [B, 1, Q, K].
Value and_kept(const Module& at, const Value& allowed, const std::optional<Value>& kept) {
  if (!kept) return allowed;
  const Value columns = at.node("Unsqueeze", {cast(at, *kept, DType::kBool), at.graph().integers({1, 2})});
  return at.node("And", {columns, allowed});
}

}  // namespace

Value causal_mask(const Module& at, const Value& queries, const Value& keys, const std::optional<Value>& kept,
                  std::optional<std::int64_t> window) {
  GraphBuilder& graph = at.graph();
  const Value rows = at.node("Unsqueeze", {queries, graph.integers({1})});
  Value allowed = at.node("LessOrEqual", {keys, rows}, {}, DType::kBool);
  if (window) {
    const Value before_first = at.node("Sub", {rows, graph.integer(*window)});
    allowed = at.node("And", {allowed, at.node("Greater", {keys, before_first}, {}, DType::kBool)});
  }
  return and_kept(at, allowed, kept);
}

Value nearby_mask(const Module& at, const Value& queries, const Value& keys, const std::optional<Value>& kept,
                  std::int64_t distance) {
  GraphBuilder& graph = at.graph();
  const Value rows = at.node("Unsqueeze", {queries, graph.integers({1})});
  const Value apart = at.node("Abs", {at.node("Sub", {keys, rows})});
  return and_kept(at, at.node("LessOrEqual", {apart, graph.integer(distance)}, {}, DType::kBool), kept);
}

Value additive(const Module& at, const Value& allowed) {
  GraphBuilder& graph = at.graph();
  return at.node("Where", {allowed, graph.number(0.0F), graph.number(std::numeric_limits<float>::lowest())}, {},
                 DType::kFloat32);
}

Value additive_mask(const Module& at, const Value& mask) {
  return additive(at, at.node("Unsqueeze", {cast(at, mask, DType::kBool), at.graph().integers({1, 2})}));
}

std::vector<float> alibi_slopes(std::int64_t heads, double bias_max) {
  // Powers of 2^(-8 / n) for the largest power of two n ≤ heads, then every second one of twice as many.
  std::int64_t power = 1;
  while (power * 2 <= heads) power *= 2;
  std::vector<float> slopes;
  const auto slope = [&](std::int64_t count, std::int64_t index) {
    return static_cast<float>(std::pow(2.0, -bias_max * static_cast<double>(index) / static_cast<double>(count)));
  };
  for (std::int64_t i = 1; i <= power; ++i) slopes.push_back(slope(power, i));
  for (std::int64_t i = 1; static_cast<std::int64_t>(slopes.size()) < heads; i += 2) {
    slopes.push_back(slope(2 * power, i));
  }
  return slopes;
}

Result<std::int64_t> head_width(std::int64_t hidden_size, std::int64_t heads) {
  if (hidden_size % heads == 0) return hidden_size / heads;
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("hidden_size = {} is not a multiple of num_attention_heads = {}", hidden_size, heads));
}

Value split_heads(const Module& at, const Value& input, Heads heads) { return by_head(at, input, heads, {0, 2, 1, 3}); }

Value split_keys(const Module& at, const Value& input, Heads heads) { return by_head(at, input, heads, {0, 2, 3, 1}); }

Value merge_heads(const Module& at, const Value& input, Heads heads) {
  return reshape(at, transpose(at, input, {0, 2, 1, 3}), {0, 0, heads.count * heads.width});
}

Value scaled_scores(const Module& at, const Value& query, const Value& keys, Heads heads) {
  const auto divisor = static_cast<float>(std::sqrt(static_cast<double>(heads.width)));
  return at.node("Div", {at.node("MatMul", {query, keys}), at.graph().number(divisor)});
}

Value mix_values(const Module& at, const Value& scores, const Value& value) {
  return at.node("MatMul", {at.node("Softmax", {scores}, {{"axis", std::int64_t{-1}}}), value});
}

Value attend(const Module& at, const Value& query, const KeyValue& states, const Attention& attention) {
  GraphBuilder& graph = at.graph();
  const Value keys = transpose(at, repeat_heads(at, states.key, attention), {0, 1, 3, 2});
  Value scores = at.node("MatMul", {query, keys});
  if (attention.scale != 1.0F) scores = at.node("Mul", {scores, graph.number(attention.scale)});
  if (attention.divisor != 1.0F) scores = at.node("Div", {scores, graph.number(attention.divisor)});
  if (attention.soft_cap) {
    const Value cap = graph.number(*attention.soft_cap);
    scores = at.node("Mul", {at.node("Tanh", {at.node("Div", {scores, cap})}), cap});
  }
  for (const Value& bias : attention.biases) scores = at.node("Add", {scores, bias});
  return mix_values(at, scores, repeat_heads(at, states.value, attention));
}

Value attend_merged(const Module& at, const Value& query, const KeyValue& states, const Attention& attention) {
  return merge_heads(at, attend(at, split_heads(at, query, attention.heads), states, attention), attention.heads);
}

Value scaled_dot_product(const Module& at, const Value& query, const Value& key, const Value& value, Heads heads,
                         const std::optional<Value>& mask) {
  Value scores = scaled_scores(at, split_heads(at, query, heads), split_keys(at, key, heads), heads);
  if (mask) scores = at.node("Add", {scores, *mask});
  return merge_heads(at, mix_values(at, scores, split_heads(at, value, heads)), heads);
}

Value append(const Module& at, const std::optional<Value>& past, const Value& now) {
  return past ? at.node("Concat", {*past, now}, {{"axis", std::int64_t{2}}}) : now;
}

Value write_at(const Module& at, const Value& cache, const Value& now, const Value& places) {
  const Value column = at.node("Reshape", {places, at.graph().integers({1, 1, -1, 1})});
  const Value indices = at.node("Expand", {column, at.node("Shape", {now}, {}, DType::kInt64)});
  return at.node("ScatterElements", {cache, indices, now}, {{"axis", std::int64_t{2}}});
}

}  // namespace assay::zoo
