// SPDX-License-Identifier: Apache-2.0
// transformers' modeling_llava.py, modeling_llava_next.py and modeling_vipllava.py: a decoder whose prompt has the
// projected tokens of images in it.
#include "models/zoo/towers/llava.hpp"

#include "models/zoo/decoder/decoder_model.hpp"
#include "models/zoo/layers/input_types.hpp"
#include "models/zoo/layers/tensors.hpp"
#include "models/zoo/towers/tower_skeletons.hpp"

namespace assay::zoo {
namespace {

// `features` [rows, width] at the places of `token`, in the order of both.
Value placed(const Module& at, const Value& embeddings, const Value& ids, const Value& features, std::int64_t token) {
  GraphBuilder& graph = at.graph();
  const Value here = at.node("Equal", {ids, cast(at, graph.integer(token), ids.dtype)}, {}, DType::kBool);
  const Value flat = reshape(at, cast(at, here, DType::kInt64), {-1});
  const Value order = at.node("Sub", {at.node("CumSum", {flat, graph.integer(0)}), graph.integer(1)});
  const Value rows = at.node("Gather", {features, at.node("Max", {order, graph.integer(0)})}, {}, features.dtype);
  const Value shaped = at.node("Reshape", {rows, at.node("Shape", {embeddings}, {}, DType::kInt64)});
  return at.node("Where", {at.node("Unsqueeze", {here, graph.integers({2})}), shaped, embeddings}, {},
                 embeddings.dtype);
}

}  // namespace

Status build_llava(BuildContext& context) {
  const Config& config = context.config;
  ASSAY_TRY(DecoderSpec spec, read_decoder(config.part("text_config")));
  spec.tied = config.flag("tie_word_embeddings");
  const Module& base = context.model;
  const Module text = base / "language_model";
  const bool bare = config.bare();
  if (!bare) tie_decoder_head(base, text, spec);

  ASSAY_TRY(const Value ids, context.inputs.take("input_ids", kIdTypes, {"batch", "sequence"}));
  Value embeddings = decoder_embeddings(text, spec, ids);
  if (context.inputs.wants("pixel_values") && !context.states.decodes()) {
    ASSAY_TRY(const Value features, image_features(context, base, spec.embedding_width));
    const std::int64_t token = config.integer("image_token_index");
    embeddings = placed(base, embeddings, ids, features, token);
    base.graph().metadata("assay.image_token", std::to_string(token));
  } else {
    leave_images(context, base);
  }
  GraphBuilder& graph = context.graph();
  graph.declare(embeddings, {"batch", "sequence", spec.embedding_width});
  ASSAY_TRY(const DecoderInputs inputs, take_decoder_inputs(context, embeddings));
  ASSAY_TRY(const Value hidden, decode(text, spec, inputs, context.states));
  if (bare) {
    graph.output("last_hidden_state", hidden, {"batch", "sequence", spec.embedding_width});
    return {};
  }
  graph.output("logits", decoder_logits(base, text, spec, hidden, context.last_logits_only),
               {"batch", context.logit_rows("sequence"), spec.vocabulary});
  return {};
}

}  // namespace assay::zoo
