// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include <assay/result.hpp>

namespace assay {

/// Before a file is written beside `path` and renamed over it: a device, pipe, socket or folder there would be
/// replaced, not written to. Errors: invalid_argument.
[[nodiscard]] Status check_replaceable(const std::filesystem::path& path);

}  // namespace assay
