// SPDX-License-Identifier: Apache-2.0
// transformers' modeling_wav2vec2.py and its relatives: raw audio through strided convolutions, a convolution for
// positions, a transformer encoder, and heads over time.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/zoo/audio/audio.hpp"
#include "models/zoo/audio/audio_skeletons.hpp"
#include "models/zoo/audio/wav2vec2_features.hpp"
#include "models/zoo/layers/attention.hpp"
#include "models/zoo/layers/blocks.hpp"
#include "models/zoo/layers/build_context.hpp"
#include "models/zoo/layers/distance.hpp"
#include "models/zoo/layers/input_types.hpp"
#include "models/zoo/layers/outputs.hpp"
#include "models/zoo/layers/tensors.hpp"

namespace assay::zoo {
namespace {

// wavlm: a bias by distance, shared by the layers, times a gate that each layer computes from what it attends with.
class RelativeBias {
 public:
  RelativeBias(const Config& config, const Wav2Vec2Sizes& sizes) : config_(&config), sizes_(&sizes) {}

  Result<Value> gated(const Module& attention, const Value& from) {
    GraphBuilder& graph = attention.graph();
    if (!shared_) {
      const std::int64_t buckets = config_->integer("num_buckets");
      const std::int64_t farthest = config_->integer("max_bucket_distance");
      if (farthest <= buckets / 4) return unsupported("max_bucket_distance", std::to_string(farthest));
      const Value places = count_up(attention, extent(attention, from, 1));
      shared_ = distance_bias(attention / "rel_attn_embed", {buckets, farthest, true, true}, sizes_->heads.count,
                              places, places);
    }
    const Value split = split_heads(attention, from, sizes_->heads);
    const Value eight = linear(attention / "gru_rel_pos_linear", split, {sizes_->heads.width, 8});
    const Value pairs = attention.node(
        "ReduceSum", {attention.node("Reshape", {eight, graph.integers({0, 0, 0, 2, 4})}), graph.integers({-1})},
        {{"keepdims", std::int64_t{0}}});
    const std::vector<Value> gates =
        attention.nodes("Split", {attention.node("Sigmoid", {pairs})}, 2, {{"axis", std::int64_t{-1}}});
    const Value constant = attention.parameter("gru_rel_pos_const", {1, sizes_->heads.count, 1, 1}, Role::kScale);
    const Value inner = attention.node("Sub", {attention.node("Mul", {gates[1], constant}), graph.number(1.0F)});
    const Value gate = attention.node("Add", {attention.node("Mul", {gates[0], inner}), graph.number(2.0F)});
    return attention.node("Mul", {gate, *shared_});
  }

 private:
  const Config* config_;
  const Wav2Vec2Sizes* sizes_;
  std::optional<Value> shared_;
};

Result<Value> attend_to_all(const Module& at, const Value& from, const Wav2Vec2Sizes& sizes,
                            const std::optional<Value>& mask, std::optional<RelativeBias>& relative) {
  const Width square{sizes.hidden, sizes.hidden};
  std::vector<Value> biases;
  if (relative) {
    ASSAY_TRY(const Value bias, relative->gated(at, from));
    biases.push_back(bias);
  }
  if (mask) biases.push_back(*mask);
  const KeyValue states{split_heads(at / "k_proj", linear(at / "k_proj", from, square), sizes.heads),
                        split_heads(at / "v_proj", linear(at / "v_proj", from, square), sizes.heads)};
  const auto divisor = static_cast<float>(std::sqrt(static_cast<double>(sizes.heads.width)));
  const Value attended = attend_merged(at, linear(at / "q_proj", from, square), states,
                                       {.heads = sizes.heads, .divisor = divisor, .biases = biases});
  return linear(at / "out_proj", attended, square);
}

Result<Value> feed_forward(const Module& at, const Value& from, const Wav2Vec2Sizes& sizes) {
  const Value wide = linear(at / "intermediate_dense", from, {sizes.hidden, sizes.inner});
  ASSAY_TRY(const Value active, activation(at / "intermediate_act_fn", wide, sizes.activation, "hidden_act"));
  return linear(at / "output_dense", active, {sizes.inner, sizes.hidden});
}

Result<Value> encoder_layer(const Config& config, const Module& layer, const Value& input, const Wav2Vec2Sizes& sizes,
                            const std::optional<Value>& mask, std::optional<RelativeBias>& relative) {
  const auto norm = [&](const char* name, const Value& x) {
    return layer_norm(layer / name, x, sizes.hidden, sizes.epsilon);
  };
  if (!sizes.stable) {
    ASSAY_TRY(const Value attended, attend_to_all(layer / "attention", input, sizes, mask, relative));
    const Value hidden = norm("layer_norm", layer.node("Add", {input, attended}));
    ASSAY_TRY(const Value fed, feed_forward(layer / "feed_forward", hidden, sizes));
    return norm("final_layer_norm", layer.node("Add", {hidden, fed}));
  }
  ASSAY_TRY(const Value attended, attend_to_all(layer / "attention", norm("layer_norm", input), sizes, mask, relative));
  Value hidden = layer.node("Add", {input, attended});
  ASSAY_TRY(const Value fed, feed_forward(layer / "feed_forward", norm("final_layer_norm", hidden), sizes));
  hidden = layer.node("Add", {hidden, fed});
  if (!config.has("adapter_attn_dim")) return hidden;
  if (const auto width = config.optional_integer("adapter_attn_dim")) {
    const Module adapter = layer / "adapter_layer";
    Value small = layer_norm(adapter / "norm", hidden, sizes.hidden, kTorchEpsilon);
    small = (adapter / "act_fn").node("Relu", {linear(adapter / "linear_1", small, {sizes.hidden, *width})});
    hidden = layer.node("Add", {hidden, linear(adapter / "linear_2", small, {*width, sizes.hidden})});
  }
  return hidden;
}

// sew: `encoder` at 1 / squeeze_factor of the rate, by pooling and by the stride of the positions' convolution.
Result<Value> squeeze(BuildContext& context, const Module& encoder, const Value& hidden, const Wav2Vec2Sizes& sizes) {
  const std::int64_t factor = context.config.integer("squeeze_factor");
  GraphBuilder& graph = context.graph();
  const Value channels_first = channels_last(encoder, hidden);
  ASSAY_TRY(const Value places, positional_convolution(context, encoder, channels_first, sizes, factor));
  const Value pooled =
      (encoder / "pool")
          .node("AveragePool", {channels_first}, {{"kernel_shape", Integers{factor}}, {"strides", Integers{factor}}});
  const Value shorter = encoder.node("Min", {extent(encoder, places, 2), extent(encoder, pooled, 2)});
  const auto cut = [&](const Value& x) {
    return encoder.node("Slice", {x, graph.integers({0}), shorter, graph.integers({2})});
  };
  return channels_last(encoder, encoder.node("Add", {cut(pooled), cut(places)}));
}

// Back to the rate of `like` [B, T, …], with zeros if the pooling left a rest.
Result<Value> upsample(BuildContext& context, const Module& encoder, const Value& hidden, const Value& like,
                       const Wav2Vec2Sizes& sizes) {
  const std::int64_t factor = context.config.integer("squeeze_factor");
  GraphBuilder& graph = context.graph();
  const Module at = encoder / "upsample";
  const Value wide = linear(at / "projection", hidden, {sizes.hidden, sizes.hidden * factor});
  ASSAY_TRY(const Value active, activation(at, wide, sizes.feature_activation, "feat_extract_activation"));
  const Value steps = at.node("Reshape", {active, graph.integers({0, -1, sizes.hidden})});
  const Value missing = at.node("Sub", {extent(at, like, 1), extent(at, steps, 1)});
  const Value none = at.node("Max", {missing, graph.integers({0})});
  const Value pads =
      at.node("Concat", {graph.integers({0, 0, 0, 0}), none, graph.integers({0})}, {{"axis", std::int64_t{0}}});
  return at.node("Pad", {steps, pads});
}

struct EncodedSound {
  Value hidden, features;
  std::optional<Value> steps;       ///< bool [B, T]: frames that the mask leaves
  std::vector<Value> layer_inputs;  ///< input of each layer
};

Result<EncodedSound> encode_wav2vec2(BuildContext& context, const Module& base, const Wav2Vec2Sizes& sizes) {
  const Config& config = context.config;
  GraphBuilder& graph = context.graph();
  ASSAY_TRY(const Value wave, context.inputs.take("input_values", {DType::kFloat32}, {"batch", "sequence"}));
  ASSAY_TRY(const Value extracted, extract_sound_features(context, base, wave, sizes));
  ASSAY_TRY(const ProjectedFeatures projected, project_sound_features(context, base, extracted, sizes));
  EncodedSound encoded;
  encoded.features = projected.features;
  Value hidden = projected.hidden;
  const Module encoder = base / "encoder";
  const bool squeezed = wav2vec2_variations(config).squeeze;
  std::optional<Value> mask;
  if (context.inputs.wants("attention_mask")) {
    ASSAY_TRY(const Value given, context.inputs.take("attention_mask", kMaskTypes, {"batch", "sequence"}));
    encoded.steps = remaining_steps(base, given, extent(base, hidden, 1), sizes.kernels, sizes.strides);
    hidden = encoder.node(
        "Where", {encoder.node("Unsqueeze", {*encoded.steps, graph.integers({2})}), hidden, graph.number(0.0F)}, {},
        DType::kFloat32);
    Value kept = *encoded.steps;
    if (squeezed) {
      const std::int64_t factor = config.integer("squeeze_factor");
      Value numbers =
          encoder.node("Cast", {kept}, {{"to", static_cast<std::int64_t>(DType::kFloat32)}}, DType::kFloat32);
      numbers = encoder.node("Unsqueeze", {numbers, graph.integers({1})});
      numbers = encoder.node("MaxPool", {numbers}, {{"kernel_shape", Integers{factor}}, {"strides", Integers{factor}}});
      kept = encoder.node("Squeeze", {numbers, graph.integers({1})});
    }
    mask = additive_mask(encoder, kept);
  }
  const Value full_rate = hidden;
  if (squeezed) {
    ASSAY_TRY(hidden, squeeze(context, encoder, hidden, sizes));
  } else {
    ASSAY_TRY(const Value places, positional_convolution(context, encoder, channels_last(encoder, hidden), sizes, 1));
    hidden = encoder.node("Add", {hidden, channels_last(encoder, places)});
  }
  graph.declare(hidden, {"batch", "frames", sizes.hidden});
  if (!sizes.stable) hidden = layer_norm(encoder / "layer_norm", hidden, sizes.hidden, sizes.epsilon);
  std::optional<RelativeBias> relative;
  if (wav2vec2_variations(config).relative_bias) relative.emplace(config, sizes);
  for (std::int64_t i = 0; i < sizes.layers; ++i) {
    encoded.layer_inputs.push_back(hidden);
    ASSAY_TRY(hidden, encoder_layer(config, encoder / fmt::format("layers.{}", i), hidden, sizes, mask, relative));
  }
  if (sizes.stable) hidden = layer_norm(encoder / "layer_norm", hidden, sizes.hidden, sizes.epsilon);
  if (squeezed) {
    ASSAY_TRY(hidden, upsample(context, encoder, hidden, full_rate, sizes));
  }
  encoded.hidden = std::move(hidden);
  return encoded;
}

// Strided gated convolutions after the encoder.
Result<Value> adapt(BuildContext& context, const Module& base, const Value& hidden, const Wav2Vec2Sizes& sizes,
                    std::int64_t width) {
  const Config& config = context.config;
  const Module adapter = base / "adapter";
  Value x = hidden;
  if (width != sizes.hidden) {
    x = layer_norm(adapter / "proj_layer_norm", linear(adapter / "proj", x, {sizes.hidden, width}), width,
                   kTorchEpsilon);
  }
  x = channels_last(adapter, x);
  const std::int64_t layers = config.integer("num_adapter_layers");
  for (std::int64_t i = 0; i < layers; ++i) {
    const Module layer = adapter / fmt::format("layers.{}", i);
    x = convolution_1d(layer / "conv", x,
                       {.in = width,
                        .out = 2 * width,
                        .kernel = config.integer("adapter_kernel_size"),
                        .stride = config.integer("adapter_stride"),
                        .padding_left = 1,
                        .padding_right = 1});
    x = gated_linear_unit(layer, x);
  }
  return channels_last(adapter, x);
}

}  // namespace

Status build_wav2vec2_encoder(BuildContext& context) {
  const Config& config = context.config;
  ASSAY_TRY(const Wav2Vec2Sizes sizes, read_wav2vec2_sizes(config));
  const std::string& head = config.head();
  GraphBuilder& graph = context.graph();
  const Module base = base_module(context);
  context.model.parameters().unused(base.name_of("masked_spec_embed"));

  ASSAY_TRY(const EncodedSound encoded, encode_wav2vec2(context, base, sizes));
  Value hidden = encoded.hidden;
  std::int64_t width = sizes.hidden;
  if (flag_of(config, "add_adapter")) {
    if (head != "none" && head != "ctc") return unsupported("add_adapter", "true");
    width = config.optional_integer("output_hidden_size").value_or(sizes.hidden);
    ASSAY_TRY(hidden, adapt(context, base, hidden, sizes, width));
  }
  if (head == "none") {
    graph.output("last_hidden_state", hidden, {"batch", "frames", width});
    if (wav2vec2_variations(config).gives_features) {
      graph.output("extract_features", encoded.features, {"batch", "frames", sizes.widths.back()});
    }
    return {};
  }
  if (head == "ctc") {
    const std::optional<std::int64_t> vocabulary = config.optional_integer("vocab_size");
    if (!vocabulary) return unsupported("vocab_size", "null");
    graph.output("logits", linear(context.model / "lm_head", hidden, {width, *vocabulary}),
                 {"batch", "frames", *vocabulary});
    return {};
  }
  ASSAY_TRY(const std::int64_t labels, positive_label_count(config));
  if (head == "frame_classification") {
    graph.output("logits", linear(context.model / "classifier", hidden, {sizes.hidden, labels}),
                 {"batch", "frames", labels});
    return {};
  }
  const std::int64_t projected = config.integer("classifier_proj_size");
  hidden = linear(context.model / "projector", hidden, {sizes.hidden, projected});
  const Value pooled = mean_of_tokens(context.model, hidden, encoded.steps);
  graph.output("logits", linear_rank2(context.model / "classifier", pooled, {projected, labels}), {"batch", labels});
  return {};
}

}  // namespace assay::zoo
