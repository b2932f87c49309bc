// SPDX-License-Identifier: Apache-2.0
// transformers' modeling_segformer.py: a pyramid of transformer stages, and an MLP over all of them that segments.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/zoo/layers/attention.hpp"
#include "models/zoo/layers/convolutions.hpp"
#include "models/zoo/layers/outputs.hpp"
#include "models/zoo/layers/tensors.hpp"
#include "models/zoo/vision/backbones.hpp"
#include "models/zoo/vision/vision_skeletons.hpp"

namespace assay::zoo {
namespace {

constexpr float kSegFormerEpsilon = 1e-5F;  ///< torch.nn.LayerNorm's; transformers does not use layer_norm_eps here

struct Stage {
  std::int64_t depth = 0, width = 0, patch = 0, stride = 0, heads = 0, reduction = 0, widening = 0;
};

Result<std::vector<Stage>> read_stages(const Config& config) {
  const auto count = static_cast<std::size_t>(config.integer("num_encoder_blocks"));
  std::vector<Stage> stages(count);
  const auto read = [&](const char* key, std::int64_t Stage::*member) -> Status {
    const std::vector<std::int64_t> values = config.integers(key);
    if (values.size() != count) {
      return unsupported("num_encoder_blocks", std::to_string(count),
                         fmt::format("{} has {} stages", key, values.size()));
    }
    for (std::size_t i = 0; i < count; ++i) stages[i].*member = values[i];
    return {};
  };
  ASSAY_CHECK_OK(read("depths", &Stage::depth));
  ASSAY_CHECK_OK(read("hidden_sizes", &Stage::width));
  ASSAY_CHECK_OK(read("patch_sizes", &Stage::patch));
  ASSAY_CHECK_OK(read("strides", &Stage::stride));
  ASSAY_CHECK_OK(read("num_attention_heads", &Stage::heads));
  ASSAY_CHECK_OK(read("sr_ratios", &Stage::reduction));
  ASSAY_CHECK_OK(read("mlp_ratios", &Stage::widening));
  return stages;
}

Value to_tokens(const Module& at, const FeatureMap& map) {
  return transpose(at, reshape(at, map.value, {0, map.channels, map.height * map.width}), {0, 2, 1});
}

Value to_image(const Module& at, const Value& tokens, std::int64_t channels, std::int64_t height, std::int64_t width) {
  return reshape(at, transpose(at, tokens, {0, 2, 1}), {0, channels, height, width});
}

// Keys and values come from an image `reduction` times smaller.
Result<Value> attend(const Module& attention, const Value& input, const Stage& stage, const FeatureMap& map) {
  const Module self = attention / "self";
  if (stage.width % stage.heads != 0) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("hidden_sizes has {}, which is not a multiple of {} heads", stage.width, stage.heads));
  }
  const Heads heads{stage.heads, stage.width / stage.heads};
  const Width square{stage.width, stage.width};
  Value memory = input;
  if (stage.reduction > 1) {
    const FeatureMap small{{}, stage.width, map.height / stage.reduction, map.width / stage.reduction};
    if (small.height < 1 || small.width < 1) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("sr_ratios has {}, a stage has {} x {} tokens", stage.reduction, map.height, map.width));
    }
    const Value image = to_image(self, input, stage.width, map.height, map.width);
    FeatureMap reduced = small;
    reduced.value = convolution(
        self / "sr", image,
        {stage.width, stage.width, stage.reduction, stage.reduction, stage.reduction, stage.reduction, 0, true});
    memory = layer_norm(self / "layer_norm", to_tokens(self, reduced), stage.width, kSegFormerEpsilon);
  }
  const Value mixed =
      scaled_dot_product(self, linear(self / "query", input, square), linear(self / "key", memory, square),
                         linear(self / "value", memory, square), heads, std::nullopt);
  return linear(attention / "output" / "dense", mixed, square);
}

Result<Value> segformer_layer(const Config& config, const Module& layer, const Value& input, const Stage& stage,
                              const FeatureMap& map) {
  const Value before = layer_norm(layer / "layer_norm_1", input, stage.width, kSegFormerEpsilon);
  ASSAY_TRY(const Value attention, attend(layer / "attention", before, stage, map));
  const Value attended = add(layer, attention, input);
  const Module mlp = layer / "mlp";
  const std::int64_t wide = stage.width * stage.widening;
  Value hidden = layer_norm(layer / "layer_norm_2", attended, stage.width, kSegFormerEpsilon);
  hidden = linear(mlp / "dense1", hidden, {stage.width, wide});
  FeatureMap image{to_image(mlp, hidden, wide, map.height, map.width), wide, map.height, map.width};
  image.value = grouped_convolution(mlp / "dwconv" / "dwconv", image.value, {wide, wide, 3, 3, 1, 1, 1, true}, wide);
  hidden = to_tokens(mlp, image);
  ASSAY_TRY(hidden, activation(mlp, hidden, config.text("hidden_act"), config.path("hidden_act")));
  return add(layer, linear(mlp / "dense2", hidden, {wide, stage.width}), attended);
}

Result<std::vector<FeatureMap>> encode_segformer(BuildContext& context, const Module& base) {
  const Config& config = context.config;
  ASSAY_TRY(const std::vector<Stage> stages, read_stages(config));
  ASSAY_TRY(FeatureMap map, take_image(context, config.integer("num_channels")));
  const Module encoder = base / "encoder";
  std::vector<FeatureMap> maps;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const Stage& stage = stages[i];
    const Module patches = encoder / fmt::format("patch_embeddings.{}", i);
    const std::int64_t padding = stage.patch / 2;
    map.value =
        convolution(patches / "proj", map.value,
                    {map.channels, stage.width, stage.patch, stage.patch, stage.stride, stage.stride, padding, true});
    const auto extent = [&](std::int64_t side) { return (side + 2 * padding - stage.patch) / stage.stride + 1; };
    map = {map.value, stage.width, extent(map.height), extent(map.width)};
    Value tokens = layer_norm(patches / "layer_norm", to_tokens(patches, map), stage.width, kSegFormerEpsilon);
    for (std::int64_t j = 0; j < stage.depth; ++j) {
      const Module layer = encoder / fmt::format("block.{}.{}", i, j);
      ASSAY_TRY(tokens, segformer_layer(config, layer, tokens, stage, map));
    }
    const Module norm = encoder / fmt::format("layer_norm.{}", i);
    tokens = layer_norm(norm, tokens, stage.width, kSegFormerEpsilon);
    map.value = to_image(norm, tokens, stage.width, map.height, map.width);
    maps.push_back(map);
  }
  return maps;
}

// torch's bilinear interpolation along one axis, corners not aligned: two neighbours, weighted.
Value stretch(const Module& at, const Value& input, std::int64_t axis, std::int64_t from, std::int64_t to) {
  if (from == to) return input;
  const float ratio = static_cast<float>(from) / static_cast<float>(to);
  std::vector<std::int64_t> low;
  std::vector<std::int64_t> high;
  std::vector<float> to_low;
  std::vector<float> to_high;
  for (std::int64_t i = 0; i < to; ++i) {
    const float place = std::max(0.0F, (static_cast<float>(i) + 0.5F) * ratio - 0.5F);
    low.push_back(std::min(static_cast<std::int64_t>(place), from - 1));
    high.push_back(std::min(low.back() + 1, from - 1));
    to_high.push_back(place - static_cast<float>(low.back()));
    to_low.push_back(1.0F - to_high.back());
  }
  const Shape shape = axis == 2 ? Shape{to, 1} : Shape{1, to};
  const auto part = [&](const char* name, const std::vector<std::int64_t>& rows, const std::vector<float>& weights) {
    const Value taken = at.node("Gather", {input, at.graph().integers(rows)}, {{"axis", axis}});
    return multiply(at, taken, constant(at, fmt::format("{}.{}", name, axis), shape, weights));
  };
  return add(at, part("low", low, to_low), part("high", high, to_high));
}

Status segment(BuildContext& context, const std::vector<FeatureMap>& maps) {
  const Config& config = context.config;
  const Module head = context.model / "decode_head";
  const std::int64_t width = config.integer("decoder_hidden_size");
  const FeatureMap& finest = maps.front();
  std::vector<Value> all;
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const FeatureMap& map = maps[i];
    const Module at = head / fmt::format("linear_c.{}", i);
    const Value tokens = linear(at / "proj", to_tokens(at, map), {map.channels, width});
    const Value image = to_image(at, tokens, width, map.height, map.width);
    const Value taller = stretch(at / "resize", image, 2, map.height, finest.height);
    all.insert(all.begin(), stretch(at / "resize", taller, 3, map.width, finest.width));
  }
  const auto stages = static_cast<std::int64_t>(maps.size());
  Value hidden = convolution(head / "linear_fuse", concat(head, all, 1), {stages * width, width, 1, 1, 1, 1, 0, false});
  hidden = head.node("Relu", {batch_norm(head / "batch_norm", hidden, width)});
  const std::int64_t labels = config.label_count();
  context.graph().output("logits", convolution(head / "classifier", hidden, {width, labels, 1, 1, 1, 1, 0, true}),
                         {"batch", labels, finest.height, finest.width});
  return {};
}

}  // namespace

Status build_segformer(BuildContext& context) {
  const Config& config = context.config;
  const bool bare = config.bare();
  std::int64_t labels = 0;
  if (!bare) {
    ASSAY_TRY(labels, positive_label_count(config));
  }
  ASSAY_TRY(const std::vector<FeatureMap> maps, encode_segformer(context, base_module(context)));
  const FeatureMap& last = maps.back();
  if (bare) {
    context.graph().output("last_hidden_state", last.value, {"batch", last.channels, last.height, last.width});
    return {};
  }
  if (config.head() == "semantic_segmentation") return segment(context, maps);
  const Value pooled = mean(context.model, last.value, {2, 3});
  context.graph().output("logits", linear_rank2(context.model / "classifier", pooled, {last.channels, labels}),
                         {"batch", labels});
  return {};
}

}  // namespace assay::zoo
