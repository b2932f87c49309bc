// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "show/report/report.hpp"

namespace assay {

/// The cells that an interrupted run did not finish, a line for each model and target:
/// "bert on cpu: batch_1_seq_128 (1 of 3 launches), batch_4_seq_128". `rows`: those of the input, or the same with
/// other names.
[[nodiscard]] std::vector<std::string> missing_cells(const ReportInput& input, const std::vector<Record>& rows);

/// What to do about them: the command, or that there is none.
[[nodiscard]] std::string how_to_resume(const ReportInput& input);

/// " (kept from 14:55 UTC)" for a row that --resume kept, with the day if it is not the run's; else "".
[[nodiscard]] std::string kept_note(const ReportInput& input, const Record& row);

/// The rows without those of cells that never started.
[[nodiscard]] std::vector<Record> started_rows(std::vector<Record> rows);

/// For JSON: cells, finished, partly_measured, not_begun, missing, resume; null for a run that was not interrupted.
[[nodiscard]] Json interruption_json(const ReportInput& input);

}  // namespace assay
