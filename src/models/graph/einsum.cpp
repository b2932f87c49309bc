// SPDX-License-Identifier: Apache-2.0
#include "models/graph/einsum.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.hpp"

namespace assay::graph {
namespace {

using Labels = tl::expected<std::string, std::string>;

constexpr char kFirstUnnamed = 1;
constexpr std::string_view kEllipsis = "...";

bool is_unnamed(char label) { return label < ' '; }

Labels other_rank() { return tl::unexpected(std::string("an equation of another rank")); }

// One term of an equation, its ellipsis replaced by `unnamed`.
Labels labels_of(std::string term, const std::string& unnamed) {
  const std::size_t dots = term.find(kEllipsis);
  if (dots != std::string::npos) term.erase(dots, kEllipsis.size());
  const auto is_letter = [](char each) { return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z'); };
  if (!std::ranges::all_of(term, is_letter))
    return tl::unexpected(fmt::format("the term {}, which has characters that are not letters", shown(term)));
  return dots == std::string::npos ? term : term.insert(dots, unnamed);
}

// Ellipses are aligned at their ends.
Labels operand_labels(const std::string& term, std::size_t rank) {
  if (term.find(kEllipsis) == std::string::npos) {
    if (term.size() != rank) return other_rank();
    return labels_of(term, "");
  }
  const std::size_t named = term.size() - kEllipsis.size();
  if (named > rank || rank - named >= ' ' - kFirstUnnamed) return other_rank();
  std::string unnamed;
  for (std::size_t i = rank - named; i-- > 0;) unnamed += static_cast<char>(kFirstUnnamed + static_cast<char>(i));
  return labels_of(term, unnamed);
}

}  // namespace

tl::expected<Einsum, std::string> read_einsum(std::string_view equation, std::span<const Shape> operands) {
  std::string text(equation);
  std::erase(text, ' ');
  const std::size_t arrow = text.find("->");
  const std::vector<std::string> terms = split(text.substr(0, arrow), ',');
  if (terms.size() != operands.size())
    return tl::unexpected(fmt::format("an equation for {} operands, not {}", terms.size(), operands.size()));
  Einsum read;
  std::map<char, int> uses;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const Labels labels = operand_labels(terms[i], operands[i].size());
    if (!labels) return tl::unexpected(labels.error());
    for (std::size_t axis = 0; axis < labels->size(); ++axis) {
      const std::int64_t extent = operands[i][axis];
      std::int64_t& known = read.extents.emplace((*labels)[axis], extent).first->second;
      if (known != extent && known != 1 && extent != 1)
        return tl::unexpected(fmt::format("extents {} and {} with one label", known, extent));
      known = known == 1 ? extent : known;
      ++uses[(*labels)[axis]];
    }
    read.operands.push_back(*labels);
  }
  std::string unnamed;
  for (const auto& [label, count] : uses)
    if (is_unnamed(label)) unnamed.insert(unnamed.begin(), label);
  if (arrow == std::string::npos) {
    read.result = unnamed;
    for (const auto& [label, count] : uses)
      if (!is_unnamed(label) && count == 1) read.result += label;
  } else {
    const Labels labels = labels_of(text.substr(arrow + 2), unnamed);
    if (!labels) return tl::unexpected(labels.error());
    read.result = *labels;
  }
  for (const char label : read.result)
    if (!uses.contains(label) || std::ranges::count(read.result, label) != 1)
      return tl::unexpected(fmt::format("a result whose label '{}' no operand has, or that has it twice", label));
  return read;
}

}  // namespace assay::graph
