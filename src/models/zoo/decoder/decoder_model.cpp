// SPDX-License-Identifier: Apache-2.0
// Text decoders as models of their own: inputs, classes, outputs.
#include "models/zoo/decoder/decoder_model.hpp"
#include "models/zoo/decoder/decoder_skeletons.hpp"
#include "models/zoo/layers/input_types.hpp"

namespace assay::zoo {
namespace {

Result<Value> take_embeddings(BuildContext& context, const Module& base, const DecoderSpec& spec) {
  Inputs& inputs = context.inputs;
  if (inputs.wants("input_ids") == inputs.wants("inputs_embeds")) {
    return fail(ErrorCode::kInvalidArgument, "inputs: exactly one of input_ids and inputs_embeds is needed");
  }
  if (inputs.wants("input_ids")) {
    ASSAY_TRY(const Value ids, inputs.take("input_ids", kIdTypes, {"batch", "sequence"}));
    return decoder_embeddings(base, spec, ids);
  }
  if (spec.embedding_scale != 1.0F) return unsupported("input", "inputs_embeds", "this architecture scales its table");
  context.model.parameters().unused((base / *spec.names.embeddings).name_of("weight"));
  return inputs.take("inputs_embeds", {DType::kFloat32}, {"batch", "sequence", spec.embedding_width});
}

}  // namespace

Result<DecoderInputs> take_decoder_inputs(BuildContext& context, const Value& embeddings) {
  Inputs& inputs = context.inputs;
  DecoderInputs taken;
  taken.embeddings = embeddings;
  if (inputs.wants("attention_mask")) {
    const bool fixed = context.states.kv_cache() == KvCache::kStatic;
    const Extent tokens = fixed ? "cache" : context.states.decodes() ? "past + sequence" : "sequence";
    ASSAY_TRY(taken.attention_mask, inputs.take("attention_mask", kMaskTypes, {"batch", tokens}));
  }
  if (context.states.kv_cache() == KvCache::kStatic)
    taken.cache_position = context.graph().input("cache_position", DType::kInt64, {"sequence"});
  if (inputs.wants("position_ids")) {
    // Without a mask transformers looks for several sequences in one row.
    if (!taken.attention_mask) return unsupported("input", "position_ids without attention_mask");
    ASSAY_TRY(taken.position_ids, take_position_ids(inputs));
  }
  return taken;
}

Status build_decoder(BuildContext& context) {
  const Config& config = context.config;
  ASSAY_TRY(const DecoderSpec spec, read_decoder(config));
  const bool bare = config.bare();
  const std::string& place = bare ? spec.names.bare_base : spec.names.base;
  const Module base = place.empty() ? context.model : context.model / place;
  if (!bare) tie_decoder_head(context.model, base, spec);

  ASSAY_TRY(const Value embeddings, take_embeddings(context, base, spec));
  ASSAY_TRY(const DecoderInputs inputs, take_decoder_inputs(context, embeddings));
  ASSAY_TRY(const Value hidden, decode(base, spec, inputs, context.states));
  GraphBuilder& graph = context.graph();
  if (bare) {
    graph.output("last_hidden_state", hidden, {"batch", "sequence", spec.embedding_width});
  } else {
    const Value logits = decoder_logits(context.model, base, spec, hidden, context.last_logits_only);
    graph.output("logits", logits, {"batch", context.logit_rows("sequence"), spec.vocabulary});
  }
  if (spec.learned_positions > 0) graph.metadata("assay.max_sequence", std::to_string(spec.learned_positions));
  return {};
}

}  // namespace assay::zoo
