// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <assay/result.hpp>

#include "models/zoo/layers/build_context.hpp"

namespace assay::zoo {

// LLaVA and similar models: from the images to the decoder's input.

/// Adds the input of the images and computes their features: one row for each image token of the prompt.
/// Shape: [rows, `width`]. `base`: the module that contains "vision_tower".
[[nodiscard]] Result<Value> image_features(BuildContext& context, const Module& base, std::int64_t width);

/// Marks the parameters that image_features reads as unused. For a decode graph: its prompt has no images.
void leave_images(BuildContext& context, const Module& base);

/// How llava_next cuts an image: the whole image, resized to the tower's size, and a grid of tiles.
struct ImageTiles {
  std::int64_t rows = 0, columns = 0;  ///< size of the grid
  [[nodiscard]] std::int64_t count() const { return rows * columns + 1; }
};
/// In pixels.
struct ImageExtents {
  std::int64_t height = 0, width = 0;
};
/// The grid of an image. Of `resolutions` it chooses the one that keeps the most pixels of the image; among equal ones,
/// the one with the least padding (select_best_resolution of transformers). `side`: the tower's image size. Errors:
/// unsupported, if the chosen resolution is not a multiple of `side`.
[[nodiscard]] Result<ImageTiles> tile_image(ImageExtents image, const std::vector<ImageExtents>& resolutions,
                                            std::int64_t side);
/// Which token of the tiles stands at each image token of the prompt. The tokens of all tiles have the numbers 0 to
/// count · side · side - 1; `side`: tokens of a tile's edge. First come the tokens of the whole image, then those of
/// the grid line by line, without padding; -1 is the learned token at the end of each line.
[[nodiscard]] std::vector<std::int64_t> order_of_tokens(ImageExtents image, const ImageTiles& tiles, std::int64_t side);

}  // namespace assay::zoo
