// SPDX-License-Identifier: Apache-2.0
#include "app/cli/help.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/base/text.hpp"
#include "core/base/unknown_word.hpp"
#include "show/report/terminal.hpp"

namespace assay::cli {
namespace {

constexpr std::size_t kIndent = 2;
constexpr std::size_t kOptionColumn = 29;
constexpr std::size_t kCommandColumn = 14;
constexpr std::size_t kHelpWidth = 80;
constexpr const char* kOptions = "Options";  // where the parser puts --help

std::string entry(const std::string& name, std::string_view text, std::size_t column) {
  std::string line = std::string(kIndent, ' ') + name;
  std::string before;
  if (columns_of(line) + 2 > column) {
    before = line + "\n";
    line.clear();
  }
  return before + folded(padded(line, column), text, column, kHelpWidth);
}

// "-o, --output FILE", "--use-resource-pool, --no-resource-pool", "MODEL…"
std::string shown_name(const CLI::Option& option) {
  std::vector<std::string> names;
  if (option.get_positional()) names.push_back(option.get_type_name());
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  std::string text = join(names, ", ");
  if (!option.get_positional() && option.get_type_size() > 0 && !option.get_type_name().empty())
    text += " " + option.get_type_name();
  return text;
}

std::string shown_text(const CLI::Option& option) {
  std::string text = option.get_description() + ".";
  if (option.get_required()) text += " Required.";
  if (!option.get_default_str().empty()) text += " Default: " + option.get_default_str() + ".";
  return text;
}

std::string usage(const CLI::App& app, const std::string& name, bool commands) {
  std::string text = "Usage: " + name;
  if (commands) return text + " COMMAND [OPTION…]\n";
  for (const CLI::Option* option : app.get_options([](const CLI::Option* o) { return o->get_positional(); }))
    text += (option->get_required() ? " " : " [") + option->get_type_name() + (option->get_required() ? "" : "]");
  return text + " [OPTION…]\n";
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return command->get_group() != kUnlisted; });
}

// The first line after "Examples:".
std::string example(const CLI::App& command) {
  const std::vector<std::string> lines = split(command.get_footer(), '\n');
  const auto heading = std::ranges::find(lines, "Examples:");
  return heading == lines.end() || heading + 1 == lines.end() ? "" : std::string(trim(*(heading + 1)));
}

std::string command_list(const CLI::App& app) {
  std::string text;
  const std::vector<const CLI::App*> commands = commands_of(app);
  std::vector<std::string> groups;
  for (const CLI::App* command : commands)
    if (std::ranges::find(groups, command->get_group()) == groups.end()) groups.push_back(command->get_group());
  for (const std::string& group : groups) {
    text += "\n" + group + ":\n";
    for (const CLI::App* command : commands) {
      if (command->get_group() != group) continue;
      text += entry(command->get_name(), command->get_description(), kCommandColumn);
      if (group == kFirstCommands) text += std::string(kCommandColumn, ' ') + "$ " + example(*command) + "\n";
    }
  }
  return text;
}

std::string option_list(const CLI::App& app) {
  std::vector<std::string> groups;
  const std::vector<const CLI::Option*> options =
      app.get_options([](const CLI::Option* option) { return option->get_group() != kUnlisted; });
  const std::vector<std::string> common{kMatrix, kMeasuring, kOutput, kStorage, kOptions};
  // The model, then the command's own headings, then the common ones.
  groups.emplace_back(kModel);
  for (const CLI::Option* option : options)
    if (std::ranges::find(groups, option->get_group()) == groups.end() &&
        std::ranges::find(common, option->get_group()) == common.end())
      groups.push_back(option->get_group());
  groups.insert(groups.end(), common.begin(), common.end());
  std::string text;
  for (const std::string& group : groups) {
    std::string lines;
    for (const CLI::Option* option : options)
      if (option->get_group() == group) lines += entry(shown_name(*option), shown_text(*option), kOptionColumn);
    if (!lines.empty()) text.append("\n").append(group).append(":\n").append(lines);
  }
  return text;
}

}  // namespace

CLI::Option* show_as(CLI::Option* option, const char* group, std::string value) {
  return option->group(group)->type_name(std::move(value));
}

CLI::Option* add_output_format(CLI::App& command, std::string& format, const std::vector<std::string>& words) {
  CLI::Option* option =
      command.add_option("--output-format", format, "Format of the output; json prints one JSON document");
  return only_words(show_as(option, kOutput, join(words, "|")), words)->default_str(words.front());
}

CLI::Option* only_words(CLI::Option* option, std::vector<std::string> valid) {
  // The parser puts the option's name before the message.
  return option->check(CLI::Validator(
      [valid = std::move(valid)](const std::string& word) {
        if (std::ranges::find(valid, word) != valid.end()) return std::string();
        const Error error = unknown_word("unknown value", word, valid).value();
        return error.message + (error.hint.empty() ? "" : "; " + error.hint);
      },
      ""));
}

std::string help_text(const CLI::App& app, const std::string& name) {
  const bool commands = !commands_of(app).empty();
  std::string text;
  for (const std::string& line : split(app.get_description(), '\n')) text += folded("", line, 0, kHelpWidth);
  text += "\n" + usage(app, name.empty() ? app.get_name() : name, commands);
  text += commands ? command_list(app) : "";
  text += option_list(app);
  if (!app.get_footer().empty()) text += "\n" + app.get_footer() + "\n";
  return text;
}

}  // namespace assay::cli
