// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analyse/analyse.hpp"
#include "analyse/pairs.hpp"
#include "base/text.hpp"

namespace assay {
namespace {

constexpr double kHigh = 1.5, kMediumHigh = 4, kMedium = 10;

std::string rating_of(double slower) {
  return slower <= kHigh ? "high" : slower <= kMediumHigh ? "medium-high" : slower <= kMedium ? "medium" : "low";
}

// What others may be faster, although nothing was compared: cells that did not finish or whose times are not ranked.
bool others_are_open(std::span<const Record> rows, const std::string& target) {
  return std::ranges::any_of(rows, [&](const Record& row) {
    return target_key(row) != target && (unfinished(row) || too_unsure_to_rank(row));
  });
}

Rating unrated(std::string why) {
  Rating rating;
  rating.why = std::move(why);
  return rating;
}

}  // namespace

std::optional<Rating> performance_rating(std::span<const Record> rows, const std::string& target) {
  const auto own = [&](const Record& row) { return target_key(row) == target; };
  if (std::ranges::none_of(rows, own)) return std::nullopt;
  if (std::ranges::any_of(rows, [&](const Record& row) { return own(row) && row.status == CellStatus::kWrong; }))
    return unrated("computes wrong numbers");
  if (std::ranges::none_of(rows, [&](const Record& row) { return own(row) && timed(row); }))
    return unrated("no ranked cell");

  Rating rating;
  double low = 1, high = 1;
  std::vector<std::string> open;  // others without common rounds
  std::string why_open;
  for (const std::string& other : targets_of(rows)) {
    if (other == target) continue;
    const std::vector<CellPair> all = pairs_of(rows, other, target);
    if (all.empty()) continue;
    const std::vector<CellPair> pairs = with_rounds(all);
    const CellComparison comparison = compare_together(pairs.empty() ? all : pairs);
    if (!comparison.interval) {
      open.push_back(other);
      why_open = no_claim_words(comparison);
      continue;
    }
    if (!rating.interval || comparison.ratio > rating.slower) rating.cells = pairs.size();
    rating.slower = std::max(rating.slower, comparison.ratio);
    low = std::max(low, comparison.interval->low);
    high = std::max(high, comparison.interval->high);
    rating.interval = stats::Interval{low, high};
  }
  if (!open.empty()) rating.why = fmt::format("{} ({})", why_open, join(open, ", "));
  if (!rating.interval && !open.empty()) return rating;
  if (!rating.interval && others_are_open(rows, target)) return unrated("nothing to compare it with");
  rating.rating = rating_of(high);
  rating.best = rating_of(low);
  return rating;
}

std::string rating_words(const Rating& rating) {
  if (rating.rating.empty()) return "not rated: " + rating.why;
  const std::string words = rating.rating == rating.best ? rating.rating : rating.rating + " or " + rating.best;
  return rating.why.empty() ? words : words + "; " + rating.why;
}

}  // namespace assay
