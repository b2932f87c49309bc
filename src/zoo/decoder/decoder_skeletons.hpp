// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <assay/result.hpp>

#include "zoo/layers/build_context.hpp"

namespace assay::zoo {

// The builder of the skeleton "decoder" (zoo/skeletons.hpp).
[[nodiscard]] Status build_decoder(BuildContext& context);

}  // namespace assay::zoo
