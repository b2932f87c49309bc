// SPDX-License-Identifier: Apache-2.0
// transformers' modeling_x_clip.py: CLIP for videos. Frames exchange messages in every layer, a small transformer
// joins them, and each text is adapted to each video before the two are compared.
#include <fmt/format.h>

#include "models/zoo/layers/layers.hpp"
#include "models/zoo/layers/tensors.hpp"
#include "models/zoo/towers/tower_skeletons.hpp"
#include "models/zoo/towers/two_tower.hpp"
#include "models/zoo/vision/vision_tower.hpp"

namespace assay::zoo {
namespace {

constexpr const char* kVideos = "video_batch";  ///< texts and videos need not be as many

struct Video {
  Value patches;     ///< [B·frames, patches, hidden]
  Value class_rows;  ///< [B·frames, hidden], normed
  VisionSizes sizes;
  std::int64_t frames = 0;
};

// A row of its own for each frame's message, made of the frame's class token and what the other frames say.
Result<Value> frame_layer(const Module& layer, const Value& input, const LayerNames& names, const LayerSizes& sizes,
                          std::int64_t frames, std::int64_t tokens) {
  Value message = linear_rank2(layer / "message_fc", token(layer, input, 0), {sizes.hidden, sizes.hidden});
  message = reshape(layer, message, {-1, frames, sizes.hidden});
  const Value normed = layer_norm(layer / "message_ln", message, sizes.hidden, sizes.epsilon);
  const LayerNames between{.query = "message_attn.q_proj",
                           .key = "message_attn.k_proj",
                           .value = "message_attn.v_proj",
                           .out = "message_attn.out_proj"};
  message = add(layer, message, self_attention(layer, normed, between, sizes, {}));
  const Value with_message = concat(layer, {input, reshape(layer, message, {-1, 1, sizes.hidden})}, 1);

  const Value before = layer_norm(layer.at(names.norm1), with_message, sizes.hidden, sizes.epsilon);
  Value hidden = add(layer, with_message, self_attention(layer, before, names, sizes, {}));
  hidden = slice(layer, hidden, 1, 0, tokens);
  const Value again = layer_norm(layer.at(names.norm2), hidden, sizes.hidden, sizes.epsilon);
  ASSAY_TRY(const Value mlp, plain_mlp(layer, again, names, sizes));
  return add(layer, hidden, mlp);
}

Result<Video> watch(BuildContext& context) {
  const Config& config = context.config.part("vision_config");
  const Module base = context.model / "vision_model";
  const VisionStyle style = vision_style(config.architecture());
  const LayerNames& names = config.architecture().layer_names();
  Video video;
  ASSAY_TRY(video.sizes, vision_sizes(config));
  video.frames = config.integer("num_frames");
  const VisionSizes& sizes = video.sizes;
  ASSAY_TRY(const Value frames,
            context.inputs.take("pixel_values", {DType::kFloat32},
                                {kVideos, video.frames, sizes.channels, sizes.height, sizes.width}));
  const Value images = reshape(base, frames, {-1, sizes.channels, sizes.height, sizes.width});
  Value hidden = embed_image(base, images, sizes, style);
  for (std::int64_t i = 0; i < sizes.layers; ++i) {
    const Module layer = base.at(fmt::format("{}.{}", style.layers, i));
    ASSAY_TRY(hidden, frame_layer(layer, hidden, names, sizes.layer, video.frames, sizes.patches() + 1));
  }
  video.patches = slice(base, hidden, 1, 1, sizes.patches() + 1);
  video.class_rows =
      layer_norm(base.at(style.final_norm), token(base, hidden, 0), sizes.layer.hidden, sizes.layer.epsilon);
  return video;
}

// One vector per video of its frames' projected class tokens. Shape: [B, frames, width] → [B, width].
Result<Value> join_frames(const Module& at, const Config& config, const Value& frames, std::int64_t width) {
  LayerSizes sizes;
  sizes.hidden = config.integer("mit_hidden_size");
  sizes.intermediate = config.integer("mit_intermediate_size");
  sizes.heads.count = config.integer("mit_num_attention_heads");
  sizes.epsilon = config.number("layer_norm_eps");
  sizes.act = config.text("hidden_act");
  sizes.act_key = config.path("hidden_act");
  if (sizes.hidden != width) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} = {} is not projection_dim = {}", config.path("mit_hidden_size"), sizes.hidden, width));
  }
  ASSAY_TRY(sizes.heads.width, head_width(sizes.hidden, sizes.heads.count));
  const Value positions =
      at.parameter("position_embedding", {1, config.integer("num_frames"), sizes.hidden}, Role::kTable);
  Value hidden = add(at, frames, positions);
  for (std::int64_t i = 0; i < config.integer("mit_num_hidden_layers"); ++i) {
    const Module layer = at / "encoder" / fmt::format("layers.{}", i);
    ASSAY_TRY(hidden, pre_norm_layer(layer, hidden, config.architecture().layer_names(), sizes, {}));
  }
  return mean(at, add(at, hidden, frames), {1});
}

// What a video changes in each text. Shape: texts [B, T, width], visual [B, patches, width].
Result<Value> prompts(BuildContext& context, const Value& texts, const Value& visual, std::int64_t width) {
  const Config& config = context.config;
  const Module at = context.model / "prompts_generator";
  const float text_epsilon = config.part("text_config").number("layer_norm_eps");
  Heads heads{config.integer("prompt_num_attention_heads"), 0};
  ASSAY_TRY(heads.width, head_width(width, heads.count));
  const Value seen = layer_norm(at / "layernorm", visual, width, config.part("vision_config").number("layer_norm_eps"));
  const Width square{width, width};
  Value hidden = texts;
  for (std::int64_t i = 0; i < config.integer("prompt_layers"); ++i) {
    const Module layer = at / fmt::format("decoder.{}", i);
    const Module cross = layer / "cross_attn";
    const Value query =
        linear(cross / "q_proj", layer_norm(layer / "norm1", hidden, width, text_epsilon), square, false);
    const Value mixed = scaled_dot_product(cross, query, linear(cross / "k_proj", seen, square, false),
                                           linear(cross / "v_proj", seen, square, false), heads, std::nullopt);
    hidden = add(layer, hidden, linear(cross / "proj", mixed, square));
    const Value normed = layer_norm(layer / "norm3", hidden, width, text_epsilon);
    constexpr std::int64_t kWiden = 4;
    const Module mlp = layer / "mlp";
    const Value wide = linear(mlp / "0", normed, {width, kWiden * width});
    ASSAY_TRY(const Value active, activation(mlp / "1", wide, config.text("prompt_hidden_act"), "prompt_hidden_act"));
    hidden = add(layer, hidden, linear(mlp / "3", active, {kWiden * width, width}));
  }
  return multiply(at, hidden, at.parameter("alpha", {width}, Role::kScale));
}

}  // namespace

Status build_xclip_tower(BuildContext& context) {
  const Config& config = context.config;
  const Config& vision = config.part("vision_config");
  const Module& model = context.model;
  GraphBuilder& graph = context.graph();
  const std::int64_t width = config.integer("projection_dim");
  ASSAY_TRY(const Tower text, clip_text_tower(context, model / "text_model", config.part("text_config")));
  ASSAY_TRY(const Video video, watch(context));
  const LayerSizes& layer = video.sizes.layer;

  const Value classes = linear(model / "visual_projection", video.class_rows, {layer.hidden, width}, false);
  ASSAY_TRY(Value video_embeds,
            join_frames(model / "mit", vision, reshape(model, classes, {-1, video.frames, width}), width));
  Value visual = layer_norm(model / "prompts_visual_layernorm", video.patches, layer.hidden, layer.epsilon);
  visual = model.node("MatMul",
                      {visual, model.parameter("prompts_visual_projection", {layer.hidden, width}, Role::kWeight)});
  visual = mean(model, reshape(model, visual, {-1, video.frames, video.sizes.patches(), width}), {1});

  const Value rows = linear(model / "text_projection", *text.pooled, {text.pooled_width, width}, false);
  const Value shape =
      concat(model, {extent(model, video_embeds, 0), extent(model, rows, 0), graph.integers({width})}, 0);
  const Value per_video = model.node("Expand", {rows, shape});
  ASSAY_TRY(const Value prompt, prompts(context, per_video, visual, width));
  const Value text_embeds = normalised(model, add(model, per_video, prompt));
  video_embeds = normalised(model, video_embeds);

  const Value scale = model.node("Exp", {model.parameter("logit_scale", {}, Role::kScale)});
  const Value column = model.node("Unsqueeze", {video_embeds, graph.integers({2})});
  const Value products = model.node("MatMul", {multiply(model, text_embeds, scale), column});
  const Value logits = model.node("Squeeze", {products, graph.integers({2})});
  graph.output("logits_per_video", logits, {kVideos, "batch"});
  graph.output("logits_per_text", transpose(model, logits, {1, 0}), {"batch", kVideos});
  graph.output("text_embeds", text_embeds, {kVideos, "batch", width});
  graph.output("video_embeds", video_embeds, {kVideos, width});
  return {};
}

}  // namespace assay::zoo
