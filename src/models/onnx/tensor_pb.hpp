// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include <assay/result.hpp>

#include "core/tensor/safetensors.hpp"

namespace assay {

/// A TensorProto in a file of its own (test_data_set_0/input_0.pb), with its name, which may be "".
/// Errors: not_found; invalid_argument (not a tensor, damaged); unsupported (strings, data in another file).
[[nodiscard]] Result<NamedTensor> read_tensor_pb(const std::filesystem::path& path);

}  // namespace assay
