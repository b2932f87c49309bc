// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "cli/measuring_options.hpp"
#include "report/report.hpp"
#include "run/session.hpp"

namespace assay::cli {

/// Runs a session with progress on stderr and Ctrl-C heard. What `run`, `bench` and `verify` share.
[[nodiscard]] Result<SessionResult> run_with_progress(SessionRequest request, const MeasuringOptions& options,
                                                      const Context& context);

/// A request with the fields that come from the common options.
[[nodiscard]] Result<SessionRequest> make_request(const MeasuringOptions& options, const Context& context);

[[nodiscard]] ReportInput report_input(const SessionResult& session);

/// A file of results: between prefix and suffix stands the run's time stamp.
struct ResultFile {
  std::string prefix, suffix;
  std::function<std::string()> text;
};

/// What a measuring command leaves behind.
struct Output {
  std::filesystem::path folder{};
  /// All under one stamp: the run's time, with "_2", "_3", … where the folder has results of the same second already.
  std::vector<ResultFile> files{};
  std::function<Json()> document;  ///< printed with --output-format json
  /// Printed otherwise. `stamp` is that of the files, empty when one of them could not be written.
  std::function<std::string(const std::string& stamp)> text;
  bool matrix = false;    ///< hardware_compatibility_matrix.json, from the history of this machine
  bool verifies = false;  ///< the command is there to verify: docs/metrics.md, "Exit status"
};

/// The end of a measuring command: writes the files, prints, saves the rows into the database and then writes the
/// matrix. Each step is done whatever became of those before it, so that no failure costs the user another output;
/// failures go to stderr. Returns the exit status of all of it.
[[nodiscard]] ExitCode finish(const Output& output, const MeasuringOptions& options, const SessionRequest& request,
                              SessionResult& session);

/// The width to print tables for.
[[nodiscard]] int output_width();

}  // namespace assay::cli
