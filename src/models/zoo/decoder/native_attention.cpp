// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/decoder/native_attention.hpp"

#include <fmt/format.h>

#include <cmath>
#include <span>
#include <vector>

#include "models/zoo/layers/tensors.hpp"

namespace assay::zoo {
namespace {

// What the operator's checks require (ONNX Runtime 1.31; so did earlier versions).
constexpr std::int64_t kHeadMultiple = 8, kTurnedHeadMultiple = 16, kTurnedPairsMultiple = 8;
/// Longer tables than this are not written: two of them with 64 pairs take 67 MB.
constexpr std::int64_t kMostNativePositions = 131'072;

// Row by row: a table is never held whole.
template <class Wave>
ByteSource waves(const RopeSpec& spec, Wave wave) {
  return [spec, wave](const ByteSink& sink) -> Status {
    std::vector<float> row(spec.frequencies.size());
    for (std::int64_t position = 0; position < spec.max_positions; ++position) {
      for (std::size_t i = 0; i < row.size(); ++i) {
        // The angle in float32, as in the graph with a growing cache and in transformers.
        const float angle = static_cast<float>(position) * spec.frequencies[i];
        row[i] = static_cast<float>(wave(static_cast<double>(angle))) * spec.attention_factor;
      }
      ASSAY_CHECK_OK(sink(std::as_bytes(std::span(row))));
    }
    return {};
  };
}

// `name`: of the two. nullopt: the operator cannot rotate in this way, or the table would be too large.
std::optional<RotaryTable> rotary_table(const Module& at, const RopeSpec& spec, const std::string& name,
                                        std::int64_t head_width) {
  const std::int64_t pairs = spec.width / 2;
  const bool depends_on_length = spec.dynamic || !spec.long_frequencies.empty();
  const bool fits = head_width % kTurnedHeadMultiple == 0 && pairs % kTurnedPairsMultiple == 0;
  if (depends_on_length || !fits || spec.max_positions < 1 || spec.max_positions > kMostNativePositions)
    return std::nullopt;
  const auto table = [&](const char* wave, ByteSource source) {
    return at.graph().table(at.name_of(fmt::format("{}_{}_cache", name, wave)), DType::kFloat32,
                            {spec.max_positions, pairs}, std::move(source));
  };
  return RotaryTable{table("cos", waves(spec, [](double angle) { return std::cos(angle); })),
                     table("sin", waves(spec, [](double angle) { return std::sin(angle); })), spec.interleaved};
}

}  // namespace

Status check_native(const DecoderSpec& spec, const DecoderInputs& inputs) {
  const auto refuse = [](const std::string& hint) { return unsupported("kv_cache", "runtime", hint); };
  if (spec.alibi != Alibi::kNone) return refuse("GroupQueryAttention has no scores that fall with the distance");
  if (spec.head_width % kHeadMultiple != 0)
    return refuse(fmt::format("GroupQueryAttention takes heads of a multiple of {} elements, these have {}",
                              kHeadMultiple, spec.head_width));
  if (!inputs.attention_mask) return refuse("GroupQueryAttention needs attention_mask for the lengths");
  return {};
}

NativeTokens native_tokens(const Module& at, const Value& mask) {
  GraphBuilder& graph = at.graph();
  const Value counted =
      at.node("ReduceSum", {cast(at, mask, DType::kInt64), graph.integers({1})}, {{"keepdims", std::int64_t{0}}});
  const Value last = at.node("Sub", {counted, graph.integer(1)});
  const Value shape = at.node("Shape", {mask}, {}, DType::kInt64);
  const Value total = at.node("Gather", {shape, graph.integer(1)}, {{"axis", std::int64_t{0}}});
  return {cast(at, last, DType::kInt32), cast(at, total, DType::kInt32)};
}

std::map<std::string, RotaryTable> rotary_tables(const Module& at, const DecoderSpec& spec) {
  std::map<std::string, RotaryTable> tables;
  // A norm stands between the two.
  if (spec.query_key_norm == QueryKeyNorm::kHeadAfterRope) return tables;
  for (const LayerKind& layer : spec.layers) {
    if (layer.rope.empty() || tables.contains(layer.rope)) continue;
    const auto table = rotary_table(at, spec.ropes.at(layer.rope), layer.rope, spec.head_width);
    if (table) tables.emplace(layer.rope, *table);
  }
  return tables;
}

NativeResult attend_native(const Module& at, const Value& query, const Value& key, const Value& value,
                           const AttentionCache& cache, const NativeTokens& tokens, const NativeAttention& attention) {
  std::vector<Value> inputs{query, key, value, *cache.key, *cache.value, tokens.last, tokens.total};
  std::vector<Attribute> attributes{
      {"num_heads", attention.heads}, {"kv_num_heads", attention.key_value_heads}, {"scale", attention.scale}};
  if (attention.soft_cap) attributes.push_back({"softcap", *attention.soft_cap});
  if (attention.window) attributes.push_back({"local_window_size", *attention.window});
  if (attention.rotary) {
    inputs.push_back(attention.rotary->cosine);
    inputs.push_back(attention.rotary->sine);
    attributes.push_back({"do_rotary", std::int64_t{1}});
    attributes.push_back({"rotary_interleaved", std::int64_t{attention.rotary->interleaved ? 1 : 0}});
  }
  const std::vector<Value> given = at.nodes("com.microsoft:GroupQueryAttention", inputs, 3, attributes);
  return {given[0], given[1], given[2]};
}

}  // namespace assay::zoo
