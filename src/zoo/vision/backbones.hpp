// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <assay/result.hpp>

#include "zoo/catalogue/config.hpp"
#include "zoo/layers/build_context.hpp"
#include "zoo/layers/module.hpp"

namespace assay::zoo {

/// What a convolutional stage gives: [B, channels, height, width].
struct FeatureMap {
  Value value{};
  std::int64_t channels = 0, height = 0, width = 0;
};

/// The input pixel_values with the sides of the request, else those of the architecture's "image_size".
/// Errors: invalid_argument.
[[nodiscard]] Result<FeatureMap> take_image(BuildContext& context, std::int64_t channels,
                                            const std::string& batch = "batch");

/// transformers' ResNet without its pooler, one map per stage. Errors: invalid_argument, unsupported.
[[nodiscard]] Result<std::vector<FeatureMap>> resnet_features(const Module& base, const Config& config,
                                                              const FeatureMap& pixels);

/// timm's ResNet (resnet18 to resnet152), as far as its fourth stage. Depths, widths and the kind of block are those of
/// the checkpoint's tensors; without a checkpoint those of the name. Errors: unsupported ("unsupported: KEY = NAME").
[[nodiscard]] Result<std::vector<FeatureMap>> timm_resnet_features(const Module& base, const std::string& name,
                                                                   const std::string& key, const FeatureMap& pixels);

}  // namespace assay::zoo
