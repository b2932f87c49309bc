// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/text.hpp"
#include "core/traits/cell.hpp"
#include "history/analyse/analyse.hpp"
#include "history/analyse/pairs.hpp"

namespace assay {
namespace {

constexpr double kHigh = 1.5, kMediumHigh = 4, kMedium = 10;

std::string rating_of(double slower) {
  return slower <= kHigh ? "high" : slower <= kMediumHigh ? "medium-high" : slower <= kMedium ? "medium" : "low";
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

  struct Other {
    std::string target;
    std::vector<CellPair> pairs;
  };
  std::vector<Other> others;
  for (const std::string& other : targets_of(rows))
    if (other != target)
      if (std::vector<CellPair> pairs = pairs_of(rows, other, target); !pairs.empty())
        others.push_back({other, std::move(pairs)});

  Rating rating;
  double low = 1, high = 1;
  bool slower = false;
  std::vector<std::string> unclaimed;  // others that this one is not called different from
  for (const Other& other : others) {
    const std::vector<CellPair> pairs = with_rounds(other.pairs);
    // The fastest other one is chosen by its result.
    const CellComparison comparison = compare_together(pairs.empty() ? other.pairs : pairs, others.size() + 1);
    if (!comparison.claimed()) unclaimed.push_back(fmt::format("{} ({})", no_claim_words(comparison), other.target));
    slower = slower || comparison.difference == stats::Difference::kSlower;
    if (!comparison.interval) continue;
    if (!rating.interval || comparison.ratio > rating.slower) rating.cells = pairs.size();
    rating.slower = std::max(rating.slower, comparison.ratio);
    low = std::max(low, comparison.interval->low);
    high = std::max(high, comparison.interval->high);
    rating.interval = stats::Interval{low, high};
  }
  rating.why = others.empty() ? "nothing to compare it with" : join(unclaimed, ", ");
  if (!slower && !rating.why.empty()) return rating;
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
