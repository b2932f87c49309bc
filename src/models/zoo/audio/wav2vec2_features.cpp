// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/audio/wav2vec2_features.hpp"

#include <fmt/format.h>

#include "models/zoo/audio/audio.hpp"
#include "models/zoo/layers/blocks.hpp"
#include "models/zoo/layers/tensors.hpp"

namespace assay::zoo {

Result<Wav2Vec2Sizes> read_wav2vec2_sizes(const Config& config) {
  Wav2Vec2Sizes sizes{config.integer("hidden_size"),
                      config.integer("intermediate_size"),
                      config.integer("num_hidden_layers"),
                      {config.integer("num_attention_heads"), 0},
                      config.number("layer_norm_eps"),
                      config.integers("conv_dim"),
                      config.integers("conv_kernel"),
                      config.integers("conv_stride"),
                      flag_of(config, "do_stable_layer_norm"),
                      config.text("feat_extract_activation"),
                      config.text("hidden_act")};
  ASSAY_TRY(sizes.heads.width, head_width(sizes.hidden, sizes.heads.count));
  if (sizes.kernels.size() != sizes.widths.size() || sizes.strides.size() != sizes.widths.size()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("conv_dim has {} entries, conv_kernel {}, conv_stride {}: they must be as many",
                            sizes.widths.size(), sizes.kernels.size(), sizes.strides.size()));
  }
  const std::int64_t groups = config.integer("num_conv_pos_embedding_groups");
  if (sizes.hidden % groups != 0) {
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("hidden_size = {} is not a multiple of num_conv_pos_embedding_groups = {}", sizes.hidden, groups));
  }
  return sizes;
}

Result<Value> extract_sound_features(BuildContext& context, const Module& base, const Value& wave,
                                     const Wav2Vec2Sizes& sizes) {
  const Config& config = context.config;
  const Module extractor = base / "feature_extractor";
  const bool every = wav2vec2_variations(config).layer_features || config.text("feat_extract_norm") == "layer";
  Value hidden = extractor.node("Unsqueeze", {wave, context.graph().integers({1})});
  std::int64_t in = 1;
  for (std::size_t i = 0; i < sizes.widths.size(); ++i) {
    const Module layer = extractor / fmt::format("conv_layers.{}", i);
    const std::int64_t out = sizes.widths[i];
    hidden = convolution_1d(layer / "conv", hidden,
                            {.in = in,
                             .out = out,
                             .kernel = sizes.kernels[i],
                             .stride = sizes.strides[i],
                             .bias = config.flag("conv_bias")});
    if (every) {
      hidden = channels_last(layer, layer_norm(layer / "layer_norm", channels_last(layer, hidden), out, kTorchEpsilon));
    } else if (i == 0) {  // a group for each channel
      const Module norm = layer / "layer_norm";
      hidden =
          norm.node("InstanceNormalization",
                    {hidden, norm.parameter("weight", {out}, Role::kScale), norm.parameter("bias", {out}, Role::kBias)},
                    {{"epsilon", kTorchEpsilon}});
    }
    ASSAY_TRY(hidden, activation(layer, hidden, sizes.feature_activation, "feat_extract_activation"));
    in = out;
  }
  return channels_last(extractor, hidden);
}

Result<ProjectedFeatures> project_sound_features(BuildContext& context, const Module& base, const Value& features,
                                                 const Wav2Vec2Sizes& sizes) {
  const Config& config = context.config;
  const std::int64_t width = sizes.widths.back();
  if (wav2vec2_variations(config).squeeze) {  // sew: no projection if the widths agree
    const Value normed = layer_norm(base / "layer_norm", features, width, sizes.epsilon);
    if (width == sizes.hidden) return ProjectedFeatures{normed, normed};
    return ProjectedFeatures{linear(base / "feature_projection", normed, {width, sizes.hidden}), normed};
  }
  const Module projection = base / "feature_projection";
  const bool normed = !config.has("feat_proj_layer_norm") || config.flag("feat_proj_layer_norm");
  const Value from = normed ? layer_norm(projection / "layer_norm", features, width, sizes.epsilon) : features;
  return ProjectedFeatures{linear(projection / "projection", from, {width, sizes.hidden}), from};
}

Result<Value> positional_convolution(BuildContext& context, const Module& encoder, const Value& input,
                                     const Wav2Vec2Sizes& sizes, std::int64_t stride) {
  const Config& config = context.config;
  const Module at = encoder / "pos_conv_embed";
  const std::int64_t groups = config.integer("num_conv_pos_embedding_groups");
  const auto shape_of = [&](std::int64_t kernel) {
    return Convolution1d{.in = sizes.hidden,
                         .out = sizes.hidden,
                         .kernel = kernel,
                         .stride = stride,
                         .groups = groups,
                         .padding_left = kernel / 2,
                         .padding_right = kernel / 2};
  };
  const auto cut = [&](const Module& place, const Value& x, std::int64_t kernel) {
    if (kernel % 2 != 0) return x;
    GraphBuilder& graph = place.graph();
    return place.node("Slice", {x, graph.integers({0}), graph.integers({-1}), graph.integers({2})});
  };
  Value hidden = input;
  if (*wav2vec2_variations(config).positions == "stack") {
    const std::int64_t layers = config.integer("num_conv_pos_embeddings");
    const std::int64_t kernel = config.integer("conv_pos_kernel_size");
    for (std::int64_t i = 0; i < layers; ++i) {
      const Module layer = at / fmt::format("layers.{}", i);
      hidden = cut(layer, convolution_1d(layer / "conv", hidden, shape_of(kernel)), kernel);
      hidden = channels_last(
          layer, plain_layer_norm(layer / "layer_norm", channels_last(layer, hidden), sizes.hidden, kTorchEpsilon));
      ASSAY_TRY(hidden, activation(layer, hidden, sizes.feature_activation, "feat_extract_activation"));
    }
    return hidden;
  }
  const std::int64_t kernel = config.integer("num_conv_pos_embeddings");
  const Module conv = at / "conv";
  if (flag_of(config, "conv_pos_batch_norm")) {  // hubert: then the weight is a plain one
    hidden = batch_norm(at / "batch_norm", hidden, sizes.hidden);
    hidden = convolution_1d(conv, hidden, shape_of(kernel));
  } else {
    const Value weight = normalised_weight(conv, {sizes.hidden, sizes.hidden / groups, kernel}, {0, 1});
    hidden = convolution_1d_with(conv, hidden, weight, shape_of(kernel));
  }
  return activation(at, cut(at, hidden, kernel), sizes.feature_activation, "feat_extract_activation");
}

}  // namespace assay::zoo
