// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <assay/result.hpp>

#include "models/zoo/catalogue/config.hpp"
#include "models/zoo/layers/module.hpp"

namespace assay::zoo {

// Swin's stages: attention within windows of an image that is shifted in every other layer, and between stages four
// neighbours merged into one.

/// Tokens of an image, row by row: [B, height·width, channels].
struct TokenGrid {
  Value tokens{};
  std::int64_t height = 0, width = 0, channels = 0;
};

struct SwinSizes {
  std::int64_t window = 0;
  float mlp_ratio = 4.0F, epsilon = 1e-5F;
  bool qkv_bias = true;
  std::string act, act_key, window_key;
};
/// From the keys window_size, mlp_ratio, layer_norm_eps, qkv_bias, hidden_act.
[[nodiscard]] SwinSizes swin_sizes(const Config& config);

/// `depth` layers at `stage` ("blocks.0", …) and, where wanted, the merging ("downsample"). Errors: invalid_argument
/// (heads), unsupported (a window larger than the image, the activation).
[[nodiscard]] Result<TokenGrid> swin_stage(const Module& stage, TokenGrid grid, std::int64_t depth, std::int64_t heads,
                                           const SwinSizes& sizes, bool merge);

}  // namespace assay::zoo
