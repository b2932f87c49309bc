// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/tensor/dtype.hpp"

namespace assay::zoo {

/// The element types that token ids, positions and token types may have; the first is the default.
inline const std::vector<DType> kIdTypes = {DType::kInt64, DType::kInt32};
/// Likewise for attention masks.
inline const std::vector<DType> kMaskTypes = {DType::kInt64, DType::kInt32, DType::kBool, DType::kFloat32};

}  // namespace assay::zoo
