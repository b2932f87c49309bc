// SPDX-License-Identifier: Apache-2.0
// transformers' modeling_convnext.py and modeling_convnextv2.py.
#include <fmt/format.h>

#include "models/zoo/layers/convolutions.hpp"
#include "models/zoo/layers/outputs.hpp"
#include "models/zoo/layers/tensors.hpp"
#include "models/zoo/vision/backbones.hpp"
#include "models/zoo/vision/vision_skeletons.hpp"

namespace assay::zoo {
namespace {

constexpr float kConvNextEpsilon = 1e-6F;
constexpr std::int64_t kWiden = 4;

Value norm_channels(const Module& at, const Value& image, std::int64_t channels) {
  const Value last = transpose(at, image, {0, 2, 3, 1});
  return transpose(at, layer_norm(at, last, channels, kConvNextEpsilon), {0, 3, 1, 2});
}

// Global response normalisation over the image. Shape: [B, H, W, width].
Value respond(const Module& at, const Value& input, std::int64_t width) {
  GraphBuilder& graph = at.graph();
  const Value strength =
      at.node("ReduceL2", {input}, {{"axes", std::vector<std::int64_t>{1, 2}}, {"keepdims", std::int64_t{1}}});
  const Value usual = add(at, mean(at, strength, {-1}, true), graph.number(1e-6F));
  const Value scaled = multiply(at, input, at.node("Div", {strength, usual}));
  const Value weighted = multiply(at, at.parameter("weight", {1, 1, 1, width}, Role::kScale), scaled);
  return add(at, add(at, weighted, at.parameter("bias", {1, 1, 1, width}, Role::kBias)), input);
}

Result<Value> convnext_layer(const Config& config, const Module& layer, const Value& input, std::int64_t channels,
                             bool responds) {
  Value hidden = grouped_convolution(layer / "dwconv", input, {channels, channels, 7, 7, 1, 1, 3, true}, channels);
  hidden = transpose(layer, hidden, {0, 2, 3, 1});
  hidden = layer_norm(layer / "layernorm", hidden, channels, kConvNextEpsilon);
  hidden = linear(layer / "pwconv1", hidden, {channels, kWiden * channels});
  ASSAY_TRY(hidden, activation(layer / "act", hidden, config.text("hidden_act"), config.path("hidden_act")));
  if (responds) hidden = respond(layer / "grn", hidden, kWiden * channels);
  hidden = linear(layer / "pwconv2", hidden, {kWiden * channels, channels});
  if (!responds && config.number("layer_scale_init_value") > 0.0F) {
    hidden = multiply(layer, layer.parameter("layer_scale_parameter", {channels}, Role::kScale), hidden);
  }
  return add(layer, input, transpose(layer, hidden, {0, 3, 1, 2}));
}

}  // namespace

Status build_convnext_cnn(BuildContext& context) {
  const Config& config = context.config;
  const bool responds = config.architecture().varied<ConvNextVariations>().response_norm;
  const bool bare = config.bare();
  const Module base = base_module(context);
  const std::vector<std::int64_t> widths = config.integers("hidden_sizes");
  const std::vector<std::int64_t> depths = config.integers("depths");
  if (widths.size() != depths.size() || static_cast<std::int64_t>(widths.size()) != config.integer("num_stages")) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("hidden_sizes has {} stages, depths has {}, num_stages = {}: they must be as many",
                            widths.size(), depths.size(), config.integer("num_stages")));
  }
  const auto [patch_height, patch_width] = config.pair("patch_size");
  ASSAY_TRY(FeatureMap map, take_image(context, config.integer("num_channels")));
  if (map.height < patch_height || map.width < patch_width) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("patch_size = {} x {} is larger than the image", patch_height, patch_width));
  }
  const Module stem = base / "embeddings";
  map.value = convolution(stem / "patch_embeddings", map.value,
                          {map.channels, widths[0], patch_height, patch_width, patch_height, patch_width, 0, true});
  map.value = norm_channels(stem / "layernorm", map.value, widths[0]);
  map = {map.value, widths[0], map.height / patch_height, map.width / patch_width};

  for (std::size_t stage = 0; stage < widths.size(); ++stage) {
    const Module at = base / "encoder" / fmt::format("stages.{}", stage);
    if (stage > 0) {
      map.value = norm_channels(at / "downsampling_layer.0", map.value, map.channels);
      map.value =
          convolution(at / "downsampling_layer.1", map.value, {map.channels, widths[stage], 2, 2, 2, 2, 0, true});
      map = {map.value, widths[stage], map.height / 2, map.width / 2};
      if (map.height < 1 || map.width < 1) {
        return fail(ErrorCode::kInvalidArgument, fmt::format("the image is too small for {} stages", widths.size()));
      }
    }
    for (std::int64_t i = 0; i < depths[stage]; ++i) {
      ASSAY_TRY(map.value, convnext_layer(config, at / fmt::format("layers.{}", i), map.value, map.channels, responds));
    }
  }

  const Value pooled =
      layer_norm(base / "layernorm", mean(base, map.value, {2, 3}), map.channels, config.number("layer_norm_eps"));
  GraphBuilder& graph = context.graph();
  if (bare) {
    graph.output("last_hidden_state", map.value, {"batch", map.channels, map.height, map.width});
    graph.output("pooler_output", pooled, {"batch", map.channels});
    return {};
  }
  give_class_logits(context, context.model / "classifier", pooled, map.channels);
  return {};
}

}  // namespace assay::zoo
