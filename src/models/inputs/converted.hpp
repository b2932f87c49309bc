// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include "core/tensor/safetensors.hpp"
#include "core/tensor/tensor.hpp"

namespace assay {

/// Writes `tensors` as a .safetensors into the folder `cache` (not empty; made if it is missing). The file is named by
/// its content, so that the same tensors are the same file. Returns its path.
[[nodiscard]] Result<std::filesystem::path> write_converted(const std::filesystem::path& cache,
                                                            const std::vector<NamedView>& tensors);

}  // namespace assay
