// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <utility>

#include "models/evaluate/kernel.hpp"

/// What the operators of attention share, those of ONNX and those of ONNX Runtime.
namespace assay::evaluate {

/// A tensor [batch, heads, tokens, width].
struct Heads {
  std::int64_t batch = 0, heads = 0, tokens = 0, width = 0;
  Reals x{};

  [[nodiscard]] Shape shape() const { return {batch, heads, tokens, width}; }
  [[nodiscard]] std::int64_t count() const { return batch * heads * tokens * width; }
  [[nodiscard]] double* row(std::int64_t b, std::int64_t h, std::int64_t t) {
    return x.data() + ((b * heads + h) * tokens + t) * width;
  }
  [[nodiscard]] const double* row(std::int64_t b, std::int64_t h, std::int64_t t) const {
    return x.data() + ((b * heads + h) * tokens + t) * width;
  }
};

/// The number of heads that an attribute states. Errors: invalid_argument: below 1, or more than 2^20.
[[nodiscard]] Result<std::int64_t> stated_heads(const Call& call, std::string_view attribute);

/// The heads of elements [batch, tokens, heads · width] that begin `first` elements into rows of `stride`.
[[nodiscard]] Heads heads_from(std::span<const double> x, std::int64_t batch, std::int64_t tokens, std::int64_t heads,
                               std::int64_t width, std::int64_t stride, std::int64_t first = 0);
/// [batch, tokens, heads · width]
[[nodiscard]] Value side_by_side(const Heads& heads, DType dtype);
[[nodiscard]] Value as_value(const Heads& heads, DType dtype);
/// The cache in front of new tokens; both have the same batch, heads and width.
[[nodiscard]] Heads joined(const Heads& past, const Heads& now);

struct AttentionRules {
  double scale = 1;
  double softcap = 0;  ///< 0: none
  /// Adds to the bias of a query to every key, which begins with 0. −∞: the query does not see the key. Empty: nothing
  /// to add.
  std::function<void(std::int64_t batch, std::int64_t head, std::int64_t query, std::span<double> bias)> bias{};
  Reals sinks{};  ///< one score for each head, which takes a share of the softmax; may be empty
};

/// Scores [batch, heads, queries, keys] at each stage; those that are nullptr are not kept.
enum AttentionStage : std::uint8_t { kRaw, kCapped, kBiased, kShares };
using AttentionStages = std::array<Reals*, 4>;

/// softmax(scale · q kᵀ) v. The heads of q are a multiple of those of k and v; neighbours share one. A query that sees
/// no key gives 0. Errors: those of Call::elements_of.
[[nodiscard]] Result<Heads> attend(const Call& call, const Heads& q, const Heads& k, const Heads& v,
                                   const AttentionRules& rules, const AttentionStages& stages = {});

/// The cosines and sines for one token, half as many as elements have the embedding.
using RotaryTables = std::function<std::pair<const double*, const double*>(std::int64_t batch, std::int64_t token)>;
/// Applies rotary embeddings to the first `width` elements of each row in pairs: neighbours if `interleaved`, else i
/// and i + width / 2.
void apply_rotary(Heads& heads, std::int64_t width, bool interleaved, const RotaryTables& tables);

/// A bias that an operand has, of a shape that is repeated to [batch, heads, queries, keys]. A last axis that is
/// shorter than the keys ends with −∞. Lifetime: `mask` lives as long as the result.
/// Errors: invalid_argument: the shape does not fit.
using AddedBias = std::function<void(std::int64_t, std::int64_t, std::int64_t, std::span<double>)>;
[[nodiscard]] Result<AddedBias> mask_bias(const Call& call, const Value& mask, const Shape& scores);

}  // namespace assay::evaluate
