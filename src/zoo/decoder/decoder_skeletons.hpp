// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <assay/result.hpp>

#include "zoo/layers/build_context.hpp"

namespace assay::zoo {

// The builders of decoders, one per skeleton (zoo/skeletons.hpp).
[[nodiscard]] Status build_decoder(BuildContext& context);

}  // namespace assay::zoo
