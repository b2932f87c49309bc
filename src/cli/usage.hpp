// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <optional>

#include "cli/failure.hpp"

namespace assay::cli {

/// Why a command line with bytes that are not UTF-8 is refused: names and paths are written into files of results,
/// which are UTF-8. nullopt for one without such bytes.
[[nodiscard]] std::optional<Failure> refuse_other_bytes(int argc, char** argv);

/// What is wrong with a command line that the parser refused, with the nearest command or option.
[[nodiscard]] Failure usage_error(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv);

}  // namespace assay::cli
