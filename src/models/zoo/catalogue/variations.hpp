// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>

#include "models/zoo/catalogue/decoder_variations.hpp"
#include "models/zoo/catalogue/fields.hpp"
#include "models/zoo/catalogue/text_variations.hpp"

namespace assay::zoo {

// The object "variations" of a file in zoo/ says how an architecture differs from the others of its skeleton. There is
// one struct for each family of skeletons. Each comment ends with an example model. docs/zoo-authors.md lists the keys.

/// BART, its relatives, and decoders that are built like BART's.
struct BartVariations {
  /// The configuration's name of a key, by BART's name of it: {"d_model": "hidden_size"} (musicgen).
  Field<std::map<std::string, std::string>> keys{};
  /// What the encoder reads. "tokens": text (bart). "whisper": mel frames, two convolutions. "speech_to_text": filter
  /// banks, strided convolutions. "none": the model has no encoder (trocr).
  Field<std::string> encoder{"tokens"};
  /// Where positions come from. "learned": a table in the checkpoint (bart). "sinusoidal": computed, unless the
  /// checkpoint has a table (pegasus). "sinusoidal_by_ids": computed; padding tokens are not counted (m2m_100).
  /// "config": use_learned_position_embeddings chooses learned or sinusoidal_by_ids (trocr).
  Field<std::string> positions{"learned"};
  /// A norm of the embeddings. "none": there is none (pegasus). "sum": of tokens plus positions (bart).
  /// "decoder_tokens": in the decoder, of the tokens before positions are added; in the encoder, of the sum
  /// (blenderbot-small). "config": layernorm_embedding chooses sum or none (trocr).
  Field<std::string> embedding_norm{"none"};
  /// The module of the table that encoder and decoder share: "shared" (bart). "": the decoder has its own (whisper).
  Field<std::string> shared_table{};
  /// The module of the matrix that computes the logits: "proj_out" (whisper).
  Field<std::string> language_head{"lm_head"};
  /// How many rows of the position table come before the row of position 0: 2 (bart).
  Field<std::int64_t> position_offset{0};
  /// True: norms are before attention and MLP (mbart). False: behind the residual sums (bart).
  Field<bool> pre_norm{false};
  /// True: there is a norm behind the last layer (mbart).
  Field<bool> final_norm{false};
  /// True: final_logits_bias is added to the logits (bart).
  Field<bool> logits_bias{false};
  /// True: linear layers have no bias (musicgen).
  Field<bool> no_bias{false};
  /// True: the projection of the keys has no bias (whisper).
  Field<bool> no_key_bias{false};
  /// True: the class ignores the key scale_embedding (whisper).
  Field<bool> no_embedding_scale{false};
  /// True: scale_embedding has an effect in the encoder only (blenderbot-small).
  Field<bool> decoder_unscaled{false};
  /// True: the decoder may have a vocabulary of its own, decoder_vocab_size (marian).
  Field<bool> decoder_vocabulary{false};
  /// True: if decoder_input_ids is not given, the encoder's ids are used, shifted one place to the right (bart).
  Field<bool> shifts_ids{false};
  /// True: each position has one token of each of num_codebooks vocabularies (musicgen).
  Field<bool> codebooks{false};
  /// True: cross_attention_hidden_size is the width of the encoder's output (trocr).
  Field<bool> encoder_width{false};

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

/// T5 and its relatives.
struct T5Variations {
  /// True: some layers have experts and a router (switch_transformers).
  Field<bool> sparse{false};
  /// True: each layer has a table of position biases (umt5). False: the layers of a stack share one table (t5).
  Field<bool> bias_in_every_layer{false};
  /// Whether the decoder's output is divided by the square root of d_model before the head. "never" (mt5). "always"
  /// (umt5). "tied": if tie_word_embeddings is true (switch_transformers). "config": if scale_decoder_outputs is true;
  /// without that key, if tie_word_embeddings is (t5).
  Field<std::string> scaled_logits{"never"};

  template <class Visit>
  static void fields(Visit&& visit) {
    visit("sparse", &T5Variations::sparse);
    visit("bias_in_every_layer", &T5Variations::bias_in_every_layer);
    visit("scaled_logits", &T5Variations::scaled_logits, Words{"never", "always", "tied", "config"});
  }
};

/// wav2vec2 and its relatives.
struct Wav2Vec2Variations {
  /// How positions are computed. "convolution": by one convolution with a normalised weight (wav2vec2). "stack": by
  /// several convolutions with norms between them (data2vec-audio).
  Field<std::string> positions{"convolution"};
  /// True: each convolution of the feature extractor has a LayerNorm; feat_extract_norm is ignored (data2vec-audio).
  Field<bool> layer_features{false};
  /// True: the base class has the output extract_features (wav2vec2).
  Field<bool> gives_features{false};
  /// True: a gated bias by distance is added to the attention scores (wavlm).
  Field<bool> relative_bias{false};
  /// True: the layers run on fewer frames: one for each squeeze_factor frames of the feature extractor (sew).
  Field<bool> squeeze{false};

  template <class Visit>
  static void fields(Visit&& visit) {
    visit("positions", &Wav2Vec2Variations::positions, Words{"convolution", "stack"});
    visit("layer_features", &Wav2Vec2Variations::layer_features);
    visit("gives_features", &Wav2Vec2Variations::gives_features);
    visit("relative_bias", &Wav2Vec2Variations::relative_bias);
    visit("squeeze", &Wav2Vec2Variations::squeeze);
  }
};

/// LLaVA and its relatives.
struct LlavaVariations {
  /// True: there is a norm before the projection, and the projection always has biases (vipllava).
  Field<bool> projector_norm{false};
  /// True: images are cut into tiles, and their number follows from image_sizes (llava_next).
  Field<bool> tiles{false};

  template <class Visit>
  static void fields(Visit&& visit) {
    visit("projector_norm", &LlavaVariations::projector_norm);
    visit("tiles", &LlavaVariations::tiles);
  }
};

/// CLIP and other models of two towers.
struct TwoTowerVariations {
  /// True: logit_bias is added to the similarities (siglip).
  Field<bool> bias{false};
  /// True: a projection follows each tower (clip). False: the towers' outputs are compared directly (siglip).
  Field<bool> projected{true};

  template <class Visit>
  static void fields(Visit&& visit) {
    visit("bias", &TwoTowerVariations::bias);
    visit("projected", &TwoTowerVariations::projected);
  }
};

/// DETR and its relatives.
struct DetrVariations {
  /// True: norms are before attention and MLP (table-transformer). False: behind the residual sums (detr).
  Field<bool> norm_first{false};

  template <class Visit>
  static void fields(Visit&& visit) {
    visit("norm_first", &DetrVariations::norm_first);
  }
};

/// ConvNeXt and its relatives.
struct ConvNextVariations {
  /// True: the MLP has a global response norm (convnextv2). False: a layer may have a layer scale (convnext).
  Field<bool> response_norm{false};

  template <class Visit>
  static void fields(Visit&& visit) {
    visit("response_norm", &ConvNextVariations::response_norm);
  }
};

/// For skeletons whose architectures differ only by their configurations: resnet_cnn.
struct NoVariations {
  template <class Visit>
  static void fields(Visit&&) {}
};

using Variations =
    std::variant<NoVariations, TextVariations, DecoderVariations, BartVariations, T5Variations, Wav2Vec2Variations,
                 LlavaVariations, TwoTowerVariations, DetrVariations, ConvNextVariations>;

}  // namespace assay::zoo
