// SPDX-License-Identifier: Apache-2.0
// What text encoders answer with: hidden states, a pooled token, words, labels, spans.
#include <fmt/format.h>

#include "models/zoo/layers/outputs.hpp"
#include "models/zoo/layers/tensors.hpp"
#include "models/zoo/text/text_encoder.hpp"

namespace assay::zoo {
namespace {

/// Makes the outputs of what the layers gave, [B, S, hidden].
using EmitHead = Status (*)(const TextEncoder&, const Value& hidden);

Extents per_token(std::int64_t width) { return {"batch", "sequence", width}; }

Module head_at(const TextEncoder& encoder, const std::string& name) { return encoder.context->model.at(name); }

// MobileBERT: the words' table gives the first columns of the matrix, a second one the others.
Result<Value> split_word_logits(const TextEncoder& encoder, const Module& decoder, const Value& input,
                                std::int64_t width) {
  const std::int64_t rest = width - encoder.embedding;
  if (rest < 1) return unsupported("embedding_size", std::to_string(encoder.embedding));
  const Value words = decoder.parameter("weight", {encoder.vocabulary, encoder.embedding}, Role::kTable);
  const Value others = head_at(encoder, encoder.variations->masked_lm.second_matrix)
                           .parameter("weight", {rest, encoder.vocabulary}, Role::kWeight);
  const Value transposed = decoder.node("Transpose", {words}, {{"perm", std::vector<std::int64_t>{1, 0}}});
  const Value matrix = decoder.node("Concat", {transposed, others}, {{"axis", std::int64_t{0}}});
  return decoder.node(
      "Add", {decoder.node("MatMul", {input, matrix}), decoder.parameter("bias", {encoder.vocabulary}, Role::kBias)});
}

// dense → activation → norm → one logit per word. The matrix of the last is that of the words if they are tied.
Result<Value> word_logits(const TextEncoder& encoder, const Value& hidden) {
  const MaskedLmHead& head = encoder.variations->masked_lm;
  const std::int64_t width = head.width->empty() ? encoder.hidden : encoder.integer(head.width);
  Value value = hidden;
  if (!head.dense->empty()) {
    const Module dense = head_at(encoder, head.dense);
    const std::string& act = head.activation->empty() ? encoder.hidden_act : *head.activation;
    ASSAY_TRY(value, activation(dense, linear(dense, hidden, {encoder.hidden, width}), act, "hidden_act"));
    if (!head.norm->empty()) value = layer_norm(head_at(encoder, head.norm), value, width, encoder.epsilon);
  }
  const Module decoder = head_at(encoder, head.decoder);
  if (!head.second_matrix->empty()) return split_word_logits(encoder, decoder, value, width);
  const Value weight = decoder.parameter("weight", {encoder.vocabulary, width}, Role::kTable);
  const Value logits = multiply_tied(decoder, value, weight);
  return add(decoder, logits, decoder.parameter("bias", {encoder.vocabulary}, Role::kBias));
}

Status hidden_states(const TextEncoder& encoder, const Value& hidden) {
  encoder.graph().output("last_hidden_state", hidden, per_token(encoder.hidden));
  if (encoder.variations->pooler.dense->empty()) return {};
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
  return linear_rank2(head_at(encoder, encoder.variations->next_sentence.dense), pooled, {encoder.hidden, labels});
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
  if (encoder.variations->next_sentence.labelled) {
    ASSAY_TRY(labels, positive_label_count(encoder.context->config));
  }
  ASSAY_TRY(const Value next, next_sentence_logits(encoder, hidden, labels));
  encoder.graph().output(encoder.variations->next_sentence.output, next, {"batch", labels});
  return {};
}

Status sequence_classification(const TextEncoder& encoder, const Value& hidden) {
  const SequenceHead& head = encoder.variations->sequence_classification;
  const Config& config = encoder.context->config;
  ASSAY_TRY(const std::int64_t labels, positive_label_count(config));
  const Module output = head_at(encoder, head.output);
  Value summary;
  if (head.dense->empty()) {
    ASSAY_TRY(summary, pool_text(encoder, hidden));
  } else {
    const Module dense = head_at(encoder, head.dense);
    const Value first = linear(dense, token(output, hidden, 0), {encoder.hidden, encoder.hidden});
    const std::string& key = head.activation_key;
    const std::string act = !key.empty()               ? config.text(key)
                            : head.activation->empty() ? encoder.hidden_act
                                                       : *head.activation;
    ASSAY_TRY(summary, activation(dense, first, act, key.empty() ? "hidden_act" : key));
  }
  encoder.graph().output("logits", linear_rank2(output, summary, {encoder.hidden, labels}), {"batch", labels});
  return {};
}

Status token_classification(const TextEncoder& encoder, const Value& hidden) {
  ASSAY_TRY(const std::int64_t labels, positive_label_count(encoder.context->config));
  const Module output = head_at(encoder, encoder.variations->token_classification.output);
  encoder.graph().output("logits", linear(output, hidden, {encoder.hidden, labels}), per_token(labels));
  return {};
}

Status question_answering(const TextEncoder& encoder, const Value& hidden) {
  if (const std::int64_t labels = encoder.context->config.label_count(); labels != 2) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("num_labels = {}: expected 2 for {}", labels, encoder.context->config.model_class()));
  }
  const Module outputs = head_at(encoder, encoder.variations->question_answering.output);
  question_answering_outputs(outputs, linear(outputs, hidden, {encoder.hidden, 2}), "sequence");
  return {};
}

// ELECTRA: was the token replaced?
Status discriminator(const TextEncoder& encoder, const Value& hidden) {
  const DenseHead& head = encoder.variations->discriminator;
  const Module dense = head_at(encoder, head.dense);
  const Value wide = linear(dense, hidden, {encoder.hidden, encoder.hidden});
  ASSAY_TRY(const Value active, activation(dense, wide, encoder.hidden_act, "hidden_act"));
  const Module output = head_at(encoder, head.output);
  const Value logits =
      output.node("Squeeze", {linear(output, active, {encoder.hidden, 1}), encoder.graph().integers({2})});
  encoder.graph().output("logits", logits, {"batch", "sequence"});
  return {};
}

// DPR: the first token, projected if the configuration has a width for it.
Status first_token(const TextEncoder& encoder, const Value& hidden) {
  const Config& config = encoder.context->config;
  Value pooled = token(encoder.base, hidden, 0);
  std::int64_t width = encoder.hidden;
  if (const std::int64_t projected = config.integer("projection_dim"); projected > 0) {
    const Module at = encoder.context->model.at(config.class_spec().projection);
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
  ASSAY_CHECK(found != all.end(), "each head of a text skeleton has a function");
  return found->second;
}

}  // namespace

void tie_text_heads(const TextEncoder& encoder) {
  const std::string& head = encoder.context->config.head();
  if (head != "masked_lm" && head != "pre_training") return;
  const MaskedLmHead& spec = encoder.variations->masked_lm;
  Parameters& parameters = encoder.context->model.parameters();
  const Module decoder = head_at(encoder, spec.decoder);
  const bool tied = encoder.has("tie_word_embeddings") && encoder.context->config.flag("tie_word_embeddings");
  if (tied && !spec.untied) {
    const Module words = encoder.base.at(encoder.variations->embeddings.word);
    parameters.tie(decoder.name_of("weight"), words.name_of("weight"));
  }
  if (spec.bias->empty()) return;
  if (tied) {
    parameters.tie(decoder.name_of("bias"), spec.bias);
  } else {
    parameters.unused(spec.bias);
  }
}

Result<Value> pool_text(const TextEncoder& encoder, const Value& hidden) {
  const TextPooler& pooler = encoder.variations->pooler;
  const Module dense = encoder.base.at(pooler.dense);
  const Module at = encoder.base.at(pooler.path->empty() ? pooler.dense : pooler.path);
  // MobileBERT can leave the first token as it is.
  if (!pooler.when->empty() && !encoder.context->config.flag(pooler.when)) return token(at, hidden, 0);
  const Value value = linear_rank2(dense, token(at, hidden, 0), {encoder.hidden, encoder.hidden});
  return activation(at, value, pooler.activation, "pooler_act");
}

Status build_text_heads(const TextEncoder& encoder, const Value& hidden) {
  // Some classes have a pooler that they do not use.
  if (const std::string& pooler = encoder.variations->pooler.dense; !pooler.empty()) {
    const Module dense = encoder.base.at(pooler);
    for (const char* parameter : {"weight", "bias"}) {
      encoder.context->model.parameters().unused(dense.name_of(parameter));
    }
  }
  return find_head(encoder.context->config.head())(encoder, hidden);
}

}  // namespace assay::zoo
