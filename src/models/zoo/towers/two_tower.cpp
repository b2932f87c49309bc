// SPDX-License-Identifier: Apache-2.0
// transformers' modeling_clip.py, modeling_siglip.py and similar models: two towers, a projection of each, and how
// alike the texts and the images are.
#include "models/zoo/towers/two_tower.hpp"

#include <fmt/format.h>

#include "models/zoo/layers/blocks.hpp"
#include "models/zoo/layers/outputs.hpp"
#include "models/zoo/layers/tensors.hpp"
#include "models/zoo/towers/tower_skeletons.hpp"

namespace assay::zoo {
namespace {

constexpr const char* kImages = "image_batch";  ///< texts and images need not be as many

// "text_projection" [out, in] without bias.
Value project(const BuildContext& context, const std::string& name, const Tower& tower, std::int64_t width) {
  return linear(context.model.at(name), *tower.pooled, {tower.pooled_width, width}, false);
}

Status similarity(BuildContext& context, const Value& text, const Value& image, std::int64_t width) {
  const bool bias = context.config.architecture().varied<TwoTowerVariations>().bias;
  GraphBuilder& graph = context.graph();
  const Module& at = context.model;
  const Shape scale_shape = bias ? Shape{1} : Shape{};
  const Value scale = at.node("Exp", {at.parameter("logit_scale", scale_shape, Role::kScale)});
  const Value transposed = at.node("Transpose", {image}, {{"perm", std::vector<std::int64_t>{1, 0}}});
  Value per_text = at.node("Mul", {at.node("MatMul", {text, transposed}), scale});
  if (bias) per_text = at.node("Add", {per_text, at.parameter("logit_bias", {1}, Role::kBias)});
  const Value per_image = at.node("Transpose", {per_text}, {{"perm", std::vector<std::int64_t>{1, 0}}});
  graph.output("logits_per_image", per_image, {kImages, "batch"});
  graph.output("logits_per_text", per_text, {"batch", kImages});
  graph.output("text_embeds", text, {"batch", width});
  graph.output("image_embeds", image, {kImages, width});
  return {};
}

Status classify_image(BuildContext& context) {
  const Config& vision = context.config.part("vision_config");
  const Module base = context.model / "vision_model";
  ASSAY_TRY(const Tower tower, clip_vision_tower(base, vision, context.inputs, "batch", false));
  GraphBuilder& graph = context.graph();
  const bool class_token = *vision.architecture().vision.pool == "class_token";
  const Value patches =
      class_token
          ? base.node("Slice", {tower.hidden, graph.integers({1}), graph.integers({tower.tokens}), graph.integers({1})})
          : tower.hidden;
  give_class_logits(context, context.model / "classifier", mean(base, patches, {1}), tower.width);
  return {};
}

}  // namespace

Status build_two_tower(BuildContext& context) {
  const Config& config = context.config;
  if (config.head() == "image_classification") return classify_image(context);
  const Config& text_config = config.part("text_config");
  const auto text_tower = *text_config.architecture().text.tower == "bert" ? bert_text_tower : clip_text_tower;
  ASSAY_TRY(const Tower text, text_tower(context, context.model / "text_model", text_config));
  ASSAY_TRY(const Tower image, clip_vision_tower(context.model / "vision_model", config.part("vision_config"),
                                                 context.inputs, kImages, true));
  if (!image.pooled) return unsupported("vision_config.vision_use_head", "false");
  Value text_embeds = *text.pooled;
  Value image_embeds = *image.pooled;
  std::int64_t width = text.pooled_width;
  if (config.architecture().varied<TwoTowerVariations>().projected) {
    width = config.integer("projection_dim");
    text_embeds = project(context, "text_projection", text, width);
    image_embeds = project(context, "visual_projection", image, width);
  } else if (text.pooled_width != image.pooled_width) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("text_config.projection_size = {} is not vision_config.hidden_size = {}", text.pooled_width,
                            image.pooled_width));
  }
  return similarity(context, normalised(context.model, text_embeds), normalised(context.model, image_embeds), width);
}

Status build_clip_text(BuildContext& context) {
  const Config& config = context.config;
  const bool projected = config.head() == "projection";
  const Module base = projected ? context.model / "text_model" : context.model;
  ASSAY_TRY(const Tower tower, clip_text_tower(context, base, config));
  GraphBuilder& graph = context.graph();
  if (projected) {
    const std::int64_t width = config.integer("projection_dim");
    graph.output("text_embeds", project(context, "text_projection", tower, width), {"batch", width});
  }
  graph.output("last_hidden_state", tower.hidden, {"batch", "sequence", tower.width});
  if (!projected) graph.output("pooler_output", *tower.pooled, {"batch", tower.pooled_width});
  return {};
}

Status build_clip_vision(BuildContext& context) {
  const Config& config = context.config;
  const bool projected = config.head() == "projection";
  const Module base = projected ? context.model / "vision_model" : context.model;
  ASSAY_TRY(const Tower tower, clip_vision_tower(base, config, context.inputs, "batch", true));
  GraphBuilder& graph = context.graph();
  if (projected) {
    const std::int64_t width = config.integer("projection_dim");
    graph.output("image_embeds", project(context, "visual_projection", tower, width), {"batch", width});
  }
  graph.output("last_hidden_state", tower.hidden, {"batch", tower.tokens, tower.width});
  if (!projected && tower.pooled) graph.output("pooler_output", *tower.pooled, {"batch", tower.pooled_width});
  return {};
}

}  // namespace assay::zoo
