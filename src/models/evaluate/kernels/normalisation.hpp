// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>

#include "models/evaluate/kernel.hpp"

namespace assay::evaluate {

/// Rows of `size` elements with mean 0 and variance 1, then times `scale` plus `shift`, each of one row or empty.
struct NormalisedRows {
  Reals y, mean, inverse_deviation;  ///< `mean` and `inverse_deviation` have one number for each row
};
/// `centres`: false: the mean is not subtracted (RMS normalisation).
[[nodiscard]] NormalisedRows normalise_rows(std::span<const double> x, std::size_t size, double epsilon, bool centres,
                                            std::span<const double> scale, std::span<const double> shift);

}  // namespace assay::evaluate
