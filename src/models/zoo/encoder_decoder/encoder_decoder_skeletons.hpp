// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <assay/result.hpp>

#include "models/zoo/layers/build_context.hpp"

namespace assay::zoo {

// The builders of encoder-decoders, one per skeleton (models/zoo/skeletons.hpp).
[[nodiscard]] Status build_bart_encoder_decoder(BuildContext& context);
[[nodiscard]] Status build_t5_encoder_decoder(BuildContext& context);

}  // namespace assay::zoo
