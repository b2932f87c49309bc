// SPDX-License-Identifier: Apache-2.0
// What an architecture's variations and a configuration say together.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/text.hpp"
#include "models/zoo/decoder/decoder_settings.hpp"
#include "models/zoo/layers/attention.hpp"
#include "models/zoo/layers/blocks.hpp"

namespace assay::zoo {
namespace {

template <class Kind>
Kind choose(const std::string& text, const std::map<std::string, Kind>& kinds) {
  const auto found = kinds.find(text);
  ASSAY_CHECK(found != kinds.end(), "zoo/*.json names a kind that is there");
  return found->second;
}

NormKind norm_kind(const std::string& text) {
  return choose<NormKind>(text, {{"rms", NormKind::kRms},
                                 {"rms_plus_one", NormKind::kRmsPlusOne},
                                 {"layer", NormKind::kLayer},
                                 {"layer_no_bias", NormKind::kLayerNoBias},
                                 {"layer_plain", NormKind::kLayerPlain},
                                 {"layer_plus_one", NormKind::kLayerPlusOne}});
}

Status read_heads(const DecoderSettings& settings, DecoderSpec& spec) {
  spec.heads = settings.integer(settings->heads);
  spec.key_value_heads = settings.optional(settings->key_value_heads).value_or(spec.heads);
  if (settings.flag(settings->multi_query)) spec.key_value_heads = 1;
  const std::optional<std::int64_t> width = settings.optional(settings->head_width);
  if (width) {
    spec.head_width = *width;
  } else {
    ASSAY_TRY(spec.head_width, head_width(spec.hidden, spec.heads));
  }
  if (spec.heads % spec.key_value_heads == 0) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("num_attention_heads = {} is not a multiple of num_key_value_heads = {}", spec.heads,
                          spec.key_value_heads));
}

}  // namespace

DecoderSettings::DecoderSettings(const Config& config)
    : config_(config), data_(config.architecture().varied<DecoderVariations>()) {
  for (const DecoderCondition& entry : config.architecture().varied<DecoderVariations>().when) {
    const bool holds = std::ranges::all_of(
        *entry.conditions, [&](const auto& condition) { return config.json(condition.first) == condition.second; });
    if (!holds) continue;
    if (!entry.refuse->empty()) refused_ = entry.refuse;
    overlay(data_, entry.set);
  }
}

Status DecoderSettings::check() const {
  if (refused_.empty()) return {};
  return unsupported(refused_, config_.json(refused_).dump());
}

namespace {

template <class T>
Json resolved(const Config& config, const Field<Setting<T>>& setting) {
  if (!setting->key.empty()) return config.json(setting->key);
  return setting->value ? Json(*setting->value) : Json();
}

}  // namespace

Json DecoderSettings::value(const IntegerSetting& setting) const { return resolved(config_, setting); }

std::optional<std::int64_t> DecoderSettings::optional(const IntegerSetting& setting) const {
  const Json found = resolved(config_, setting);
  if (!found.is_number_integer()) return std::nullopt;
  return found.get<std::int64_t>();
}

std::optional<float> DecoderSettings::optional(const NumberSetting& setting) const {
  const Json found = resolved(config_, setting);
  if (!found.is_number()) return std::nullopt;
  return found.get<float>();
}

bool DecoderSettings::flag(const FlagSetting& setting) const {
  const Json found = resolved(config_, setting);
  if (found.is_number()) return found.get<double>() != 0.0;
  return found.is_boolean() && found.get<bool>();
}

std::string DecoderSettings::text(const TextSetting& setting) const {
  const Json found = resolved(config_, setting);
  return found.is_string() ? found.get<std::string>() : std::string();
}

std::int64_t DecoderSettings::integer(const IntegerSetting& setting) const {
  const std::optional<std::int64_t> found = optional(setting);
  ASSAY_CHECK(found.has_value(), "zoo/*.json states an integer that its decoder needs");
  return *found;
}

Result<DecoderSpec> read_decoder(const Config& config) {
  const DecoderSettings settings(config);
  ASSAY_CHECK_OK(settings.check());
  DecoderSpec spec;
  spec.names = settings->names;
  spec.vocabulary = config.integer("vocab_size");
  spec.hidden = settings.integer(settings->hidden);
  spec.embedding_width = settings.optional(settings->embedding_width).value_or(spec.hidden);
  spec.intermediate = settings.optional(settings->intermediate).value_or(4 * spec.hidden);
  ASSAY_CHECK_OK(read_heads(settings, spec));
  if (!spec.names.position_table->empty() || settings.flag(settings->sinusoidal)) {
    spec.learned_positions = settings.integer(settings->positions);
    spec.position_offset = settings.integer(settings->position_offset);
  }

  spec.norm = norm_kind(settings->norm);
  spec.epsilon = settings.number(settings->epsilon);
  spec.qkv_layout = choose<QkvLayout>(settings->qkv_layout, {{"separate", QkvLayout::kSeparate},
                                                             {"joined", QkvLayout::kJoined},
                                                             {"per_head", QkvLayout::kPerHead},
                                                             {"codegen", QkvLayout::kCodegen}});
  if (settings.flag(settings->use_query_key_norm)) {
    spec.query_key_norm =
        choose<QueryKeyNorm>(settings->query_key_norm, {{"none", QueryKeyNorm::kNone},
                                                        {"head", QueryKeyNorm::kHead},
                                                        {"head_after_rope", QueryKeyNorm::kHeadAfterRope},
                                                        {"full", QueryKeyNorm::kFull},
                                                        {"per_head", QueryKeyNorm::kPerHead}});
  }
  spec.causal = settings.flag(settings->causal);
  spec.parallel = settings.flag(settings->parallel);
  spec.residual_after_norm = settings.flag(settings->residual_after_norm);
  spec.weights_in_first = settings.flag(settings->weights_in_first);
  spec.masked_positions = settings.flag(settings->masked_positions);
  spec.alibi = choose<Alibi>(
      settings->alibi,
      {{"none", Alibi::kNone}, {"bloom", Alibi::kBloom}, {"by_place", Alibi::kByPlace}, {"falcon", Alibi::kFalcon}});
  spec.sinusoidal = settings.flag(settings->sinusoidal);
  spec.zero_position = settings.optional(settings->zero_position);
  if (spec.sinusoidal && (spec.hidden % 2 != 0 || spec.hidden < 4)) {
    return unsupported("hidden_size", std::to_string(spec.hidden), "computed positions need an even width from 4");
  }
  spec.tied = config.json("tie_word_embeddings") == true;
  spec.qkv_bias = settings.flag(settings->qkv_bias);
  spec.output_bias = settings.flag(settings->output_bias);
  spec.mlp_bias = settings.flag(settings->mlp_bias);
  spec.head_bias = settings.flag(settings->head_bias);
  spec.activation = settings.text(settings->activation);
  if (const auto other = settings->activations->find(spec.activation); other != settings->activations->end())
    spec.activation = other->second;
  spec.activation_key = settings->activation->key.empty() ? "activation" : settings->activation->key;
  spec.gated = settings.flag(settings->gated);

  spec.embedding_scale = settings.number(settings->embedding_scale);
  if (settings.flag(settings->scale_embedding)) spec.embedding_scale = std::sqrt(static_cast<float>(spec.hidden));
  spec.residual_scale = settings.number(settings->residual_scale);
  spec.logits_scale = settings.number(settings->logits_scale);
  if (const auto divisor = settings.optional(settings->logits_divisor)) spec.logits_scale = 1.0F / *divisor;
  spec.attention_soft_cap = settings.optional(settings->attention_soft_cap);
  spec.logits_soft_cap = settings.optional(settings->logits_soft_cap);
  spec.clip_qkv = settings.optional(settings->clip_qkv);
  ASSAY_CHECK_OK(read_decoder_layers(config, settings, spec));
  return spec;
}

}  // namespace assay::zoo
