// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <set>

#include "app/cli/failure.hpp"
#include "app/cli/help.hpp"
#include "app/cli/measure_command.hpp"
#include "core/base/text.hpp"
#include "core/base/unknown_word.hpp"
#include "models/zoo/zoo.hpp"
#include "show/report/terminal.hpp"

namespace assay::cli {
namespace {

constexpr const char* kFilter = "Filter";

struct ListOptions {
  std::string text, category, family, skeleton;
  bool tree = false;
  std::string output_format = "text";
};

struct Entry {
  const zoo::Architecture* architecture = nullptr;
  std::vector<std::string> names;    ///< model names that resolve to it
  std::vector<std::string> classes;  ///< model classes that can be built
};

std::vector<Entry> all_entries() {
  std::map<std::string, std::vector<std::string>> names;
  for (const std::string& name : zoo::known_names())
    if (const auto known = zoo::find_known(name)) names[known->architecture].push_back(name);
  std::vector<Entry> entries;
  for (const zoo::Architecture& each : zoo::architectures()) {
    Entry entry{&each, names[each.name], {}};
    for (const auto& [name, description] : each.classes) entry.classes.push_back(name);
    entries.push_back(std::move(entry));
  }
  return entries;
}

// Keeps the entries for which `get` returns `wanted`.
template <class Get>
Status filter_by(std::vector<Entry>& entries, const char* option, const std::string& wanted, Get get) {
  if (wanted.empty()) return {};
  std::vector<std::string> valid;
  for (const zoo::Architecture& each : zoo::architectures())
    if (std::ranges::find(valid, get(each)) == valid.end()) valid.push_back(get(each));
  std::ranges::sort(valid);
  if (std::ranges::find(valid, wanted) == valid.end())
    return unknown_word(std::string(option) + ": unknown value", wanted, valid);
  std::erase_if(entries, [&](const Entry& entry) { return get(*entry.architecture) != wanted; });
  return {};
}

Status filter_by_text(std::vector<Entry>& entries, const std::string& wanted) {
  if (wanted.empty()) return {};
  std::set<std::string> words;
  const std::string text = lower(wanted);
  std::erase_if(entries, [&](const Entry& entry) {
    const zoo::Architecture& architecture = *entry.architecture;
    std::vector<std::string> here{architecture.name, architecture.category, architecture.family, architecture.skeleton};
    here.insert(here.end(), entry.names.begin(), entry.names.end());
    here.insert(here.end(), entry.classes.begin(), entry.classes.end());
    words.insert(here.begin(), here.end());
    return std::ranges::none_of(here,
                                [&](const std::string& word) { return lower(word).find(text) != std::string::npos; });
  });
  if (!entries.empty()) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("no architecture has '{}' in its names, classes or categories", wanted),
              did_you_mean(wanted, {words.begin(), words.end()}));
}

std::size_t longest(const std::vector<Entry>& entries, std::string_view head, std::string zoo::Architecture::*member) {
  std::size_t width = head.size();
  for (const Entry& entry : entries) width = std::max(width, (entry.architecture->*member).size());
  return width + 2;
}

void print_table(const std::vector<Entry>& entries) {
  const auto width = static_cast<std::size_t>(output_width());
  const std::size_t name = longest(entries, "ARCHITECTURE", &zoo::Architecture::name);
  const std::size_t category = longest(entries, "CATEGORY", &zoo::Architecture::category);
  std::size_t word = 0;
  for (const Entry& entry : entries)
    for (const std::string& each : entry.names) word = std::max(word, each.size());
  const bool narrow = name + category + word > width;  // the names get lines of their own
  const auto print = [&](const std::string& first, const std::string& second, const std::string& rest) {
    const std::string line = fmt::format("{:<{}}{:<{}}", first, name, second, category);
    const std::size_t left = narrow ? 4 : line.size();
    std::fputs((narrow ? line + "\n" + folded("    ", rest, left, width) : folded(line, rest, left, width)).c_str(),
               stdout);
  };
  print("ARCHITECTURE", "CATEGORY", "NAMES");
  for (const Entry& entry : entries)
    print(entry.architecture->name, entry.architecture->category, join(entry.names, " "));
}

// Category, its architectures, and the classes of each.
void print_tree(const std::vector<Entry>& entries) {
  const auto width = static_cast<std::size_t>(output_width());
  std::vector<std::string> categories;
  for (const Entry& entry : entries)
    if (std::ranges::find(categories, entry.architecture->category) == categories.end())
      categories.push_back(entry.architecture->category);
  std::ranges::sort(categories);
  for (const std::string& category : categories) {
    const auto here = [&](const Entry& entry) { return entry.architecture->category == category; };
    std::printf("%s (%td)\n", category.c_str(), std::ranges::count_if(entries, here));
    for (const Entry& entry : entries) {
      if (!here(entry)) continue;
      std::printf("  %s (%s)\n", entry.architecture->name.c_str(), entry.architecture->skeleton.c_str());
      std::fputs(folded("    ", join(entry.classes, " "), 4, width).c_str(), stdout);
    }
  }
}

Result<ExitCode> list(const ListOptions& options, const Context& context) {
  std::vector<Entry> entries = all_entries();
  ASSAY_CHECK_OK(filter_by(entries, "--category", options.category, [](const auto& a) { return a.category; }));
  ASSAY_CHECK_OK(filter_by(entries, "--family", options.family, [](const auto& a) { return a.family; }));
  ASSAY_CHECK_OK(filter_by(entries, "--skeleton", options.skeleton, [](const auto& a) { return a.skeleton; }));
  ASSAY_CHECK_OK(filter_by_text(entries, options.text));
  if (!context.json) {
    if (options.tree)
      print_tree(entries);
    else
      print_table(entries);
    std::printf("\n%zu architectures; `assay zoo show NAME` describes one\n", entries.size());
    return ExitCode::kSuccess;
  }
  Json list = Json::array();
  for (const Entry& entry : entries)
    list.push_back({{"name", entry.architecture->name},
                    {"category", entry.architecture->category},
                    {"family", entry.architecture->family},
                    {"skeleton", entry.architecture->skeleton},
                    {"reference_checkpoint", entry.architecture->reference_checkpoint},
                    {"classes", entry.classes},
                    {"models", entry.names}});
  print_document({{"architectures", std::move(list)}});
  return ExitCode::kSuccess;
}

}  // namespace

void register_zoo_list(CLI::App& zoo, Commands& commands) {
  auto options = std::make_shared<ListOptions>();
  CLI::App* command =
      zoo.add_subcommand("list", "List the architectures that assay builds, and the names of their models");
  show_as(command->add_option("TEXT", options->text,
                              "Only architectures with this text in a name, class, category or skeleton"),
          kFilter, "TEXT");
  show_as(command->add_option("--category", options->category, "Only this category, such as text_encoders"), kFilter,
          "NAME");
  show_as(command->add_option("--family", options->family, "Only this family, such as vision"), kFilter, "NAME");
  show_as(command->add_option("--skeleton", options->skeleton,
                              "Only this skeleton (the builder that they share), such as bert_encoder"),
          kFilter, "NAME");
  show_as(command->add_flag("--tree", options->tree, "Print categories, their architectures and the classes of each"),
          kOutput);
  add_output_format(*command, options->output_format);
  command->footer("Examples:\n  assay zoo list --category vision\n  assay zoo list whisper --tree");
  commands.add(command, [options](Context& context) { return list(*options, context); });
}

}  // namespace assay::cli
