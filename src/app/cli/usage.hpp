// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <optional>

#include "app/cli/failure.hpp"

namespace assay::cli {

/// The failure for arguments or environment variables that are not valid UTF-8; nullopt if all are. Files of results
/// are UTF-8 and contain names and paths.
[[nodiscard]] std::optional<Failure> check_utf8(int argc, char** argv);

/// What is wrong with a command line that the parser refused, with the nearest command or option.
[[nodiscard]] Failure usage_error(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv);

}  // namespace assay::cli
