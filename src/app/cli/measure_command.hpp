// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "app/cli/measuring_options.hpp"
#include "bench/run/session.hpp"
#include "show/report/report.hpp"

namespace assay::cli {

/// Runs a session for `run`, `bench` or `verify`: shows progress on stderr and stops on Ctrl-C.
[[nodiscard]] Result<SessionResult> run_with_progress(SessionRequest request, const MeasuringOptions& options,
                                                      const Context& context);

/// --plan: prints what run_with_progress() would run.
[[nodiscard]] Result<ExitCode> show_plan(SessionRequest request, const MeasuringOptions& options,
                                         const Context& context);

/// A request with the fields that the common options set.
[[nodiscard]] Result<SessionRequest> make_request(const MeasuringOptions& options, const Context& context);

[[nodiscard]] ReportInput report_input(const SessionResult& session);

/// A file of results; its name is prefix, time stamp of the run, suffix; without the stamp if Output::stamped is false.
struct ResultFile {
  std::string prefix, suffix;
  std::function<std::string()> text;
};

/// The files of `run`: results as JSON and CSV, and the report. Lifetime: `input` outlives them.
[[nodiscard]] std::vector<ResultFile> files_of_run(const ReportInput& input);
/// The line that says where they are.
[[nodiscard]] std::string files_of_run_line(const std::filesystem::path& folder, const std::string& stamp,
                                            const std::string& database);

/// What a measuring command prints and writes.
struct Output {
  std::filesystem::path folder{};
  /// All under one stamp: the run's time, with "_2", "_3", … where the folder has results of the same second already.
  std::vector<ResultFile> files{};
  bool stamped = true;
  std::function<Json()> document;  ///< printed with --output-format json
  /// Printed otherwise. `stamp` is that of the files, empty when one of them could not be written.
  std::function<std::string(const std::string& stamp)> text;
  bool matrix = false;                  ///< hardware_compatibility_matrix.json, from the history of this machine
  std::filesystem::path matrix_copy{};  ///< a folder that gets the matrix, too
  bool pictures = false;                ///< the charts in plots, and index.html, when the rows are in the database
  bool verifies = false;                ///< the command was called to verify: docs/metrics.md, "Exit status"
};

/// Ends a measuring command: writes the files, prints, saves the rows in the database and then writes the matrix. Each
/// step is done even if one before it failed, so that no failure costs the user another output; failures go to stderr.
/// Returns the exit status of the whole command.
[[nodiscard]] ExitCode finish(const Output& output, const MeasuringOptions& options, const SessionRequest& request,
                              SessionResult& session);

/// The width to print tables for.
[[nodiscard]] int output_width();

}  // namespace assay::cli
