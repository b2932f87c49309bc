// SPDX-License-Identifier: Apache-2.0
// transformers' modeling_clap.py: a text and an audio tower, a two-layer projection of each, and how alike they are.
#include "models/zoo/towers/clap.hpp"

#include "models/zoo/layers/blocks.hpp"
#include "models/zoo/layers/tensors.hpp"
#include "models/zoo/towers/tower_skeletons.hpp"
#include "models/zoo/vision/vision_skeletons.hpp"

namespace assay::zoo {
namespace {

constexpr const char* kSounds = "audio_batch";  ///< texts and sounds need not be as many

Result<Value> project(const BuildContext& context, const Module& at, const Tower& tower, std::int64_t width) {
  const Value first = linear_rank2(at / "linear1", *tower.pooled, {tower.pooled_width, width});
  ASSAY_TRY(const Value active, activation(at / "activation", first, context.config.text("projection_hidden_act"),
                                           "projection_hidden_act"));
  return normalised(at, linear_rank2(at / "linear2", active, {width, width}));
}

}  // namespace

Status build_clap_tower(BuildContext& context) {
  const Config& config = context.config;
  const Module& model = context.model;
  GraphBuilder& graph = context.graph();
  const std::int64_t width = config.integer("projection_dim");
  ASSAY_TRY(const Tower text, bert_text_tower(context, model / "text_model", config.part("text_config")));
  ASSAY_TRY(const Tower audio,
            clap_audio_tower(model / "audio_model", config.part("audio_config"), context.inputs, kSounds));
  ASSAY_TRY(const Value text_embeds, project(context, model / "text_projection", text, width));
  ASSAY_TRY(const Value audio_embeds, project(context, model / "audio_projection", audio, width));
  const auto scale = [&](const char* name) { return model.node("Exp", {model.parameter(name, {}, Role::kScale)}); };
  const auto alike = [&](const Value& rows, const Value& columns) {
    return model.node("MatMul", {rows, transpose(model, columns, {1, 0})});
  };
  graph.output("logits_per_audio", multiply(model, alike(audio_embeds, text_embeds), scale("logit_scale_a")),
               {kSounds, "batch"});
  graph.output("logits_per_text", multiply(model, alike(text_embeds, audio_embeds), scale("logit_scale_t")),
               {"batch", kSounds});
  graph.output("text_embeds", text_embeds, {"batch", width});
  graph.output("audio_embeds", audio_embeds, {kSounds, width});
  return {};
}

}  // namespace assay::zoo
