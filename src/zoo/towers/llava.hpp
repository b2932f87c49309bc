// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <assay/result.hpp>

#include "zoo/layers/build_context.hpp"

namespace assay::zoo {

// What stands between the images and the decoder of LLaVA and similar models.

/// Takes the images and gives their features, one row for each place that they have in the prompt.
/// Shape: [rows, `width`]. `base`: where "vision_tower" is.
[[nodiscard]] Result<Value> image_features(BuildContext& context, const Module& base, std::int64_t width);

/// Declares the parameters of all that image_features reads, for a decode, whose prompt has no images.
void leave_images(BuildContext& context, const Module& base);

/// An image of height × width pixels as llava_next cuts it: the whole at the tower's size and a grid of tiles.
struct ImageTiles {
  std::int64_t rows = 0, columns = 0;  ///< of tiles
  [[nodiscard]] std::int64_t count() const { return rows * columns + 1; }
};
struct ImageExtents {
  std::int64_t height = 0, width = 0;
};
/// The grid for the one of `resolutions` that keeps the most of the image, then wastes the least (transformers'
/// select_best_resolution). Errors: unsupported, when it is not a multiple of `side`, the tower's.
[[nodiscard]] Result<ImageTiles> tile_image(ImageExtents image, const std::vector<ImageExtents>& resolutions,
                                            std::int64_t side);
/// The places of one image in the prompt: rows of its tiles' tokens, [count · side · side], the whole first, then line
/// by line what padding leaves of the grid, with -1 for the learned end of each line. `side`: tokens of a tile's edge.
[[nodiscard]] std::vector<std::int64_t> order_of_tokens(ImageExtents image, const ImageTiles& tiles, std::int64_t side);

}  // namespace assay::zoo
