// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <assay/result.hpp>

#include "core/base/json.hpp"
#include "models/zoo/layers/attention.hpp"
#include "models/zoo/layers/blocks.hpp"
#include "models/zoo/layers/build_context.hpp"
#include "models/zoo/layers/input_types.hpp"

namespace assay::zoo {

/// A text encoder that is being built: the values that its embeddings, layers and heads use.
///
/// The architecture's variations contain the names and kinds of the parts. The name "" means: there is no such part.
struct TextEncoder {
  BuildContext* context;
  const TextVariations* variations;
  Module base;  ///< the base model: the root for a class without a head, otherwise a module such as "roberta"
  std::int64_t vocabulary = 0, hidden = 0, embedding = 0, intermediate = 0, layers = 0, positions = 0, token_types = 0;
  Heads heads{};
  float epsilon = 0;
  std::string hidden_act{};

  /// Reads the configuration of `context`; `base` is the module of the base model. Errors: invalid_argument, for sizes
  /// that contradict each other.
  [[nodiscard]] static Result<TextEncoder> read(BuildContext& context, const Module& base);

  // These accept BERT's name of a key ("hidden_size"), also for a configuration that has another name for it
  // (distilbert: "dim").
  [[nodiscard]] bool has(const std::string& key) const;
  [[nodiscard]] std::int64_t integer(const std::string& key) const;
  /// The configuration's name of a key.
  [[nodiscard]] std::string key_of(const std::string& key) const;

  [[nodiscard]] GraphBuilder& graph() const { return context->graph(); }
  [[nodiscard]] Inputs& inputs() const { return context->inputs; }
};

/// The input `name` [batch, sequence]; nullopt: the graph shall not have it. Errors: those of Inputs::take.
[[nodiscard]] Result<std::optional<Value>> token_input(const TextEncoder& encoder, const std::string& name,
                                                       const std::vector<DType>& dtypes);

/// The tokens as they enter the layers.
struct Embedded {
  Value hidden;                            ///< [B, S, width]
  Value tokens;                            ///< input_ids [B, S], or inputs_embeds [B, S, width]
  std::optional<Value> ids{};              ///< input_ids
  std::optional<Value> given_positions{};  ///< position_ids
  std::optional<Value> positions{};        ///< given or computed; nullopt: `first`, `first` + 1, …
  std::int64_t first = 0;
};
/// The embeddings of input_ids, or inputs_embeds as they are, and the positions. Errors: invalid_argument, if the graph
/// shall have neither or both of the two inputs.
[[nodiscard]] Result<Embedded> embed_words(const TextEncoder& encoder);
/// The rows of the position table for these tokens: [B, S, width], or [S, width] without `positions`.
[[nodiscard]] Value position_rows(const TextEncoder& encoder, const Module& table, const Embedded& embedded,
                                  std::int64_t width);
/// The rows of the table of token types for these tokens; nullopt: there is no such table.
[[nodiscard]] Result<std::optional<Value>> token_type_rows(const TextEncoder& encoder, std::int64_t width);
/// The embeddings of the boxes' left, upper, right and lower edges, heights and widths: six values [B, S, width].
/// The input is bbox [B, S, 4] (left, upper, right, lower); without it all boxes are zeros, and B and S are those of
/// `tokens`.
[[nodiscard]] Result<std::vector<Value>> box_rows(const TextEncoder& encoder, const Module& at, const Value& tokens,
                                                  std::int64_t width);
/// The sum of all embeddings, with the norm and the projection to the hidden size if the encoder has them.
/// Shape: [B, S, hidden].
[[nodiscard]] Result<Embedded> embed_text(const TextEncoder& encoder);
/// The input attention_mask [B, S], unchanged; nullopt: the graph shall not have it.
[[nodiscard]] Result<std::optional<Value>> mask_input(const TextEncoder& encoder);

/// The pooler's output for the first token. Shape: [B, hidden].
[[nodiscard]] Result<Value> pool_text(const TextEncoder& encoder, const Value& hidden);

/// Makes the word table and the head's matrix one parameter if the configuration ties them. Call it before one of the
/// two is used.
void tie_text_heads(const TextEncoder& encoder);
/// Adds the pooler and the head of the class, and the graph's outputs. Errors: unsupported (num_labels).
[[nodiscard]] Status build_text_heads(const TextEncoder& encoder, const Value& hidden);

// build_text_encoder calls these functions. `mask`: the input attention_mask.
using EmbedText = Result<Embedded> (*)(const TextEncoder& encoder);
using EncodeText = Result<Value> (*)(const TextEncoder& encoder, const Embedded& embedded,
                                     const std::optional<Value>& mask);
/// Builds a whole text encoder: `embed` adds the embeddings, `encode` the layers; then the heads follow.
[[nodiscard]] Status build_text_encoder(BuildContext& context, EncodeText encode, EmbedText embed = embed_text);
/// BERT's layers.
[[nodiscard]] Result<Value> encode_bert(const TextEncoder& encoder, const Embedded& embedded,
                                        const std::optional<Value>& mask);

}  // namespace assay::zoo
