// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The target assay::npz: apart from assay::tensor, so that the worker does not link libzip and what it needs.

#include <filesystem>
#include <vector>

#include <assay/result.hpp>

#include "core/tensor/tensor.hpp"

namespace assay {

/// All arrays of an .npz (stored or deflated), by name without ".npy", in the archive's order.
/// Errors: not_found; invalid_argument (not an archive, damaged, a claimed size that cannot be true); those of
/// read_npy.
[[nodiscard]] Result<std::vector<NamedTensor>> read_npz(const std::filesystem::path& path);

}  // namespace assay
