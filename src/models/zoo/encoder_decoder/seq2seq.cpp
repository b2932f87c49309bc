// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/encoder_decoder/seq2seq.hpp"

#include <fmt/format.h>

#include "core/base/text.hpp"
#include "models/zoo/layers/attention.hpp"
#include "models/zoo/layers/tensors.hpp"

namespace assay::zoo {

SeqStates::SeqStates(BuildContext& context, std::int64_t layers, Heads heads, const std::string& tokens,
                     const std::optional<Extent>& encoder_tokens)
    : states_(&context.states) {
  states_->tokens_along(tokens);
  const bool fixed = states_->kv_cache() == KvCache::kStatic;
  if (fixed) states_->take_kv_cache();
  const auto cache = [&](std::int64_t layer, const char* middle, const Extent& extent) {
    return take_attention_cache(*states_, layer, heads.count, heads.width, heads.width, middle, extent);
  };
  for (std::int64_t i = 0; i < layers; ++i) {
    Layer layer{cache(i, encoder_tokens ? ".decoder" : "", fixed ? "cache" : "past"), std::nullopt};
    if (encoder_tokens) layer.encoder = cache(i, ".encoder", *encoder_tokens);
    layers_.push_back(std::move(layer));
  }
  if (fixed && states_->decodes()) places_ = context.graph().input("cache_position", DType::kInt64, {tokens});
}

std::optional<Value> SeqStates::past_length(const Module& at) const {
  if (layers_.empty() || !layers_.front().own.key) return std::nullopt;
  if (places_) return slice(at, *places_, 0, 0, 1);
  return extent(at, *layers_.front().own.key, 2);
}

Value SeqStates::keys_length(const Module& at, const Value& added, const Value& past) const {
  return places_ ? extent(at, *layers_.front().own.key, 2) : at.node("Add", {added, past});
}

std::string SeqStates::mask_axis(const std::string& tokens) const {
  if (layers_.empty() || !layers_.front().own.key) return tokens;
  return places_ ? "cache" : "past + " + tokens;
}

Value SeqStates::encoder_length(const Module& at) const { return extent(at, *layers_.front().encoder->key, 2); }

KeyValue SeqStates::own(const Module& at, std::int64_t layer, const KeyValue& now) {
  const AttentionCache& cache = layers_[static_cast<std::size_t>(layer)].own;
  const auto joined = [&](const Module& place, const std::optional<Value>& before, const Value& added) {
    return places_ ? write_at(place, *before, added, *places_) : append(place, before, added);
  };
  KeyValue all{joined(at / "k_proj", cache.key, now.key), joined(at / "v_proj", cache.value, now.value)};
  states_->give(cache.key_output, all.key);
  states_->give(cache.value_output, all.value);
  return all;
}

KeyValue SeqStates::encoder(std::int64_t layer, const std::function<KeyValue()>& make) {
  const AttentionCache& cache = *layers_[static_cast<std::size_t>(layer)].encoder;
  if (cache.key) return {*cache.key, *cache.value};
  KeyValue made = make();
  states_->give(cache.key_output, made.key);
  states_->give(cache.value_output, made.value);
  return made;
}

Status refuse_parts(const BuildContext& context, std::int64_t layers) {
  const bool generates = is_any(context.config.head(), {"generation", "causal_lm", "none"});
  if (!context.states.gives() || (generates && layers > 0)) return {};
  return no_part(context.states.part(), fmt::format("{} does not generate tokens", context.config.model_class()));
}

Value rows_of_logits(const BuildContext& context, const Module& at, const Value& input) {
  return context.last_logits_only ? slice(at, input, 1, -1, INT64_MAX) : input;
}

Result<DecoderPlaces> decoder_places(BuildContext& context, const Module& at, const Value& tokens,
                                     const SeqStates& states, const std::optional<Value>& past,
                                     const std::string& mask_name, const std::string& axis,
                                     const std::string& mask_rows) {
  DecoderPlaces places;
  const Value length = extent(at, tokens, 1);
  places.queries = count_up(at, length);
  places.keys = places.queries;
  if (past) {
    places.queries = at.node("Add", {places.queries, *past});
    places.keys = count_up(at, states.keys_length(at, length, *past));
  }
  std::optional<Value> kept;
  if (context.inputs.wants(mask_name)) {
    ASSAY_TRY(kept, context.inputs.take(mask_name, kMaskTypes, {mask_rows, states.mask_axis(axis)}));
    if (mask_rows != "batch") {
      GraphBuilder& graph = at.graph();
      kept = at.node("Slice", {*kept, graph.integers({0}), extent(at, tokens, 0), graph.integers({0})});
    }
  }
  places.bias = additive(at, causal_mask(at, places.queries, places.keys, kept));
  return places;
}

tl::unexpected<Error> missing_input(const std::string& name) {
  return fail(ErrorCode::kUnsupported, "unsupported: inputs without " + name);
}

Value shift_right(const Module& at, const Value& ids, std::int64_t start, std::int64_t padding) {
  GraphBuilder& graph = at.graph();
  const auto column = [&](std::int64_t from, std::int64_t to) {
    return at.node("Slice", {ids, graph.integers({from}), graph.integers({to}), graph.integers({1})});
  };
  const auto like_ids = [&](std::int64_t value) {
    Value constant = graph.integer(value);
    if (ids.dtype == DType::kInt64) return constant;
    return at.node("Cast", {constant}, {{"to", static_cast<std::int64_t>(ids.dtype)}}, ids.dtype);
  };
  // The first column gives the shape [B, 1].
  const Value first = at.node("Add", {at.node("Mul", {column(0, 1), like_ids(0)}), like_ids(start)});
  const Value shifted = at.node("Concat", {first, column(0, -1)}, {{"axis", std::int64_t{1}}});
  const Value ignored = at.node("Equal", {shifted, like_ids(-100)}, {}, DType::kBool);
  return at.node("Where", {ignored, like_ids(padding), shifted}, {}, ids.dtype);
}

Value last_where(const Module& at, const Value& hidden, const Value& ids, std::int64_t token) {
  GraphBuilder& graph = at.graph();
  const Value wide = ids.dtype == DType::kInt64
                         ? ids
                         : at.node("Cast", {ids}, {{"to", static_cast<std::int64_t>(DType::kInt64)}}, DType::kInt64);
  const Value places = count_up(at, extent(at, ids, 1));
  const Value here = at.node("Equal", {wide, graph.integer(token)}, {}, DType::kBool);
  const Value marked = at.node("Where", {here, places, graph.integer(-1)}, {}, DType::kInt64);
  const Value last = at.node("ReduceMax", {marked}, {{"axes", Integers{1}}, {"keepdims", std::int64_t{1}}});
  const Value chosen = at.node("Cast", {at.node("Equal", {places, last}, {}, DType::kBool)},
                               {{"to", static_cast<std::int64_t>(DType::kFloat32)}}, DType::kFloat32);
  const Value row = at.node("MatMul", {at.node("Unsqueeze", {chosen, graph.integers({1})}), hidden});
  return at.node("Squeeze", {row, graph.integers({1})});
}

Value classification_head(const Module& at, const Value& pooled, std::int64_t width, std::int64_t labels) {
  const Value inner = at.node("Tanh", {linear_rank2(at / "dense", pooled, {width, width})});
  return linear_rank2(at / "out_proj", inner, {width, labels});
}

}  // namespace assay::zoo
