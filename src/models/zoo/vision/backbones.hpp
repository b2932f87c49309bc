// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <assay/result.hpp>

#include "models/zoo/catalogue/config.hpp"
#include "models/zoo/layers/build_context.hpp"
#include "models/zoo/layers/module.hpp"

namespace assay::zoo {

/// The output of a convolutional stage. Shape of `value`: [B, channels, height, width].
struct FeatureMap {
  Value value{};
  std::int64_t channels = 0, height = 0, width = 0;
};

/// The input pixel_values. Its height and width are those of the request, otherwise the architecture's "image_size".
/// Errors: invalid_argument.
[[nodiscard]] Result<FeatureMap> take_image(BuildContext& context, std::int64_t channels,
                                            const std::string& batch = "batch");

/// ResNet of transformers without the pooler: the output of each stage. Errors: invalid_argument, unsupported.
[[nodiscard]] Result<std::vector<FeatureMap>> resnet_features(const Module& base, const Config& config,
                                                              const FeatureMap& pixels);

/// ResNet of timm (resnet18 to resnet152): the output of each of the four stages. Depths and widths follow from the
/// shapes of the checkpoint's tensors; without a checkpoint, and for the kind of block, from `name`. Errors:
/// unsupported
/// ("unsupported: KEY = NAME").
[[nodiscard]] Result<std::vector<FeatureMap>> timm_resnet_features(const Module& base, const std::string& name,
                                                                   const std::string& key, const FeatureMap& pixels);

}  // namespace assay::zoo
