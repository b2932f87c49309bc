// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/zoo/catalogue/fields.hpp"

namespace assay::zoo {

// "variations" of text encoders (docs/zoo-authors.md). Names of modules; "": there is none.

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
  Field<std::map<std::string, std::string>> keys{};  ///< BERT's name of a key → its name in the configuration
  TextEmbeddings embeddings{};
  TextLayer layer{};
  TextPooler pooler{};
  MaskedLmHead masked_lm{};
  NextSentenceHead next_sentence{};
  SequenceHead sequence_classification{};
  OutputHead token_classification{}, question_answering{};
  DenseHead discriminator{};
  Field<float> epsilon{0.0F};  ///< epsilon of the norms, if the configuration has no layer_norm_eps

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

}  // namespace assay::zoo
