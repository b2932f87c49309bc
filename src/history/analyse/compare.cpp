// SPDX-License-Identifier: Apache-2.0
#include "history/analyse/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result/launch_medians.hpp"
#include "history/analyse/pairs.hpp"

namespace assay {
namespace {

double items_of(const Record& row) { return static_cast<double>(row.batch_size.value_or(1) * row.streams.value_or(1)); }

// Logarithms of the times of a baseline and a candidate, by round.
using LogPair = std::pair<double, double>;
using ByRound = std::map<std::int64_t, LogPair>;

ByRound common_rounds(const CellPair& pair) {
  std::map<std::int64_t, double> baseline;
  for (const LaunchMedian& launch : launch_medians(*pair.baseline)) baseline[launch.launch] = launch.p50_ms;
  ByRound rounds;
  for (const LaunchMedian& launch : launch_medians(*pair.candidate)) {
    const auto same = baseline.find(launch.launch);
    if (same != baseline.end() && same->second > 0 && launch.p50_ms > 0)
      rounds[launch.launch] = {std::log(same->second), std::log(launch.p50_ms)};
  }
  return rounds;
}

bool of_one_run(const CellPair& pair) { return pair.baseline->run_id == pair.candidate->run_id; }

// Rounds of different runs happened at different times: they are only numbered.
ByRound numbered(const ByRound& rounds) {
  ByRound result;
  std::int64_t number = 0;
  for (const auto& [round, logs] : rounds) result[++number] = logs;
  return result;
}

struct Times {
  std::vector<double> baseline, candidate;
};

// Geometric means over the pairs, of each round that all pairs have. `one_run`: their rounds have the same numbers.
Times combined_rounds(std::span<const CellPair> pairs, bool one_run) {
  std::map<std::int64_t, std::size_t> counts;
  ByRound sums;
  for (const CellPair& pair : pairs) {
    const ByRound rounds = common_rounds(pair);
    for (const auto& [round, logs] : one_run ? rounds : numbered(rounds)) {
      ++counts[round];
      sums[round].first += logs.first;
      sums[round].second += logs.second;
    }
  }
  Times times;
  const auto n = static_cast<double>(pairs.size());
  for (const auto& [round, count] : counts) {
    if (count != pairs.size()) continue;
    times.baseline.push_back(std::exp(sums[round].first / n));
    times.candidate.push_back(std::exp(sums[round].second / n));
  }
  return times;
}

double ratio_of_medians(std::span<const CellPair> pairs) {
  double sum = 0;
  for (const CellPair& pair : pairs)
    sum += std::log(pair.candidate->latency_p50_ms.value_or(1) / pair.baseline->latency_p50_ms.value_or(1));
  return std::exp(sum / static_cast<double>(pairs.size()));
}

}  // namespace

CellComparison compare_together(std::span<const CellPair> pairs, std::size_t among) {
  CellComparison result;
  result.ratio = ratio_of_medians(pairs);
  if (!std::ranges::all_of(pairs, of_one_run)) {
    result.evidence = Evidence::kDifferentRuns;
    return result;
  }
  const std::string& run = pairs.front().baseline->run_id;
  const bool one_run = std::ranges::all_of(pairs, [&](const CellPair& pair) { return pair.baseline->run_id == run; });
  Times times = combined_rounds(pairs, one_run);
  // What --resume adds to one pair has other numbers than the rounds of another pair.
  if (times.baseline.size() < 2 && one_run) times = combined_rounds(pairs, false);
  const stats::RoundComparison found =
      stats::compare_rounds(times.baseline, times.candidate, stats::pairs_among(among));
  result.rounds = found.rounds;
  const auto several = [](const CellPair& pair) {
    return launch_medians(*pair.baseline).size() > 1 && launch_medians(*pair.candidate).size() > 1;
  };
  if (found.rounds < 2 && std::ranges::all_of(pairs, several)) result.evidence = Evidence::kNoCommonRounds;
  if (found.rounds < 2) return result;
  result.evidence = Evidence::kRounds;
  result.ratio = found.ratio;
  result.interval = found.interval;
  result.difference = found.difference;
  result.smallest_detectable = found.smallest_detectable;
  result.rounds_to_settle = stats::rounds_to_settle(found);
  return result;
}

CellComparison compare_cells(const Record& baseline, const Record& candidate, std::size_t among) {
  const CellPair pair{&baseline, &candidate};
  return compare_together(std::span(&pair, 1), among);
}

Record per_item(Record row) {
  const double items = items_of(row);
  std::vector<LaunchMedian> medians = launch_medians(row);
  for (LaunchMedian& median : medians) median.p50_ms /= items;
  if (row.latency_p50_ms) *row.latency_p50_ms /= items;
  row.launch_p50_ms = medians;
  return row;
}

CellComparison compare_per_item(const Record& baseline, const Record& candidate, std::size_t among) {
  return compare_cells(per_item(baseline), per_item(candidate), among);
}

std::size_t deciding(std::span<const CellComparison> with_others) {
  const auto open = std::ranges::find_if_not(with_others, &CellComparison::baseline_ahead);
  return open == with_others.end() ? 0 : static_cast<std::size_t>(open - with_others.begin());
}

std::string difference_words(double share) {
  constexpr double kFine = 0.1, kDouble = 1, kHundredfold = 99;
  if (share > kHundredfold) return "a factor above 100";
  if (share > kDouble) return fmt::format("a factor of {:.1f}", 1 + share);
  return share < kFine ? fmt::format("{:.2g} %", share * 100) : fmt::format("{:.0f} %", share * 100);
}

std::string no_claim_words(const CellComparison& comparison) {
  if (comparison.claimed()) return {};
  switch (comparison.evidence) {
    case Evidence::kOneProcess:
      return "not compared: one process each";
    case Evidence::kNoCommonRounds:
      return "not compared: no common rounds";
    case Evidence::kDifferentRuns:
      return "not compared: measured in different runs";
    case Evidence::kRounds:
      break;
  }
  const double least = comparison.smallest_detectable.value_or(0);
  if (least <= 1) return fmt::format("no difference shown (± {})", difference_words(least));
  return fmt::format("no difference shown ({} launches each cannot show less than {})", comparison.rounds,
                     difference_words(least));
}

std::string ahead_words(const CellComparison& ahead, const std::string& other) {
  if (ahead.difference == stats::Difference::kFaster) return fmt::format("{} is faster in paired rounds", other);
  if (ahead.claimed()) {
    std::string words = fmt::format("{:.2f}× as fast as {}", ahead.ratio, other);
    if (ahead.interval) words += fmt::format(" (95 %: {:.2f} to {:.2f})", ahead.interval->low, ahead.interval->high);
    return words;
  }
  std::string words = no_claim_words(ahead);
  for (const std::string_view begin : {"no difference shown", "not compared"})
    if (words.starts_with(begin)) words.insert(begin.size(), " with " + other);
  return words;
}

std::string times_words(const CellComparison& comparison) {
  std::string words = fmt::format("{:.2f} times", comparison.ratio);
  if (comparison.interval)
    words += fmt::format(" (95 %: {:.2f} to {:.2f})", comparison.interval->low, comparison.interval->high);
  return words;
}

std::string_view to_string(stats::Difference difference) {
  switch (difference) {
    case stats::Difference::kNotCompared:
      return "not_compared";
    case stats::Difference::kNotShown:
      return "not_shown";
    case stats::Difference::kFaster:
      return "faster";
    case stats::Difference::kSlower:
      return "slower";
  }
  return "not_compared";
}

}  // namespace assay
