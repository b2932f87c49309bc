// SPDX-License-Identifier: Apache-2.0
// BERT and RoBERTa as towers beside another: transformers' modeling_clap.py, modeling_chinese_clip.py,
// modeling_align.py.
#include <fmt/format.h>

#include "zoo/layers/input_types.hpp"
#include "zoo/layers/layers.hpp"
#include "zoo/layers/tensors.hpp"
#include "zoo/towers/two_tower.hpp"

namespace assay::zoo {
namespace {

struct BertTowerSizes {
  LayerSizes layer;
  std::int64_t positions = 0, types = 0, padding = 0;
  bool counted = false;  ///< positions count the tokens that are no padding, from `padding` + 1
};

Result<Value> positions(const Module& table, const Value& ids, Inputs& inputs, const BertTowerSizes& sizes) {
  GraphBuilder& graph = table.graph();
  const std::int64_t width = sizes.layer.hidden;
  if (inputs.wants("position_ids")) {
    ASSAY_TRY(const Value given, take_position_ids(inputs));
    return embedding(table, given, sizes.positions, width);
  }
  if (sizes.counted) {
    const Value padding =
        table.node("Equal", {ids, cast(table, graph.integer(sizes.padding), ids.dtype)}, {}, DType::kBool);
    const Value kept = cast(table, table.node("Not", {padding}), DType::kInt64);
    const Value count = multiply(table, table.node("CumSum", {kept, graph.integer(1)}), kept);
    return embedding(table, add(table, count, graph.integer(sizes.padding)), sizes.positions, width);
  }
  const Value all = table.parameter("weight", {sizes.positions, width}, Role::kTable);
  return table.node("Slice", {all, graph.integers({0}), extent(table, ids, 1), graph.integers({0})});
}

Result<Value> layer(const Module& at, const Value& input, const LayerSizes& sizes, const std::optional<Value>& mask) {
  const LayerNames names{.query = "attention.self.query",
                         .key = "attention.self.key",
                         .value = "attention.self.value",
                         .out = "attention.output.dense",
                         .up = "intermediate.dense",
                         .down = "output.dense"};
  const Value attention = self_attention(at, input, names, sizes, {.mask = mask});
  const Value attended =
      layer_norm(at.at("attention.output.LayerNorm"), add(at, attention, input), sizes.hidden, sizes.epsilon);
  ASSAY_TRY(const Value mlp, plain_mlp(at, attended, names, sizes));
  return layer_norm(at.at("output.LayerNorm"), add(at, mlp, attended), sizes.hidden, sizes.epsilon);
}

}  // namespace

Result<Tower> bert_text_tower(const Module& base, const Config& config, Inputs& inputs) {
  const Json& style = config.architecture().description["text"];
  BertTowerSizes sizes;
  ASSAY_TRY(sizes.layer, layer_sizes(config));
  sizes.positions = config.integer("max_position_embeddings");
  sizes.types = config.integer("type_vocab_size");
  sizes.counted = style["positions"] == "after_padding";
  if (sizes.counted) sizes.padding = config.integer("pad_token_id");
  const std::int64_t width = sizes.layer.hidden;

  const Module at = base / "embeddings";
  ASSAY_TRY(const Value ids, inputs.take("input_ids", kIdTypes, {"batch", "sequence"}));
  const Value words = embedding(at / "word_embeddings", ids, config.integer("vocab_size"), width);
  Value type = base.graph().integer(0);
  std::optional<Value> mask;
  if (inputs.wants("attention_mask")) {
    ASSAY_TRY(const Value given, inputs.take("attention_mask", kMaskTypes, {"batch", "sequence"}));
    mask = additive_mask(base, given);
  }
  if (style.value("token_types", false) && inputs.wants("token_type_ids")) {
    ASSAY_TRY(type, inputs.take("token_type_ids", kIdTypes, {"batch", "sequence"}));
  }
  ASSAY_TRY(const Value places, positions(at / "position_embeddings", ids, inputs, sizes));
  base.parameters().unused(at.name_of("token_type_ids"));  // a buffer of zeros
  const Value types = embedding(at / "token_type_embeddings", type, sizes.types, width);
  Value hidden = layer_norm(at / "LayerNorm", add(at, add(at, words, types), places), width, sizes.layer.epsilon);
  base.graph().declare(hidden, {"batch", "sequence", width});
  for (std::int64_t i = 0; i < config.integer("num_hidden_layers"); ++i) {
    ASSAY_TRY(hidden, layer(base / "encoder" / fmt::format("layer.{}", i), hidden, sizes.layer, mask));
  }
  Tower tower{hidden, 0, width, {}, width};
  if (style["pool"] == "dense") {
    const Module pooler = base / "pooler";
    const Value dense = linear_rank2(pooler / "dense", token(pooler, hidden, 0), {width, width});
    tower.pooled = pooler.node("Tanh", {dense});
  } else {
    tower.pooled = token(base, hidden, 0);
  }
  const std::int64_t last = sizes.counted ? sizes.positions - sizes.padding - 1 : sizes.positions;
  base.graph().metadata("assay.max_sequence", std::to_string(last));
  return tower;
}

}  // namespace assay::zoo
