// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <assay/result.hpp>

#include "models/zoo/layers/build_context.hpp"

namespace assay::zoo {

// The builders of text encoders, one per skeleton (models/zoo/skeletons.hpp).
[[nodiscard]] Status build_bert_encoder(BuildContext& context);
[[nodiscard]] Status build_convbert_encoder(BuildContext& context);
[[nodiscard]] Status build_deberta_encoder(BuildContext& context);
[[nodiscard]] Status build_fnet_encoder(BuildContext& context);
[[nodiscard]] Status build_lilt_encoder(BuildContext& context);
[[nodiscard]] Status build_mobilebert_encoder(BuildContext& context);
[[nodiscard]] Status build_nystromformer_encoder(BuildContext& context);
[[nodiscard]] Status build_squeezebert_encoder(BuildContext& context);

}  // namespace assay::zoo
