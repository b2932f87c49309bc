// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include "tensor/safetensors.hpp"
#include "tensor/tensor.hpp"

namespace assay {

/// A TensorProto in a file of its own (test_data_set_0/input_0.pb), with its name, which may be "".
/// Errors: not_found; invalid_argument (not a tensor, damaged); unsupported (strings, data in another file).
[[nodiscard]] Result<NamedTensor> read_tensor_pb(const std::filesystem::path& path);

/// Writes `tensors` as a .safetensors into the folder `cache` (not empty; made if it is missing). The file is named by
/// its content, so that the same tensors are the same file. Returns its path.
[[nodiscard]] Result<std::filesystem::path> write_converted(const std::filesystem::path& cache,
                                                            const std::vector<NamedView>& tensors);

}  // namespace assay
