// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/zoo/catalogue/fields.hpp"

namespace assay::zoo {

// "variations" of the skeleton decoder (docs/zoo-authors.md).

/// Modules of a decoder; usual are llama's. "": there is none.
struct DecoderNames {
  Field<std::string> base{"model"}, bare_base{""}, embeddings{"embed_tokens"}, layers{"layers"}, final_norm{"norm"};
  Field<std::string> head{"lm_head"}, attention{"self_attn"}, query{"q_proj"}, key{"k_proj"}, value{"v_proj"};
  Field<std::string> output{"o_proj"}, attention_inner_norm{""}, mlp_inner_norm{""}, qkv{"qkv_proj"};
  Field<std::string> query_norm{"q_norm"}, key_norm{"k_norm"}, attention_in{"input_layernorm"}, attention_out{""};
  Field<std::string> after_attention{""}, mlp_in{"post_attention_layernorm"}, mlp_out{""}, after_mlp{""}, mlp{"mlp"};
  Field<std::string> gate{"gate_proj"}, up{"up_proj"}, gate_up{""}, down{"down_proj"}, activation{"act_fn"};
  Field<std::string> position_table{""}, embedding_norm{""}, project_in{""}, project_out{""};

  template <class Visit>
  static void fields(Visit&& visit) {
    visit("base", &DecoderNames::base);
    visit("bare_base", &DecoderNames::bare_base);
    visit("embeddings", &DecoderNames::embeddings);
    visit("layers", &DecoderNames::layers);
    visit("final_norm", &DecoderNames::final_norm);
    visit("head", &DecoderNames::head);
    visit("attention", &DecoderNames::attention);
    visit("output", &DecoderNames::output);
    visit("attention_inner_norm", &DecoderNames::attention_inner_norm);
    visit("mlp_inner_norm", &DecoderNames::mlp_inner_norm);
    visit("qkv", &DecoderNames::qkv);
    visit("query_norm", &DecoderNames::query_norm);
    visit("key_norm", &DecoderNames::key_norm);
    visit("attention_in", &DecoderNames::attention_in);
    visit("attention_out", &DecoderNames::attention_out);
    visit("after_attention", &DecoderNames::after_attention);
    visit("mlp_in", &DecoderNames::mlp_in);
    visit("mlp_out", &DecoderNames::mlp_out);
    visit("after_mlp", &DecoderNames::after_mlp);
    visit("mlp", &DecoderNames::mlp);
    visit("up", &DecoderNames::up);
    visit("gate_up", &DecoderNames::gate_up);
    visit("down", &DecoderNames::down);
    visit("activation", &DecoderNames::activation);
    visit("position_table", &DecoderNames::position_table);
    visit("embedding_norm", &DecoderNames::embedding_norm);
    visit("project_in", &DecoderNames::project_in);
    visit("project_out", &DecoderNames::project_out);
  }
};

using IntegerSetting = Field<Setting<std::int64_t>>;
using NumberSetting = Field<Setting<float>>;
using FlagSetting = Field<Setting<bool>>;
using TextSetting = Field<Setting<std::string>>;

struct DecoderCondition;

/// How a decoder differs from llama.
struct DecoderVariations {
  IntegerSetting hidden{Setting<std::int64_t>::of("hidden_size")};
  IntegerSetting intermediate{Setting<std::int64_t>::of("intermediate_size")};  ///< null: four times `hidden`
  IntegerSetting layer_count{Setting<std::int64_t>::of("num_hidden_layers")};
  IntegerSetting heads{Setting<std::int64_t>::of("num_attention_heads")};
  IntegerSetting key_value_heads{Setting<std::int64_t>::of("num_key_value_heads")};  ///< null: as many as `heads`
  IntegerSetting head_width{Setting<std::int64_t>::of("head_dim")};                  ///< null: `hidden` / `heads`
  IntegerSetting embedding_width{}, rotary_width{}, window{}, sliding_pattern{}, sliding_from{}, rope_interval{};
  IntegerSetting zero_position{};
  IntegerSetting positions{Setting<std::int64_t>::of("max_position_embeddings")};
  IntegerSetting position_offset{Setting<std::int64_t>(0)};
  NumberSetting epsilon{Setting<float>::of("rms_norm_eps")};
  NumberSetting rope_theta{Setting<float>::of("rope_theta")}, default_theta{Setting<float>(10000.0F)};
  NumberSetting partial_rotary_factor{Setting<float>::of("partial_rotary_factor")},
      default_partial{Setting<float>(1.0F)};
  NumberSetting sliding_theta{}, default_sliding_theta{Setting<float>(10000.0F)};
  NumberSetting query_scalar{}, score_scale{}, attention_soft_cap{}, logits_soft_cap{}, clip_qkv{};
  NumberSetting embedding_scale{Setting<float>(1.0F)}, residual_scale{Setting<float>(1.0F)};
  NumberSetting logits_scale{Setting<float>(1.0F)}, logits_divisor{};
  FlagSetting causal{Setting<bool>(true)};  ///< false: each token sees all tokens, also later ones (eurobert)
  FlagSetting multi_query{}, parallel{}, residual_after_norm{}, masked_positions{}, sinusoidal{}, head_bias{};
  FlagSetting weights_in_first{};  ///< linear weights are stored [in, out], as in gpt2
  FlagSetting qkv_bias{Setting<bool>::of("attention_bias")}, output_bias{Setting<bool>::of("attention_bias")};
  FlagSetting mlp_bias{Setting<bool>::of("mlp_bias")};
  FlagSetting gated{Setting<bool>(true)}, scale_embedding{}, scale_scores{Setting<bool>(true)}, scale_by_depth{};
  FlagSetting use_query_key_norm{Setting<bool>(true)}, use_window{Setting<bool>(true)}, all_sliding{};
  FlagSetting rope{Setting<bool>(true)}, rope_interleaved{}, rope_by_type{}, rope_alpha{}, partial_rotary{};
  TextSetting activation{Setting<std::string>::of("hidden_act")};
  Field<std::string> norm{"rms"}, qkv_layout{"separate"}, query_key_norm{"none"}, alibi{"none"}, rope_layers{"all"};
  Field<std::string> layer_types_key{"layer_types"};
  Field<std::map<std::string, bool>> layer_type_words{{{"full_attention", false}, {"sliding_attention", true}}};
  Field<std::map<std::string, std::string>> activations{};  ///< names that the class takes for others
  Field<std::map<std::string, std::string>> rope_types{};   ///< older names of rope types
  DecoderNames names{};
  std::vector<DecoderCondition> when;

  template <class Visit>
  static void fields(Visit&& visit);
};

/// Where the configuration's values are those of "if", "set" is stated over the rest.
struct DecoderCondition {
  static constexpr bool kRepeats = true;  ///< "set" has the keys of the object around it

  Field<std::map<std::string, Json>> conditions{};
  DecoderVariations set{};
  Field<std::string> refuse{};  ///< the key whose value is not built together with the others

  template <class Visit>
  static void fields(Visit&& visit) {
    visit("if", &DecoderCondition::conditions);
    visit("set", &DecoderCondition::set);
    visit("refuse", &DecoderCondition::refuse);
  }
};

template <class Visit>
void DecoderVariations::fields(Visit&& visit) {
  using D = DecoderVariations;
  visit("hidden", &D::hidden);
  visit("intermediate", &D::intermediate);
  visit("layer_count", &D::layer_count);
  visit("heads", &D::heads);
  visit("key_value_heads", &D::key_value_heads);
  visit("head_width", &D::head_width);
  visit("embedding_width", &D::embedding_width);
  visit("rotary_width", &D::rotary_width);
  visit("window", &D::window);
  visit("sliding_pattern", &D::sliding_pattern);
  visit("sliding_from", &D::sliding_from);
  visit("rope_interval", &D::rope_interval);
  visit("zero_position", &D::zero_position);
  visit("positions", &D::positions);
  visit("position_offset", &D::position_offset);
  visit("epsilon", &D::epsilon);
  visit("rope_theta", &D::rope_theta);
  visit("default_theta", &D::default_theta);
  visit("partial_rotary_factor", &D::partial_rotary_factor);
  visit("default_partial", &D::default_partial);
  visit("sliding_theta", &D::sliding_theta);
  visit("default_sliding_theta", &D::default_sliding_theta);
  visit("query_scalar", &D::query_scalar);
  visit("score_scale", &D::score_scale);
  visit("attention_soft_cap", &D::attention_soft_cap);
  visit("logits_soft_cap", &D::logits_soft_cap);
  visit("clip_qkv", &D::clip_qkv);
  visit("embedding_scale", &D::embedding_scale);
  visit("residual_scale", &D::residual_scale);
  visit("logits_scale", &D::logits_scale);
  visit("logits_divisor", &D::logits_divisor);
  visit("causal", &D::causal);
  visit("multi_query", &D::multi_query);
  visit("parallel", &D::parallel);
  visit("residual_after_norm", &D::residual_after_norm);
  visit("masked_positions", &D::masked_positions);
  visit("sinusoidal", &D::sinusoidal);
  visit("head_bias", &D::head_bias);
  visit("weights_in_first", &D::weights_in_first);
  visit("qkv_bias", &D::qkv_bias);
  visit("output_bias", &D::output_bias);
  visit("mlp_bias", &D::mlp_bias);
  visit("gated", &D::gated);
  visit("scale_embedding", &D::scale_embedding);
  visit("scale_scores", &D::scale_scores);
  visit("scale_by_depth", &D::scale_by_depth);
  visit("use_query_key_norm", &D::use_query_key_norm);
  visit("use_window", &D::use_window);
  visit("all_sliding", &D::all_sliding);
  visit("rope", &D::rope);
  visit("rope_interleaved", &D::rope_interleaved);
  visit("rope_by_type", &D::rope_by_type);
  visit("rope_alpha", &D::rope_alpha);
  visit("partial_rotary", &D::partial_rotary);
  visit("activation", &D::activation);
  visit("norm", &D::norm, Words{"rms", "rms_plus_one", "layer", "layer_no_bias", "layer_plain", "layer_plus_one"});
  visit("qkv_layout", &D::qkv_layout, Words{"separate", "joined", "per_head", "codegen"});
  visit("query_key_norm", &D::query_key_norm, Words{"none", "head", "head_after_rope", "full", "per_head"});
  visit("alibi", &D::alibi, Words{"none", "bloom", "by_place", "falcon"});
  visit("rope_layers", &D::rope_layers, Words{"all", "sliding", "listed"});
  visit("layer_types_key", &D::layer_types_key);
  visit("layer_type_words", &D::layer_type_words);
  visit("activations", &D::activations);
  visit("rope_types", &D::rope_types);
  visit("names", &D::names);
  visit("when", &D::when);
}

}  // namespace assay::zoo
