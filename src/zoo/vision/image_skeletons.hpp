// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zoo/skeletons.hpp"

namespace assay::zoo {

// The builders of image models, as those of skeletons.hpp.
[[nodiscard]] Status build_clap_tower(BuildContext& context);
[[nodiscard]] Status build_convnext_cnn(BuildContext& context);
[[nodiscard]] Status build_image_transformer(BuildContext& context);
[[nodiscard]] Status build_poolformer_cnn(BuildContext& context);
[[nodiscard]] Status build_regnet_cnn(BuildContext& context);
[[nodiscard]] Status build_segformer(BuildContext& context);
[[nodiscard]] Status build_swin_encoder(BuildContext& context);

}  // namespace assay::zoo
