// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <assay/result.hpp>

#include "app/cli/app_forward.hpp"
#include "app/cli/report_output.hpp"
#include "app/cli/selection_options.hpp"

namespace assay::cli {

/// The names of the reports, in their order.
[[nodiscard]] std::vector<std::string> report_words();

/// Adds --goal; `goal` is its default.
void add_goal(CLI::App& command, std::string& goal, const char* group);

/// What `query` and `report` have in common: which results a report is about, by which goal it chooses, and where it
/// goes.
struct ReportQuestion {
  std::string goal = "latency";
  SelectionOptions selection;
  ReportOutput output;

  void add_to(CLI::App& command);
  /// Reads what was selected and writes the report of this name; 4 if there are no results. Errors: those of
  /// SelectionOptions::read() and ReportOutput::write().
  [[nodiscard]] Result<ExitCode> answer(const std::string& report, const Context& context) const;
};

}  // namespace assay::cli
