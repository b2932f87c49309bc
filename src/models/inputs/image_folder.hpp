// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include "models/inputs/inputs.hpp"

namespace assay {

/// The image files that `data` stands for: itself, or all in the folder and its subfolders, in the order of their paths
/// (bytes compared). Empty: `data` is empty; it is not an image, or the folder has arrays (.npy, .npz, .pb,
/// .safetensors) or no images. Hidden files and folders are left out. Errors: invalid_argument, for a folder that
/// cannot be read.
[[nodiscard]] Result<std::vector<std::filesystem::path>> images_in(const std::filesystem::path& data);

/// Replaces the recipe of the model's image input by the first images, as many as its batch: decoded, preprocessed
/// (models/inputs/image_preprocessing.hpp; with the model's preprocessor_config.json if there is one) and written into
/// the folder `axes.cache`. The layout, [N, 3, H, W] or [N, H, W, 3], is that of the input. Of uint8 inputs the values
/// are pixels, neither scaled nor normalised. Errors: invalid_argument: the model has no image input, or another input
/// that images do not give; an image that is damaged or more than 50 times as long as wide; unsupported: there are
/// fewer images than the batch, an element type or a number of channels that images do not have; those of read_image
/// and read_preprocessing.
[[nodiscard]] Status use_images(const ModelInfo& model, const InputAxes& axes,
                                const std::vector<std::filesystem::path>& images, ModelInputs& inputs);

/// Whether images can be the inputs of the model. Errors: those of use_images that concern the model alone.
[[nodiscard]] Status check_takes_images(const ModelInfo& model, const std::filesystem::path& data);

}  // namespace assay
