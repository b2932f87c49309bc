// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

namespace assay {

/// Where a tensor's bytes are outside the model's file. Checked: the file exists, is inside the model's folder and is
/// long enough.
struct ExternalRange {
  std::filesystem::path file;
  std::filesystem::path location;  ///< path as the model writes it, relative to its folder
  std::uint64_t offset = 0;
};

}  // namespace assay
