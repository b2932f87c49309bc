// SPDX-License-Identifier: Apache-2.0
// ViT and those that differ from it in tokens, positions, layer scales and pooling: deit, vit_msn, ijepa, dinov2 with
// and without registers, beit, data2vec-vision.
#include <fmt/format.h>

#include <cmath>

#include "models/zoo/layers/blocks.hpp"
#include "models/zoo/layers/layers.hpp"
#include "models/zoo/layers/outputs.hpp"
#include "models/zoo/layers/tensors.hpp"
#include "models/zoo/vision/vision_skeletons.hpp"
#include "models/zoo/vision/vision_tower.hpp"

namespace assay::zoo {
namespace {

// Pairs of patches by how far they are apart, and three rows for pairs with the class token. Shape: [1, heads, S, S].
Value relative_bias(const Module& at, const VisionSizes& sizes) {
  const std::int64_t rows = sizes.rows();
  const std::int64_t columns = sizes.columns();
  const std::int64_t heads = sizes.layer.heads.count;
  const std::int64_t distances = (2 * rows - 1) * (2 * columns - 1) + 3;
  const std::int64_t tokens = rows * columns + 1;
  const auto compute = [rows, columns, heads, distances, tokens](const std::vector<float>& table) {
    const auto row_of = [&](std::int64_t i, std::int64_t j) {
      if (i == 0 && j == 0) return distances - 1;
      if (j == 0) return distances - 2;
      if (i == 0) return distances - 3;
      const std::int64_t down = (i - 1) / columns - (j - 1) / columns + rows - 1;
      const std::int64_t right = (i - 1) % columns - (j - 1) % columns + columns - 1;
      return down * (2 * columns - 1) + right;
    };
    std::vector<float> bias;
    bias.reserve(static_cast<std::size_t>(heads * tokens * tokens));
    for (std::int64_t head = 0; head < heads; ++head) {
      for (std::int64_t i = 0; i < tokens; ++i) {
        for (std::int64_t j = 0; j < tokens; ++j) {
          bias.push_back(table[static_cast<std::size_t>(row_of(i, j) * heads + head)]);
        }
      }
    }
    return bias;
  };
  return at.derived_parameter("relative_position_bias_table", {distances, heads}, Role::kTable, "pairs",
                              {1, heads, tokens, tokens}, compute);
}

// down(silu(a) · b), where a and b are halves of one projection; two thirds of the width, in eights.
Value swiglu(const Module& layer, const Value& input, std::int64_t hidden, std::int64_t widened) {
  const Module mlp = layer / "mlp";
  const auto third = static_cast<std::int64_t>(static_cast<double>(widened) * 2.0 / 3.0);
  const std::int64_t inner = (third + 7) / 8 * 8;
  const std::vector<Value> halves = split(mlp, linear(mlp / "weights_in", input, {hidden, 2 * inner}), 2, 2);
  const Value gate = multiply(mlp, halves[0], mlp.node("Sigmoid", {halves[0]}));
  return linear(mlp / "weights_out", multiply(mlp, gate, halves[1]), {inner, hidden});
}

struct Outputs {
  Value hidden;  ///< [B, tokens, hidden]
  std::int64_t tokens = 0;
  std::int64_t before = 0;  ///< tokens before the patches
  std::optional<Value> pooled{};
  std::int64_t pooled_width = 0;
};

// An image of other sides than the configuration's, if the architecture interpolates its positions.
Status read_sides(BuildContext& context, VisionSizes& sizes, VisionStyle& style) {
  const std::optional<Shape> asked = context.inputs.shape("pixel_values");
  if (!asked || asked->size() != 4) return {};
  const std::int64_t height = (*asked)[2];
  const std::int64_t width = (*asked)[3];
  const bool same = height == sizes.height && width == sizes.width;
  if (style.interpolation.empty()) {
    if (same) return {};
    return fail(ErrorCode::kUnsupported, fmt::format("unsupported: input pixel_values of shape {}", to_string(*asked)),
                fmt::format("the configuration says {} x {}", sizes.height, sizes.width));
  }
  const bool square = height == width;
  const std::int64_t patches = (height / sizes.patch_height) * (width / sizes.patch_width);
  style.interpolates = !(square && patches == sizes.patches());
  if (style.interpolates && sizes.rows() != sizes.columns()) {
    return unsupported("image_size", fmt::format("{} x {}", sizes.height, sizes.width),
                       "positions of another image are made of a square one's");
  }
  style.stored_rows = sizes.rows();
  sizes.height = height;
  sizes.width = width;
  if (sizes.patches() < 1) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("input pixel_values has shape {}", to_string(*asked)));
  }
  return {};
}

Result<Outputs> encode_image(BuildContext& context, const Module& base) {
  const Config& config = context.config;
  const Architecture& architecture = config.architecture();
  const VisionSpec& spec = architecture.vision;
  const auto has = [&](const char* key) { return config.has(key); };
  VisionStyle style = vision_style(architecture);
  LayerNames names = architecture.layer_names();
  ASSAY_TRY(VisionSizes sizes, vision_sizes(config));
  sizes.extra_tokens = spec.extra_key->empty() ? *spec.extra_count : config.integer(spec.extra_key);
  if (has("mlp_ratio")) sizes.layer.intermediate = sizes.layer.hidden * config.integer("mlp_ratio");
  if (!spec.key_bias) sizes.layer.key_bias = false;
  if (has("layer_scale_init_value") && !(config.number("layer_scale_init_value") > 0.0F)) {
    names.scale1.clear();
    names.scale2.clear();
  }
  if (has("use_absolute_position_embeddings") && !config.flag("use_absolute_position_embeddings")) {
    style.positions.clear();
  }
  ASSAY_CHECK_OK(read_sides(context, sizes, style));
  const bool relative = has("use_relative_position_bias") &&
                        (config.flag("use_relative_position_bias") || config.flag("use_shared_relative_position_bias"));
  if (relative && sizes.rows() != sizes.columns()) {
    return unsupported("image_size", fmt::format("{} x {}", sizes.height, sizes.width),
                       "transformers resamples the relative positions of an image that is not a square");
  }
  ASSAY_TRY(const Value pixels, context.inputs.take("pixel_values", {DType::kFloat32},
                                                    {"batch", sizes.channels, sizes.height, sizes.width}));
  base.parameters().unused((base / "embeddings").name_of("mask_token"));
  if (sizes.extra_tokens == 0 && !style.extra_tokens.empty())
    base.parameters().unused(base.name_of(style.extra_tokens));

  LayerHooks hooks;
  if (has("use_swiglu_ffn") && config.flag("use_swiglu_ffn")) {
    hooks.mlp = [&sizes](const Module& layer, const Value& input) -> Result<Value> {
      return swiglu(layer, input, sizes.layer.hidden, sizes.layer.intermediate);
    };
  }
  std::optional<Value> shared;
  if (has("use_shared_relative_position_bias") && config.flag("use_shared_relative_position_bias")) {
    shared = relative_bias(base / "encoder" / "relative_position_bias", sizes);
  }
  const bool own = has("use_relative_position_bias") && config.flag("use_relative_position_bias");
  Outputs outputs;
  outputs.hidden = embed_image(base, pixels, sizes, style);
  for (std::int64_t i = 0; i < sizes.layers; ++i) {
    const Module layer = base.at(fmt::format("{}.{}", style.layers, i));
    hooks.mask = shared;
    if (own) {
      const Value bias = relative_bias(layer / "attention" / "attention" / "relative_position_bias", sizes);
      hooks.mask = shared ? add(layer, *shared, bias) : bias;
    }
    ASSAY_TRY(outputs.hidden, pre_norm_layer(layer, outputs.hidden, names, sizes.layer, hooks));
  }
  outputs.before = (style.class_token.empty() ? 0 : 1) + sizes.extra_tokens;
  outputs.tokens = outputs.before + sizes.patches();
  outputs.pooled_width = sizes.layer.hidden;
  const bool by_mean = has("use_mean_pooling") && config.flag("use_mean_pooling");
  if (!by_mean && !style.final_norm.empty()) {
    outputs.hidden = layer_norm(base.at(style.final_norm), outputs.hidden, sizes.layer.hidden, sizes.layer.epsilon);
  }
  const std::string& pooler = config.class_spec().pooler;
  if (pooler == "dense") {
    outputs.pooled_width = config.optional_integer("pooler_output_size").value_or(0);
    if (outputs.pooled_width == 0) outputs.pooled_width = sizes.layer.hidden;
    const Module at = base / "pooler";
    const Value dense =
        linear_rank2(at / "dense", token(at, outputs.hidden, 0), {sizes.layer.hidden, outputs.pooled_width});
    ASSAY_TRY(outputs.pooled, activation(at, dense, config.text("pooler_act"), config.path("pooler_act")));
  } else if (pooler == "first" || (pooler == "patches" && !by_mean)) {
    outputs.pooled = token(base / "pooler", outputs.hidden, 0);
  } else if (pooler == "patches") {
    const Module at = base / "pooler";
    const Value patches = mean(at, slice(at, outputs.hidden, 1, 1, outputs.tokens), {1});
    outputs.pooled = layer_norm(at / "layernorm", patches, sizes.layer.hidden, sizes.layer.epsilon);
  }
  return outputs;
}

}  // namespace

Status build_image_transformer(BuildContext& context) {
  const Config& config = context.config;
  const std::string& head = config.head();
  const bool bare = config.bare();
  const Module base = base_module(context);
  ASSAY_TRY(const Outputs outputs, encode_image(context, base));
  const std::int64_t hidden = config.integer("hidden_size");
  GraphBuilder& graph = context.graph();
  const Module& model = context.model;
  const auto give = [&](const Value& pooled, std::int64_t width) {
    give_class_logits(context, model / "classifier", pooled, width);
  };
  if (bare) {
    graph.output("last_hidden_state", outputs.hidden, {"batch", outputs.tokens, hidden});
    if (outputs.pooled) graph.output("pooler_output", *outputs.pooled, {"batch", outputs.pooled_width});
  } else if (head == "first") {
    give(token(model, outputs.hidden, 0), hidden);
  } else if (head == "mean") {
    give(mean(model, outputs.hidden, {1}), hidden);
  } else if (head == "pooled") {
    give(*outputs.pooled, hidden);
  } else if (head == "first_and_mean") {
    const Value patches = mean(model, slice(model, outputs.hidden, 1, outputs.before, outputs.tokens), {1});
    give(concat(model, {token(model, outputs.hidden, 0), patches}, 1), 2 * hidden);
  } else {  // "teacher": the class token's and the distillation token's, and their mean
    const Value by_class = class_logits(context, model / "cls_classifier", token(model, outputs.hidden, 0), hidden);
    const Value by_teacher =
        class_logits(context, model / "distillation_classifier", token(model, outputs.hidden, 1), hidden);
    const Extents extents = class_extents(context, hidden);
    graph.output("logits", multiply(model, add(model, by_class, by_teacher), 0.5F), extents);
    graph.output("cls_logits", by_class, extents);
    graph.output("distillation_logits", by_teacher, extents);
  }
  return {};
}

}  // namespace assay::zoo
