// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/evaluate/kernel.hpp"

/// Kernels that keep a state from token to token, in place of attention.
namespace assay::evaluate {

[[nodiscard]] Outputs linear_attention(const Call& call);
[[nodiscard]] Outputs causal_convolution(const Call& call);  ///< CausalConvWithState

}  // namespace assay::evaluate
