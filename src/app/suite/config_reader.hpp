// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include <assay/result.hpp>

#include "app/suite/config.hpp"
#include "core/base/json_object.hpp"

namespace assay::suite {

/// Reads the keys of a configuration into `config`; a key that is absent leaves its value. Models that are paths are
/// relative to the folder of `file`; an empty `file`: they are names. Errors: invalid_argument with all mistakes (at
/// most ten), each with file, line and column, what is valid there, and the nearest key.
[[nodiscard]] Status read_keys(const JsonDocument& document, const std::filesystem::path& file, SuiteConfig& config);

}  // namespace assay::suite
