// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <assay/result.hpp>

#include "models/zoo/layers/build_context.hpp"

namespace assay::zoo {

// The builders of models of several towers, one per skeleton (models/zoo/skeletons.hpp).
[[nodiscard]] Status build_clap_tower(BuildContext& context);
[[nodiscard]] Status build_clip_text(BuildContext& context);
[[nodiscard]] Status build_clip_vision(BuildContext& context);
[[nodiscard]] Status build_llava(BuildContext& context);
[[nodiscard]] Status build_two_tower(BuildContext& context);
[[nodiscard]] Status build_xclip_tower(BuildContext& context);

}  // namespace assay::zoo
