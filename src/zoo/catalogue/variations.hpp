// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>

#include "zoo/catalogue/decoder_variations.hpp"
#include "zoo/catalogue/fields.hpp"
#include "zoo/catalogue/text_variations.hpp"

namespace assay::zoo {

// "variations": how an architecture differs from the others of its skeleton. One struct for each family of skeletons;
// docs/zoo-authors.md explains the keys.

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
