// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "cli/measuring_options.hpp"
#include "plan/session.hpp"
#include "report/report.hpp"

namespace assay::cli {

/// Runs a session with progress on stderr and Ctrl-C heard. What `run`, `bench` and `verify` share.
[[nodiscard]] Result<SessionResult> run_with_progress(SessionRequest request, const MeasuringOptions& options,
                                                      const Context& context);

/// A request with the fields that come from the common options.
[[nodiscard]] Result<SessionRequest> make_request(const MeasuringOptions& options, const Context& context);

[[nodiscard]] ReportInput report_input(const SessionResult& session);

/// Writes hardware_compatibility_matrix.json into `folder` from the whole history, or from these rows alone when the
/// database cannot be read.
[[nodiscard]] Status write_matrix(const std::filesystem::path& folder, const SessionRequest& request,
                                  const SessionResult& session);

/// A file of results: between prefix and suffix stands the run's time stamp.
struct ResultFile {
  std::string prefix, suffix, text;
};
/// Writes the files into `folder`, all under one stamp, and returns it: the run's time, with "_2", "_3", … where the
/// folder has results of the same second already.
[[nodiscard]] Result<std::string> write_results(const std::filesystem::path& folder, const RunInfo& run,
                                                std::span<const ResultFile> files);

/// Prints what a command ends with: the one JSON document when it was asked for, else the text for people.
void print_results(const MeasuringOptions& options, const Json& document, const std::string& text);

/// The width to print tables for.
[[nodiscard]] int output_width();

}  // namespace assay::cli
