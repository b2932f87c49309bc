// SPDX-License-Identifier: Apache-2.0
#include "app/cli/usage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/text.hpp"
#include "core/base/unknown_word.hpp"

namespace assay::cli {
namespace {

Failure wrong_usage(std::string message, std::string hint) {
  return {std::string(to_string(ErrorCode::kInvalidArgument)), std::move(message), std::move(hint)};
}

std::string with_hint(const std::string& near, const std::string& help) {
  return near.empty() ? help : near + " " + help;
}

std::vector<const CLI::App*> subcommands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<std::string> names_of(const std::vector<const CLI::App*>& commands) {
  std::vector<std::string> names;
  names.reserve(commands.size());
  for (const CLI::App* command : commands) names.push_back(command->get_name());
  return names;
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options([](const CLI::Option* o) { return !o->get_group().empty(); }))
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

Failure unknown_option_named(const std::string& word, const std::vector<std::string>& names, const std::string& help) {
  return wrong_usage(fmt::format("unknown option '{}'", word), with_hint(did_you_mean(word, names), help));
}

// The first option that `command` does not have. Its value was read as something else, of which the parser complains
// first: "bert" of "report -m bert" as the name of a report.
std::optional<Failure> unknown_option(const CLI::App& command, const std::string& help, int argc, char** argv) {
  for (int i = 1; i < argc && argv[i] != std::string_view("--"); ++i) {
    const std::string given = argv[i], word = given.substr(0, given.find('='));
    const bool option = word.starts_with("--")
                            ? word.size() > 2
                            : word.size() == 2 && word[0] == '-' && std::isalpha(static_cast<unsigned char>(word[1]));
    if (option && command.get_option_no_throw(word) == nullptr)
      return unknown_option_named(word, option_names(command), help);
  }
  return std::nullopt;
}

// A word in the place of a command that is not a command; the parser only says that a command is missing.
std::optional<Failure> unknown_command(const CLI::App& app, int argc, char** argv) {
  const CLI::App* at = &app;
  std::string program = "assay";
  for (int i = 1; i < argc && argv[i][0] != '-'; ++i) {
    const std::vector<const CLI::App*> commands = subcommands_of(*at);
    if (commands.empty()) return std::nullopt;
    const auto found = std::ranges::find(commands, argv[i], [](const CLI::App* c) { return c->get_name(); });
    if (found == commands.end()) {
      const Error error = unknown_word("unknown command", argv[i], names_of(commands)).value();
      return wrong_usage(error.message, with_hint(error.hint, "`" + program + " --help` describes the commands"));
    }
    at = *found;
    program += " " + at->get_name();
  }
  return std::nullopt;
}

// The first argument that `command` does not know. Options of its subcommands are not unknown: their command is
// missing.
std::optional<Failure> unexpected(const CLI::App& command, const std::string& help) {
  const std::vector<std::string> rest = command.remaining();
  if (rest.empty()) return std::nullopt;
  const std::string word = rest.front().substr(0, rest.front().find('='));
  if (!word.starts_with('-')) return wrong_usage(fmt::format("unexpected argument '{}'", rest.front()), help);
  std::vector<std::string> names = option_names(command);
  for (const CLI::App* each : subcommands_of(command)) {
    const std::vector<std::string> more = option_names(*each);
    names.insert(names.end(), more.begin(), more.end());
  }
  if (std::ranges::find(names, word) != names.end()) return std::nullopt;
  return unknown_option_named(word, names, help);
}

// The name of an option as it was typed: "--db" of --db-path, "REPORT" of a value without an option.
std::string typed_name(const CLI::Option& option, const std::string& name, int argc, char** argv) {
  const auto is_typed = [&](const std::string& word) {
    return std::any_of(argv, argv + argc,
                       [&](const char* each) { return each == word || std::string(each).starts_with(word + "="); });
  };
  std::vector<std::string> names;
  for (const std::string& each : option.get_lnames()) names.push_back("--" + each);
  for (const std::string& each : option.get_snames()) names.push_back("-" + each);
  for (const std::string& each : names)
    if (is_typed(each)) return each;
  return option.get_positional() ? option.get_name(true) : name;
}

// The parser's message, "NAME: …" or "Could not convert: NAME = VALUE", with the name that was typed.
std::string with_typed_name(const CLI::App& command, std::string said, int argc, char** argv) {
  const std::size_t begin =
      said.find_first_not_of(' ', said.starts_with("Could not convert: ") ? said.find(':') + 1 : 0);
  const std::size_t end = said.find_first_of(": ", begin);
  if (end == std::string::npos) return said;
  const std::string name = said.substr(begin, end - begin);
  const CLI::Option* option = command.get_option_no_throw(name);
  return option == nullptr ? said : said.replace(begin, end - begin, typed_name(*option, name, argc, argv));
}

// The parser's message in plain words.
std::string plain_message(const CLI::App& command, const CLI::ParseError& error, int argc, char** argv) {
  std::string said = with_typed_name(command, error.what(), argc, argv);
  const auto kind = static_cast<CLI::ExitCodes>(error.get_exit_code());
  if (kind == CLI::ExitCodes::ArgumentMismatch) {  // "NAME: …"
    const std::string name = said.substr(0, said.find(':'));
    const CLI::Option* option = command.get_option_no_throw(name);
    if (option == nullptr) return said;
    if (said.ends_with("missing")) return fmt::format("{} requires a value: {}", name, option->get_type_name());
    if (option->get_expected_min() > 1)
      return fmt::format("{} requires {} values: {}", name, option->get_expected_min(), option->get_type_name());
    return fmt::format("{} is given more than once", name);
  }
  const std::string_view failed = "Could not convert: ";  // "NAME = VALUE"
  const std::size_t equals = said.find(" = ");
  if (kind != CLI::ExitCodes::ConversionError || !said.starts_with(failed) || equals == std::string::npos) return said;
  const std::string name = said.substr(failed.size(), equals - failed.size());
  const CLI::Option* option = command.get_option_no_throw(name);
  const bool valued = option != nullptr && !option->get_type_name().empty();  // a switch has an empty name
  return fmt::format("{}: '{}' is not valid; {}", name, said.substr(equals + 3),
                     valued ? "give " + option->get_type_name() : "it has no value");
}

}  // namespace

std::optional<Failure> check_utf8(int argc, char** argv) {
  const char* const hint = "rename the file or folder";
  for (int i = 1; i < argc; ++i)
    if (!is_utf8(argv[i]))
      return wrong_usage(fmt::format("argument {} is not valid UTF-8: '{}'", i, escape_bytes(argv[i])), hint);
  for (const char* name :
       {"ASSAY_CACHE_DIR", "ASSAY_DB_PATH", "ASSAY_DEPS_DIR", "ASSAY_PLUGIN_DIR", "ASSAY_RUNTIME_DIR", "TMPDIR"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && !is_utf8(value))
      return wrong_usage(fmt::format("the environment variable {} is not valid UTF-8: '{}'", name, escape_bytes(value)),
                         hint);
  }
  return std::nullopt;
}

Failure usage_error(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  if (std::optional<Failure> unknown = unknown_command(app, argc, argv)) return *unknown;
  const CLI::App* command = &app;
  std::string name = "assay";
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    name += " " + command->get_name();
  }
  const std::string help = "`" + name + " --help` lists the options";
  const auto kind = static_cast<CLI::ExitCodes>(error.get_exit_code());
  const std::vector<const CLI::App*> missing = subcommands_of(*command);
  if (kind == CLI::ExitCodes::ExtrasError || !missing.empty())
    if (std::optional<Failure> unknown = unexpected(*command, help)) return *unknown;
  if (!missing.empty())
    return wrong_usage(fmt::format("`{}` requires a command; valid: {}", name, join(names_of(missing), ", ")),
                       "`" + name + " --help` describes the commands");
  if (std::optional<Failure> unknown = unknown_option(*command, help, argc, argv)) return *unknown;
  return wrong_usage(plain_message(*command, error, argc, argv), help);
}

}  // namespace assay::cli
