// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "app/cli/aliases.hpp"
#include "app/cli/context.hpp"
#include "app/cli/help.hpp"
#include "app/cli/not_yet.hpp"
#include "core/base/unknown_word.hpp"
#include "show/report/terminal.hpp"

namespace assay::cli {
namespace {

constexpr const char* kGuides = "guides";
constexpr std::size_t kGuidesWidth = 80;
constexpr std::size_t kGuidesIndent = 4;

// What each name of the guides is here, then what of them is not part of this version.
std::string guides_text() {
  std::string text =
      "Names that the guides use are commands of assay, with or without `test/` or\n"
      "`bench/` before them and `.py` behind them; the options are the same.\n";
  std::string_view guide;
  for (const Alias& alias : aliases()) {
    if (alias.guide != guide) text += fmt::format("\nGuide {}:\n", alias.guide);
    guide = alias.guide;
    text +=
        fmt::format("  {}\n{}assay {}: {}\n", alias.name, std::string(kGuidesIndent, ' '), alias.words, alias.meaning);
  }
  text += "\nNot part of this version:\n";
  for (const NotYet& each : not_yet_features()) {
    text += fmt::format("  {}\n", each.typed);
    text += folded(std::string(kGuidesIndent, ' '), fmt::format("{}; {}", each.what, each.hint), kGuidesIndent,
                   kGuidesWidth);
  }
  return text;
}

Result<ExitCode> help(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.size() == 1 && words.front() == kGuides) {
    std::fputs(guides_text().c_str(), stdout);
    return ExitCode::kSuccess;
  }
  const CLI::App* shown = &app;
  std::string name = "assay";
  std::vector<std::string> path;
  for (const std::string& word : words) {
    if (const auto expanded = path.empty() ? expand_alias(word) : std::nullopt)
      path.insert(path.end(), expanded->begin(), expanded->end());
    else
      path.push_back(word);
  }
  for (const std::string& word : path) {
    if (word.starts_with('-')) break;  // of an alias
    const auto commands = shown->get_subcommands([](const CLI::App*) { return true; });
    const auto found = std::ranges::find(commands, word, [](const CLI::App* each) { return each->get_name(); });
    if (found == commands.end()) {
      std::vector<std::string> names;
      names.reserve(commands.size());
      for (const CLI::App* each : commands) names.push_back(each->get_name());
      if (shown == &app) names.emplace_back(kGuides);
      return unknown_word("unknown command", word, names);
    }
    shown = *found;
    name += " " + word;
  }
  std::fputs(help_text(*shown, name).c_str(), stdout);
  return ExitCode::kSuccess;
}

}  // namespace

void register_help(CLI::App& app, Commands& commands) {
  auto words = std::make_shared<std::vector<std::string>>();
  CLI::App* command = app.add_subcommand("help", "Describe a command, or the names that the guides use");
  show_as(command->add_option("COMMAND", *words, "A command, or guides: the names that the guides use"), kModel,
          "COMMAND");
  command->group(kUnlisted);
  commands.add(command, [words, &app](Context&) { return help(app, *words); });
}

}  // namespace assay::cli
