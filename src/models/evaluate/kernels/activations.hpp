// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

namespace assay::evaluate {

[[nodiscard]] double sigmoid(double x);
[[nodiscard]] double softplus(double x);
[[nodiscard]] double gelu(double x);       ///< computed with the error function
[[nodiscard]] double gelu_tanh(double x);  ///< its approximation by the hyperbolic tangent

/// Replaces `count` elements, each `step` places from the one before, by their softmax.
void softmax(std::span<double> row, std::size_t step, std::size_t count);

}  // namespace assay::evaluate
