// SPDX-License-Identifier: Apache-2.0
// transformers' modeling_resnet.py: a stem, stages of residual blocks, a mean over the image.
#include <fmt/format.h>

#include <algorithm>

#include "models/zoo/layers/blocks.hpp"
#include "models/zoo/layers/build_context.hpp"
#include "models/zoo/layers/outputs.hpp"
#include "models/zoo/vision/backbones.hpp"
#include "models/zoo/vision/vision_skeletons.hpp"

namespace assay::zoo {
namespace {

constexpr std::int64_t kBottleneckReduction = 4;

Value convolve_resnet(const Module& at, const Value& input, std::int64_t in, std::int64_t out, std::int64_t kernel,
                      std::int64_t stride) {
  const Value convolved =
      convolution(at / "convolution", input, {in, out, kernel, kernel, stride, stride, kernel / 2, false});
  return batch_norm(at / "normalization", convolved, out);
}

struct Block {
  std::int64_t in = 0, out = 0, stride = 1;
};

Result<Value> residual_block(const Config& config, const Module& at, const Value& input, Block block) {
  const Module body = at / "layer";
  const auto step = [&](int index, const Value& x, std::int64_t in, std::int64_t out, std::int64_t kernel,
                        std::int64_t stride) {
    return convolve_resnet(body / std::to_string(index), x, in, out, kernel, stride);
  };
  // Between the convolutions it is always relu; hidden_act only follows the sum.
  const auto relu = [&](int index, const Value& x) { return (body / std::to_string(index)).node("Relu", {x}); };
  Value hidden;
  if (config.text("layer_type") == "basic") {
    hidden = relu(0, step(0, input, block.in, block.out, 3, block.stride));
    hidden = step(1, hidden, block.out, block.out, 3, 1);
  } else {
    const std::int64_t narrow = block.out / kBottleneckReduction;
    const bool early = config.flag("downsample_in_bottleneck");
    hidden = relu(0, step(0, input, block.in, narrow, 1, early ? block.stride : 1));
    hidden = relu(1, step(1, hidden, narrow, narrow, 3, early ? 1 : block.stride));
    hidden = step(2, hidden, narrow, block.out, 1, 1);
  }
  const bool projected = block.in != block.out || block.stride != 1;
  const Value shortcut =
      projected ? convolve_resnet(at / "shortcut", input, block.in, block.out, 1, block.stride) : input;
  return activation(at, at.node("Add", {hidden, shortcut}), config.text("hidden_act"), config.path("hidden_act"));
}

std::int64_t halved(std::int64_t extent) { return (extent - 1) / 2 + 1; }  // stride 2 with "same" padding

}  // namespace

Result<std::vector<FeatureMap>> resnet_features(const Module& base, const Config& config, const FeatureMap& pixels) {
  const Integers widths = config.integers("hidden_sizes");
  const Integers depths = config.integers("depths");
  if (widths.size() != depths.size()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} has {} stages, {} has {}: they must be as many", config.path("hidden_sizes"),
                            widths.size(), config.path("depths"), depths.size()));
  }
  const std::int64_t narrowest = *std::min_element(widths.begin(), widths.end());
  if (config.text("layer_type") == "bottleneck" && narrowest < kBottleneckReduction) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} has {}: a bottleneck needs at least {}",
                                                         config.path("hidden_sizes"), narrowest, kBottleneckReduction));
  }
  const std::int64_t stem_width = config.integer("embedding_size");
  const Module stem = base / "embedder";
  Value hidden = convolve_resnet(stem / "embedder", pixels.value, pixels.channels, stem_width, 7, 2);
  ASSAY_TRY(hidden, activation(stem / "embedder", hidden, config.text("hidden_act"), config.path("hidden_act")));
  hidden = (stem / "pooler")
               .node("MaxPool", {hidden},
                     {{"kernel_shape", Integers{3, 3}}, {"strides", Integers{2, 2}}, {"pads", Integers(4, 1)}});
  FeatureMap map{hidden, stem_width, halved(halved(pixels.height)), halved(halved(pixels.width))};

  std::vector<FeatureMap> maps;
  for (std::size_t stage = 0; stage < widths.size(); ++stage) {
    const std::int64_t stride = stage > 0 || config.flag("downsample_in_first_stage") ? 2 : 1;
    for (std::int64_t i = 0; i < depths[stage]; ++i) {
      const Module at = base / "encoder" / fmt::format("stages.{}", stage) / fmt::format("layers.{}", i);
      ASSAY_TRY(map.value, residual_block(config, at, map.value, {map.channels, widths[stage], i == 0 ? stride : 1}));
      map.channels = widths[stage];
    }
    if (stride == 2) {
      map.height = halved(map.height);
      map.width = halved(map.width);
    }
    maps.push_back(map);
  }
  return maps;
}

Status build_resnet_cnn(BuildContext& context) {
  const Config& config = context.config;
  GraphBuilder& graph = context.graph();
  const bool bare = config.bare();
  const Module base = base_module(context);
  const std::int64_t channels = config.integer("num_channels");
  ASSAY_TRY(const FeatureMap pixels, take_image(context, channels));
  ASSAY_TRY(const std::vector<FeatureMap> maps, resnet_features(base, config, pixels));
  const auto& [hidden, in, height, width] = maps.back();

  const Value pooled = (base / "pooler").node("GlobalAveragePool", {hidden});
  if (bare) {
    graph.output("last_hidden_state", hidden, {"batch", in, height, width});
    graph.output("pooler_output", pooled, {"batch", in, std::int64_t{1}, std::int64_t{1}});
    return {};
  }
  const Module classifier = context.model / "classifier";
  const Value flat = (classifier / "0").node("Flatten", {pooled});
  give_class_logits(context, classifier / "1", flat, in);
  return {};
}

}  // namespace assay::zoo
