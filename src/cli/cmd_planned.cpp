// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/context.hpp"
#include "cli/failure.hpp"
#include "cli/help.hpp"
#include "result/status.hpp"

namespace assay::cli {
namespace {

struct PlannedCommand {
  const char* name;
  const char* what;
  const char* instead;
};

/// Commands that the guides name and that this version does not include. They print what to use instead; exit status 2.
constexpr PlannedCommand kPlanned[] = {
    {"suite", "Run a benchmark suite from a configuration file", "`assay run` measures a set of models"},
    {"plot", "Draw charts from results", "`assay run` writes CSV and JSON that any plotting tool reads"},
    {"query", "Query the database", "any DuckDB client reads the database that --db-path names"},
    {"report", "Write a report from the database", "`assay run` writes a Markdown report beside its results"},
    {"coverage", "Cover all architectures of the catalogue", "`assay zoo list` shows those that are built"},
    {"variants", "Compare compressed variants of a model", "`assay bench --model A,B` measures several files"},
    {"profile", "Flame graphs and operator times", ""},
    {"compare", "Compare two configurations by interleaved pairs", ""},
    {"schedule", "Run on a schedule", "cron or a systemd timer can call `assay run`"},
    {"serve", "Keep a schedule and show the history", ""},
};

}  // namespace

void register_planned(CLI::App& app, Commands& commands) {
  for (const PlannedCommand& planned : kPlanned) {
    CLI::App* command = app.add_subcommand(planned.name, fmt::format("{} (planned)", planned.what));
    command->allow_extras();
    command->group(kPlannedCommands);
    commands.add(command, [&planned](Context& context) -> Result<ExitCode> {
      print_failure({std::string(reason::kNotBuilt),
                     fmt::format("`assay {}` is not part of this version of assay", planned.name), planned.instead},
                    context.json);
      return ExitCode::kUsage;
    });
  }
}

}  // namespace assay::cli
