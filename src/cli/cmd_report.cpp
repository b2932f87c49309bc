// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <vector>

#include "analyse/analysis.hpp"
#include "base/text.hpp"
#include "cli/context.hpp"
#include "cli/help.hpp"
#include "cli/report_output.hpp"
#include "cli/selection_options.hpp"

namespace assay::cli {
namespace {

struct ReportOptions {
  std::string name = "overview";
  std::string goal = "latency";
  SelectionOptions selection;
  ReportOutput output;
};

Result<ExitCode> report(const ReportOptions& options) {
  ASSAY_TRY([[maybe_unused]] const std::string format, options.output.chosen_format());
  ASSAY_TRY(const Dataset data, options.selection.read());
  const Analysis analysis = analyse(data, goal_from(options.goal).value_or(Goal::kLatency));
  ASSAY_TRY(const Document document, make_report(options.name, data, analysis));
  ASSAY_CHECK_OK(options.output.write(document, data, analysis));
  return ExitCode::kSuccess;
}

}  // namespace

void register_report(CLI::App& app, Commands& commands) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command = app.add_subcommand("report", "Answer questions about the stored results");
  command->group(kResultCommands);
  std::vector<std::string> names;
  std::string meanings;
  for (const ReportName& each : report_names()) {
    names.emplace_back(each.name);
    meanings += "\n  " + std::string(each.name) + ": " + std::string(each.meaning);
  }
  only_words(show_as(command->add_option("REPORT,--report", options->name, "Which report: " + join(names, ", ")),
                     kSelected, "REPORT"),
             names)
      ->default_str(options->name);
  only_words(show_as(command->add_option("--goal", options->goal, "What to choose hardware by"), kSelected,
                     "latency|throughput|memory|efficiency"),
             {"latency", "throughput", "memory", "efficiency"})
      ->default_str(options->goal);
  options->selection.add_to(*command);
  options->output.add_to(*command);
  command->footer("Reports:" + meanings +
                  "\n\nExamples:\n"
                  "  assay report\n"
                  "  assay report optimal-hardware --goal throughput --since 7d\n"
                  "  assay report comprehensive-benchmarks --output report.html");
  commands.add(command, [options](Context&) { return report(*options); });
}

}  // namespace assay::cli
