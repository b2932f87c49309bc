// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>

#include <assay/result.hpp>

#include "models/inputs/image_file.hpp"

namespace assay {

/// How an image becomes the input of a model. The default is torchvision's for ImageNet classifiers: the shorter side
/// is resized to 256 for a centre crop of 224, then (pixel / 255 - mean) / standard deviation.
struct ImagePreprocessing {
  enum class Filter { kBilinear, kBicubic };
  Filter filter = Filter::kBilinear;
  bool crop = true;                 ///< false: the image is stretched to the size of the input
  double crop_ratio = 224.0 / 256;  ///< crop / resized side
  double factor = 1.0 / 255;
  std::array<double, 3> mean{0.485, 0.456, 0.406}, deviation{0.229, 0.224, 0.225};
};

/// From a preprocessor_config.json of Hugging Face: image_mean, image_std, rescale_factor, do_normalize, do_rescale,
/// resample, size, crop_size, do_center_crop, crop_pct. What the file does not say: resample 2, a factor of 1/255, the
/// mean and standard deviation of ImageNet. Of sizes only the ratio counts: the input of the model says the size.
/// Errors: invalid_argument (not JSON, a value of another kind: names file and key), unsupported (another filter).
[[nodiscard]] Result<ImagePreprocessing> read_preprocessing(const std::filesystem::path& file);

/// The image resized and cropped to `width` x `height`. Resizing filters with a support that grows with the reduction
/// (antialiasing), horizontally and then vertically, rounding to 8 bits after each, as Pillow does.
[[nodiscard]] Image fit_image(const Image& image, std::int64_t width, std::int64_t height,
                              const ImagePreprocessing& preprocessing);

}  // namespace assay
