// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/evaluate/kernel.hpp"

/// Kernels that read an image at places between its elements.
namespace assay::evaluate {

[[nodiscard]] Outputs affine_grid(const Call& call);
[[nodiscard]] Outputs deformed_convolution(const Call& call);
[[nodiscard]] Outputs grid_sample(const Call& call);
[[nodiscard]] Outputs region_align(const Call& call);  ///< RoiAlign
[[nodiscard]] Outputs region_pool(const Call& call);   ///< MaxRoiPool

}  // namespace assay::evaluate
