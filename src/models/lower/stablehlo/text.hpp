// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "models/lower/stablehlo/writer.hpp"

/// Pieces of MLIR's syntax.
namespace assay::lowering::stablehlo {

/// tensor<2x3xf32>; "none": StableHLO has no such elements.
[[nodiscard]] std::string type_text(const Hlo& value);
[[nodiscard]] std::string list_text(const Axes& numbers);   ///< [1, 2]
[[nodiscard]] std::string array_text(const Axes& numbers);  ///< array<i64: 1, 2>
/// Padding of each axis: [1, 2], [0, 0]
[[nodiscard]] std::string pairs_text(const Axes& before, const Axes& after);
/// The attributes of a window over all axes.
[[nodiscard]] std::string window_text(const HloWindow& window);

}  // namespace assay::lowering::stablehlo
