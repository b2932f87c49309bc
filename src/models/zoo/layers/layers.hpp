// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <assay/result.hpp>

#include "models/zoo/catalogue/config.hpp"
#include "models/zoo/layers/attention.hpp"
#include "models/zoo/layers/blocks.hpp"
#include "models/zoo/layers/module.hpp"

namespace assay::zoo {

struct LayerSizes {
  std::int64_t hidden = 0, intermediate = 0;
  Heads heads;
  float epsilon = 0.0F;
  std::string act, act_key;  ///< the activation's name, and its key as messages name it
  bool query_bias = true, key_bias = true, value_bias = true, out_bias = true;
};
/// From the keys hidden_size, intermediate_size, num_attention_heads, hidden_act, layer_norm_eps and, where the
/// architecture reads it, head_dim and qkv_bias. Errors: invalid_argument.
[[nodiscard]] Result<LayerSizes> layer_sizes(const Config& config);

/// What a variation does otherwise than the plain layer.
struct LayerHooks {
  std::optional<Value> mask{};  ///< added to the scores; broadcasts to [B, heads, S, S]
  /// Turns queries and keys, [B, S, heads·width] as projected, before they meet.
  std::function<Value(const Module&, const Value&)> rotate{};
  /// Stands for the MLP.
  std::function<Result<Value>(const Module& layer, const Value&)> mlp{};
};

/// The projections, softmax(q kᵀ) v, and the projection back.
[[nodiscard]] Value self_attention(const Module& layer, const Value& input, const LayerNames& names,
                                   const LayerSizes& sizes, const LayerHooks& hooks);
/// down(act(up(x))). Errors: unsupported (the activation).
[[nodiscard]] Result<Value> plain_mlp(const Module& layer, const Value& input, const LayerNames& names,
                                      const LayerSizes& sizes);
/// x + attention(norm1(x)), then x + mlp(norm2(x)). Shape: [B, S, hidden].
[[nodiscard]] Result<Value> pre_norm_layer(const Module& layer, const Value& input, const LayerNames& names,
                                           const LayerSizes& sizes, const LayerHooks& hooks);

/// torch.nn.MultiheadAttention with its stacked in_proj_weight: queries of `query` [B, Q, H] over `memory` [B, S, H].
[[nodiscard]] Value multihead_attention(const Module& at, const Value& query, const Value& memory, std::int64_t hidden,
                                        Heads heads);

}  // namespace assay::zoo
