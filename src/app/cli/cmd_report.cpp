// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <vector>

#include "app/cli/context.hpp"
#include "app/cli/help.hpp"
#include "app/cli/report_question.hpp"
#include "core/base/text.hpp"
#include "history/analyse/analysis.hpp"

namespace assay::cli {
namespace {

struct ReportOptions {
  std::string name = "overview";
  ReportQuestion question;
};

}  // namespace

void register_report(CLI::App& app, Commands& commands) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command = app.add_subcommand("report", "Answer questions about the stored results");
  command->group(kResultCommands);
  const std::vector<std::string> names = report_words();
  std::string meanings;
  for (const ReportName& each : report_names())
    meanings += "\n  " + std::string(each.name) + ": " + std::string(each.meaning);
  only_words(show_as(command->add_option("REPORT,--report", options->name, "Which report: " + join(names, ", ")),
                     kSelected, "REPORT"),
             names)
      ->default_str(options->name);
  options->question.add_to(*command);
  command->footer("Reports:" + meanings +
                  "\n\nExamples:\n"
                  "  assay report\n"
                  "  assay report optimal-hardware --goal throughput --since 7d\n"
                  "  assay report comprehensive-benchmarks --output report.html");
  commands.add(command, [options](Context& context) { return options->question.answer(options->name, context); });
}

}  // namespace assay::cli
