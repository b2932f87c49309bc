// SPDX-License-Identifier: Apache-2.0
#include "app/cli/report_question.hpp"

#include <CLI/CLI.hpp>

#include "app/cli/help.hpp"
#include "history/analyse/analysis.hpp"

namespace assay::cli {

std::vector<std::string> report_words() {
  std::vector<std::string> names;
  for (const ReportName& each : report_names()) names.emplace_back(each.name);
  return names;
}

void add_goal(CLI::App& command, std::string& goal, const char* group) {
  only_words(show_as(command.add_option("--goal", goal, "What to choose hardware by"), group,
                     "latency|throughput|memory|efficiency"),
             {"latency", "throughput", "memory", "efficiency"})
      ->default_str(goal);
}

void ReportQuestion::add_to(CLI::App& command) {
  add_goal(command, goal, kSelected);
  selection.add_to(command);
  output.add_to(command);
}

Result<ExitCode> ReportQuestion::answer(const std::string& report, const Context& context) const {
  const NothingToKeep nothing_to_keep;
  ASSAY_TRY([[maybe_unused]] const std::string format, output.chosen_format());
  ASSAY_TRY(const Selected selected, selection.read());
  if (selected.none) return answer_none(*selected.none, context);
  const Dataset& data = selected.data;
  const Analysis analysis = analyse(data, goal_from(goal).value_or(Goal::kLatency));
  ASSAY_TRY(const Document document, make_report(report, data, analysis));
  ASSAY_CHECK_OK(output.write(document, data, analysis));
  return ExitCode::kSuccess;
}

}  // namespace assay::cli
