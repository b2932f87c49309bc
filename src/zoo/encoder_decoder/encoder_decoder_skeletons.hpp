// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <assay/result.hpp>

#include "zoo/layers/build_context.hpp"

namespace assay::zoo {

// The builders of encoder-decoders, one per skeleton (zoo/skeletons.hpp).
[[nodiscard]] Status build_bart_encoder_decoder(BuildContext& context);
[[nodiscard]] Status build_t5_encoder_decoder(BuildContext& context);

}  // namespace assay::zoo
