// SPDX-License-Identifier: Apache-2.0
// transformers' modeling_clip.py and modeling_siglip.py: the towers.
#include <fmt/format.h>

#include "models/zoo/layers/input_types.hpp"
#include "models/zoo/layers/layers.hpp"
#include "models/zoo/layers/positions.hpp"
#include "models/zoo/layers/tensors.hpp"
#include "models/zoo/towers/two_tower.hpp"
#include "models/zoo/vision/vision_tower.hpp"

namespace assay::zoo {
namespace {

Result<Value> positions(const Module& at, const Value& tokens, Inputs& inputs, std::int64_t rows, std::int64_t width) {
  const Module table = at / "position_embedding";
  if (inputs.wants("position_ids")) {
    ASSAY_TRY(const Value ids, take_position_ids(inputs));
    return embedding(table, ids, rows, width);
  }
  GraphBuilder& graph = at.graph();
  return table.node("Slice", {table.parameter("weight", {rows, width}, Role::kTable), graph.integers({0}),
                              extent(table, tokens, 1), graph.integers({0})});
}

// The row where the first `end` stands, or, if there is none, the largest id.
Value pool_at_end(const Module& at, const Value& hidden, const Value& ids, std::optional<std::int64_t> end) {
  GraphBuilder& graph = at.graph();
  Value found = ids;
  if (end) {
    found = at.node("Equal", {ids, cast(at, graph.integer(*end), ids.dtype)}, {}, DType::kBool);
  }
  found = cast(at, found, DType::kInt32);
  const Value row =
      at.node("ArgMax", {found}, {{"axis", std::int64_t{-1}}, {"keepdims", std::int64_t{1}}}, DType::kInt64);
  return at.node("GatherND", {hidden, row}, {{"batch_dims", std::int64_t{1}}});
}

// siglip: a learned query attends over all tokens.
Result<Value> attention_pool(const Module& head, const Value& hidden, const LayerSizes& sizes) {
  const Value probe = head.parameter("probe", {1, 1, sizes.hidden}, Role::kTable);
  const Value query = for_each_row(head, probe, hidden, {1, sizes.hidden});
  const Value attended = multihead_attention(head / "attention", query, hidden, sizes.hidden, sizes.heads);
  const Value normed = layer_norm(head / "layernorm", attended, sizes.hidden, sizes.epsilon);
  const LayerNames names{.up = "mlp.fc1", .down = "mlp.fc2"};
  ASSAY_TRY(const Value mlp, plain_mlp(head, normed, names, sizes));
  return token(head, head.node("Add", {attended, mlp}), 0);
}

}  // namespace

Value normalised(const Module& at, const Value& input) {
  const Value norm = at.node("ReduceL2", {input}, {{"axes", Integers{-1}}, {"keepdims", std::int64_t{1}}});
  return at.node("Div", {input, norm});
}

Result<Tower> clip_text_tower(BuildContext& context, const Module& base, const Config& config) {
  Inputs& inputs = context.inputs;
  const TextTowerSpec& style = config.architecture().text;
  ASSAY_TRY(const LayerSizes sizes, layer_sizes(config));
  const LayerNames& names = config.architecture().layer_names();
  const Module at = base / "embeddings";
  ASSAY_TRY(const Value ids, inputs.take("input_ids", kIdTypes, {"batch", "sequence"}));
  const Value words = embedding(at / "token_embedding", ids, config.integer("vocab_size"), sizes.hidden);
  std::optional<Value> padding;
  if (inputs.wants("attention_mask")) {
    ASSAY_TRY(padding, inputs.take("attention_mask", kMaskTypes, {"batch", "sequence"}));
  }
  ASSAY_TRY(const Value places, positions(at, ids, inputs, config.integer("max_position_embeddings"), sizes.hidden));
  Value hidden = at.node("Add", {words, places});
  base.graph().declare(hidden, {"batch", "sequence", sizes.hidden});

  LayerHooks hooks;
  if (style.causal) {
    const auto [queries, keys] = token_positions(base, token_span(base, ids, std::nullopt));
    hooks.mask = additive(base, causal_mask(base, queries, keys, padding));
  } else if (padding) {
    hooks.mask = additive_mask(base, *padding);
  }
  for (std::int64_t i = 0; i < config.integer("num_hidden_layers"); ++i) {
    const Module layer = base / "encoder" / fmt::format("layers.{}", i);
    ASSAY_TRY(hidden, pre_norm_layer(layer, hidden, names, sizes, hooks));
  }
  hidden = layer_norm(base / "final_layer_norm", hidden, sizes.hidden, sizes.epsilon);

  Tower tower{hidden, 0, sizes.hidden, {}, sizes.hidden};
  const std::string& pool = style.pool;
  if (pool == "end" || pool == "end_token") {
    // CLIP's checkpoints from before the key was right say 2 and mean the largest id.
    constexpr std::int64_t kOlderEnd = 2;
    const std::int64_t end = config.integer("eos_token_id");
    const bool largest = pool == "end" && end == kOlderEnd;
    tower.pooled = pool_at_end(base, hidden, ids, largest ? std::nullopt : std::optional(end));
  } else {  // "last", which may be padding
    tower.pooled = token(base, hidden, -1);
  }
  if (style.head) {
    tower.pooled_width = config.optional_integer("projection_size").value_or(sizes.hidden);
    tower.pooled = linear_rank2(base / "head", *tower.pooled, {sizes.hidden, tower.pooled_width});
  }
  base.graph().metadata("assay.max_sequence", std::to_string(config.integer("max_position_embeddings")));
  return tower;
}

Result<Tower> clip_vision_tower(const Module& base, const Config& config, Inputs& inputs, const std::string& batch,
                                bool pooled) {
  const Architecture& architecture = config.architecture();
  const VisionStyle style = vision_style(architecture);
  ASSAY_TRY(const VisionSizes sizes, vision_sizes(config));
  ASSAY_TRY(const Value pixels,
            inputs.take("pixel_values", {DType::kFloat32}, {batch, sizes.channels, sizes.height, sizes.width}));
  ASSAY_TRY(Value hidden, encode_image(base, pixels, sizes, style, architecture.layer_names(), {}));
  const std::string& pool = architecture.vision.pool;
  const LayerSizes& layer = sizes.layer;
  Tower tower{hidden, sizes.patches() + (style.class_token.empty() ? 0 : 1), layer.hidden, {}, layer.hidden};
  if (pool == "class_token") {  // the norm is for the pooled row alone
    if (pooled) {
      tower.pooled = layer_norm(base.at(style.final_norm), token(base, hidden, 0), layer.hidden, layer.epsilon);
    }
    return tower;
  }
  tower.hidden = layer_norm(base.at(style.final_norm), hidden, layer.hidden, layer.epsilon);
  if (pooled && config.flag("vision_use_head")) {
    ASSAY_TRY(tower.pooled, attention_pool(base / "head", tower.hidden, layer));
  }
  return tower;
}

}  // namespace assay::zoo
