// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "base/guard.hpp"
#include "base/text.hpp"
#include "cli/context.hpp"
#include "cli/failure.hpp"

#ifndef ASSAY_VERSION
#error "the build defines ASSAY_VERSION"
#endif

using namespace assay;
using namespace assay::cli;

namespace {

std::string command_line(int argc, char** argv) {
  std::string line;
  for (int i = 0; i < argc; ++i) line += (i > 0 ? " " : "") + std::string(i == 0 ? "assay" : argv[i]);
  return line;
}

// The word that stands where a subcommand should, told with those there are; the parser only says that one is missing.
std::string unknown_command(const CLI::App& app, int argc, char** argv) {
  const CLI::App* at = &app;
  for (int i = 1; i < argc && argv[i][0] != '-'; ++i) {
    const auto commands = at->get_subcommands([](const CLI::App*) { return true; });
    const auto found =
        std::find_if(commands.begin(), commands.end(), [&](const CLI::App* c) { return c->get_name() == argv[i]; });
    if (found != commands.end()) {
      at = *found;
      continue;
    }
    if (commands.empty()) return {};
    std::vector<std::string> names;
    names.reserve(commands.size());
    for (const CLI::App* command : commands) names.push_back(command->get_name());
    return "unknown command '" + std::string(argv[i]) + "'; valid: " + join(names, ", ");
  }
  return {};
}

// Asked of the words themselves: a command line that cannot be parsed is answered in JSON too.
bool wants_json(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--output-format=json") return true;
    if (word == "--output-format" && i + 1 < argc && argv[i + 1] == std::string("json")) return true;
  }
  return false;
}

// Names and paths stand in files of results, which are UTF-8.
std::optional<Failure> refuse_other_bytes(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (is_utf8(argv[i])) continue;
    return Failure{std::string(to_string(ErrorCode::kInvalidArgument)),
                   "argument " + std::to_string(i) + " is not valid UTF-8: '" + escape_bytes(argv[i]) + "'",
                   "rename the file or folder"};
  }
  for (const char* name : {"ASSAY_CACHE_DIR", "ASSAY_DB_PATH", "ASSAY_DEPS_DIR", "ASSAY_PLUGIN_DIR", "TMPDIR"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || is_utf8(value)) continue;
    return Failure{
        std::string(to_string(ErrorCode::kInvalidArgument)),
        std::string("the environment variable ") + name + " is not valid UTF-8: '" + escape_bytes(value) + "'",
        "rename the file or folder"};
  }
  return std::nullopt;
}

Failure usage_error(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  const std::string unknown = unknown_command(app, argc, argv);
  const CLI::App* command = &app;
  std::string name;
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    name += " " + command->get_name();
  }
  return {std::string(to_string(ErrorCode::kInvalidArgument)), unknown.empty() ? error.what() : unknown,
          "`assay" + name + " --help` lists the options"};
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "assay tells how a machine-learning model will really run: it verifies the model, measures it on every\n"
      "inference runtime and every hardware it finds, keeps every sample and explains the result.",
      "assay"};
  app.set_version_flag("--version", std::string("assay ") + ASSAY_VERSION);
  app.require_subcommand(1);
  app.fallthrough(false);
  app.footer(
      "Exit status: 0 fine, 1 something failed, 2 wrong usage, 3 a finding (wrong numbers), 4 cannot tell,\n"
      "130 interrupted.\nStart with: assay run --models-set small --output-dir ./benchmark_results");
  Commands commands;
  register_run(app, commands);
  register_bench(app, commands);
  register_verify(app, commands);
  register_engines(app, commands);
  register_hardware(app, commands);
  register_doctor(app, commands);
  register_zoo(app, commands);
  register_db(app, commands);
  register_later(app, commands);

  Context context{command_line(argc, argv), isatty(STDERR_FILENO) == 1, wants_json(argc, argv)};
  if (const std::optional<Failure> refused = refuse_other_bytes(argc, argv)) {
    tell(*refused, context.json);
    return static_cast<int>(ExitCode::kUsage);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    tell(usage_error(app, error, argc, argv), context.json);
    return static_cast<int>(ExitCode::kUsage);
  }
  const Action* action = commands.chosen();
  ASSAY_CHECK(action != nullptr, "every subcommand has an action");
  watch_interrupts();
  static_cast<void>(std::signal(SIGXFSZ, SIG_IGN));  // a limit of file sizes is a failed write, as a full disk is
  const Result<ExitCode> code = guarded("", [&] { return (*action)(context); });
  if (!code) tell(failure_of(code.error()), context.json);
  // What could not be written was not told: a full disk behind `> file` must not look like success.
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    std::fprintf(stderr, "error[internal]: cannot write to standard output\n");
    return static_cast<int>(ExitCode::kFailure);
  }
  return static_cast<int>(code ? *code : exit_code_of(code.error().code));
}
