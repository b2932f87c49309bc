// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "core/tensor/npy.hpp"

// Any bytes are refused or read; the tensor is not larger than the input.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto tensor = assay::parse_npy(std::as_bytes(std::span(data, size)), "fuzz");
  if (tensor && tensor->bytes().size() > size) std::abort();
  return 0;
}
