// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <assay/result.hpp>

#include "models/zoo/layers/build_context.hpp"

namespace assay::zoo {

// The builders of image models, one per skeleton (models/zoo/skeletons.hpp).
[[nodiscard]] Status build_convnext_cnn(BuildContext& context);
[[nodiscard]] Status build_detr_detector(BuildContext& context);
[[nodiscard]] Status build_image_transformer(BuildContext& context);
[[nodiscard]] Status build_poolformer_cnn(BuildContext& context);
[[nodiscard]] Status build_regnet_cnn(BuildContext& context);
[[nodiscard]] Status build_resnet_cnn(BuildContext& context);
[[nodiscard]] Status build_segformer(BuildContext& context);
[[nodiscard]] Status build_swin_encoder(BuildContext& context);

}  // namespace assay::zoo
