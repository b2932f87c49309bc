// SPDX-License-Identifier: Apache-2.0
// What text encoders answer with: hidden states, a pooled token, words, labels, spans.
#include <fmt/format.h>

#include "zoo/layers/outputs.hpp"
#include "zoo/layers/tensors.hpp"
#include "zoo/text/text_encoder.hpp"

namespace assay::zoo {
namespace {

/// Makes the outputs of what the layers gave, [B, S, hidden].
using EmitHead = Status (*)(const TextEncoder&, const Value& hidden);

Extents per_token(std::int64_t width) { return {"batch", "sequence", width}; }

Module head_at(const TextEncoder& encoder, const std::string& part, const std::string& name) {
  return encoder.context->model.at(encoder.text(part, name));
}

Result<Value> activated(const TextEncoder& encoder, const Module& at, const Value& value, const std::string& part) {
  if (const auto key = encoder.find(part, "activation_key")) {
    return activation(at, value, encoder.context->config.text(*key), *key);
  }
  const std::optional<std::string> fixed = encoder.find(part, "activation");
  return activation(at, value, fixed.value_or(encoder.hidden_act), "hidden_act");
}

// dense → activation → norm, as far as the part has them. The last axis becomes `width`.
Result<Value> transformed(const TextEncoder& encoder, const std::string& part, const Value& input, std::int64_t width) {
  if (!encoder.find(part, "dense")) return input;
  const Module dense = head_at(encoder, part, "dense");
  Value value = linear(dense, input, {encoder.hidden, width});
  ASSAY_TRY(value, activated(encoder, dense, value, part));
  if (encoder.find(part, "norm")) value = layer_norm(head_at(encoder, part, "norm"), value, width, encoder.epsilon);
  return value;
}

// MobileBERT: the words' table gives the first columns of the matrix, a second one the others.
Result<Value> split_word_logits(const TextEncoder& encoder, const Module& decoder, const Value& input,
                                std::int64_t width) {
  const std::int64_t rest = width - encoder.embedding;
  if (rest < 1) return unsupported("embedding_size", std::to_string(encoder.embedding));
  const Value words = decoder.parameter("weight", {encoder.vocabulary, encoder.embedding}, Role::kTable);
  const Value others =
      head_at(encoder, "masked_lm", "second_matrix").parameter("weight", {rest, encoder.vocabulary}, Role::kWeight);
  const Value turned = decoder.node("Transpose", {words}, {{"perm", std::vector<std::int64_t>{1, 0}}});
  const Value matrix = decoder.node("Concat", {turned, others}, {{"axis", std::int64_t{0}}});
  return decoder.node(
      "Add", {decoder.node("MatMul", {input, matrix}), decoder.parameter("bias", {encoder.vocabulary}, Role::kBias)});
}

// dense → activation → norm → one logit per word. The matrix of the last is that of the words where they are tied.
Result<Value> word_logits(const TextEncoder& encoder, const Value& hidden) {
  const std::string part = "masked_lm";
  const std::int64_t width =
      encoder.find(part, "width") ? encoder.integer(encoder.text(part, "width")) : encoder.hidden;
  ASSAY_TRY(const Value value, transformed(encoder, part, hidden, width));
  const Module decoder = head_at(encoder, part, "decoder");
  if (encoder.find(part, "second_matrix")) return split_word_logits(encoder, decoder, value, width);
  const Value weight = decoder.parameter("weight", {encoder.vocabulary, width}, Role::kTable);
  const Value logits = multiply_tied(decoder, value, weight);
  if (const auto bias = encoder.find(part, "own_bias"))
    return add(decoder, logits, encoder.context->model.parameter(*bias, {encoder.vocabulary}, Role::kBias));
  return add(decoder, logits, decoder.parameter("bias", {encoder.vocabulary}, Role::kBias));
}

Status hidden_states(const TextEncoder& encoder, const Value& hidden) {
  encoder.graph().output("last_hidden_state", hidden, per_token(encoder.hidden));
  if (!encoder.find("pooler", "dense")) return {};
  ASSAY_TRY(const Value pooled, pool_text(encoder, hidden));
  encoder.graph().output("pooler_output", pooled, {"batch", encoder.hidden});
  return {};
}

Status masked_lm(const TextEncoder& encoder, const Value& hidden) {
  ASSAY_TRY(const Value logits, word_logits(encoder, hidden));
  encoder.graph().output("logits", logits, per_token(encoder.vocabulary));
  return {};
}

Result<Value> next_sentence_logits(const TextEncoder& encoder, const Value& hidden, std::int64_t labels) {
  ASSAY_TRY(const Value pooled, pool_text(encoder, hidden));
  return linear_rank2(head_at(encoder, "next_sentence", "dense"), pooled, {encoder.hidden, labels});
}

Status next_sentence(const TextEncoder& encoder, const Value& hidden) {
  ASSAY_TRY(const Value logits, next_sentence_logits(encoder, hidden, 2));
  encoder.graph().output("logits", logits, {"batch", std::int64_t{2}});
  return {};
}

Status pre_training(const TextEncoder& encoder, const Value& hidden) {
  ASSAY_TRY(const Value words, word_logits(encoder, hidden));
  encoder.graph().output("prediction_logits", words, per_token(encoder.vocabulary));
  std::int64_t labels = 2;
  if (encoder.flag("next_sentence", "labelled")) {
    ASSAY_TRY(labels, positive_label_count(encoder.context->config));
  }
  ASSAY_TRY(const Value next, next_sentence_logits(encoder, hidden, labels));
  encoder.graph().output(encoder.text("next_sentence", "output"), next, {"batch", labels});
  return {};
}

Status sequence_classification(const TextEncoder& encoder, const Value& hidden) {
  const std::string part = "sequence_classification";
  ASSAY_TRY(const std::int64_t labels, positive_label_count(encoder.context->config));
  const Module output = head_at(encoder, part, "output");
  Value summary;
  if (encoder.find(part, "dense")) {
    ASSAY_TRY(summary, transformed(encoder, part, token(output, hidden, 0), encoder.hidden));
  } else {
    ASSAY_TRY(summary, pool_text(encoder, hidden));
  }
  encoder.graph().output("logits", linear_rank2(output, summary, {encoder.hidden, labels}), {"batch", labels});
  return {};
}

Status token_classification(const TextEncoder& encoder, const Value& hidden) {
  const std::string part = "token_classification";
  ASSAY_TRY(const std::int64_t labels, positive_label_count(encoder.context->config));
  ASSAY_TRY(const Value value, transformed(encoder, part, hidden, encoder.hidden));
  const Value logits = linear(head_at(encoder, part, "output"), value, {encoder.hidden, labels});
  encoder.graph().output("logits", logits, per_token(labels));
  return {};
}

Status question_answering(const TextEncoder& encoder, const Value& hidden) {
  if (const std::int64_t labels = encoder.context->config.label_count(); labels != 2) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("num_labels = {}: expected 2 for {}", labels, encoder.context->config.model_class()));
  }
  const Module outputs = head_at(encoder, "question_answering", "output");
  ASSAY_TRY(const Value value, transformed(encoder, "question_answering", hidden, encoder.hidden));
  const Value logits = linear(outputs, value, {encoder.hidden, 2});
  question_answering_outputs(outputs, logits, "sequence");
  return {};
}

// ELECTRA: was the token replaced?
Status discriminator(const TextEncoder& encoder, const Value& hidden) {
  const std::string part = "discriminator";
  ASSAY_TRY(Value value, transformed(encoder, part, hidden, encoder.hidden));
  const Module output = head_at(encoder, part, "output");
  value = output.node("Squeeze", {linear(output, value, {encoder.hidden, 1}), encoder.graph().integers({2})});
  encoder.graph().output("logits", value, {"batch", "sequence"});
  return {};
}

// DPR: the first token, projected where the configuration says how wide.
Status first_token(const TextEncoder& encoder, const Value& hidden) {
  const Config& config = encoder.context->config;
  const Json& model_class = config.architecture().description["classes"][config.model_class()];
  Value pooled = token(encoder.base, hidden, 0);
  std::int64_t width = encoder.hidden;
  if (const std::int64_t projected = config.integer("projection_dim"); projected > 0) {
    const Module at = encoder.context->model.at(model_class["projection"].get<std::string>());
    pooled = linear_rank2(at, pooled, {width, projected});
    width = projected;
  }
  encoder.graph().output("pooler_output", pooled, {"batch", width});
  return {};
}

EmitHead find_head(const std::string& name) {
  static const std::map<std::string, EmitHead> all = {{"none", hidden_states},
                                                      {"masked_lm", masked_lm},
                                                      {"next_sentence", next_sentence},
                                                      {"pre_training", pre_training},
                                                      {"sequence_classification", sequence_classification},
                                                      {"token_classification", token_classification},
                                                      {"question_answering", question_answering},
                                                      {"discriminator", discriminator},
                                                      {"first_token", first_token}};
  const auto found = all.find(name);
  ASSAY_CHECK(found != all.end(), "zoo/*.json names a head that is there");
  return found->second;
}

const std::string& head_of(const TextEncoder& encoder) {
  const Config& config = encoder.context->config;
  return config.architecture().description["classes"][config.model_class()]["head"].get_ref<const std::string&>();
}

}  // namespace

void tie_text_heads(const TextEncoder& encoder) {
  const std::string part = "masked_lm";
  if (head_of(encoder) != part && head_of(encoder) != "pre_training") return;
  Parameters& parameters = encoder.context->model.parameters();
  const Module decoder = head_at(encoder, part, "decoder");
  const bool tied = encoder.has("tie_word_embeddings") && encoder.context->config.flag("tie_word_embeddings");
  if (tied && !encoder.flag(part, "untied")) {
    const Module words = encoder.base.at(encoder.text("embeddings", "word"));
    parameters.tie(decoder.name_of("weight"), words.name_of("weight"));
  }
  const std::optional<std::string> bias = encoder.find(part, "bias");
  if (bias && tied) parameters.tie(decoder.name_of("bias"), *bias);
  if (bias && !tied) parameters.unused(*bias);
}

Result<Value> pool_text(const TextEncoder& encoder, const Value& hidden) {
  const Module dense = encoder.base.at(encoder.text("pooler", "dense"));
  const Module at = encoder.base.at(encoder.find("pooler", "path").value_or(encoder.text("pooler", "dense")));
  // MobileBERT can leave the first token as it is.
  if (const auto flag = encoder.find("pooler", "when"); flag && !encoder.context->config.flag(*flag)) {
    return token(at, hidden, 0);
  }
  const Value value = linear_rank2(dense, token(at, hidden, 0), {encoder.hidden, encoder.hidden});
  return activation(at, value, encoder.text("pooler", "activation"), "pooler_act");
}

Status build_text_heads(const TextEncoder& encoder, const Value& hidden) {
  // Some classes have a pooler that they do not use.
  if (const auto pooler = encoder.find("pooler", "dense")) {
    const Module dense = encoder.base.at(*pooler);
    for (const char* parameter : {"weight", "bias"}) {
      encoder.context->model.parameters().unused(dense.name_of(parameter));
    }
  }
  return find_head(head_of(encoder))(encoder, hidden);
}

}  // namespace assay::zoo
