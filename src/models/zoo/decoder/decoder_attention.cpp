// SPDX-License-Identifier: Apache-2.0
// The attention of one layer: projections, rotary embedding, caches, softmax.
#include "models/zoo/decoder/decoder_parts.hpp"
#include "models/zoo/layers/blocks.hpp"

namespace assay::zoo {
namespace {

struct DecoderProjected {
  Value query, key, value;  ///< [B, heads, S, width], or as they come: [B, S, heads · width]
};

// [B, S, n · width] by head or as it comes, each head with its norm if there is one.
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
    flat = decoder_norm(at, flat, spec.norm, {heads * spec.head_width}, spec.epsilon);
    return by_head ? split_heads(attention, flat, {heads, spec.head_width}) : flat;
  }
  const Value split = attention.node("Reshape", {flat, graph.integers({0, 0, heads, spec.head_width})});
  const Shape weight =
      spec.query_key_norm == QueryKeyNorm::kPerHead ? Shape{heads, spec.head_width} : Shape{spec.head_width};
  const Value normed = decoder_norm(at, split, spec.norm, weight, spec.epsilon);
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
  const std::string& path = at.path();
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

std::vector<Value> separate_parts(const Module& attention, const DecoderSpec& spec, const Value& input) {
  const auto part = [&](const std::string& name, std::int64_t heads) {
    return decoder_linear(attention / name, spec, input, spec.hidden, heads * spec.head_width, spec.qkv_bias);
  };
  return {part(spec.names.query, spec.heads), part(spec.names.key, spec.key_value_heads),
          part(spec.names.value, spec.key_value_heads)};
}

Value joined_projection(const Module& attention, const DecoderSpec& spec, const Value& input) {
  const std::int64_t width = (spec.heads + 2 * spec.key_value_heads) * spec.head_width;
  return decoder_linear(attention / *spec.names.qkv, spec, input, spec.hidden, width, spec.qkv_bias);
}

DecoderProjected project(const Module& attention, const DecoderSpec& spec, const Value& input, bool by_head,
                         bool values_by_head) {
  const std::vector<Value> parts = spec.qkv_layout == QkvLayout::kSeparate
                                       ? separate_parts(attention, spec, input)
                                       : joined_parts(attention, spec, joined_projection(attention, spec, input));
  return {heads_of(attention, spec, parts[0], spec.heads, *spec.names.query_norm, by_head),
          heads_of(attention, spec, parts[1], spec.key_value_heads, *spec.names.key_norm, by_head),
          heads_of(attention, spec, parts[2], spec.key_value_heads, "", values_by_head)};
}

// Rotates query and key by head, and norms them if that comes after.
void apply_rope(const Module& at, const DecoderSpec& spec, const LayerKind& kind, const DecoderShared& shared,
                DecoderProjected& now) {
  if (!kind.rope.empty()) {
    const Rotary& rotary = shared.rotaries.at(kind.rope);
    now.query = rotate(at, now.query, rotary, spec.head_width);
    now.key = rotate(at, now.key, rotary, spec.head_width);
  }
  if (spec.query_key_norm == QueryKeyNorm::kHeadAfterRope) {
    const Shape weight{spec.head_width};
    now.query = decoder_norm(at / *spec.names.query_norm, now.query, spec.norm, weight, spec.epsilon);
    now.key = decoder_norm(at / *spec.names.key_norm, now.key, spec.norm, weight, spec.epsilon);
  }
}

// [B, S, heads · width]
Value attend_plainly(const Module& at, const DecoderSpec& spec, const LayerKind& kind, const Value& input,
                     const DecoderShared& shared, const AttentionCache& cache, States& states) {
  DecoderProjected now = project(at, spec, input, true, true);
  apply_rope(at, spec, kind, shared, now);
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
  if (const auto mask = shared.masks.find(kind.window.value_or(0)); mask != shared.masks.end())
    attention.biases.push_back(mask->second);
  return merge_heads(at, attend(at, now.query, {keys, values}, attention), attention.heads);
}

// [B, S, queries, keys, values] by one product: the operator takes it as it is. nullopt: the checkpoint's order of the
// columns is another, or a norm stands between.
std::optional<Value> project_packed(const Module& at, const DecoderSpec& spec, const Value& input) {
  if (spec.query_key_norm != QueryKeyNorm::kNone) return std::nullopt;
  Value packed;
  if (spec.qkv_layout == QkvLayout::kJoined) {
    packed = joined_projection(at, spec, input);
  } else if (spec.qkv_layout == QkvLayout::kSeparate && !spec.weights_in_first) {
    const std::int64_t keys = spec.key_value_heads * spec.head_width;
    packed = joined_linear(
        at, input, spec.hidden,
        {{spec.names.query, spec.heads * spec.head_width}, {spec.names.key, keys}, {spec.names.value, keys}},
        spec.qkv_bias);
  } else {
    return std::nullopt;
  }
  if (!spec.clip_qkv) return packed;
  return at.node("Clip", {packed, at.graph().number(-*spec.clip_qkv), at.graph().number(*spec.clip_qkv)});
}

// The same by GroupQueryAttention, which rotates query and key if it can and nothing stands between.
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
  DecoderProjected now;
  if (const std::optional<Value> packed = by_head ? std::nullopt : project_packed(at, spec, input)) {
    now.query = *packed;
  } else {
    now = project(at, spec, input, by_head, false);
  }
  if (by_head) {
    apply_rope(at, spec, kind, shared, now);
    now.query = merge_heads(at, now.query, {spec.heads, spec.head_width});
    now.key = merge_heads(at, now.key, {spec.key_value_heads, spec.head_width});
  }
  const NativeResult result = attend_native(at, now.query, now.key, now.value, cache, *shared.native, attention);
  states.give(cache.key_output, result.keys);
  states.give(cache.value_output, result.values);
  return result.mixed;
}

}  // namespace

Value decoder_attention(const Module& at, const DecoderSpec& spec, const LayerKind& kind, const Value& input,
                        const DecoderShared& shared, const AttentionCache& cache, States& states) {
  const std::int64_t width = spec.heads * spec.head_width;
  Value mixed = shared.native ? attend_natively(at, spec, kind, input, shared, cache, states)
                              : attend_plainly(at, spec, kind, input, shared, cache, states);
  if (const std::string& inner = *spec.names.attention_inner_norm; !inner.empty()) {
    mixed = decoder_norm(at / inner, mixed, spec.norm, {width}, spec.epsilon);
  }
  return decoder_linear(at / *spec.names.output, spec, mixed, width, spec.hidden, spec.output_bias);
}

}  // namespace assay::zoo
