// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lower/stablehlo/writer.hpp"

namespace assay::lowering::stablehlo {

/// The window of a convolution or pooling node over the spatial axes of an input of shape [N, C, spatial…]: its
/// attributes, with automatic padding computed. Errors: unsupported: attributes of another rank.
[[nodiscard]] Result<HloWindow> window_of(const graph::Node& node, const Shape& input, const Axes& kernel);

/// The same window over all axes, with 1 for batch and channels.
[[nodiscard]] HloWindow over_all_axes(const HloWindow& window, bool last);

}  // namespace assay::lowering::stablehlo
