// SPDX-License-Identifier: Apache-2.0
// transformers' modeling_regnet.py.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/zoo/layers/convolutions.hpp"
#include "models/zoo/layers/outputs.hpp"
#include "models/zoo/layers/tensors.hpp"
#include "models/zoo/vision/backbones.hpp"
#include "models/zoo/vision/vision_skeletons.hpp"

namespace assay::zoo {
namespace {

struct Step {
  std::int64_t in = 0, out = 0, kernel = 1, stride = 1, groups = 1;
};

Value convolve_regnet(const Module& at, const Value& input, const Step& step) {
  const Value convolved = grouped_convolution(
      at / "convolution", input,
      {step.in, step.out, step.kernel, step.kernel, step.stride, step.stride, step.kernel / 2, false}, step.groups);
  return batch_norm(at / "normalization", convolved, step.out);
}

Value squeeze_and_excite(const Module& at, const Value& input, std::int64_t channels, std::int64_t reduced) {
  const Module attention = at / "attention";
  Value weights = (at / "pooler").node("GlobalAveragePool", {input});
  weights = convolution(attention / "0", weights, {channels, reduced, 1, 1, 1, 1, 0, true});
  weights = (attention / "1").node("Relu", {weights});
  weights = convolution(attention / "2", weights, {reduced, channels, 1, 1, 1, 1, 0, true});
  return multiply(at, input, (attention / "3").node("Sigmoid", {weights}));
}

Result<Value> regnet_layer(const Config& config, const Module& at, const Value& input, std::int64_t in,
                           std::int64_t out, std::int64_t stride) {
  const Module body = at / "layer";
  const auto act = [&](const Module& place, const Value& x) {
    return activation(place, x, config.text("hidden_act"), config.path("hidden_act"));
  };
  const std::int64_t groups = std::max<std::int64_t>(1, out / config.integer("groups_width"));
  if (out % groups != 0) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} channels are not a multiple of {} groups", out, groups));
  }
  ASSAY_TRY(Value hidden, act(body / "0", convolve_regnet(body / "0", input, {in, out, 1, 1, 1})));
  ASSAY_TRY(hidden, act(body / "1", convolve_regnet(body / "1", hidden, {out, out, 3, stride, groups})));
  const bool excites = config.text("layer_type") == "y";
  if (excites) {
    // Python rounds halves to even, as the current mode does.
    const auto reduced = static_cast<std::int64_t>(std::nearbyint(static_cast<double>(in) / 4.0));
    if (reduced < 1) return unsupported("hidden_sizes", std::to_string(in));
    hidden = squeeze_and_excite(body / "2", hidden, out, reduced);
  }
  hidden = convolve_regnet(body / (excites ? "3" : "2"), hidden, {out, out, 1, 1, 1});
  const bool projected = in != out || stride != 1;
  const Value shortcut = projected ? convolve_regnet(at / "shortcut", input, {in, out, 1, stride, 1}) : input;
  return act(at, add(at, hidden, shortcut));
}

}  // namespace

Status build_regnet_cnn(BuildContext& context) {
  const Config& config = context.config;
  const bool bare = config.bare();
  const Module base = base_module(context);
  const std::vector<std::int64_t> widths = config.integers("hidden_sizes");
  const std::vector<std::int64_t> depths = config.integers("depths");
  if (widths.size() != depths.size()) {
    return unsupported("depths", fmt::format("{} stages", depths.size()),
                       fmt::format("hidden_sizes has {}: they must be as many", widths.size()));
  }
  const auto halved = [](std::int64_t extent) { return (extent - 1) / 2 + 1; };
  ASSAY_TRY(FeatureMap map, take_image(context, config.integer("num_channels")));
  const std::int64_t stem = config.integer("embedding_size");
  const Module embedder = base / "embedder" / "embedder";
  map.value = convolve_regnet(embedder, map.value, {map.channels, stem, 3, 2, 1});
  ASSAY_TRY(map.value, activation(embedder, map.value, config.text("hidden_act"), config.path("hidden_act")));
  map = {map.value, stem, halved(map.height), halved(map.width)};
  for (std::size_t stage = 0; stage < widths.size(); ++stage) {
    const std::int64_t stride = stage > 0 || config.flag("downsample_in_first_stage") ? 2 : 1;
    for (std::int64_t i = 0; i < depths[stage]; ++i) {
      const Module at = base / "encoder" / fmt::format("stages.{}", stage) / fmt::format("layers.{}", i);
      ASSAY_TRY(map.value, regnet_layer(config, at, map.value, map.channels, widths[stage], i == 0 ? stride : 1));
      map.channels = widths[stage];
    }
    if (stride == 2) {
      map.height = halved(map.height);
      map.width = halved(map.width);
    }
  }

  GraphBuilder& graph = context.graph();
  const Value pooled = (base / "pooler").node("GlobalAveragePool", {map.value});
  if (bare) {
    graph.output("last_hidden_state", map.value, {"batch", map.channels, map.height, map.width});
    graph.output("pooler_output", pooled, {"batch", map.channels, std::int64_t{1}, std::int64_t{1}});
    return {};
  }
  const Module classifier = context.model / "classifier";
  const Value flat = (classifier / "0").node("Flatten", {pooled});
  give_class_logits(context, classifier / "1", flat, map.channels);
  return {};
}

}  // namespace assay::zoo
