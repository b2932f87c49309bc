// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <assay/result.hpp>

#include "core/tensor/tensor.hpp"

namespace assay {

/// Check an element type, and the bytes that a tensor of some extents needs. `what` begins the message: "input 'x'".
/// Unknown extents (-1) count as 1 if `dynamic` allows them.
/// Errors: invalid_argument: unknown type, an extent below 0 (or -1), a size that overflows or exceeds `memory` bytes.
[[nodiscard]] Result<DType> check_element_type(std::int32_t type, const std::string& what);
[[nodiscard]] Result<std::uint64_t> check_extents(DType dtype, const Shape& shape, bool dynamic, std::uint64_t memory,
                                                  const std::string& what);

/// This machine's memory in bytes.
[[nodiscard]] std::uint64_t physical_memory();

}  // namespace assay
