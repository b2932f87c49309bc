// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/context.hpp"
#include "cli/failure.hpp"
#include "cli/help.hpp"
#include "cli/not_yet.hpp"
#include "result/status.hpp"

namespace assay::cli {
namespace {

struct PlannedCommand {
  const char* name;
  const char* what;
  const char* instead;
};

/// A command that the guides name and that this version does not include. It prints what to use instead; exit status 2.
void add_planned(CLI::App& app, Commands& commands, const PlannedCommand& planned) {
  CLI::App* command = app.add_subcommand(planned.name, fmt::format("{} (planned)", planned.what));
  command->allow_extras();
  command->group(kPlannedCommands);
  commands.add(command, [planned](Context& context) -> Result<ExitCode> {
    print_failure({std::string(reason::kNotBuilt),
                   fmt::format("`assay {}` is not part of this version of assay", planned.name), planned.instead},
                  context.json);
    return ExitCode::kUsage;
  });
}

/// The same, with the words of not_yet.hpp.
void add_not_yet(CLI::App& app, Commands& commands, const char* name, const char* what) {
  CLI::App* command = app.add_subcommand(name, fmt::format("{} (planned)", what));
  command->allow_extras();
  command->group(kPlannedCommands);
  commands.add(command, [name](Context& context) -> Result<ExitCode> { return answer_not_yet(name, context); });
}

}  // namespace

void register_coverage(CLI::App& app, Commands& commands) {
  add_planned(app, commands,
              {"coverage", "Cover all architectures of the catalogue", "`assay zoo list` shows those that are built"});
}

void register_planned(CLI::App& app, Commands& commands) {
  add_not_yet(app, commands, "variants", "Compare compressed variants of a model");
  add_not_yet(app, commands, "profile", "Flame graphs and operator times");
  add_not_yet(app, commands, "compare", "Compare two configurations by interleaved pairs");
  add_not_yet(app, commands, "schedule", "Run on a schedule");
}

}  // namespace assay::cli
