// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "app/cli/context.hpp"
#include "app/cli/help.hpp"
#include "app/cli/not_yet.hpp"

namespace assay::cli {
namespace {

/// A command that the guides name and that this version does not include: it answers with the words of not_yet.hpp.
void add_not_yet(CLI::App& app, Commands& commands, const char* name, const char* what) {
  CLI::App* command = app.add_subcommand(name, fmt::format("{} (planned)", what));
  command->allow_extras();
  command->group(kUnlisted);
  commands.add(command, [name](Context& context) -> Result<ExitCode> { return answer_not_yet(name, context); });
}

}  // namespace

void register_planned(CLI::App& app, Commands& commands) {
  add_not_yet(app, commands, "variants", "Compare compressed variants of a model");
  add_not_yet(app, commands, "profile", "Flame graphs and operator times");
  add_not_yet(app, commands, "compare", "Compare two configurations by interleaved pairs");
  add_not_yet(app, commands, "schedule", "Run on a schedule");
}

}  // namespace assay::cli
