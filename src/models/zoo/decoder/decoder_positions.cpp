// SPDX-License-Identifier: Apache-2.0
// Where tokens stand, and what is added to embeddings and scores for it.
#include <algorithm>
#include <cmath>

#include "models/zoo/decoder/decoder_parts.hpp"
#include "models/zoo/layers/blocks.hpp"

namespace assay::zoo {
namespace {

// sin(p · 10000^(−i / (half − 1))), then the cosines of the same: [B or 1, S, width].
Value sinusoids(const Module& at, const Value& positions, const DecoderSpec& spec) {
  GraphBuilder& graph = at.graph();
  const std::int64_t half = spec.hidden / 2;
  std::vector<float> frequencies;
  for (std::int64_t i = 0; i < half; ++i) {
    frequencies.push_back(
        static_cast<float>(std::exp(static_cast<double>(i) * -std::log(10000.0) / static_cast<double>(half - 1))));
  }
  const Value places = at.node("Add", {positions, graph.integer(spec.position_offset)});
  const Value numbers =
      at.node("Cast", {places}, {{"to", static_cast<std::int64_t>(DType::kFloat32)}}, DType::kFloat32);
  const Value angles =
      at.node("Mul", {at.node("Unsqueeze", {numbers, graph.integers({2})}), graph.numbers(frequencies, {1, 1, half})});
  Value rows = at.node("Concat", {at.node("Sin", {angles}), at.node("Cos", {angles})}, {{"axis", std::int64_t{-1}}});
  if (!spec.zero_position) return rows;
  const Value zero = at.node("Equal", {places, graph.integer(*spec.zero_position)}, {}, DType::kBool);
  return at.node("Where", {at.node("Unsqueeze", {zero, graph.integers({2})}), graph.number(0.0F), rows}, {},
                 DType::kFloat32);
}

}  // namespace

Value alibi_bias(const Module& at, const DecoderSpec& spec, const std::optional<Value>& mask, const TokenSpan& span) {
  GraphBuilder& graph = at.graph();
  Value positions;
  if (mask && spec.alibi != Alibi::kByPlace) {
    positions = masked_positions(at, {span.length, span.total, std::nullopt}, *mask, 1);
    const Value before = at.node("Sub", {positions, graph.integer(1)});
    const Value ones =
        mask->dtype == DType::kInt64
            ? *mask
            : at.node("Cast", {*mask}, {{"to", static_cast<std::int64_t>(DType::kInt64)}}, DType::kInt64);
    positions = at.node("Mul", {before, ones});
  } else {
    const Value range = at.node("Range", {graph.integer(0), span.total, graph.integer(1)});
    positions = at.node("Unsqueeze", {range, graph.integers({0})});
  }
  const Value numbers =
      at.node("Cast", {positions}, {{"to", static_cast<std::int64_t>(DType::kFloat32)}}, DType::kFloat32);
  const Value row = at.node("Unsqueeze", {numbers, graph.integers({1, 2})});
  std::vector<float> slopes = alibi_slopes(spec.heads);
  const bool rounded = spec.alibi == Alibi::kFalcon;
  if (rounded) {
    for (float& slope : slopes) slope = bfloat16_to_float(float_to_bfloat16(slope));
  }
  Value bias = at.node("Mul", {row, graph.numbers(slopes, {1, spec.heads, 1, 1})});
  if (!rounded) return bias;
  const auto cast = [&](DType to) { bias = at.node("Cast", {bias}, {{"to", static_cast<std::int64_t>(to)}}, to); };
  cast(DType::kBFloat16);
  cast(DType::kFloat32);
  // Twice: transformers' eager attention adds it to the scores and finds it once more in the mask.
  const double scale = 2.0 / std::sqrt(static_cast<double>(spec.head_width));
  return at.node("Mul", {bias, graph.number(static_cast<float>(scale))});
}

Value decoder_positions(const Module& base, const DecoderSpec& spec, const DecoderInputs& inputs,
                        const TokenSpan& span) {
  const Module table = base / *spec.names.position_table;
  GraphBuilder& graph = base.graph();
  Value positions;
  if (inputs.position_ids) {
    positions = *inputs.position_ids;
  } else if (spec.masked_positions && inputs.attention_mask) {
    positions = masked_positions(table, span, *inputs.attention_mask, 0);
  } else {
    positions = running_positions(table, span);
  }
  if (spec.sinusoidal) return sinusoids(table, positions, spec);
  if (spec.position_offset != 0) positions = table.node("Add", {positions, graph.integer(spec.position_offset)});
  return embedding(table, positions, spec.learned_positions + spec.position_offset, spec.hidden);
}

TokenSpan span_of(const Module& base, const DecoderSpec& spec, KvCache kv_cache, const DecoderInputs& inputs,
                  const std::vector<AttentionCache>& caches, const std::map<std::string, RotaryTable>& tables) {
  const std::optional<Value> cache = caches.empty() ? std::nullopt : caches.front().key;
  if (kv_cache == KvCache::kRuntime) {
    const bool by_tables = std::ranges::all_of(
        spec.layers, [&](const LayerKind& layer) { return layer.rope.empty() || tables.contains(layer.rope); });
    // No other node needs the positions then.
    if (by_tables && spec.learned_positions == 0) return {};
    return masked_span(base, inputs.embeddings, *inputs.attention_mask);
  }
  if (kv_cache == KvCache::kStatic && cache)
    return placed_span(base, inputs.embeddings, *cache, *inputs.cache_position);
  return token_span(base, inputs.embeddings, cache);
}

}  // namespace assay::zoo
