// SPDX-License-Identifier: Apache-2.0
// transformers' modeling_detr.py and modeling_table_transformer.py: a convolutional backbone, an encoder over its last
// map, and a decoder whose learned queries each become one box.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "models/zoo/layers/attention.hpp"
#include "models/zoo/layers/blocks.hpp"
#include "models/zoo/layers/build_context.hpp"
#include "models/zoo/layers/input_types.hpp"
#include "models/zoo/layers/tensors.hpp"
#include "models/zoo/vision/backbones.hpp"
#include "models/zoo/vision/vision_skeletons.hpp"

namespace assay::zoo {
namespace {

constexpr float kDetrEpsilon = 1e-5F;
constexpr std::int64_t kLearnedRows = 50;  ///< number of rows of each learned position table

struct DetrSizes {
  std::int64_t hidden = 0, queries = 0;
  bool norm_first = false;  ///< norms are before attention and MLP, not after the sums
  std::string act;
};

struct Image {
  FeatureMap map;               ///< the backbone's last
  std::optional<Value> mask{};  ///< bool [B, height, width]
};

// transformers: the last of the requested maps. What lies behind it would be parameters without use.
Status check_last_stage(const Config& backbone) {
  const Json& features = backbone.json("out_features");
  const Json& indices = backbone.json("out_indices");
  const std::string last = fmt::format("stage{}", backbone.integers("depths").size());
  const auto is_last = [](const Json& list, const Json& wanted) {
    return list.is_null() || (list.is_array() && !list.empty() && list.back() == wanted);
  };
  if (!is_last(features, last)) return unsupported(backbone.path("out_features"), features.dump());
  if (!is_last(indices, backbone.integers("depths").size()) && !is_last(indices, -1)) {
    return unsupported(backbone.path("out_indices"), indices.dump());
  }
  return {};
}

Result<FeatureMap> run_backbone(BuildContext& context, const Module& at, const FeatureMap& pixels) {
  const Config& config = context.config;
  std::string name = config.text("backbone");
  std::string key = "backbone";
  if (config.has_part("backbone_config")) {
    const Config& backbone = config.part("backbone_config");
    if (backbone.integer("num_channels") != pixels.channels) {
      return unsupported(backbone.path("num_channels"), std::to_string(backbone.integer("num_channels")));
    }
    if (backbone.architecture().name == "resnet") {
      ASSAY_CHECK_OK(check_last_stage(backbone));
      ASSAY_TRY(const std::vector<FeatureMap> maps, resnet_features(at, backbone, pixels));
      return maps.back();
    }
    const Json& indices = backbone.json("out_indices");
    if (!indices.is_null() && (!indices.is_array() || indices.empty() || indices.back() != 4)) {
      return unsupported(backbone.path("out_indices"), indices.dump(), "built is a list that ends with 4");
    }
    name = backbone.text("backbone");
    key = backbone.path("backbone");
  } else if (!config.flag("use_timm_backbone")) {
    return unsupported("use_timm_backbone", "false", "built with a backbone_config");
  }
  ASSAY_TRY(const std::vector<FeatureMap> maps, timm_resnet_features(at, name, key, pixels));
  return maps.back();
}

// As torch's nearest interpolation: row floor(i · H / h) of the mask, computed in float32.
Value shrink_mask(const Module& at, const Value& mask, const FeatureMap& image, const FeatureMap& map) {
  const auto rows = [&](std::int64_t from, std::int64_t to) {
    const float ratio = static_cast<float>(from) / static_cast<float>(to);
    std::vector<std::int64_t> picked;
    for (std::int64_t i = 0; i < to; ++i) {
      picked.push_back(std::min(static_cast<std::int64_t>(std::floor(static_cast<float>(i) * ratio)), from - 1));
    }
    return picked;
  };
  GraphBuilder& graph = at.graph();
  const Value kept = cast(at, mask, DType::kBool);
  const Value fewer =
      at.node("Gather", {kept, graph.integers(rows(image.height, map.height))}, {{"axis", std::int64_t{1}}});
  return at.node("Gather", {fewer, graph.integers(rows(image.width, map.width))}, {{"axis", std::int64_t{2}}});
}

Result<Image> look(BuildContext& context, const Module& base) {
  ASSAY_TRY(const FeatureMap pixels, take_image(context, context.config.integer("num_channels")));
  Image image;
  std::optional<Value> mask;
  if (context.inputs.wants("pixel_mask")) {
    ASSAY_TRY(mask, context.inputs.take("pixel_mask", kMaskTypes, {"batch", pixels.height, pixels.width}));
  }
  ASSAY_TRY(image.map, run_backbone(context, base / "backbone" / "conv_encoder" / "model", pixels));
  if (mask) image.mask = shrink_mask(base / "backbone" / "conv_encoder", *mask, pixels, image.map);
  return image;
}

// Where each place of the map lies within the part that the mask keeps, from 0 to 2π, as sines and cosines of falling
// frequency. Shape: [B or 1, height·width, hidden].
Value sine_positions(const Module& at, const Image& image, std::int64_t hidden) {
  GraphBuilder& graph = at.graph();
  const std::int64_t half = hidden / 2;
  const std::int64_t height = image.map.height;
  const std::int64_t width = image.map.width;
  const Value kept = image.mask ? cast(at, *image.mask, DType::kFloat32)
                                : at.node("Expand", {graph.number(1.0F), graph.integers({1, height, width})});
  std::vector<float> divisors;
  for (std::int64_t i = 0; i < half / 2; ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(half);
    divisors.push_back(static_cast<float>(std::pow(10000.0, static_cast<double>(exponent))));
  }
  const Value divisor = constant(at, "divisors", {half / 2}, divisors);
  const auto along = [&](std::int64_t axis) {
    const Value count = at.node("CumSum", {kept, graph.integer(axis)});
    const Value all = at.node("Add", {slice(at, count, axis, -1, axis == 1 ? height : width), graph.number(1e-6F)});
    const Value place = multiply(at, at.node("Div", {count, all}), 2.0F * std::numbers::pi_v<float>);
    const Value angle = at.node("Div", {at.node("Unsqueeze", {place, graph.integers({-1})}), divisor});
    const auto pair = [&](const char* function) {
      return at.node("Unsqueeze", {at.node(function, {angle}), graph.integers({-1})});
    };
    return reshape(at, concat(at, {pair("Sin"), pair("Cos")}, -1), {0, height * width, half});
  };
  return concat(at, {along(1), along(2)}, 2);
}

// [1, height·width, hidden]: the column's embedding, then the row's.
Result<Value> learned_positions(const Module& at, const Image& image, std::int64_t hidden) {
  const auto& [value, channels, height, width] = image.map;
  if (height > kLearnedRows || width > kLearnedRows) {
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("position_embedding_type = learned has {} rows, the map is {} x {}", kLearnedRows, height, width));
  }
  const std::int64_t half = hidden / 2;
  const auto rows = [&](const char* name, std::int64_t count, const std::vector<std::int64_t>& shape) {
    const Value table = (at / name).parameter("weight", {kLearnedRows, half}, Role::kTable);
    const Value some = reshape(at, slice(at, table, 0, 0, count), shape);
    return at.node("Expand", {some, at.graph().integers({height, width, half})});
  };
  const Value both = concat(
      at, {rows("column_embeddings", width, {1, width, half}), rows("row_embeddings", height, {height, 1, half})}, 2);
  return reshape(at, both, {1, height * width, hidden});
}

struct DetrAttended {
  const Value& input;     ///< queries are made of it
  const Value& memory;    ///< keys and values are made of it
  const Value& query_at;  ///< positions added to the queries' side
  const Value& key_at;    ///< positions added to the keys' side
};

Value attention(const Module& at, const DetrAttended& who, std::int64_t hidden, Heads heads,
                const std::optional<Value>& mask) {
  const Width square{hidden, hidden};
  const Value query = linear(at / "q_proj", add(at, who.input, who.query_at), square);
  const Value key = linear(at / "k_proj", add(at, who.memory, who.key_at), square);
  const Value value = linear(at / "v_proj", who.memory, square);
  return linear(at / "out_proj", scaled_dot_product(at, query, key, value, heads, mask), square);
}

class Layers {
 public:
  Layers(const DetrSizes& sizes, std::int64_t heads, std::int64_t head_width, std::int64_t intermediate)
      : sizes_(sizes), heads_{heads, head_width}, intermediate_(intermediate) {}

  [[nodiscard]] Result<Value> encode(const Module& layer, const Value& input, const Value& places,
                                     const std::optional<Value>& mask) const {
    const Value hidden = step(layer, "self_attn", input, [&](const Module& at, const Value& x) {
      return attention(at, {x, x, places, places}, sizes_.hidden, heads_, mask);
    });
    return mlp(layer, hidden);
  }
  [[nodiscard]] Result<Value> decode(const Module& layer, const Value& input, const Value& queries, const Value& memory,
                                     const Value& places, const std::optional<Value>& mask) const {
    Value hidden = step(layer, "self_attn", input, [&](const Module& at, const Value& x) {
      return attention(at, {x, x, queries, queries}, sizes_.hidden, heads_, std::nullopt);
    });
    hidden = step(layer, "encoder_attn", hidden, [&](const Module& at, const Value& x) {
      return attention(at, {x, memory, queries, places}, sizes_.hidden, heads_, mask);
    });
    return mlp(layer, hidden);
  }

 private:
  [[nodiscard]] Value norm(const Module& at, const Value& x) const {
    return layer_norm(at, x, sizes_.hidden, kDetrEpsilon);
  }
  template <class Inner>
  Value step(const Module& layer, const std::string& name, const Value& input, const Inner& inner) const {
    const Module at_norm = layer / (name + "_layer_norm");
    if (sizes_.norm_first) return add(layer, input, inner(layer / name, norm(at_norm, input)));
    return norm(at_norm, add(layer, input, inner(layer / name, input)));
  }
  [[nodiscard]] Result<Value> mlp(const Module& layer, const Value& input) const {
    const Module at_norm = layer / "final_layer_norm";
    const Value before = sizes_.norm_first ? norm(at_norm, input) : input;
    const Value wide = linear(layer / "fc1", before, {sizes_.hidden, intermediate_});
    ASSAY_TRY(const Value active, activation(layer / "fc1", wide, sizes_.act, "activation_function"));
    const Value sum = add(layer, input, linear(layer / "fc2", active, {intermediate_, sizes_.hidden}));
    return sizes_.norm_first ? sum : norm(at_norm, sum);
  }

  const DetrSizes& sizes_;
  Heads heads_;
  std::int64_t intermediate_;
};

Result<Layers> layers_of(const Config& config, const DetrSizes& sizes, const std::string& side) {
  const std::int64_t heads = config.integer(side + "_attention_heads");
  ASSAY_TRY(const std::int64_t width, head_width(sizes.hidden, heads));
  return Layers(sizes, heads, width, config.integer(side + "_ffn_dim"));
}

void predict(BuildContext& context, const Value& hidden, const DetrSizes& sizes) {
  GraphBuilder& graph = context.graph();
  const std::int64_t classes = context.config.label_count() + 1;  // and "no object"
  graph.output("logits", linear(context.model / "class_labels_classifier", hidden, {sizes.hidden, classes}),
               {"batch", sizes.queries, classes});
  const Module boxes = context.model / "bbox_predictor";
  Value box = hidden;
  for (int i = 0; i < 3; ++i) {
    const Module layer = boxes / fmt::format("layers.{}", i);
    box = linear(layer, box, {sizes.hidden, i == 2 ? 4 : sizes.hidden});
    if (i < 2) box = layer.node("Relu", {box});
  }
  graph.output("pred_boxes", boxes.node("Sigmoid", {box}), {"batch", sizes.queries, std::int64_t{4}});
}

}  // namespace

Status build_detr_detector(BuildContext& context) {
  const Config& config = context.config;
  const bool norm_first = config.architecture().varied<DetrVariations>().norm_first;
  const bool bare = config.bare();
  const Module base = base_module(context);
  DetrSizes sizes{config.integer("d_model"), config.integer("num_queries"), norm_first,
                  config.text("activation_function")};
  if (sizes.hidden % 4 != 0) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("d_model = {}: expected a multiple of 4", sizes.hidden));
  }
  if (const auto layers = config.optional_integer("num_hidden_layers");
      layers && *layers != config.integer("encoder_layers")) {
    return unsupported("num_hidden_layers", std::to_string(*layers), "it is another name of encoder_layers");
  }

  ASSAY_TRY(const Image image, look(context, base));
  const auto& map = image.map;
  const Value projected =
      convolution(base / "input_projection", map.value, {map.channels, sizes.hidden, 1, 1, 1, 1, 0, true});
  Value memory = transpose(base, reshape(base, projected, {0, sizes.hidden, map.height * map.width}), {0, 2, 1});
  const Module at = base / "position_embedding";
  Value places;
  if (config.text("position_embedding_type") == "learned") {
    ASSAY_TRY(places, learned_positions(at, image, sizes.hidden));
  } else {
    places = sine_positions(at, image, sizes.hidden);
  }
  std::optional<Value> mask;
  if (image.mask) mask = additive_mask(base, reshape(base, *image.mask, {0, map.height * map.width}));

  ASSAY_TRY(const Layers encoder, layers_of(config, sizes, "encoder"));
  for (std::int64_t i = 0; i < config.integer("encoder_layers"); ++i) {
    ASSAY_TRY(memory, encoder.encode(base / "encoder" / fmt::format("layers.{}", i), memory, places, mask));
  }
  if (norm_first) memory = layer_norm(base / "encoder" / "layernorm", memory, sizes.hidden, kDetrEpsilon);

  const Value queries = base.viewed_parameter("query_position_embeddings.weight", {sizes.queries, sizes.hidden},
                                              {1, sizes.queries, sizes.hidden}, Role::kTable);
  Value hidden = for_each_row(base / "decoder", context.graph().number(0.0F), memory, {sizes.queries, sizes.hidden});
  ASSAY_TRY(const Layers decoder, layers_of(config, sizes, "decoder"));
  for (std::int64_t i = 0; i < config.integer("decoder_layers"); ++i) {
    ASSAY_TRY(hidden,
              decoder.decode(base / "decoder" / fmt::format("layers.{}", i), hidden, queries, memory, places, mask));
  }
  hidden = layer_norm(base / "decoder" / "layernorm", hidden, sizes.hidden, kDetrEpsilon);

  GraphBuilder& graph = context.graph();
  if (!bare) predict(context, hidden, sizes);
  graph.output("last_hidden_state", hidden, {"batch", sizes.queries, sizes.hidden});
  if (bare) graph.output("encoder_last_hidden_state", memory, {"batch", map.height * map.width, sizes.hidden});
  return {};
}

}  // namespace assay::zoo
