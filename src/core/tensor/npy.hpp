// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

#include <assay/result.hpp>

#include "core/tensor/tensor.hpp"

namespace assay {

/// NumPy's .npy, versions 1 to 3, little endian; Fortran order is transposed. Errors: not_found; invalid_argument (not
/// an .npy, truncated, too long); unsupported (object, string, structured, big-endian or complex elements), naming the
/// descr. Archives of them: core/tensor/npz.hpp.
[[nodiscard]] Result<Tensor> read_npy(const std::filesystem::path& path);
/// The same from memory; messages contain `name`.
[[nodiscard]] Result<Tensor> parse_npy(std::span<const std::byte> bytes, std::string_view name);
/// Errors: those of write_file_atomically; unsupported (bfloat16 and other types that NumPy does not have).
[[nodiscard]] Status write_npy(const std::filesystem::path& path, const TensorView& view);

}  // namespace assay
