// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/layers/positions.hpp"

#include "models/zoo/layers/tensors.hpp"

namespace assay::zoo {
namespace {

// Each frequency at the places of the rotated pairs.
std::vector<float> spread(const std::vector<float>& frequencies, bool interleaved) {
  std::vector<float> all;
  for (const float frequency : frequencies) {
    all.push_back(frequency);
    if (interleaved) all.push_back(frequency);
  }
  if (!interleaved) all.insert(all.end(), frequencies.begin(), frequencies.end());
  return all;
}

// max(positions) + 1
Value reached_length(const Module& at, const Value& positions) {
  const Value last = at.node("ReduceMax", {positions}, {{"keepdims", std::int64_t{0}}});
  return at.node("Add", {last, at.graph().integer(1)});
}

Value frequencies_of(const Module& at, const RopeSpec& spec, const Value& positions) {
  GraphBuilder& graph = at.graph();
  const auto constant = [&](const std::vector<float>& values) {
    const std::vector<float> all = spread(values, spec.interleaved);
    return graph.numbers(all, {1, 1, static_cast<std::int64_t>(all.size())});
  };
  if (!spec.long_frequencies.empty()) {
    const Value beyond =
        at.node("Greater", {reached_length(at, positions), graph.integer(spec.original_positions)}, {}, DType::kBool);
    return at.node("Where", {beyond, constant(spec.long_frequencies), constant(spec.frequencies)}, {}, DType::kFloat32);
  }
  if (!spec.dynamic) return constant(spec.frequencies);
  // theta · (factor · length / positions − (factor − 1)) ^ (width / (width − 2)), to the powers −2i / width
  const RopeSpec::Dynamic& dynamic = *spec.dynamic;
  const Value length = at.node("Max", {reached_length(at, positions), graph.integer(dynamic.positions)});
  const auto per_position = static_cast<float>(dynamic.factor / static_cast<double>(dynamic.positions));
  const Value stretched =
      at.node("Sub", {at.node("Mul", {cast(at, length, DType::kFloat32), graph.number(per_position)}),
                      graph.number(static_cast<float>(dynamic.factor - 1.0))});
  const auto width = static_cast<double>(spec.width);
  const Value grown = at.node("Pow", {stretched, graph.number(static_cast<float>(width / (width - 2.0)))});
  const Value base = at.node("Mul", {grown, graph.number(static_cast<float>(dynamic.theta))});
  std::vector<float> exponents;
  for (std::int64_t i = 0; i < spec.width; i += 2) {
    exponents.push_back(static_cast<float>(-static_cast<double>(i) / width));
  }
  return at.node("Pow", {base, constant(exponents)});
}

// [B, heads, S, width] → the other half of each pair, the first of them negated.
Value partners(const Module& at, const Value& input, const Rotary& rotary) {
  GraphBuilder& graph = at.graph();
  const std::int64_t half = rotary.width / 2;
  if (!rotary.interleaved) {
    const std::vector<Value> halves =
        graph.nodes(at.path(), "Split", {input, graph.integers({half, half})}, 2, {{"axis", std::int64_t{-1}}});
    return at.node("Concat", {at.node("Neg", {halves[1]}), halves[0]}, {{"axis", std::int64_t{-1}}});
  }
  const Value pairs = at.node("Reshape", {input, graph.integers({0, 0, 0, half, 2})});
  const std::vector<Value> sides =
      graph.nodes(at.path(), "Split", {pairs, graph.integers({1, 1})}, 2, {{"axis", std::int64_t{-1}}});
  const Value rotated = at.node("Concat", {at.node("Neg", {sides[1]}), sides[0]}, {{"axis", std::int64_t{-1}}});
  return at.node("Reshape", {rotated, graph.integers({0, 0, 0, rotary.width})});
}

}  // namespace

TokenSpan token_span(const Module& at, const Value& tokens, const std::optional<Value>& past) {
  const Value length = scalar_extent(at, tokens, 1);
  if (!past) return {length, length, std::nullopt};
  const Value before = scalar_extent(at, *past, 2);
  return {length, at.node("Add", {before, length}), before};
}

TokenSpan masked_span(const Module& at, const Value& tokens, const Value& mask) {
  const Value length = scalar_extent(at, tokens, 1);
  const Value total = scalar_extent(at, mask, 1);
  return {length, total, at.node("Sub", {total, length})};
}

TokenSpan placed_span(const Module& at, const Value& tokens, const Value& cache, const Value& places) {
  return {scalar_extent(at, tokens, 1), scalar_extent(at, cache, 2), std::nullopt, places};
}

TokenPositions token_positions(const Module& at, const TokenSpan& span) {
  GraphBuilder& graph = at.graph();
  const Value keys = at.node("Range", {graph.integer(0), span.total, graph.integer(1)});
  if (span.places) return {*span.places, keys};
  if (!span.past) return {keys, keys};
  return {at.node("Range", {*span.past, span.total, graph.integer(1)}), keys};
}

Value running_positions(const Module& at, const TokenSpan& span) {
  GraphBuilder& graph = at.graph();
  if (span.places) return at.node("Unsqueeze", {*span.places, graph.integers({0})});
  const Value range = at.node("Range", {span.past.value_or(graph.integer(0)), span.total, graph.integer(1)});
  return at.node("Unsqueeze", {range, graph.integers({0})});
}

Value masked_positions(const Module& at, const TokenSpan& span, const Value& mask, std::int64_t first) {
  GraphBuilder& graph = at.graph();
  const Value ones = cast(at, mask, DType::kInt64);
  const Value counted = at.node("Mul", {at.node("CumSum", {ones, graph.integer(1)}), ones});
  Value positions = first == 1 ? counted : at.node("Add", {counted, graph.integer(first - 1)});
  if (span.places) return at.node("Gather", {positions, *span.places}, {{"axis", std::int64_t{1}}});
  if (!span.past) return positions;
  return at.node("Slice", {positions, at.node("Unsqueeze", {*span.past, graph.integers({0})}),
                           graph.integers({INT64_MAX}), graph.integers({1})});
}

Value positions_after_padding(const Module& at, const Value& ids, std::int64_t padding,
                              const std::optional<Value>& past) {
  GraphBuilder& graph = at.graph();
  const Value is_padding = at.node("Equal", {cast(at, ids, DType::kInt64), graph.integer(padding)}, {}, DType::kBool);
  const Value kept = cast(at, at.node("Not", {is_padding}), DType::kInt64);
  Value counted = at.node("CumSum", {kept, graph.integer(1)});
  if (past) counted = add(at, counted, *past);
  return add(at, multiply(at, counted, kept), graph.integer(padding));
}

Rotary rotary(const Module& at, const RopeSpec& spec, const Value& positions) {
  GraphBuilder& graph = at.graph();
  const Value frequencies = frequencies_of(at, spec, positions);
  const Value column = at.node("Unsqueeze", {cast(at, positions, DType::kFloat32), graph.integers({2})});
  const Value angles = at.node("Unsqueeze", {at.node("Mul", {column, frequencies}), graph.integers({1})});
  const auto scaled = [&](const char* function) {
    const Value wave = at.node(function, {angles});
    return spec.attention_factor == 1.0F ? wave : at.node("Mul", {wave, graph.number(spec.attention_factor)});
  };
  const Value cosine = scaled("Cos");
  return {cosine, scaled("Sin"), spec.width, spec.interleaved};
}

Value rotate(const Module& at, const Value& heads, const Rotary& rotary, std::int64_t head_width) {
  GraphBuilder& graph = at.graph();
  const auto apply_rope = [&](const Value& part) {
    return at.node("Add",
                   {at.node("Mul", {part, rotary.cosine}), at.node("Mul", {partners(at, part, rotary), rotary.sine})});
  };
  if (rotary.width == head_width) return apply_rope(heads);
  const std::vector<Value> parts =
      graph.nodes(at.path(), "Split", {heads, graph.integers({rotary.width, head_width - rotary.width})}, 2,
                  {{"axis", std::int64_t{-1}}});
  return at.node("Concat", {apply_rope(parts[0]), parts[1]}, {{"axis", std::int64_t{-1}}});
}

}  // namespace assay::zoo
