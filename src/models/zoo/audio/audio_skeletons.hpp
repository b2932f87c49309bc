// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <assay/result.hpp>

#include "models/zoo/layers/build_context.hpp"

namespace assay::zoo {

// The builders of audio models, one per skeleton (models/zoo/skeletons.hpp).
[[nodiscard]] Status build_ast_encoder(BuildContext& context);
[[nodiscard]] Status build_hifigan_vocoder(BuildContext& context);
[[nodiscard]] Status build_wav2vec2_encoder(BuildContext& context);

}  // namespace assay::zoo
