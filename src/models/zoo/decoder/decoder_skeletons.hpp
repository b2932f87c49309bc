// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <assay/result.hpp>

#include "models/zoo/layers/build_context.hpp"

namespace assay::zoo {

// The builder of the skeleton "decoder" (models/zoo/skeletons.hpp).
[[nodiscard]] Status build_decoder(BuildContext& context);

}  // namespace assay::zoo
