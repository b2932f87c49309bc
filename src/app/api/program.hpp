// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "core/base/json.hpp"

namespace assay::api {

/// The program `assay`: $ASSAY_PROGRAM, else bin/assay beside the folder of this library.
/// Errors: not_found: there is no such program.
[[nodiscard]] Result<std::filesystem::path> find_program();

struct ProgramEnd {
  int exit_status = 0;   ///< docs/metrics.md; 128 + the signal's number, if a signal ended it
  std::string messages;  ///< standard error
};

/// Runs the program and waits. Standard output goes to the file `output`; standard error is returned, and also shown if
/// `shows`. Errors: internal: it cannot be started.
[[nodiscard]] Result<ProgramEnd> run_program(const std::filesystem::path& program,
                                             const std::vector<std::string>& arguments,
                                             const std::filesystem::path& output, bool shows);

/// Why there are no results: the object "error" of what the program printed; else its last message. cancelled: a signal
/// ended it.
[[nodiscard]] Error error_of(const ProgramEnd& end, const Json& printed);

}  // namespace assay::api
