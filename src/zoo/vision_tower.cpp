// SPDX-License-Identifier: Apache-2.0
#include "zoo/vision_tower.hpp"

#include <fmt/format.h>

namespace assay::zoo {
using Integers = std::vector<std::int64_t>;

VisionStyle vision_style(const Architecture& architecture) {
  const Json& json = architecture.description["vision"];
  const auto name = [&](const char* part) { return json.value(part, ""); };
  VisionStyle style;
  style.patch = name("patch");
  style.patch_bias = json.value("patch_bias", true);
  style.class_token = name("class_token");
  style.extra_tokens = name("extra_tokens");
  style.positions = name("positions");
  style.pre_norm = name("pre_norm");
  style.layers = name("layers");
  style.final_norm = name("final_norm");
  style.flat = json.value("flat", false);
  return style;
}

Result<VisionSizes> vision_sizes(const Config& config) {
  VisionSizes sizes;
  ASSAY_TRY(sizes.layer, layer_sizes(config));
  sizes.layers = config.integer("num_hidden_layers");
  sizes.channels = config.integer("num_channels");
  std::tie(sizes.height, sizes.width) = config.pair("image_size");
  std::tie(sizes.patch_height, sizes.patch_width) = config.pair("patch_size");
  if (sizes.patches() < 1) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} = {} x {} is larger than image_size = {} x {}", config.path("patch_size"),
                            sizes.patch_height, sizes.patch_width, sizes.height, sizes.width));
  }
  return sizes;
}

Value patch_tokens(const Module& base, const Value& pixels, const VisionSizes& sizes, const VisionStyle& style) {
  const Module patch = base.at(style.patch);
  const Value grid = convolution(patch, pixels,
                                 {sizes.channels, sizes.layer.hidden, sizes.patch_height, sizes.patch_width,
                                  sizes.patch_height, sizes.patch_width, 0, style.patch_bias});
  const Value flat = patch.node("Reshape", {grid, base.graph().integers({0, sizes.layer.hidden, sizes.patches()})});
  return patch.node("Transpose", {flat}, {{"perm", Integers{0, 2, 1}}});
}

namespace {

// The class token is added to a row of zeros: that needs no batch extent, and runtimes fold the sum with the positions
// into one constant.
Value with_tokens(const Module& base, const Value& patches, const VisionSizes& sizes, const VisionStyle& style) {
  GraphBuilder& graph = base.graph();
  const std::int64_t hidden = sizes.layer.hidden;
  const Module at = base / "embeddings";
  const std::int64_t tokens = (style.class_token.empty() ? 0 : 1) + sizes.extra_tokens;
  Value all = patches;
  std::optional<Value> sum;
  const auto add = [&](const Value& value) { sum = sum ? at.node("Add", {*sum, value}) : value; };
  if (tokens > 0) all = at.node("Pad", {patches, graph.integers({0, tokens, 0, 0, 0, 0})});
  const std::int64_t behind = sizes.patches();
  if (!style.class_token.empty()) {
    const Shape stored = style.flat ? Shape{hidden} : Shape{1, 1, hidden};
    add(at.node("Pad", {base.viewed_parameter(style.class_token, stored, {1, 1, hidden}, Role::kTable),
                        graph.integers({0, 0, 0, 0, sizes.extra_tokens + behind, 0})}));
  }
  if (sizes.extra_tokens > 0) {
    const Value extra = base.parameter(style.extra_tokens, {1, sizes.extra_tokens, hidden}, Role::kTable);
    add(at.node("Pad", {extra, graph.integers({0, tokens - sizes.extra_tokens, 0, 0, behind, 0})}));
  }
  if (!style.positions.empty()) {
    const Shape shape{1, tokens + behind, hidden};
    add(base.viewed_parameter(style.positions, style.flat ? Shape{tokens + behind, hidden} : shape, shape,
                              Role::kTable));
  }
  return sum ? at.node("Add", {all, *sum}) : all;
}

}  // namespace

Value embed_image(const Module& base, const Value& pixels, const VisionSizes& sizes, const VisionStyle& style) {
  const Value tokens = with_tokens(base, patch_tokens(base, pixels, sizes, style), sizes, style);
  if (style.pre_norm.empty()) return tokens;
  return layer_norm(base.at(style.pre_norm), tokens, sizes.layer.hidden, sizes.layer.epsilon);
}

Result<Value> encode_image(const Module& base, const Value& pixels, const VisionSizes& sizes, const VisionStyle& style,
                           const LayerNames& names, const LayerHooks& hooks) {
  Value hidden = embed_image(base, pixels, sizes, style);
  for (std::int64_t i = 0; i < sizes.layers; ++i) {
    const Module layer = base.at(fmt::format("{}.{}", style.layers, i));
    ASSAY_TRY(hidden, pre_norm_layer(layer, hidden, names, sizes.layer, hooks));
  }
  return hidden;
}

}  // namespace assay::zoo
