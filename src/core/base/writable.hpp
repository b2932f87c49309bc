// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include <assay/result.hpp>

namespace assay {

/// Whether this process may create files in `folder`. One that does not exist is created by whoever writes there, so
/// its nearest existing parent counts. Nothing is created, so a file system that refuses more than its permissions say
/// is noticed only by a write.
/// Errors: invalid_argument; the message names the folder that stands in the way, and the reason of the kernel.
[[nodiscard]] Status check_folder_writable(const std::filesystem::path& folder);

/// Whether this process may write to a file: one that exists must be writable, for any other its folder counts.
/// Errors: invalid_argument: those of check_folder_writable(); a folder, device, pipe or socket; no permission.
[[nodiscard]] Status check_file_writable(const std::filesystem::path& file);

}  // namespace assay
