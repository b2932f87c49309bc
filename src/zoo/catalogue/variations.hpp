// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <variant>

#include "zoo/catalogue/fields.hpp"

namespace assay::zoo {

// "variations": how an architecture differs from the others of its skeleton. One struct for each family of skeletons;
// docs/zoo-authors.md explains the keys.

/// A table of vectors by token, with an input of its own, as wide as the words' table.
struct TokenTable {
  Field<std::string> module{}, input{};
  Field<std::string> rows{};  ///< a key of the configuration
  Field<std::string> when{};  ///< a flag of the configuration; "": always

  template <class Visit>
  static void fields(Visit&& visit) {
    visit("module", &TokenTable::module);
    visit("input", &TokenTable::input);
    visit("rows", &TokenTable::rows);
    visit("when", &TokenTable::when);
  }
};

/// One of RoCBERT's: how a character looks and sounds.
struct GlyphTable {
  Field<std::string> module{}, input{};
  Field<std::string> rows{}, width{};  ///< keys of the configuration
  Field<std::string> when{};           ///< a flag of the configuration

  template <class Visit>
  static void fields(Visit&& visit) {
    visit("module", &GlyphTable::module);
    visit("input", &GlyphTable::input);
    visit("rows", &GlyphTable::rows);
    visit("width", &GlyphTable::width);
    visit("when", &GlyphTable::when);
  }
};

struct TextEmbeddings {
  Field<std::string> path{}, word{}, position{}, token_type{}, norm{}, projection{};
  Field<std::string> positions{"absolute"}, position_when{};
  Field<bool> always_projected{false}, boxes{false}, masks_padding{false};
  Field<std::int64_t> offset{0};
  Field<Setting<std::int64_t>> padding{Setting<std::int64_t>::of("pad_token_id")};
  std::vector<GlyphTable> glyphs{};
  std::vector<TokenTable> tables{};

  template <class Visit>
  static void fields(Visit&& visit) {
    visit("path", &TextEmbeddings::path);
    visit("word", &TextEmbeddings::word);
    visit("position", &TextEmbeddings::position);
    visit("token_type", &TextEmbeddings::token_type);
    visit("norm", &TextEmbeddings::norm);
    visit("projection", &TextEmbeddings::projection);
    visit("positions", &TextEmbeddings::positions, Words{"absolute", "after_padding"});
    visit("position_when", &TextEmbeddings::position_when);
    visit("always_projected", &TextEmbeddings::always_projected);
    visit("boxes", &TextEmbeddings::boxes);
    visit("masks_padding", &TextEmbeddings::masks_padding);
    visit("offset", &TextEmbeddings::offset);
    visit("padding", &TextEmbeddings::padding);
    visit("glyphs", &TextEmbeddings::glyphs);
    visit("tables", &TextEmbeddings::tables);
  }
};

struct TextLayer {
  Field<std::string> path{}, attention{}, query{}, key{}, value{}, attention_output{}, attention_norm{};
  Field<std::string> intermediate{}, activation{}, output{}, output_norm{}, final_norm{}, distance_bias{};
  Field<bool> norm_before{false}, own_heads{false}, packed_attention{false};

  template <class Visit>
  static void fields(Visit&& visit) {
    visit("path", &TextLayer::path);
    visit("attention", &TextLayer::attention);
    visit("query", &TextLayer::query);
    visit("key", &TextLayer::key);
    visit("value", &TextLayer::value);
    visit("attention_output", &TextLayer::attention_output);
    visit("attention_norm", &TextLayer::attention_norm);
    visit("intermediate", &TextLayer::intermediate);
    visit("activation", &TextLayer::activation);
    visit("output", &TextLayer::output);
    visit("output_norm", &TextLayer::output_norm);
    visit("final_norm", &TextLayer::final_norm);
    visit("distance_bias", &TextLayer::distance_bias);
    visit("norm_before", &TextLayer::norm_before);
    visit("own_heads", &TextLayer::own_heads);
    visit("packed_attention", &TextLayer::packed_attention);
  }
};

struct TextPooler {
  Field<std::string> dense{}, path{}, activation{}, when{};

  template <class Visit>
  static void fields(Visit&& visit) {
    visit("dense", &TextPooler::dense);
    visit("path", &TextPooler::path);
    visit("activation", &TextPooler::activation);
    visit("when", &TextPooler::when);
  }
};

/// A linear layer.
struct OutputHead {
  Field<std::string> output{};

  template <class Visit>
  static void fields(Visit&& visit) {
    visit("output", &OutputHead::output);
  }
};

/// Two of them, with the configuration's activation between.
struct DenseHead {
  Field<std::string> dense{}, output{};

  template <class Visit>
  static void fields(Visit&& visit) {
    visit("dense", &DenseHead::dense);
    visit("output", &DenseHead::output);
  }
};

/// The first token: pooled, or through `dense` and an activation (its name, or the configuration's key that has it).
struct SequenceHead {
  Field<std::string> dense{}, activation{}, activation_key{}, output{};

  template <class Visit>
  static void fields(Visit&& visit) {
    visit("dense", &SequenceHead::dense);
    visit("activation", &SequenceHead::activation);
    visit("activation_key", &SequenceHead::activation_key);
    visit("output", &SequenceHead::output);
  }
};

struct MaskedLmHead {
  Field<std::string> dense{}, activation{}, norm{}, decoder{}, bias{}, second_matrix{};
  Field<std::string> width{};  ///< a key of the configuration
  Field<bool> untied{false};

  template <class Visit>
  static void fields(Visit&& visit) {
    visit("dense", &MaskedLmHead::dense);
    visit("activation", &MaskedLmHead::activation);
    visit("norm", &MaskedLmHead::norm);
    visit("decoder", &MaskedLmHead::decoder);
    visit("bias", &MaskedLmHead::bias);
    visit("second_matrix", &MaskedLmHead::second_matrix);
    visit("width", &MaskedLmHead::width);
    visit("untied", &MaskedLmHead::untied);
  }
};

struct NextSentenceHead {
  Field<std::string> dense{}, output{};
  Field<bool> labelled{false};

  template <class Visit>
  static void fields(Visit&& visit) {
    visit("dense", &NextSentenceHead::dense);
    visit("output", &NextSentenceHead::output);
    visit("labelled", &NextSentenceHead::labelled);
  }
};

struct TextVariations {
  Field<std::map<std::string, std::string>> keys{};  ///< what the configuration calls a key of BERT's
  TextEmbeddings embeddings{};
  TextLayer layer{};
  TextPooler pooler{};
  MaskedLmHead masked_lm{};
  NextSentenceHead next_sentence{};
  SequenceHead sequence_classification{};
  OutputHead token_classification{}, question_answering{};
  DenseHead discriminator{};
  Field<float> epsilon{0.0F};  ///< of the norms, if the configuration has no layer_norm_eps

  template <class Visit>
  static void fields(Visit&& visit) {
    visit("keys", &TextVariations::keys);
    visit("embeddings", &TextVariations::embeddings);
    visit("layer", &TextVariations::layer);
    visit("pooler", &TextVariations::pooler);
    visit("masked_lm", &TextVariations::masked_lm);
    visit("next_sentence", &TextVariations::next_sentence);
    visit("sequence_classification", &TextVariations::sequence_classification);
    visit("token_classification", &TextVariations::token_classification);
    visit("question_answering", &TextVariations::question_answering);
    visit("discriminator", &TextVariations::discriminator);
    visit("epsilon", &TextVariations::epsilon);
  }
};

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

/// BART, its relatives, and decoders of their kind.
struct BartVariations {
  Field<std::map<std::string, std::string>> keys{};  ///< what the configuration calls a key of BART's
  Field<std::string> encoder{"tokens"};              ///< none: a decoder alone
  Field<std::string> positions{"learned"};    ///< sinusoidal: if the checkpoint has no table; config: a flag says which
  Field<std::string> embedding_norm{"none"};  ///< sum, decoder_tokens (before positions are added), config (a flag)
  Field<std::string> shared_table{};          ///< the module of the words' table; "": the decoder has its own
  Field<std::string> language_head{"lm_head"};
  Field<std::int64_t> position_offset{0};  ///< rows before the first position
  Field<bool> pre_norm{false};             ///< norms before attention and MLP
  Field<bool> final_norm{false};           ///< a norm after the last layer
  Field<bool> logits_bias{false}, no_bias{false}, no_key_bias{false};
  Field<bool> no_embedding_scale{false};  ///< scale_embedding changes nothing (whisper)
  Field<bool> decoder_unscaled{false};    ///< it changes nothing in the decoder (blenderbot-small)
  Field<bool> decoder_vocabulary{false};  ///< the decoder can have words of its own (marian)
  Field<bool> shifts_ids{false};          ///< without decoder ids, they are the encoder's one place to the right
  Field<bool> codebooks{false};           ///< several tokens at each place (musicgen)
  Field<bool> encoder_width{false};       ///< cross_attention_hidden_size is the width of what it attends to

  template <class Visit>
  static void fields(Visit&& visit) {
    using B = BartVariations;
    visit("keys", &B::keys);
    visit("encoder", &B::encoder, Words{"tokens", "whisper", "speech_to_text", "none"});
    visit("positions", &B::positions, Words{"learned", "sinusoidal", "sinusoidal_by_ids", "config"});
    visit("embedding_norm", &B::embedding_norm, Words{"none", "sum", "decoder_tokens", "config"});
    visit("shared_table", &B::shared_table);
    visit("language_head", &B::language_head);
    visit("position_offset", &B::position_offset);
    visit("pre_norm", &B::pre_norm);
    visit("final_norm", &B::final_norm);
    visit("logits_bias", &B::logits_bias);
    visit("no_bias", &B::no_bias);
    visit("no_key_bias", &B::no_key_bias);
    visit("no_embedding_scale", &B::no_embedding_scale);
    visit("decoder_unscaled", &B::decoder_unscaled);
    visit("decoder_vocabulary", &B::decoder_vocabulary);
    visit("shifts_ids", &B::shifts_ids);
    visit("codebooks", &B::codebooks);
    visit("encoder_width", &B::encoder_width);
  }
};

struct T5Variations {
  Field<bool> sparse{false};                  ///< experts in some layers (switch_transformers)
  Field<bool> bias_in_every_layer{false};     ///< umt5
  Field<std::string> scaled_logits{"never"};  ///< tied: if tie_word_embeddings; config: scale_decoder_outputs

  template <class Visit>
  static void fields(Visit&& visit) {
    visit("sparse", &T5Variations::sparse);
    visit("bias_in_every_layer", &T5Variations::bias_in_every_layer);
    visit("scaled_logits", &T5Variations::scaled_logits, Words{"never", "always", "tied", "config"});
  }
};

struct Wav2Vec2Variations {
  Field<std::string> positions{"convolution"};  ///< with a normalised weight; stack: several, norms between (data2vec)
  Field<bool> layer_features{false};            ///< each convolution has a LayerNorm, whatever feat_extract_norm says
  Field<bool> gives_features{false};            ///< the base class has the output extract_features
  Field<bool> relative_bias{false};             ///< gated, by distance (wavlm)
  Field<bool> squeeze{false};                   ///< the encoder works at a fraction of the rate (sew)

  template <class Visit>
  static void fields(Visit&& visit) {
    visit("positions", &Wav2Vec2Variations::positions, Words{"convolution", "stack"});
    visit("layer_features", &Wav2Vec2Variations::layer_features);
    visit("gives_features", &Wav2Vec2Variations::gives_features);
    visit("relative_bias", &Wav2Vec2Variations::relative_bias);
    visit("squeeze", &Wav2Vec2Variations::squeeze);
  }
};

struct LlavaVariations {
  Field<bool> projector_norm{false};  ///< a norm before the projection, whose biases are always there (vipllava)
  Field<bool> tiles{false};           ///< images are cut into tiles (llava_next)

  template <class Visit>
  static void fields(Visit&& visit) {
    visit("projector_norm", &LlavaVariations::projector_norm);
    visit("tiles", &LlavaVariations::tiles);
  }
};

struct TwoTowerVariations {
  Field<bool> bias{false}, projected{true};

  template <class Visit>
  static void fields(Visit&& visit) {
    visit("bias", &TwoTowerVariations::bias);
    visit("projected", &TwoTowerVariations::projected);
  }
};

struct DetrVariations {
  Field<bool> norm_first{false};

  template <class Visit>
  static void fields(Visit&& visit) {
    visit("norm_first", &DetrVariations::norm_first);
  }
};

struct ConvNextVariations {
  Field<bool> response_norm{false};

  template <class Visit>
  static void fields(Visit&& visit) {
    visit("response_norm", &ConvNextVariations::response_norm);
  }
};

/// For skeletons whose architectures differ by their configurations alone.
struct NoVariations {
  template <class Visit>
  static void fields(Visit&&) {}
};

using Variations =
    std::variant<NoVariations, TextVariations, DecoderVariations, BartVariations, T5Variations, Wav2Vec2Variations,
                 LlavaVariations, TwoTowerVariations, DetrVariations, ConvNextVariations>;

}  // namespace assay::zoo
