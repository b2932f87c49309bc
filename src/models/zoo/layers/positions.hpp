// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "models/zoo/catalogue/config.hpp"
#include "models/zoo/layers/module.hpp"

namespace assay::zoo {

/// Where the tokens of a run stand in their sequence: int64 scalars.
struct TokenSpan {
  Value length;               ///< S: tokens of this run
  Value total;                ///< past + S
  std::optional<Value> past;  ///< tokens before this run; nullopt: none
  /// int64 [S]: the places of this run's tokens in a cache of a maximal length, which is `total` then; `past` is
  /// nullopt.
  std::optional<Value> places{};
};
/// `tokens` [B, S, …]; `past` a state [B, heads, past, width].
TokenSpan token_span(const Module& at, const Value& tokens, const std::optional<Value>& past);
/// The same, with a mask [B, past + S] that says what was before.
TokenSpan masked_span(const Module& at, const Value& tokens, const Value& mask);
/// For a run whose tokens are written at `places` [S] into a cache, a state [B, heads, cache, width].
TokenSpan placed_span(const Module& at, const Value& tokens, const Value& cache, const Value& places);

/// The positions of a run's tokens, int64 [S], and of all that they may see, int64 [past + S].
struct TokenPositions {
  Value queries, keys;
};
TokenPositions token_positions(const Module& at, const TokenSpan& span);

/// past, past + 1, …: int64 [1, S].
Value running_positions(const Module& at, const TokenSpan& span);
/// Positions that count the mask's ones, from `first`: cumsum(mask) · mask − 1 + `first`, the run's last S of them;
/// int64 [B, S]. `mask` [B, past + S].
Value masked_positions(const Module& at, const TokenSpan& span, const Value& mask, std::int64_t first);

/// Positions that count the tokens of `ids` [B, S] that are not `padding`, from `padding` + 1; padding stands at
/// `padding`. `past`: how many tokens came before, int64 [1]. int64 [B, S].
Value positions_after_padding(const Module& at, const Value& ids, std::int64_t padding,
                              const std::optional<Value>& past = std::nullopt);

/// Rotary embedding (Su et al. 2021, arXiv:2104.09864) with the scalings of transformers' modeling_rope_utils.py.
struct RopeSpec {
  std::int64_t width = 0;          ///< width of the rotated part of a head: even
  std::vector<float> frequencies;  ///< [width / 2]
  float attention_factor = 1.0F;   ///< cosine and sine are multiplied by it
  bool interleaved = false;        ///< pairs (0, 1), (2, 3), … instead of (0, width / 2), …

  std::vector<float> long_frequencies;  ///< longrope's frequencies beyond `original_positions`; else empty
  std::int64_t original_positions = 0;
  /// Of "dynamic": beyond `positions` the base grows with the length.
  struct Dynamic {
    double theta, factor;
    std::int64_t positions;
  };
  std::optional<Dynamic> dynamic;
  std::int64_t max_positions = 0;  ///< highest number of positions, stated by the configuration; 0: not stated
};

struct RopeSource {
  Json parameters;             ///< rope_parameters or the older rope_scaling; null: neither
  std::string key;             ///< name of `parameters` in messages: "rope_parameters"
  double theta = 10000.0;      ///< rope_theta, if the parameters state none
  double partial = 1.0;        ///< the same for partial_rotary_factor
  bool takes_partial = false;  ///< whether the class reads partial_rotary_factor at all
  std::int64_t head_width = 0;
  std::int64_t max_positions = 0;
  std::optional<std::int64_t> original_positions;  ///< original_max_position_embeddings of the configuration itself
  std::map<std::string, std::string> types{};      ///< names that the class takes for other types
  bool takes_alpha = false;                        ///< "dynamic" with "alpha": a larger base, the same for all lengths
  std::set<std::string> other_keys{};              ///< keys of the parameters that the architecture itself reads
};
/// Errors: unsupported (a type, or a key of the parameters, that is not built), invalid_argument (a missing or
/// senseless value).
[[nodiscard]] Result<RopeSpec> read_rope(const RopeSource& source);
/// What the configuration's keys rope_parameters, rope_scaling, rope_theta, partial_rotary_factor and
/// original_max_position_embeddings say, older ones as transformers converts them.
[[nodiscard]] RopeSource rope_source(const Config& config, std::int64_t head_width);

/// Cosine and sine of every position and frequency: float32, [B or 1, 1, S, width].
struct Rotary {
  Value cosine, sine;
  std::int64_t width = 0;
  bool interleaved = false;
};
/// `positions` [B or 1, S]. Shared by the layers.
Rotary rotary(const Module& at, const RopeSpec& spec, const Value& positions);
/// Turns the first `rotary.width` of each head's `head_width` elements. Shape: [B, heads, S, head_width].
Value rotate(const Module& at, const Value& heads, const Rotary& rotary, std::int64_t head_width);

}  // namespace assay::zoo
