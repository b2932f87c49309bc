// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "models/zoo/catalogue/config.hpp"
#include "models/zoo/layers/attention.hpp"
#include "models/zoo/layers/module.hpp"
#include "models/zoo/layers/positions.hpp"
#include "models/zoo/layers/states.hpp"

namespace assay::zoo {

// Decoders as data: an architecture's variations say how its layers differ from llama's (docs/zoo-authors.md).
// Multimodal models build theirs with the same functions, from a nested configuration.

enum class NormKind {
  kRms,          ///< x / rms(x) · weight
  kRmsPlusOne,   ///< x / rms(x) · (1 + weight)
  kLayer,        ///< LayerNorm with weight and bias
  kLayerNoBias,  ///< LayerNorm with a weight
  kLayerPlain,   ///< LayerNorm without parameters
  kLayerPlusOne  ///< LayerNorm with 1 + weight, and bias
};

enum class QkvLayout {
  kSeparate,  ///< three projections
  kJoined,    ///< one: all queries, then all keys, then all values
  kPerHead,   ///< one: for each key and value head its queries, its key, its value
  kCodegen,   ///< one: four parts, each queries, values, keys
};

enum class QueryKeyNorm {
  kNone,
  kHead,           ///< each head is normalised, all with one weight [head_width]
  kHeadAfterRope,  ///< the same, after the rotation
  kFull,           ///< all heads are normalised together, weight [heads · head_width]
  kPerHead,        ///< each head is normalised, weight [heads, head_width]
};

/// Scores that fall with the distance instead of positions (arXiv:2108.12409).
enum class Alibi {
  kNone,
  kBloom,    ///< added to the scaled scores
  kByPlace,  ///< the same, by the place in the row, whatever the mask says (mpt)
  kFalcon,   ///< rounded to bfloat16 and scaled as the scores are
};

/// How one layer attends.
struct LayerKind {
  /// Causal: how many tokens a token sees, itself included. Not causal: how far it sees to the left and to the right.
  std::optional<std::int64_t> window{};
  std::string rope{};  ///< key of DecoderSpec::ropes; "": not rotated
  float scale = 1.0F;  ///< scores are multiplied by it
};

struct DecoderSpec {
  // Sizes
  std::int64_t vocabulary = 0, hidden = 0, intermediate = 0, embedding_width = 0;
  std::int64_t heads = 0, key_value_heads = 0, head_width = 0;
  std::int64_t learned_positions = 0;         ///< rows of the position table; 0: none
  std::int64_t position_offset = 0;           ///< index of the table's first row in use
  std::optional<std::int64_t> zero_position;  ///< a computed row that is zero: the padding token's
  std::vector<LayerKind> layers;
  std::map<std::string, RopeSpec> ropes;

  // Kinds
  NormKind norm = NormKind::kRms;
  float epsilon = 1e-6F;
  QkvLayout qkv_layout = QkvLayout::kSeparate;
  QueryKeyNorm query_key_norm = QueryKeyNorm::kNone;
  bool causal = true;                ///< false: a token also sees later tokens; there are no states
  bool parallel = false;             ///< attention and MLP of the same input
  bool residual_after_norm = false;  ///< the residual is the normed input (bloom)
  bool weights_in_first = false;     ///< weights are stored [in, out] (gpt2)
  bool masked_positions = false;     ///< positions count the mask's ones (opt)
  bool sinusoidal = false;           ///< the position table is computed (xglm)
  Alibi alibi = Alibi::kNone;
  bool tied = false;
  bool qkv_bias = false, output_bias = false, mlp_bias = false, head_bias = false;
  std::string activation, activation_key;
  bool gated = true;  ///< down(act(gate(x)) · up(x)) instead of down(act(up(x)))

  // Numbers
  float embedding_scale = 1.0F, residual_scale = 1.0F, logits_scale = 1.0F;
  std::optional<float> attention_soft_cap, logits_soft_cap, clip_qkv;

  DecoderNames names;  ///< names of the modules; "": the architecture has none
};

/// From an architecture of the skeleton "decoder" and a configuration of it. Errors: unsupported, invalid_argument.
[[nodiscard]] Result<DecoderSpec> read_decoder(const Config& config);

struct DecoderInputs {
  Value embeddings;                       ///< [B, S, embedding_width], as decoder_embeddings gives them
  std::optional<Value> attention_mask;    ///< [B, past + S]; none: every token counts
  std::optional<Value> position_ids;      ///< [B or 1, S]; none: as transformers numbers them
  std::optional<Value> cache_position{};  ///< [S]: the positions of the tokens in static caches
};

/// The embedding table's rows, scaled as the architecture does. `base`: where "embed_tokens" is.
Value decoder_embeddings(const Module& base, const DecoderSpec& spec, const Value& ids);
/// The layers and the final norm: [B, S, hidden]. Takes from and gives to `states` the keys and values of each layer.
/// Errors: unsupported, if the attention cannot be expressed with this KV cache, or for states of a spec that is not
/// causal.
[[nodiscard]] Result<Value> decode(const Module& base, const DecoderSpec& spec, const DecoderInputs& inputs,
                                   States& states);
/// [B, S, vocabulary], or [B, 1, vocabulary] with `last_only`. `parent`: where "lm_head" is; `base` as above: a tied
/// head takes its table.
Value decoder_logits(const Module& parent, const Module& base, const DecoderSpec& spec, const Value& hidden,
                     bool last_only);
/// Ties the head's weight to the table, when the configuration does. Before both are used.
void tie_decoder_head(const Module& parent, const Module& base, const DecoderSpec& spec);

// Pieces, for skeletons that share some of them.
Value decoder_norm(const Module& at, const Value& input, NormKind kind, const Shape& weight_shape, float epsilon);
[[nodiscard]] Result<Value> decoder_mlp(const Module& at, const DecoderSpec& spec, const Value& input,
                                        std::int64_t intermediate);
/// torch.nn.Linear; its weight is stored [out, in] or, with weights_in_first, [in, out].
Value decoder_linear(const Module& at, const DecoderSpec& spec, const Value& input, std::int64_t in, std::int64_t out,
                     bool bias);

}  // namespace assay::zoo
