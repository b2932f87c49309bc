// SPDX-License-Identifier: Apache-2.0
// transformers' modeling_vit.py: a pre-norm encoder over image patches and a class token.
#include <fmt/format.h>

#include "zoo/layers/attention.hpp"
#include "zoo/layers/blocks.hpp"
#include "zoo/layers/build_context.hpp"
#include "zoo/layers/outputs.hpp"
#include "zoo/vision/backbones.hpp"
#include "zoo/vision/vision_skeletons.hpp"

namespace assay::zoo {
namespace {

struct VitSizes {
  std::int64_t hidden, intermediate, height, width, patch_height, patch_width, channels;
  Heads heads;
  float epsilon;
  std::string hidden_act;
  [[nodiscard]] std::int64_t patches() const { return (height / patch_height) * (width / patch_width); }
};

Result<VitSizes> read_vit_sizes(const Config& config) {
  VitSizes sizes{};
  sizes.hidden = config.integer("hidden_size");
  sizes.intermediate = config.integer("intermediate_size");
  std::tie(sizes.height, sizes.width) = config.pair("image_size");
  std::tie(sizes.patch_height, sizes.patch_width) = config.pair("patch_size");
  sizes.channels = config.integer("num_channels");
  sizes.heads.count = config.integer("num_attention_heads");
  sizes.epsilon = config.number("layer_norm_eps");
  sizes.hidden_act = config.text("hidden_act");
  if (const std::optional<std::int64_t> given = config.optional_integer("head_dim")) {
    sizes.heads.width = *given;
  } else {
    ASSAY_TRY(sizes.heads.width, head_width(sizes.hidden, sizes.heads.count));
  }
  if (sizes.patches() < 1) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("patch_size = {} x {} is larger than image_size = {} x {}", sizes.patch_height,
                            sizes.patch_width, sizes.height, sizes.width));
  }
  return sizes;
}

// [B, C, H, W] → [B, 1 + patches, hidden]. The class token is added to a row of zeros: that needs no batch extent, and
// runtimes fold the sum with the positions into one constant.
Result<Value> vit_embeddings(BuildContext& context, const Module& at, const VitSizes& sizes) {
  ASSAY_TRY(const Value pixels, context.inputs.take("pixel_values", {DType::kFloat32},
                                                    {"batch", sizes.channels, sizes.height, sizes.width}));
  const Module patch = at / "patch_embeddings";
  const Value grid = convolution(patch / "projection", pixels,
                                 {sizes.channels, sizes.hidden, sizes.patch_height, sizes.patch_width,
                                  sizes.patch_height, sizes.patch_width, 0, true});
  GraphBuilder& graph = context.graph();
  const Value flat = patch.node("Reshape", {grid, graph.integers({0, sizes.hidden, sizes.patches()})});
  const Value tokens = patch.node("Transpose", {flat}, {{"perm", Integers{0, 2, 1}}});
  const Value with_row = at.node("Pad", {tokens, graph.integers({0, 1, 0, 0, 0, 0})});
  const Value class_token = at.node("Pad", {at.parameter("cls_token", {1, 1, sizes.hidden}, Role::kTable),
                                            graph.integers({0, 0, 0, 0, sizes.patches(), 0})});
  const Value positions = at.parameter("position_embeddings", {1, sizes.patches() + 1, sizes.hidden}, Role::kTable);
  return at.node("Add", {with_row, at.node("Add", {class_token, positions})});
}

Result<Value> encoder_layer(const Module& layer, const Value& input, const VitSizes& sizes, bool qkv_bias) {
  const std::int64_t inner = sizes.heads.count * sizes.heads.width;
  const Value normed = layer_norm(layer / "layernorm_before", input, sizes.hidden, sizes.epsilon);
  const Module self = layer / "attention" / "attention";
  const auto project = [&](const char* name) { return linear(self / name, normed, {sizes.hidden, inner}, qkv_bias); };
  const Value query = project("query");
  const Value key = project("key");
  const Value value = project("value");
  const Value mixed = scaled_dot_product(self, query, key, value, sizes.heads, std::nullopt);
  const Value attention = linear(layer / "attention" / "output" / "dense", mixed, {inner, sizes.hidden});
  const Value attended = layer.node("Add", {attention, input});

  const Value again = layer_norm(layer / "layernorm_after", attended, sizes.hidden, sizes.epsilon);
  const Module intermediate = layer / "intermediate";
  const Value wide = linear(intermediate / "dense", again, {sizes.hidden, sizes.intermediate});
  ASSAY_TRY(const Value active, activation(intermediate / "intermediate_act_fn", wide, sizes.hidden_act, "hidden_act"));
  const Module output = layer / "output";
  return output.node("Add", {linear(output / "dense", active, {sizes.intermediate, sizes.hidden}), attended});
}

}  // namespace

Status build_vit_encoder(BuildContext& context) {
  const Config& config = context.config;
  ASSAY_TRY(const VitSizes sizes, read_vit_sizes(config));
  const bool bare = config.model_class() == "ViTModel";
  const Module base = bare ? context.model : context.model / "vit";
  GraphBuilder& graph = context.graph();

  ASSAY_TRY(Value hidden, vit_embeddings(context, base / "embeddings", sizes));
  const std::int64_t layers = config.integer("num_hidden_layers");
  for (std::int64_t i = 0; i < layers; ++i) {
    ASSAY_TRY(hidden,
              encoder_layer(base / "encoder" / fmt::format("layer.{}", i), hidden, sizes, config.flag("qkv_bias")));
  }
  hidden = layer_norm(base / "layernorm", hidden, sizes.hidden, sizes.epsilon);

  if (bare) {
    const Module pooler = base / "pooler";
    std::int64_t pooled_width = config.optional_integer("pooler_output_size").value_or(0);
    if (pooled_width == 0) pooled_width = sizes.hidden;
    const Value dense = linear_rank2(pooler / "dense", token(pooler, hidden, 0), {sizes.hidden, pooled_width});
    ASSAY_TRY(const Value pooled, activation(pooler / "activation", dense, config.text("pooler_act"), "pooler_act"));
    graph.output("last_hidden_state", hidden, {"batch", sizes.patches() + 1, sizes.hidden});
    graph.output("pooler_output", pooled, {"batch", pooled_width});
    return {};
  }
  const Value first = token(base, hidden, 0);
  give_class_logits(context, context.model / "classifier", first, sizes.hidden);
  return {};
}

}  // namespace assay::zoo
