// SPDX-License-Identifier: Apache-2.0
// The layers of decoders: transformers' modeling_llama.py and what differs from it by name only.
#include "zoo/decoder/decoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "zoo/decoder/native_attention.hpp"
#include "zoo/layers/attention.hpp"
#include "zoo/layers/blocks.hpp"

namespace assay::zoo {
namespace {

Module child(const Module& at, const std::string& name) { return name.empty() ? at : at / name; }

// What the layers share: made once before the first.
struct DecoderShared {
  TokenSpan span;
  std::map<std::int64_t, Value> masks;  ///< additive, by window; 0: none
  std::map<std::string, Rotary> rotaries;
  std::optional<Value> bias;
  // With the runtime's KV cache: no masks, and a table instead of a rotary where the operator turns.
  std::optional<NativeTokens> native;
  std::map<std::string, RotaryTable> tables;
};

struct DecoderProjected {
  Value query, key, value;  ///< [B, heads, S, width], or as they come: [B, S, heads · width]
};

// [B, S, n · width] by head or as it comes, each head with its norm where there is one.
Value heads_of(const Module& attention, const DecoderSpec& spec, const Value& input, std::int64_t heads,
               const std::string& norm, bool by_head) {
  GraphBuilder& graph = attention.graph();
  Value flat = input;
  if (spec.clip_qkv) {
    flat = attention.node("Clip", {flat, graph.number(-*spec.clip_qkv), graph.number(*spec.clip_qkv)});
  }
  if (norm.empty() || spec.query_key_norm == QueryKeyNorm::kNone ||
      spec.query_key_norm == QueryKeyNorm::kHeadAfterRope) {
    return by_head ? split_heads(attention, flat, {heads, spec.head_width}) : flat;
  }
  const Module at = attention / norm;
  if (spec.query_key_norm == QueryKeyNorm::kFull) {
    flat = decoder_norm(at, flat, spec.query_key_norm_kind, {heads * spec.head_width}, spec.epsilon);
    return by_head ? split_heads(attention, flat, {heads, spec.head_width}) : flat;
  }
  const Value split = attention.node("Reshape", {flat, graph.integers({0, 0, heads, spec.head_width})});
  const Shape weight =
      spec.query_key_norm == QueryKeyNorm::kPerHead ? Shape{heads, spec.head_width} : Shape{spec.head_width};
  const Value normed = decoder_norm(at, split, spec.query_key_norm_kind, weight, spec.epsilon);
  if (!by_head) return attention.node("Reshape", {normed, graph.integers({0, 0, heads * spec.head_width})});
  return attention.node("Transpose", {normed}, {{"perm", Integers{0, 2, 1, 3}}});
}

// The three parts of one projection, each [B, S, n · width].
std::vector<Value> joined_parts(const Module& at, const DecoderSpec& spec, const Value& joined) {
  GraphBuilder& graph = at.graph();
  const std::int64_t width = spec.head_width;
  const std::int64_t queries = spec.heads * width;
  const std::int64_t keys = spec.key_value_heads * width;
  const auto flat = [&](const Value& part, std::int64_t size) {
    return at.node("Reshape", {part, graph.integers({0, 0, size})});
  };
  const std::string path = at.path();
  if (spec.qkv_layout == QkvLayout::kJoined) {
    return graph.nodes(path, "Split", {joined, graph.integers({queries, keys, keys})}, 3, {{"axis", std::int64_t{-1}}});
  }
  if (spec.qkv_layout == QkvLayout::kPerHead) {
    const std::int64_t group = spec.heads / spec.key_value_heads;
    const Value split = at.node("Reshape", {joined, graph.integers({0, 0, spec.key_value_heads, group + 2, width})});
    const std::vector<Value> parts =
        graph.nodes(path, "Split", {split, graph.integers({group, 1, 1})}, 3, {{"axis", std::int64_t{3}}});
    return {flat(parts[0], queries), flat(parts[1], keys), flat(parts[2], keys)};
  }
  // codegen: trained on four devices, each with its share of the heads.
  constexpr std::int64_t kDevices = 4;
  const Value split = at.node("Reshape", {joined, graph.integers({0, 0, kDevices, 3, queries / kDevices})});
  const std::vector<Value> parts =
      graph.nodes(path, "Split", {split, graph.integers({1, 1, 1})}, 3, {{"axis", std::int64_t{3}}});
  return {flat(parts[0], queries), flat(parts[2], queries), flat(parts[1], queries)};
}

DecoderProjected project(const Module& attention, const DecoderSpec& spec, const Value& input, bool by_head,
                         bool values_by_head) {
  const std::int64_t queries = spec.heads * spec.head_width;
  const std::int64_t keys = spec.key_value_heads * spec.head_width;
  std::vector<Value> parts;
  if (spec.qkv_layout == QkvLayout::kSeparate) {
    const auto part = [&](const char* role, std::int64_t width) {
      return decoder_linear(attention / spec.name(role), spec, input, spec.hidden, width, spec.qkv_bias);
    };
    parts.push_back(part("query", queries));
    parts.push_back(part("key", keys));
    parts.push_back(part("value", keys));
  } else {
    const Value joined =
        decoder_linear(attention / spec.name("qkv"), spec, input, spec.hidden, queries + 2 * keys, spec.qkv_bias);
    parts = joined_parts(attention, spec, joined);
  }
  return {heads_of(attention, spec, parts[0], spec.heads, spec.name("query_norm"), by_head),
          heads_of(attention, spec, parts[1], spec.key_value_heads, spec.name("key_norm"), by_head),
          heads_of(attention, spec, parts[2], spec.key_value_heads, "", values_by_head)};
}

// Query and key by head, turned, and normed where that comes after.
void turn(const Module& at, const DecoderSpec& spec, const LayerKind& kind, const DecoderShared& shared,
          DecoderProjected& now) {
  if (!kind.rope.empty()) {
    const Rotary& rotary = shared.rotaries.at(kind.rope);
    now.query = rotate(at, now.query, rotary, spec.head_width);
    now.key = rotate(at, now.key, rotary, spec.head_width);
  }
  if (spec.query_key_norm == QueryKeyNorm::kHeadAfterRope) {
    const Shape weight{spec.head_width};
    now.query = decoder_norm(at / spec.name("query_norm"), now.query, spec.query_key_norm_kind, weight, spec.epsilon);
    now.key = decoder_norm(at / spec.name("key_norm"), now.key, spec.query_key_norm_kind, weight, spec.epsilon);
  }
}

// [B, S, heads · width]
Value attend_plainly(const Module& at, const DecoderSpec& spec, const LayerKind& kind, const Value& input,
                     const DecoderShared& shared, const AttentionCache& cache, States& states) {
  DecoderProjected now = project(at, spec, input, true, true);
  turn(at, spec, kind, shared, now);
  const auto joined = [&](const std::optional<Value>& before, const Value& added) {
    return shared.span.places ? write_at(at, *before, added, *shared.span.places) : append(at, before, added);
  };
  const Value keys = joined(cache.key, now.key);
  const Value values = joined(cache.value, now.value);
  states.give(cache.key_output, keys);
  states.give(cache.value_output, values);

  Attention attention;
  attention.heads = {spec.heads, spec.head_width};
  attention.key_value_heads = spec.key_value_heads;
  attention.scale = kind.scale;
  attention.soft_cap = spec.attention_soft_cap;
  if (shared.bias) attention.biases.push_back(*shared.bias);
  attention.biases.push_back(shared.masks.at(kind.window.value_or(0)));
  return merge_heads(at, attend(at, now.query, {keys, values}, attention), attention.heads);
}

// The same by GroupQueryAttention, which turns query and key where it can and nothing stands between.
Value attend_natively(const Module& at, const DecoderSpec& spec, const LayerKind& kind, const Value& input,
                      const DecoderShared& shared, const AttentionCache& cache, States& states) {
  NativeAttention attention;
  attention.heads = spec.heads;
  attention.key_value_heads = spec.key_value_heads;
  attention.scale = kind.scale;
  attention.soft_cap = spec.attention_soft_cap;
  attention.window = kind.window;
  if (const auto table = shared.tables.find(kind.rope); table != shared.tables.end()) attention.rotary = table->second;
  const bool normed_after = spec.query_key_norm == QueryKeyNorm::kHeadAfterRope;
  const bool by_head = normed_after || (!kind.rope.empty() && !attention.rotary);
  DecoderProjected now = project(at, spec, input, by_head, false);
  if (by_head) {
    turn(at, spec, kind, shared, now);
    now.query = merge_heads(at, now.query, {spec.heads, spec.head_width});
    now.key = merge_heads(at, now.key, {spec.key_value_heads, spec.head_width});
  }
  const NativeResult result = attend_native(at, now.query, now.key, now.value, cache, *shared.native, attention);
  states.give(cache.key_output, result.keys);
  states.give(cache.value_output, result.values);
  return result.mixed;
}

Value self_attention(const Module& at, const DecoderSpec& spec, const LayerKind& kind, const Value& input,
                     const DecoderShared& shared, const AttentionCache& cache, States& states) {
  const std::int64_t width = spec.heads * spec.head_width;
  Value mixed = shared.native ? attend_natively(at, spec, kind, input, shared, cache, states)
                              : attend_plainly(at, spec, kind, input, shared, cache, states);
  if (const std::string& inner = spec.name("attention_inner_norm"); !inner.empty()) {
    mixed = decoder_norm(at / inner, mixed, spec.norm, {width}, spec.epsilon);
  }
  return decoder_linear(at / spec.name("output"), spec, mixed, width, spec.hidden, spec.output_bias);
}

Result<Value> decoder_layer(const Module& layer, const DecoderSpec& spec, const LayerKind& kind, const Value& input,
                            const DecoderShared& shared, const AttentionCache& cache, States& states) {
  const auto norm = [&](const char* role, const Value& value) {
    const std::string& name = spec.name(role);
    return name.empty() ? value : decoder_norm(layer / name, value, spec.norm, {spec.hidden}, spec.epsilon);
  };
  const auto scaled = [&](const Value& value) {
    return spec.residual_scale == 1.0F ? value : layer.node("Mul", {value, layer.graph().number(spec.residual_scale)});
  };
  const Value attention_in = norm("attention_in", input);
  const Value attended = scaled(norm("attention_out", self_attention(child(layer, spec.name("attention")), spec, kind,
                                                                     attention_in, shared, cache, states)));
  const Module mlp = child(layer, spec.name("mlp"));
  if (spec.parallel) {
    const bool same = spec.name("mlp_in").empty() || spec.name("mlp_in") == spec.name("attention_in");
    const Value mlp_in = same ? attention_in : norm("mlp_in", input);
    ASSAY_TRY(const Value wide, decoder_mlp(mlp, spec, mlp_in, spec.intermediate));
    return layer.node("Add", {layer.node("Add", {attended, scaled(norm("mlp_out", wide))}), input});
  }
  const Value middle =
      norm("after_attention", layer.node("Add", {spec.residual_after_norm ? attention_in : input, attended}));
  const Value mlp_in = norm("mlp_in", middle);
  ASSAY_TRY(const Value wide, decoder_mlp(mlp, spec, mlp_in, spec.intermediate));
  const Value sum = layer.node("Add", {spec.residual_after_norm ? mlp_in : middle, scaled(norm("mlp_out", wide))});
  return norm("after_mlp", sum);
}

// sin(p · 10000^(−i / (half − 1))), then the cosines of the same: [B or 1, S, width].
Value sinusoids(const Module& at, const Value& positions, const DecoderSpec& spec) {
  GraphBuilder& graph = at.graph();
  const std::int64_t half = spec.hidden / 2;
  std::vector<float> frequencies;
  for (std::int64_t i = 0; i < half; ++i) {
    frequencies.push_back(
        static_cast<float>(std::exp(static_cast<double>(i) * -std::log(10000.0) / static_cast<double>(half - 1))));
  }
  const Value moved = at.node("Add", {positions, graph.integer(spec.position_offset)});
  const Value numbers = at.node("Cast", {moved}, {{"to", static_cast<std::int64_t>(DType::kFloat32)}}, DType::kFloat32);
  const Value angles =
      at.node("Mul", {at.node("Unsqueeze", {numbers, graph.integers({2})}), graph.numbers(frequencies, {1, 1, half})});
  Value rows = at.node("Concat", {at.node("Sin", {angles}), at.node("Cos", {angles})}, {{"axis", std::int64_t{-1}}});
  if (!spec.zero_position) return rows;
  const Value zero = at.node("Equal", {moved, graph.integer(*spec.zero_position)}, {}, DType::kBool);
  return at.node("Where", {at.node("Unsqueeze", {zero, graph.integers({2})}), graph.number(0.0F), rows}, {},
                 DType::kFloat32);
}

// [B, heads, 1, T]: each head's slope times the number of tokens before.
Value alibi_bias(const Module& at, const DecoderSpec& spec, const std::optional<Value>& mask, const TokenSpan& span) {
  GraphBuilder& graph = at.graph();
  Value positions;
  if (mask) {
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

// Rows of the position table for this run: added to the embeddings.
Value learned_positions(const Module& base, const DecoderSpec& spec, const DecoderInputs& inputs,
                        const TokenSpan& span) {
  const Module table = base / spec.name("position_table");
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
    const bool told = std::ranges::all_of(
        spec.layers, [&](const LayerKind& layer) { return layer.rope.empty() || tables.contains(layer.rope); });
    // Nobody asks where the tokens stand: no nodes for it.
    if (told && spec.learned_positions == 0) return {};
    return masked_span(base, inputs.embeddings, *inputs.attention_mask);
  }
  if (kv_cache == KvCache::kStatic && cache)
    return placed_span(base, inputs.embeddings, *cache, *inputs.cache_position);
  return token_span(base, inputs.embeddings, cache);
}

}  // namespace

Value decoder_norm(const Module& at, const Value& input, NormKind kind, const Shape& weight_shape, float epsilon) {
  GraphBuilder& graph = at.graph();
  const std::int64_t width = weight_shape.back();
  switch (kind) {
    case NormKind::kRms:
    case NormKind::kRmsPlusOne: {
      Value weight = at.parameter("weight", weight_shape, Role::kScale);
      if (kind == NormKind::kRmsPlusOne) weight = at.node("Add", {weight, graph.number(1.0F)});
      return rms_norm_with(at, input, weight, epsilon);
    }
    case NormKind::kLayer:
      return layer_norm(at, input, width, epsilon);
    case NormKind::kLayerPlusOne: {
      const Value weight = at.node("Add", {at.parameter("weight", {width}, Role::kScale), graph.number(1.0F)});
      return at.node("LayerNormalization", {input, weight, at.parameter("bias", {width}, Role::kBias)},
                     {{"axis", std::int64_t{-1}}, {"epsilon", epsilon}});
    }
    case NormKind::kLayerNoBias:
    case NormKind::kLayerPlain:
      break;
  }
  if (kind == NormKind::kLayerNoBias && weight_shape.size() == 1) {
    return layer_norm_without_bias(at, input, width, epsilon);
  }
  // LayerNormalization's scale has the extent of the normed axis: a weight of more axes is multiplied apart.
  const Value normed = plain_layer_norm(at, input, width, epsilon);
  if (kind == NormKind::kLayerPlain) return normed;
  return at.node("Mul", {normed, at.parameter("weight", weight_shape, Role::kScale)});
}

Value decoder_linear(const Module& at, const DecoderSpec& spec, const Value& input, std::int64_t in, std::int64_t out,
                     bool bias) {
  if (!spec.turned_weights) return linear(at, input, {in, out}, bias);
  const Value product = at.node("MatMul", {input, at.parameter("weight", {in, out}, Role::kWeight)});
  return bias ? at.node("Add", {product, at.parameter("bias", {out}, Role::kBias)}) : product;
}

Result<Value> decoder_mlp(const Module& at, const DecoderSpec& spec, const Value& input, std::int64_t intermediate) {
  GraphBuilder& graph = at.graph();
  const auto up = [&](const std::string& name, std::int64_t width) {
    return decoder_linear(at / name, spec, input, spec.hidden, width, spec.mlp_bias);
  };
  const auto active = [&](const Value& value) {
    return activation(child(at, spec.name("activation")), value, spec.activation, spec.activation_key);
  };
  Value wide;
  if (!spec.gated) {
    ASSAY_TRY(wide, active(up(spec.name("up"), intermediate)));
  } else {
    Value gate;
    if (spec.name("gate_up").empty()) {
      gate = up(spec.name("gate"), intermediate);
      wide = up(spec.name("up"), intermediate);
    } else {
      const std::vector<Value> halves =
          graph.nodes(at.path(), "Split",
                      {up(spec.name("gate_up"), 2 * intermediate), graph.integers({intermediate, intermediate})}, 2,
                      {{"axis", std::int64_t{-1}}});
      gate = halves[spec.gate_first ? 0 : 1];
      wide = halves[spec.gate_first ? 1 : 0];
    }
    ASSAY_TRY(gate, active(gate));
    wide = at.node("Mul", {gate, wide});
  }
  if (const std::string& inner = spec.name("mlp_inner_norm"); !inner.empty()) {
    wide = decoder_norm(at / inner, wide, spec.norm, {intermediate}, spec.epsilon);
  }
  return decoder_linear(at / spec.name("down"), spec, wide, intermediate, spec.hidden, spec.mlp_bias);
}

Value decoder_embeddings(const Module& base, const DecoderSpec& spec, const Value& ids) {
  const Module table = base / spec.name("embeddings");
  const Value rows = embedding(table, ids, spec.vocabulary, spec.embedding_width);
  return spec.embedding_scale == 1.0F ? rows : table.node("Mul", {rows, base.graph().number(spec.embedding_scale)});
}

Result<Value> decode(const Module& base, const DecoderSpec& spec, const DecoderInputs& inputs, States& states) {
  const KvCache kv_cache = states.take_kv_cache();
  if (kv_cache == KvCache::kRuntime) ASSAY_CHECK_OK(check_native(spec, inputs));
  const Extent tokens = kv_cache == KvCache::kGrowing ? "past" : "cache";
  std::vector<AttentionCache> caches;
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    caches.push_back(take_attention_cache(states, static_cast<std::int64_t>(i), spec.key_value_heads, spec.head_width,
                                          spec.head_width, "", tokens));
  }
  const Module rotary_place = base / "rotary_emb";
  DecoderShared shared;
  if (kv_cache == KvCache::kRuntime) {
    shared.native = native_tokens(base / "attention", *inputs.attention_mask);
    if (!inputs.position_ids) shared.tables = rotary_tables(rotary_place, spec);
  }
  shared.span = span_of(base, spec, kv_cache, inputs, caches, shared.tables);
  Value hidden = inputs.embeddings;
  if (!spec.name("project_in").empty() && spec.embedding_width != spec.hidden) {
    hidden = linear(base / spec.name("project_in"), hidden, {spec.embedding_width, spec.hidden}, false);
  }
  if (spec.learned_positions > 0) {  // computed ones among them
    hidden = base.node("Add", {hidden, learned_positions(base, spec, inputs, shared.span)});
  }
  if (!spec.name("embedding_norm").empty()) {
    hidden = decoder_norm(base / spec.name("embedding_norm"), hidden, spec.norm, {spec.hidden}, spec.epsilon);
  }
  base.graph().declare(hidden, {"batch", "sequence", spec.hidden});

  std::optional<Value> positions = inputs.position_ids;
  for (const LayerKind& layer : spec.layers) {
    if (layer.rope.empty() || shared.rotaries.contains(layer.rope) || shared.tables.contains(layer.rope)) continue;
    if (!positions) positions = running_positions(rotary_place, shared.span);
    shared.rotaries.emplace(layer.rope, rotary(rotary_place, spec.ropes.at(layer.rope), *positions));
  }
  const Module mask_place = base / "mask";
  for (const LayerKind& layer : spec.layers) {
    const std::int64_t window = layer.window.value_or(0);
    if (shared.native || shared.masks.contains(window)) continue;
    const auto [queries, keys] = token_positions(mask_place, shared.span);
    shared.masks.emplace(
        window, additive(mask_place, causal_mask(mask_place, queries, keys, inputs.attention_mask, layer.window)));
  }

  if (spec.alibi != Alibi::kNone) {
    shared.bias = alibi_bias(base / "alibi", spec, inputs.attention_mask, shared.span);
  }

  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    ASSAY_TRY(hidden, decoder_layer(base / spec.name("layers") / std::to_string(i), spec, spec.layers[i], hidden,
                                    shared, caches[i], states));
  }
  if (!spec.name("final_norm").empty()) {
    hidden = decoder_norm(base / spec.name("final_norm"), hidden, spec.norm, {spec.hidden}, spec.epsilon);
  }
  if (!spec.name("project_out").empty() && spec.embedding_width != spec.hidden) {
    hidden = linear(base / spec.name("project_out"), hidden, {spec.hidden, spec.embedding_width}, false);
  }
  return hidden;
}

void tie_decoder_head(const Module& parent, const Module& base, const DecoderSpec& spec) {
  if (!spec.tied) return;
  parent.parameters().tie((parent / spec.name("head")).name_of("weight"),
                          (base / spec.name("embeddings")).name_of("weight"));
}

Value decoder_logits(const Module& parent, const Module& base, const DecoderSpec& spec, const Value& hidden,
                     bool last_only) {
  GraphBuilder& graph = parent.graph();
  const Module head = parent / spec.name("head");
  Value rows = hidden;
  if (last_only) {
    rows = head.node("Slice", {hidden, graph.integers({-1}), graph.integers({INT64_MAX}), graph.integers({1})});
  }
  const std::string table = (base / spec.name("embeddings")).name_of("weight");
  const bool shares = parent.parameters().resolve(head.name_of("weight")) == parent.parameters().resolve(table);
  Value logits;
  if (shares) {
    const Value weight = head.parameter("weight", {spec.vocabulary, spec.embedding_width}, Role::kTable);
    logits = head.node("MatMul", {rows, head.node("Transpose", {weight}, {{"perm", Integers{1, 0}}})});
    if (spec.head_bias) logits = head.node("Add", {logits, head.parameter("bias", {spec.vocabulary}, Role::kBias)});
  } else {
    logits = linear(head, rows, {spec.embedding_width, spec.vocabulary}, spec.head_bias);
  }
  if (spec.logits_scale != 1.0F) logits = head.node("Mul", {logits, graph.number(spec.logits_scale)});
  if (spec.logits_soft_cap) {
    const Value cap = graph.number(*spec.logits_soft_cap);
    logits = head.node("Mul", {head.node("Tanh", {head.node("Div", {logits, cap})}), cap});
  }
  return logits;
}

}  // namespace assay::zoo
