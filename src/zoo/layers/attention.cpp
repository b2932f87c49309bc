// SPDX-License-Identifier: Apache-2.0
#include "zoo/layers/attention.hpp"

#include <cmath>
#include <limits>

namespace assay::zoo {
namespace {

// [B, n, T, W] → [B, n · times, T, W], each head `times` in a row: the pattern that runtimes know from exporters.
Value repeat_heads(const Module& at, const Value& input, std::int64_t heads, std::int64_t times, std::int64_t width) {
  if (times == 1) return input;
  GraphBuilder& graph = at.graph();
  const Value apart = at.node("Unsqueeze", {input, graph.integers({2})});
  const Value repeated = at.node("Expand", {apart, graph.integers({1, 1, times, 1, 1})});
  return at.node("Reshape", {repeated, graph.integers({0, heads, -1, width})});
}

}  // namespace

Value causal_mask(const Module& at, const TokenSpan& span, const std::optional<Value>& mask,
                  std::optional<std::int64_t> window) {
  GraphBuilder& graph = at.graph();
  const Value keys = at.node("Range", {graph.integer(0), span.total, graph.integer(1)});
  const Value tokens = span.places ? *span.places
                       : span.past ? at.node("Range", {*span.past, span.total, graph.integer(1)})
                                   : keys;
  const Value queries = at.node("Unsqueeze", {tokens, graph.integers({1})});
  Value allowed = at.node("LessOrEqual", {keys, queries}, {}, DType::kBool);
  if (window) {
    const Value first = at.node("Sub", {queries, graph.integer(*window)});
    allowed = at.node("And", {allowed, at.node("Greater", {keys, first}, {}, DType::kBool)});
  }
  if (!mask) return allowed;
  Value kept = *mask;
  if (mask->dtype != DType::kBool) {
    kept = at.node("Cast", {*mask}, {{"to", static_cast<std::int64_t>(DType::kBool)}}, DType::kBool);
  }
  return at.node("And", {at.node("Unsqueeze", {kept, graph.integers({1, 2})}), allowed});
}

Value additive(const Module& at, const Value& allowed) {
  GraphBuilder& graph = at.graph();
  return at.node("Where", {allowed, graph.number(0.0F), graph.number(std::numeric_limits<float>::lowest())}, {},
                 DType::kFloat32);
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

Value attend(const Module& at, const Value& query, const Value& key, const Value& value, const Attention& attention) {
  GraphBuilder& graph = at.graph();
  const std::int64_t times = attention.heads / attention.key_value_heads;
  const Value keys = repeat_heads(at, key, attention.heads, times, attention.key_width);
  const Value values = repeat_heads(at, value, attention.heads, times, attention.value_width);
  const Value turned = at.node("Transpose", {keys}, {{"perm", Integers{0, 1, 3, 2}}});
  Value scores = at.node("MatMul", {query, turned});
  if (attention.scale != 1.0F) scores = at.node("Mul", {scores, graph.number(attention.scale)});
  if (attention.soft_cap) {
    const Value cap = graph.number(*attention.soft_cap);
    scores = at.node("Mul", {at.node("Tanh", {at.node("Div", {scores, cap})}), cap});
  }
  if (attention.bias) scores = at.node("Add", {scores, *attention.bias});
  if (attention.mask) scores = at.node("Add", {scores, *attention.mask});
  if (!attention.sinks) {
    const Value weights = at.node("Softmax", {scores}, {{"axis", std::int64_t{-1}}});
    return at.node("MatMul", {weights, values});
  }
  // One more column of scores, dropped after the softmax.
  const Value column = at.node(
      "Mul",
      {at.node("Slice", {scores, graph.integers({0}), graph.integers({1}), graph.integers({3})}), graph.number(0.0F)});
  const Value sink = at.node("Expand", {*attention.sinks, at.node("Shape", {column}, {}, DType::kInt64)});
  const Value wider = at.node("Concat", {scores, sink}, {{"axis", std::int64_t{-1}}});
  const Value weights = at.node("Softmax", {wider}, {{"axis", std::int64_t{-1}}});
  const Value kept = at.node("Slice", {weights, graph.integers({0}), graph.integers({-1}), graph.integers({3})});
  return at.node("MatMul", {kept, values});
}

Value split_heads(const Module& at, const Value& input, std::int64_t heads, std::int64_t width) {
  const Value split = at.node("Reshape", {input, at.graph().integers({0, 0, heads, width})});
  return at.node("Transpose", {split}, {{"perm", Integers{0, 2, 1, 3}}});
}

Value merge_heads(const Module& at, const Value& input, std::int64_t heads, std::int64_t width) {
  const Value turned = at.node("Transpose", {input}, {{"perm", Integers{0, 2, 1, 3}}});
  return at.node("Reshape", {turned, at.graph().integers({0, 0, heads * width})});
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
