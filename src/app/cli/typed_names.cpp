// SPDX-License-Identifier: Apache-2.0
#include "app/cli/typed_names.hpp"

#include <algorithm>
#include <cctype>

namespace assay::cli {
namespace {

bool is_part_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_'; }

// The option's name that begins at the start of `text`; "" if none does.
std::string_view name_at(std::string_view text) {
  if (!text.starts_with("--")) return {};
  const auto end = std::ranges::find_if_not(text, is_part_of_name);
  return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

}  // namespace

TypedNames::TypedNames(const CLI::App& app, int argc, char** argv) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  for (const CLI::Option* option : command->get_options()) {
    std::vector<std::string> names;
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    if (names.size() < 2) continue;
    const auto first = std::find_first_of(argv, argv + argc, names.begin(), names.end(),
                                          [](const char* word, auto& name) { return name_at(word) == name; });
    if (first == argv + argc) continue;
    const std::string typed(name_at(*first));
    for (const std::string& name : names) {
      const bool is_typed = std::any_of(argv, argv + argc, [&](const char* word) { return name_at(word) == name; });
      if (!is_typed) typed_.emplace_back(name, typed);
    }
  }
}

std::string TypedNames::apply(std::string_view text) const {
  std::string out;
  bool in_command = false;
  for (std::size_t at = 0; at < text.size();) {
    in_command = in_command != (text[at] == '`');
    const std::string_view name = in_command ? std::string_view() : name_at(text.substr(at));
    const bool begins = at == 0 || !is_part_of_name(text[at - 1]);
    const auto found = std::ranges::find(typed_, name, [](const auto& each) { return each.first; });
    if (name.empty() || !begins || found == typed_.end()) {
      const std::size_t length = std::max<std::size_t>(1, begins ? name.size() : 0);
      out += text.substr(at, length);
      at += length;
      continue;
    }
    out += found->second;
    at += name.size();
  }
  return out;
}

}  // namespace assay::cli
