// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <assay/result.hpp>

#include "base/json.hpp"
#include "zoo/layers/attention.hpp"
#include "zoo/layers/blocks.hpp"
#include "zoo/layers/build_context.hpp"
#include "zoo/layers/input_types.hpp"

namespace assay::zoo {

/// A text encoder under construction: what embeddings, layers and heads of all its kinds share.
///
/// Its parts' names and kinds are in the architecture's variations; a name "" says that there is no such part.
struct TextEncoder {
  BuildContext* context;
  const TextVariations* variations;
  Module base;  ///< the base model: the root itself for a bare class, "roberta" below a head's class
  std::int64_t vocabulary = 0, hidden = 0, embedding = 0, intermediate = 0, layers = 0, positions = 0, token_types = 0;
  Heads heads{};
  float epsilon = 0;
  std::string hidden_act{};

  /// Of `context`'s configuration, with its base model at `base`. Errors: invalid_argument, sizes that contradict each
  /// other.
  [[nodiscard]] static Result<TextEncoder> read(BuildContext& context, const Module& base);

  /// A configuration's value under BERT's name for it ("hidden_size" is distilbert's "dim").
  [[nodiscard]] bool has(const std::string& key) const;
  [[nodiscard]] std::int64_t integer(const std::string& key) const;
  /// What the configuration calls it.
  [[nodiscard]] std::string key_of(const std::string& key) const;

  [[nodiscard]] GraphBuilder& graph() const { return context->graph(); }
  [[nodiscard]] Inputs& inputs() const { return context->inputs; }
};

/// `name` [batch, sequence] if it is wanted. Errors: those of Inputs::take.
[[nodiscard]] Result<std::optional<Value>> token_input(const TextEncoder& encoder, const std::string& name,
                                                       const std::vector<DType>& dtypes);

/// The tokens as they enter the layers.
struct Embedded {
  Value hidden;                            ///< [B, S, width]
  Value tokens;                            ///< ids or vectors, whichever was given: [B, S, …]
  std::optional<Value> ids{};              ///< input_ids
  std::optional<Value> given_positions{};  ///< position_ids
  std::optional<Value> positions{};        ///< those given or counted; nullopt: `first`, `first` + 1, …
  std::int64_t first = 0;
};
/// input_ids looked up, or inputs_embeds, and their positions. Errors: invalid_argument when neither or both are
/// there.
[[nodiscard]] Result<Embedded> embed_words(const TextEncoder& encoder);
/// Rows of a table of positions [positions, width].
[[nodiscard]] Value position_rows(const TextEncoder& encoder, const Module& table, const Embedded& embedded,
                                  std::int64_t width);
/// Rows of the table of token types; nullopt: the encoder has none.
[[nodiscard]] Result<std::optional<Value>> token_type_rows(const TextEncoder& encoder, std::int64_t width);
/// bbox [B, S, 4] (left, upper, right, lower; zeros if it is not wanted) looked up: left, upper, right, lower,
/// height, width, each [B, S, width]. `tokens` says what B and S are.
[[nodiscard]] Result<std::vector<Value>> box_rows(const TextEncoder& encoder, const Module& at, const Value& tokens,
                                                  std::int64_t width);
/// The sum of the tables, normed and, if the encoder has that, widened to the hidden size. [B, S, hidden].
[[nodiscard]] Result<Embedded> embed_text(const TextEncoder& encoder);
/// attention_mask as it was given, if it is wanted.
[[nodiscard]] Result<std::optional<Value>> mask_input(const TextEncoder& encoder);

/// The pooled first token. Shape: [B, hidden].
[[nodiscard]] Result<Value> pool_text(const TextEncoder& encoder, const Value& hidden);

/// Makes the words' table and a head's matrix one parameter, if they are; to be called before either is read.
void tie_text_heads(const TextEncoder& encoder);
/// Pooler and head of the class that is built, and the graph's outputs. Errors: unsupported (num_labels).
[[nodiscard]] Status build_text_heads(const TextEncoder& encoder, const Value& hidden);

/// A whole encoder: embeddings, layers with the attention mask as given, heads.
using EmbedText = Result<Embedded> (*)(const TextEncoder& encoder);
using EncodeText = Result<Value> (*)(const TextEncoder& encoder, const Embedded& embedded,
                                     const std::optional<Value>& mask);
[[nodiscard]] Status build_text_encoder(BuildContext& context, EncodeText encode, EmbedText embed = embed_text);
/// BERT's layers.
[[nodiscard]] Result<Value> encode_bert(const TextEncoder& encoder, const Embedded& embedded,
                                        const std::optional<Value>& mask);

}  // namespace assay::zoo
