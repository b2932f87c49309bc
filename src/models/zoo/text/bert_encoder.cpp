// SPDX-License-Identifier: Apache-2.0
// transformers' modeling_bert.py and its many relatives: layers of self-attention and a two-layer MLP, normed after
// each part (BERT) or before it (RoBERTa-PreLayerNorm).
#include <fmt/format.h>

#include "models/zoo/layers/distance.hpp"
#include "models/zoo/layers/tensors.hpp"
#include "models/zoo/text/text_encoder.hpp"
#include "models/zoo/text/text_skeletons.hpp"

namespace assay::zoo {
namespace {

// The place of layer `index`. ALBERT shares the layers of one group.
std::vector<Module> layers_at(const TextEncoder& encoder, std::int64_t index) {
  const std::string& path = encoder.variations->layer.path;
  if (!encoder.has("num_hidden_groups")) return {encoder.base.at(fmt::format("{}.{}", path, index))};
  // In floating point, as transformers does.
  const double layers_of_group =
      static_cast<double>(encoder.layers) / static_cast<double>(encoder.integer("num_hidden_groups"));
  const auto group = static_cast<std::int64_t>(static_cast<double>(index) / layers_of_group);
  std::vector<Module> inner;
  for (std::int64_t i = 0; i < encoder.integer("inner_group_num"); ++i) {
    inner.push_back(encoder.base.at(fmt::format("{}.{}.albert_layers.{}", path, group, i)));
  }
  return inner;
}

struct Layer {
  const TextEncoder& encoder;
  const TextLayer& names;
  Module at;

  [[nodiscard]] Value norm(const std::string& name, const Value& input) const {
    return layer_norm(at.at(name), input, encoder.hidden, encoder.epsilon);
  }
};

Value self_attention(const Layer& layer, const Value& input, const std::optional<Value>& bias) {
  const TextEncoder& encoder = layer.encoder;
  const Width square{encoder.hidden, encoder.hidden};
  const Value context =
      scaled_dot_product(layer.at.at(layer.names.attention), linear(layer.at.at(layer.names.query), input, square),
                         linear(layer.at.at(layer.names.key), input, square),
                         linear(layer.at.at(layer.names.value), input, square), encoder.heads, bias);
  return linear(layer.at.at(layer.names.attention_output), context, square);
}

Result<Value> feed_forward(const Layer& layer, const Value& input) {
  const TextEncoder& encoder = layer.encoder;
  const Value wide = linear(layer.at.at(layer.names.intermediate), input, {encoder.hidden, encoder.intermediate});
  ASSAY_TRY(const Value active,
            activation(layer.at.at(layer.names.activation), wide, encoder.hidden_act, encoder.key_of("hidden_act")));
  return linear(layer.at.at(layer.names.output), active, {encoder.intermediate, encoder.hidden});
}

Result<Value> norm_after(const Layer& layer, const Value& input, const std::optional<Value>& bias) {
  const Value context = self_attention(layer, input, bias);
  const Value attended =
      layer.norm(layer.names.attention_norm, layer.at.at(layer.names.attention_norm).node("Add", {context, input}));
  ASSAY_TRY(const Value narrow, feed_forward(layer, attended));
  return layer.norm(layer.names.output_norm, layer.at.at(layer.names.output_norm).node("Add", {narrow, attended}));
}

Result<Value> norm_before(const Layer& layer, const Value& input, const std::optional<Value>& bias) {
  const Value context = self_attention(layer, layer.norm(layer.names.attention_norm, input), bias);
  const Value attended = layer.at.at(layer.names.attention_output).node("Add", {context, input});
  ASSAY_TRY(const Value narrow, feed_forward(layer, layer.norm(layer.names.output_norm, attended)));
  return layer.at.at(layer.names.output).node("Add", {narrow, attended});
}

// What is added to all attention scores: the mask, and MPNet's bias by distance.
std::optional<Value> score_bias(const TextEncoder& encoder, const Value& hidden, const std::optional<Value>& mask) {
  std::optional<Value> bias;
  if (mask) bias = additive_mask(encoder.base, *mask);
  if (const std::string& name = encoder.variations->layer.distance_bias; !name.empty()) {
    const Module at = encoder.base.at(name);
    // Whatever the configuration says, the class uses the buckets of T5's encoder.
    const DistanceBuckets buckets{.count = 32,
                                  .farthest = 128,
                                  .both_directions = true,
                                  .rows = encoder.integer("relative_attention_num_buckets")};
    const Value places = count_up(at, extent(at, hidden, 1));
    const Value by_distance = distance_bias(at, buckets, encoder.heads.count, places, places);
    bias = bias ? at.node("Add", {by_distance, *bias}) : by_distance;
  }
  return bias;
}

}  // namespace

Result<Value> encode_bert(const TextEncoder& encoder, const Embedded& embedded, const std::optional<Value>& mask) {
  const bool before = encoder.variations->layer.norm_before;
  const std::optional<Value> bias = score_bias(encoder, embedded.hidden, mask);
  Value hidden = embedded.hidden;
  for (std::int64_t i = 0; i < encoder.layers; ++i) {
    for (const Module& at : layers_at(encoder, i)) {
      const Layer layer{encoder, encoder.variations->layer, at};
      ASSAY_TRY(hidden, before ? norm_before(layer, hidden, bias) : norm_after(layer, hidden, bias));
    }
  }
  if (const std::string& name = encoder.variations->layer.final_norm; !name.empty()) {
    hidden = layer_norm(encoder.base.at(name), hidden, encoder.hidden, encoder.epsilon);
  }
  return hidden;
}

Status build_bert_encoder(BuildContext& context) { return build_text_encoder(context, encode_bert); }

}  // namespace assay::zoo
