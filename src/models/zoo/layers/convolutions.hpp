// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "models/zoo/layers/blocks.hpp"

namespace assay::zoo {

/// torch.nn.Conv2d in `groups` groups of channels: weight [out, in / groups, height, width]. `in` and `out` are
/// multiples of `groups`.
Value grouped_convolution(const Module& at, const Value& input, const Convolution& shape, std::int64_t groups);

}  // namespace assay::zoo
