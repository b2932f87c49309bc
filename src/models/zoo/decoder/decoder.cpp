// SPDX-License-Identifier: Apache-2.0
// The layers of decoders: transformers' modeling_llama.py and what differs from it by name only.
#include "models/zoo/decoder/decoder.hpp"

#include <fmt/format.h>

#include "models/zoo/decoder/decoder_parts.hpp"
#include "models/zoo/layers/attention.hpp"
#include "models/zoo/layers/blocks.hpp"

namespace assay::zoo {
namespace {

Module child(const Module& at, const std::string& name) { return name.empty() ? at : at / name; }

Result<Value> decoder_layer(const Module& layer, const DecoderSpec& spec, const LayerKind& kind, const Value& input,
                            const DecoderShared& shared, const AttentionCache& cache, States& states) {
  const auto norm = [&](const std::string& name, const Value& value) {
    return name.empty() ? value : decoder_norm(layer / name, value, spec.norm, {spec.hidden}, spec.epsilon);
  };
  const auto scaled = [&](const Value& value) {
    return spec.residual_scale == 1.0F ? value : layer.node("Mul", {value, layer.graph().number(spec.residual_scale)});
  };
  const Value attention_in = norm(spec.names.attention_in, input);
  const Value attended =
      scaled(norm(spec.names.attention_out, decoder_attention(child(layer, *spec.names.attention), spec, kind,
                                                              attention_in, shared, cache, states)));
  const Module mlp = child(layer, *spec.names.mlp);
  if (spec.parallel) {
    const bool same = spec.names.mlp_in->empty() || *spec.names.mlp_in == *spec.names.attention_in;
    const Value mlp_in = same ? attention_in : norm(spec.names.mlp_in, input);
    ASSAY_TRY(const Value wide, decoder_mlp(mlp, spec, mlp_in, spec.intermediate));
    return layer.node("Add", {layer.node("Add", {attended, scaled(norm(spec.names.mlp_out, wide))}), input});
  }
  const Value middle =
      norm(spec.names.after_attention, layer.node("Add", {spec.residual_after_norm ? attention_in : input, attended}));
  const Value mlp_in = norm(spec.names.mlp_in, middle);
  ASSAY_TRY(const Value wide, decoder_mlp(mlp, spec, mlp_in, spec.intermediate));
  const Value sum =
      layer.node("Add", {spec.residual_after_norm ? mlp_in : middle, scaled(norm(spec.names.mlp_out, wide))});
  return norm(spec.names.after_mlp, sum);
}

// What is added to the scores of the layers with this window; nullopt: every token sees every token.
std::optional<Value> layer_mask(const Module& at, bool causal, const TokenSpan& span, const std::optional<Value>& kept,
                                const std::optional<std::int64_t>& window) {
  if (!causal && !window) return kept ? std::optional(additive_mask(at, *kept)) : std::nullopt;
  const auto [queries, keys] = token_positions(at, span);
  return additive(
      at, causal ? causal_mask(at, queries, keys, kept, window) : nearby_mask(at, queries, keys, kept, *window));
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
  Value normed = plain_layer_norm(at, input, width, epsilon);
  if (kind == NormKind::kLayerPlain) return normed;
  return at.node("Mul", {normed, at.parameter("weight", weight_shape, Role::kScale)});
}

Value decoder_linear(const Module& at, const DecoderSpec& spec, const Value& input, std::int64_t in, std::int64_t out,
                     bool bias) {
  if (!spec.weights_in_first) return linear(at, input, {in, out}, bias);
  const Value product = at.node("MatMul", {input, at.parameter("weight", {in, out}, Role::kWeight)});
  return bias ? at.node("Add", {product, at.parameter("bias", {out}, Role::kBias)}) : product;
}

Result<Value> decoder_mlp(const Module& at, const DecoderSpec& spec, const Value& input, std::int64_t intermediate) {
  GraphBuilder& graph = at.graph();
  const auto up = [&](const std::string& name, std::int64_t width) {
    return decoder_linear(at / name, spec, input, spec.hidden, width, spec.mlp_bias);
  };
  const auto active = [&](const Value& value) {
    return activation(child(at, *spec.names.activation), value, spec.activation, spec.activation_key);
  };
  Value wide;
  if (!spec.gated) {
    ASSAY_TRY(wide, active(up(*spec.names.up, intermediate)));
  } else {
    Value gate;
    if (spec.names.gate_up->empty()) {
      gate = up(*spec.names.gate, intermediate);
      wide = up(*spec.names.up, intermediate);
    } else {
      const std::vector<Value> halves = graph.nodes(
          at.path(), "Split", {up(*spec.names.gate_up, 2 * intermediate), graph.integers({intermediate, intermediate})},
          2, {{"axis", std::int64_t{-1}}});
      gate = halves[0];
      wide = halves[1];
    }
    ASSAY_TRY(gate, active(gate));
    wide = at.node("Mul", {gate, wide});
  }
  if (const std::string& inner = *spec.names.mlp_inner_norm; !inner.empty()) {
    wide = decoder_norm(at / inner, wide, spec.norm, {intermediate}, spec.epsilon);
  }
  return decoder_linear(at / *spec.names.down, spec, wide, intermediate, spec.hidden, spec.mlp_bias);
}

Value decoder_embeddings(const Module& base, const DecoderSpec& spec, const Value& ids) {
  const Module table = base / *spec.names.embeddings;
  const Value rows = embedding(table, ids, spec.vocabulary, spec.embedding_width);
  return spec.embedding_scale == 1.0F ? rows : table.node("Mul", {rows, base.graph().number(spec.embedding_scale)});
}

Result<Value> decode(const Module& base, const DecoderSpec& spec, const DecoderInputs& inputs, States& states) {
  if (!spec.causal && states.gives()) {
    return no_part(states.part(), "a token sees later tokens, so its keys and values cannot be kept");
  }
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
  if (!spec.names.project_in->empty() && spec.embedding_width != spec.hidden) {
    hidden = linear(base / *spec.names.project_in, hidden, {spec.embedding_width, spec.hidden}, false);
  }
  if (spec.learned_positions > 0) {  // computed ones among them
    hidden = base.node("Add", {hidden, decoder_positions(base, spec, inputs, shared.span)});
  }
  if (!spec.names.embedding_norm->empty()) {
    hidden = decoder_norm(base / *spec.names.embedding_norm, hidden, spec.norm, {spec.hidden}, spec.epsilon);
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
    if (const auto mask = layer_mask(mask_place, spec.causal, shared.span, inputs.attention_mask, layer.window))
      shared.masks.emplace(window, *mask);
  }

  if (spec.alibi != Alibi::kNone) {
    shared.bias = alibi_bias(base / "alibi", spec, inputs.attention_mask, shared.span);
  }

  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    ASSAY_TRY(hidden, decoder_layer(base / *spec.names.layers / std::to_string(i), spec, spec.layers[i], hidden, shared,
                                    caches[i], states));
  }
  if (!spec.names.final_norm->empty()) {
    hidden = decoder_norm(base / *spec.names.final_norm, hidden, spec.norm, {spec.hidden}, spec.epsilon);
  }
  if (!spec.names.project_out->empty() && spec.embedding_width != spec.hidden) {
    hidden = linear(base / *spec.names.project_out, hidden, {spec.hidden, spec.embedding_width}, false);
  }
  return hidden;
}

void tie_decoder_head(const Module& parent, const Module& base, const DecoderSpec& spec) {
  if (!spec.tied) return;
  parent.parameters().tie((parent / *spec.names.head).name_of("weight"),
                          (base / *spec.names.embeddings).name_of("weight"));
}

Value decoder_logits(const Module& parent, const Module& base, const DecoderSpec& spec, const Value& hidden,
                     bool last_only) {
  GraphBuilder& graph = parent.graph();
  const Module head = parent / *spec.names.head;
  Value rows = hidden;
  if (last_only) {
    rows = head.node("Slice", {hidden, graph.integers({-1}), graph.integers({INT64_MAX}), graph.integers({1})});
  }
  const std::string table = (base / *spec.names.embeddings).name_of("weight");
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
