// SPDX-License-Identifier: Apache-2.0
#include "app/cli/aliases.hpp"

#include <algorithm>
#include <array>

#include "core/base/text.hpp"

namespace assay::cli {
namespace {

constexpr std::array kAliases{
#define ALIAS(name, words, guide, meaning) Alias{name, words, guide, meaning},
#include "app/cli/aliases.def"
#undef ALIAS
};

}  // namespace

std::span<const Alias> aliases() { return kAliases; }

std::optional<std::vector<std::string>> expand_alias(std::string_view word) {
  constexpr std::string_view kSuffix = ".py";
  if (word.starts_with("./")) word.remove_prefix(2);
  for (const std::string_view folder : {"test/", "bench/"})
    if (word.starts_with(folder)) {
      word.remove_prefix(folder.size());
      break;
    }
  if (word.ends_with(kSuffix)) word.remove_suffix(kSuffix.size());
  const auto found = std::ranges::find(kAliases, word, &Alias::name);
  if (found == kAliases.end()) return std::nullopt;
  return split(found->words, ' ');
}

}  // namespace assay::cli
