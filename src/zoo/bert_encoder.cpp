// SPDX-License-Identifier: Apache-2.0
// transformers' modeling_bert.py: a post-norm encoder over word, position and token-type embeddings.
#include <fmt/format.h>

#include "zoo/blocks.hpp"
#include "zoo/skeletons.hpp"

namespace assay::zoo {
namespace {

const std::vector<DType> kIds = {DType::kInt64, DType::kInt32};
const std::vector<DType> kMasks = {DType::kInt64, DType::kInt32, DType::kBool, DType::kFloat32};

struct Sizes {
  std::int64_t vocabulary, hidden, intermediate, positions, token_types;
  Heads heads;
  float epsilon;
  std::string hidden_act;
};

Result<Sizes> read_sizes(const Config& config) {
  Sizes sizes{config.integer("vocab_size"),        config.integer("hidden_size"),
              config.integer("intermediate_size"), config.integer("max_position_embeddings"),
              config.integer("type_vocab_size"),   {config.integer("num_attention_heads"), 0},
              config.number("layer_norm_eps"),     config.text("hidden_act")};
  ASSAY_TRY(sizes.heads.width, head_width(sizes.hidden, sizes.heads.count));
  return sizes;
}

// Rows of the position table: those asked for, or the first S.
Result<Value> position_embeddings(BuildContext& context, const Module& at, const Value& tokens, const Sizes& sizes) {
  const Module table = at / "position_embeddings";
  if (context.inputs.wants("position_ids")) {
    const std::optional<Shape> asked = context.inputs.shape("position_ids");
    const bool shared = asked && !asked->empty() && asked->front() == 1;
    ASSAY_TRY(const Value ids, context.inputs.take("position_ids", kIds,
                                                   {shared ? Extent(std::int64_t{1}) : Extent("batch"), "sequence"}));
    return embedding(table, ids, sizes.positions, sizes.hidden);
  }
  GraphBuilder& graph = at.graph();
  const Value shape = table.node("Shape", {tokens}, {}, DType::kInt64);
  const Value length = table.node("Slice", {shape, graph.integers({1}), graph.integers({2})});
  return table.node("Slice", {table.parameter("weight", {sizes.positions, sizes.hidden}, Role::kTable),
                              graph.integers({0}), length, graph.integers({0})});
}

Result<Value> embeddings(BuildContext& context, const Module& at, const Sizes& sizes) {
  Inputs& inputs = context.inputs;
  if (inputs.wants("input_ids") == inputs.wants("inputs_embeds")) {
    return fail(ErrorCode::kInvalidArgument, "inputs: exactly one of input_ids and inputs_embeds is needed");
  }
  // Inputs in the order of forward's signature.
  std::optional<Value> ids;
  Value words;
  if (inputs.wants("input_ids")) {
    ASSAY_TRY(ids, inputs.take("input_ids", kIds, {"batch", "sequence"}));
    words = embedding(at / "word_embeddings", *ids, sizes.vocabulary, sizes.hidden);
  } else {
    ASSAY_TRY(words, inputs.take("inputs_embeds", {DType::kFloat32}, {"batch", "sequence", sizes.hidden}));
    context.model.parameters().unused((at / "word_embeddings").name_of("weight"));
  }
  const Value tokens = ids.value_or(words);
  Value type = context.graph().integer(0);
  if (inputs.wants("token_type_ids")) {
    ASSAY_TRY(type, inputs.take("token_type_ids", kIds, {"batch", "sequence"}));
  }
  const Value token_types = embedding(at / "token_type_embeddings", type, sizes.token_types, sizes.hidden);
  ASSAY_TRY(const Value positions, position_embeddings(context, at, tokens, sizes));
  const Value sum = at.node("Add", {at.node("Add", {words, token_types}), positions});
  return layer_norm(at / "LayerNorm", sum, sizes.hidden, sizes.epsilon);
}

Result<Value> encoder_layer(const Module& layer, const Value& input, const Sizes& sizes,
                            const std::optional<Value>& mask) {
  const Width square{sizes.hidden, sizes.hidden};
  const Module attention = layer / "attention";
  const Module self = attention / "self";
  const Value context =
      scaled_dot_product(self, linear(self / "query", input, square), linear(self / "key", input, square),
                         linear(self / "value", input, square), sizes.heads, mask);
  const Module attention_output = attention / "output";
  const Value attended =
      layer_norm(attention_output / "LayerNorm",
                 attention_output.node("Add", {linear(attention_output / "dense", context, square), input}),
                 sizes.hidden, sizes.epsilon);

  const Module intermediate = layer / "intermediate";
  const Value wide = linear(intermediate / "dense", attended, {sizes.hidden, sizes.intermediate});
  ASSAY_TRY(const Value active, activation(intermediate / "intermediate_act_fn", wide, sizes.hidden_act, "hidden_act"));
  const Module output = layer / "output";
  const Value narrow = linear(output / "dense", active, {sizes.intermediate, sizes.hidden});
  return layer_norm(output / "LayerNorm", output.node("Add", {narrow, attended}), sizes.hidden, sizes.epsilon);
}

Result<Value> encode(BuildContext& context, const Module& base, const Sizes& sizes) {
  ASSAY_TRY(Value hidden, embeddings(context, base / "embeddings", sizes));
  context.graph().declare(hidden, {"batch", "sequence", sizes.hidden});
  std::optional<Value> mask;
  if (context.inputs.wants("attention_mask")) {
    ASSAY_TRY(const Value input, context.inputs.take("attention_mask", kMasks, {"batch", "sequence"}));
    mask = additive_mask(base, input);
  }
  const std::int64_t layers = context.config.integer("num_hidden_layers");
  for (std::int64_t i = 0; i < layers; ++i) {
    ASSAY_TRY(hidden, encoder_layer(base / "encoder" / fmt::format("layer.{}", i), hidden, sizes, mask));
  }
  return hidden;
}

Value pool(const Module& base, const Value& hidden, const Sizes& sizes) {
  const Module pooler = base / "pooler";
  return pooler.node("Tanh", {linear_rank2(pooler / "dense", token(pooler, hidden, 0), {sizes.hidden, sizes.hidden})});
}

Result<Value> masked_language_head(BuildContext& context, const Module& base, const Value& hidden, const Sizes& sizes) {
  const Module predictions = context.model / "cls" / "predictions";
  const Module transform = predictions / "transform";
  const Module decoder = predictions / "decoder";
  const Module words = base / "embeddings" / "word_embeddings";
  const Value dense = linear(transform / "dense", hidden, {sizes.hidden, sizes.hidden});
  ASSAY_TRY(const Value active, activation(transform / "transform_act_fn", dense, sizes.hidden_act, "hidden_act"));
  const Value normed = layer_norm(transform / "LayerNorm", active, sizes.hidden, sizes.epsilon);
  if (!context.config.flag("tie_word_embeddings")) {
    context.model.parameters().unused(predictions.name_of("bias"));
  }
  const Value weight = decoder.parameter("weight", {sizes.vocabulary, sizes.hidden}, Role::kTable);
  return linear_with(decoder, normed, weight, {sizes.hidden, sizes.vocabulary});
}

}  // namespace

Status build_bert_encoder(BuildContext& context) {
  const Config& config = context.config;
  ASSAY_TRY(const Sizes sizes, read_sizes(config));
  const std::string& model_class = config.model_class();
  GraphBuilder& graph = context.graph();
  const bool bare = model_class == "BertModel";
  const Module base = bare ? context.model : context.model / "bert";
  if (config.flag("tie_word_embeddings")) {
    context.model.parameters().tie("cls.predictions.decoder.weight", "bert.embeddings.word_embeddings.weight");
    context.model.parameters().tie("cls.predictions.decoder.bias", "cls.predictions.bias");
  }

  ASSAY_TRY(const Value hidden, encode(context, base, sizes));
  const auto per_token = [](std::int64_t width) { return Extents{"batch", "sequence", width}; };
  const std::int64_t labels = config.label_count();
  const bool counts_labels = model_class == "BertForSequenceClassification" ||
                             model_class == "BertForTokenClassification" || model_class == "BertForQuestionAnswering";
  if (counts_labels && labels < 1) return unsupported("num_labels", std::to_string(labels));

  if (bare) {
    graph.output("last_hidden_state", hidden, per_token(sizes.hidden));
    graph.output("pooler_output", pool(base, hidden, sizes), {"batch", sizes.hidden});
  } else if (model_class == "BertForMaskedLM") {
    ASSAY_TRY(const Value logits, masked_language_head(context, base, hidden, sizes));
    graph.output("logits", logits, per_token(sizes.vocabulary));
  } else if (model_class == "BertForPreTraining") {
    ASSAY_TRY(const Value logits, masked_language_head(context, base, hidden, sizes));
    graph.output("prediction_logits", logits, per_token(sizes.vocabulary));
    const Value next =
        linear_rank2(context.model / "cls" / "seq_relationship", pool(base, hidden, sizes), {sizes.hidden, 2});
    graph.output("seq_relationship_logits", next, {"batch", std::int64_t{2}});
  } else if (model_class == "BertForNextSentencePrediction") {
    const Value next =
        linear_rank2(context.model / "cls" / "seq_relationship", pool(base, hidden, sizes), {sizes.hidden, 2});
    graph.output("logits", next, {"batch", std::int64_t{2}});
  } else if (model_class == "BertForSequenceClassification") {
    const Value logits = linear_rank2(context.model / "classifier", pool(base, hidden, sizes), {sizes.hidden, labels});
    graph.output("logits", logits, {"batch", labels});
  } else if (model_class == "BertForTokenClassification") {
    graph.output("logits", linear(context.model / "classifier", hidden, {sizes.hidden, labels}), per_token(labels));
  } else {  // BertForQuestionAnswering
    if (labels != 2) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("num_labels = {}: expected 2 for BertForQuestionAnswering", labels));
    }
    const Module outputs = context.model / "qa_outputs";
    const Value logits = linear(outputs, hidden, {sizes.hidden, 2});
    const auto column = [&](std::int64_t index) {
      return outputs.node("Gather", {logits, graph.integer(index)}, {{"axis", std::int64_t{2}}});
    };
    graph.output("start_logits", column(0), {"batch", "sequence"});
    graph.output("end_logits", column(1), {"batch", "sequence"});
  }
  graph.metadata("assay.max_sequence", std::to_string(sizes.positions));
  return {};
}

}  // namespace assay::zoo
