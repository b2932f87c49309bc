// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "core/tensor/safetensors.hpp"

// Any bytes are refused or read; the tensors cover the data without gaps or overlaps.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto content = assay::parse_safetensors(bytes, "fuzz");
  if (!content) return 0;
  std::size_t covered = 0;
  for (const std::string& name : content->names) {
    const assay::TensorView& view = content->tensors.at(name);
    covered += view.bytes.size();
    if (!view.bytes.empty()) static_cast<void>(assay::element_as_double(view, 0));
  }
  if (covered > size) std::abort();
  return 0;
}
