// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "models/zoo/layers/build_context.hpp"
#include "models/zoo/layers/layers.hpp"

namespace assay::zoo {

/// How a vision transformer's parts are called and which it has; from the architecture's "vision".
struct VisionStyle {
  std::string patch;  ///< the convolution over patches
  bool patch_bias = true;
  std::string class_token;       ///< "" : none
  std::string extra_tokens;      ///< further learned tokens behind the class token, [1, n, hidden]
  std::string positions;         ///< "" : none
  std::string pre_norm;          ///< a norm before the layers; "" : none
  std::string layers;            ///< "encoder.layer", before ".0"
  std::string final_norm;        ///< "" : none
  bool extra_positions = true;   ///< whether the extra tokens have positions too
  std::string interpolation{};   ///< method to fit positions to other images: "bicubic", "bicubic_antialias"; "" : none
  bool interpolates = false;     ///< whether this image needs it
  std::int64_t stored_rows = 0;  ///< rows of the square of stored positions, if they are interpolated
  bool flat = false;             ///< tokens and positions are stored as [hidden] and [n, hidden], without the leading 1
};
[[nodiscard]] VisionStyle vision_style(const Architecture& architecture);

struct VisionSizes {
  LayerSizes layer;
  std::int64_t layers = 0, channels = 0, height = 0, width = 0, patch_height = 0, patch_width = 0;
  std::int64_t extra_tokens = 0;
  [[nodiscard]] std::int64_t rows() const { return height / patch_height; }
  [[nodiscard]] std::int64_t columns() const { return width / patch_width; }
  [[nodiscard]] std::int64_t patches() const { return rows() * columns(); }
};
/// From the keys image_size, patch_size, num_channels, num_hidden_layers and those of layer_sizes. Errors:
/// invalid_argument.
[[nodiscard]] Result<VisionSizes> vision_sizes(const Config& config);

/// [B, C, H, W] → [B, rows·columns, hidden].
[[nodiscard]] Value patch_tokens(const Module& base, const Value& pixels, const VisionSizes& sizes,
                                 const VisionStyle& style);

/// Rows of a square of positions, [rows², width] row by row, for a grid of other extents, as
/// torch.nn.functional.interpolate(mode="bicubic", align_corners=False) does, with `antialias` or without.
[[nodiscard]] std::vector<float> resize_positions(std::span<const float> square, std::int64_t rows, std::int64_t width,
                                                  std::int64_t new_rows, std::int64_t new_columns, bool antialias);

/// What enters the first layer: patches behind class and extra tokens, positions, `style.pre_norm`.
[[nodiscard]] Value embed_image(const Module& base, const Value& pixels, const VisionSizes& sizes,
                                const VisionStyle& style);

/// Layers [first, last) on what embed_image or the layer before them gives.
[[nodiscard]] Result<Value> image_layers(const Module& base, const Value& input, std::int64_t first, std::int64_t last,
                                         const VisionSizes& sizes, const VisionStyle& style, const LayerNames& names,
                                         const LayerHooks& hooks);

/// Tokens of an image up to the last layer (`style.final_norm` is left to the caller): patches behind class and extra
/// tokens, positions, layers. Shape: [B, 1 + extra + patches, hidden].
[[nodiscard]] Result<Value> encode_image(const Module& base, const Value& pixels, const VisionSizes& sizes,
                                         const VisionStyle& style, const LayerNames& names, const LayerHooks& hooks);

}  // namespace assay::zoo
