// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/base/json.hpp"
#include "core/base/time_spent.hpp"
#include "core/result/file_names.hpp"
#include "core/result/record.hpp"
#include "core/result/run_info.hpp"
#include "core/traits/engine_entry.hpp"
#include "history/analyse/analyse.hpp"

namespace assay {

/// What every report is made from: one run's rows in order of execution. Nothing is measured or looked up here.
struct ReportInput {
  RunInfo run;
  std::vector<Record> rows;  ///< an interrupted run has rows for cells that it did not reach: `skipped`, `cancelled`
  std::vector<std::string> notes;
  bool interrupted = false;
  std::string resume_command{};  ///< runs the cells that are missing; empty: there is none
  std::set<std::string> kept{};  ///< attempt_ids of the rows that --resume took over from before
  ReportedFiles files{};
  /// Engines of the registry, so that external engines have their traits.
  std::vector<EngineEntry> engines = own_engines();
  std::set<std::string> partly{};  ///< attempt_ids of rows that lack launches because the run was interrupted
  TimeSpent spent{};               ///< time that the run spent on each activity; zeros: not known
};

/// "interrupted: 20 of 30 cells complete, 4 partly measured, 6 not begun"; nullopt for a run that was not interrupted.
[[nodiscard]] std::optional<std::string> interruption_text(const ReportInput& input);

/// The hardware guide's JSON (docs/formats.md): timestamp, system_info, benchmarks.FAMILY.MODEL.KEY.benchmark_results
/// .batch_B[_seq_S]…, performance_summary; extra fields allowed, none missing. Has a `schema_version`.
[[nodiscard]] Json guide_json(const ReportInput& input);

/// The guide's Markdown sections.
[[nodiscard]] std::string markdown_report(const ReportInput& input);

/// The bench-runner guide's columns first, then ours; RFC 4180. One line per row, a heading first.
[[nodiscard]] std::string csv_table(std::span<const Record> rows);

/// The name of a target in that file: the guide writes "qualcomm" there, not "qnn".
[[nodiscard]] std::string matrix_word(const std::string& target);

/// The content of kMatrixFile, from the history of the machine of `run`: the latest row of each cell. `made_at` is UTC,
/// ISO 8601.
[[nodiscard]] Json compatibility_matrix(std::span<const Record> history, const RunInfo& run,
                                        const std::string& made_at);

/// `assay bench --output-format json` and the like: {"schema_version", "results": [every CSV column, …]}.
[[nodiscard]] Json results_json(const ReportInput& input);

/// The summary for a terminal of `width` columns: a line for each row, recommendations, next steps, notes, and how sure
/// the numbers are. Nothing is wider than the terminal: sentences are folded; a table that is too wide gives each model
/// a line of its own, and then omits the less important columns and names them. Marks such as "~" are explained below
/// the table.
[[nodiscard]] std::string summary_table(const ReportInput& input, bool colour, int width);

/// One line per row: what was compared with what, and the verdict with its figures; width as above.
[[nodiscard]] std::string verification_table(const ReportInput& input, bool colour, int width);

/// The bench runner's console blocks, as guide 004 prints them, with the `files` of results that were written.
/// Sentences are folded at `width` columns.
[[nodiscard]] std::string bench_console(const ReportInput& input, const std::vector<std::filesystem::path>& files,
                                        int width);

}  // namespace assay
