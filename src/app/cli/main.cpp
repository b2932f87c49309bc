// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/aliases.hpp"
#include "app/cli/context.hpp"
#include "app/cli/failure.hpp"
#include "app/cli/help.hpp"
#include "app/cli/usage.hpp"
#include "core/base/guard.hpp"
#include "core/base/shell.hpp"

#ifndef ASSAY_VERSION
#error "the build defines ASSAY_VERSION"
#endif

using namespace assay;
using namespace assay::cli;

namespace {

std::string command_line(int argc, char** argv) {
  std::string line = "assay";
  for (int i = 1; i < argc; ++i) line += " " + shell_quoted(argv[i]);
  return line;
}

// Read from the words themselves, so that an error of parsing is printed as JSON, too.
bool wants_json(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--output-format=json") return true;
    if (word == "--output-format" && i + 1 < argc && argv[i + 1] == std::string("json")) return true;
  }
  return false;
}

// The words with the guides' name of a command replaced; `keep` has the memory of those that are new.
std::vector<char*> expand(int argc, char** argv, std::vector<std::string>& keep) {
  std::vector<char*> words(argv, argv + argc);
  if (argc < 2) return words;
  std::optional<std::vector<std::string>> expansion = expand_alias(argv[1]);
  if (!expansion) return words;
  keep = std::move(*expansion);
  words.erase(words.begin() + 1);
  std::vector<char*> added;
  added.reserve(keep.size());
  for (std::string& word : keep) added.push_back(word.data());
  words.insert(words.begin() + 1, added.begin(), added.end());
  return words;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "assay verifies and measures machine-learning models on the inference runtimes and hardware of this machine. It "
      "stores every sample and explains the result.",
      "assay"};
  app.formatter_fn(
      [](const CLI::App* shown, const std::string& name, CLI::AppFormatMode) { return help_text(*shown, name); });
  app.set_version_flag("--version", std::string("assay ") + ASSAY_VERSION, "Print the version");
  app.set_help_flag("-h,--help", "Print this help");
  app.require_subcommand(1);
  app.fallthrough(false);
  Commands commands;
  register_run(app, commands);
  register_bench(app, commands);
  register_verify(app, commands);
  register_hardware(app, commands);
  register_engines(app, commands);
  register_doctor(app, commands);
  register_zoo(app, commands);
  register_conform(app, commands);
  register_db(app, commands);
  register_cache(app, commands);
  register_suite(app, commands);
  register_coverage(app, commands);
  register_query(app, commands);
  register_report(app, commands);
  register_plot(app, commands);
  register_serve(app, commands);
  register_planned(app, commands);
  register_help(app, commands);
  // After the commands, which would inherit it.
  app.footer(
      "`assay COMMAND --help` describes a command and its options; `assay help guides`\n"
      "lists the names that the guides use, and what is not part of this version.\n"
      "Exit status: 0 success, 1 failure, 2 wrong usage, 3 wrong numbers,\n"
      "4 no verdict, 130 interrupted.");

  Context context{command_line(argc, argv), isatty(STDERR_FILENO) == 1, wants_json(argc, argv)};
  if (const std::optional<Failure> failure = check_utf8(argc, argv)) {
    print_failure(*failure, context.json);
    return static_cast<int>(ExitCode::kUsage);
  }
  std::vector<std::string> expanded;
  std::vector<char*> words = expand(argc, argv, expanded);
  try {
    app.parse(static_cast<int>(words.size()), words.data());
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    print_failure(usage_error(app, error, static_cast<int>(words.size()), words.data()), context.json);
    return static_cast<int>(ExitCode::kUsage);
  }
  name_options_as_typed(TypedNames(app, static_cast<int>(words.size()), words.data()));
  const Action* action = commands.chosen();
  ASSAY_CHECK(action != nullptr, "every subcommand has an action");
  watch_interrupts();
  static_cast<void>(std::signal(SIGXFSZ, SIG_IGN));  // a limit of file sizes is a failed write, like a full disk
  const Result<ExitCode> code = guarded("", [&] { return (*action)(context); });
  if (!code) print_failure(failure_of(code.error()), context.json);
  // A full disk behind `> file` must not look like success.
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    std::fprintf(stderr, "error[internal]: cannot write to standard output\n");
    return static_cast<int>(ExitCode::kFailure);
  }
  return static_cast<int>(code ? *code : exit_code_of(code.error().code));
}
