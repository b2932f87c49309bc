// SPDX-License-Identifier: Apache-2.0
// transformers' modeling_poolformer.py.
#include <fmt/format.h>

#include "models/zoo/layers/convolutions.hpp"
#include "models/zoo/layers/outputs.hpp"
#include "models/zoo/layers/tensors.hpp"
#include "models/zoo/vision/backbones.hpp"
#include "models/zoo/vision/vision_skeletons.hpp"

namespace assay::zoo {
namespace {

constexpr float kPoolFormerEpsilon = 1e-5F;

// torch.nn.GroupNorm of one group: over the whole of an image, then weighted by channel.
Value norm_image(const Module& at, const FeatureMap& map) {
  GraphBuilder& graph = at.graph();
  const Value whole = reshape(at, map.value, {0, 1, -1});
  const Value normed = at.node("InstanceNormalization", {whole, graph.numbers({1.0F}, {1}), graph.numbers({0.0F}, {1})},
                               {{"epsilon", kPoolFormerEpsilon}});
  const Value image = reshape(at, normed, {-1, map.channels, map.height, map.width});
  const auto by_channel = [&](const char* name, Role role) {
    return reshape(at, at.parameter(name, {map.channels}, role), {1, map.channels, 1, 1});
  };
  return add(at, multiply(at, image, by_channel("weight", Role::kScale)), by_channel("bias", Role::kBias));
}

// What the mean of its neighbours adds to each place.
Value pool(const Module& at, const Value& input, std::int64_t size) {
  const Integers all{size, size};
  const std::int64_t half = size / 2;
  const Value means = at.node("AveragePool", {input},
                              {{"kernel_shape", all},
                               {"strides", Integers{1, 1}},
                               {"pads", Integers{half, half, half, half}},
                               {"count_include_pad", std::int64_t{0}}});
  return at.node("Sub", {means, input});
}

Value scaled(const Config& config, const Module& layer, const char* name, const Value& input, std::int64_t channels) {
  if (!config.flag("use_layer_scale")) return input;
  const Value scale = layer.parameter(name, {channels}, Role::kScale);
  return multiply(layer, reshape(layer, scale, {1, channels, 1, 1}), input);
}

Result<Value> poolformer_layer(const Config& config, const Module& layer, const FeatureMap& map) {
  const double ratio = config.json("mlp_ratio").get<double>();  // a float's product could fall below a whole number
  const auto wide = static_cast<std::int64_t>(static_cast<double>(map.channels) * ratio);
  if (wide < 1)
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} = {} leaves no width", config.path("mlp_ratio"), ratio));
  FeatureMap at = map;
  const Value pooled = pool(layer / "pooling", norm_image(layer / "before_norm", at), config.integer("pool_size"));
  at.value = add(layer, at.value, scaled(config, layer, "layer_scale_1", pooled, map.channels));
  const Module output = layer / "output";
  Value hidden =
      convolution(output / "conv1", norm_image(layer / "after_norm", at), {map.channels, wide, 1, 1, 1, 1, 0, true});
  ASSAY_TRY(hidden, activation(output / "act_fn", hidden, config.text("hidden_act"), config.path("hidden_act")));
  hidden = convolution(output / "conv2", hidden, {wide, map.channels, 1, 1, 1, 1, 0, true});
  return add(layer, at.value, scaled(config, layer, "layer_scale_2", hidden, map.channels));
}

// One entry of each list for each stage.
Status check_stages(const Config& config) {
  const auto stages = static_cast<std::size_t>(config.integer("num_encoder_blocks"));
  for (const char* key : {"depths", "hidden_sizes", "patch_sizes", "strides", "padding"}) {
    const std::size_t given = config.integers(key).size();
    if (given != stages)
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("{} has {} entries, num_encoder_blocks = {}: they must be as many", config.path(key),
                              given, stages));
  }
  if (config.integer("pool_size") % 2 == 0)
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} = {}: an even window does not keep the image's size",
                                                         config.path("pool_size"), config.integer("pool_size")));
  return {};
}

}  // namespace

Status build_poolformer_cnn(BuildContext& context) {
  const Config& config = context.config;
  const bool bare = config.bare();
  const Module base = base_module(context);
  ASSAY_CHECK_OK(check_stages(config));
  ASSAY_TRY(FeatureMap map, take_image(context, config.integer("num_channels")));
  const auto at = [&](const char* key, std::size_t stage) { return config.integers(key)[stage]; };
  const std::size_t stages = config.integers("depths").size();
  for (std::size_t stage = 0; stage < stages; ++stage) {
    const std::int64_t width = at("hidden_sizes", stage), patch = at("patch_sizes", stage),
                       stride = at("strides", stage), padding = at("padding", stage);
    const auto shrunk = [&](std::int64_t extent) { return (extent + 2 * padding - patch) / stride + 1; };
    if (map.height + 2 * padding < patch || map.width + 2 * padding < patch)
      return fail(ErrorCode::kInvalidArgument, fmt::format("the image is too small for {} stages", stages));
    const Module embed = base / "encoder" / fmt::format("patch_embeddings.{}", stage);
    map.value = convolution(embed / "projection", map.value,
                            {map.channels, width, patch, patch, stride, stride, padding, true});
    map = {map.value, width, shrunk(map.height), shrunk(map.width)};
    for (std::int64_t i = 0; i < at("depths", stage); ++i) {
      ASSAY_TRY(map.value, poolformer_layer(config, base / "encoder" / fmt::format("block.{}.{}", stage, i), map));
    }
  }
  GraphBuilder& graph = context.graph();
  if (bare) {
    graph.output("last_hidden_state", map.value, {"batch", map.channels, map.height, map.width});
    return {};
  }
  const Value pooled = mean(context.model, norm_image(context.model / "norm", map), {2, 3});
  give_class_logits(context, context.model / "classifier", pooled, map.channels);
  return {};
}

}  // namespace assay::zoo
