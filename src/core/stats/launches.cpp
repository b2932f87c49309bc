// SPDX-License-Identifier: Apache-2.0
#include "core/stats/launches.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include <assay/result.hpp>

namespace assay::stats {
namespace {

constexpr double kShownConfidence = 0.95;
// For each look, so that all of them together stay below 1 %. Looks at few rounds have little to add to that, because
// of the factor that they also need.
constexpr double kFalseClaimsOfFewRounds = 0.01, kFalseClaimsPerLook = 0.002;
constexpr std::size_t kMostRoundsToSettle = 100;

bool counts(double value) { return value > 0.0 && std::isfinite(value); }

// student_quantile() of few different arguments, each computed once by a thread.
double two_sided_quantile(double confidence, std::size_t n) {
  constexpr std::size_t kMostKept = 4096;
  thread_local std::map<std::pair<double, std::size_t>, double> known;
  const auto key = std::pair(confidence, n);
  if (const auto found = known.find(key); found != known.end()) return found->second;
  if (known.size() >= kMostKept) known.clear();
  return known[key] = student_quantile(0.5 * (1.0 + confidence), static_cast<double>(n) - 1.0);
}

double half_width(double spread, std::size_t n, double confidence) {
  return two_sided_quantile(confidence, n) * spread / std::sqrt(static_cast<double>(n));
}

Interval around(double log_centre, double half) { return {std::exp(log_centre - half), std::exp(log_centre + half)}; }

// The least |log ratio| that is claimed after `rounds`.
double claimed_from(double spread, std::size_t rounds, std::size_t comparisons) {
  const bool few = rounds < kEnoughRounds;
  const double false_claims =
      few ? kFalseClaimsOfFewRounds : kFalseClaimsPerLook / static_cast<double>(std::max<std::size_t>(comparisons, 1));
  return std::max(half_width(spread, rounds, 1.0 - false_claims), std::log(few ? kFewRoundsFactor : kLeastFactor));
}

}  // namespace

LaunchEstimate estimate_over_launches(std::span<const double> medians, double confidence) {
  std::vector<double> logs;
  logs.reserve(medians.size());
  for (const double median : medians)
    if (counts(median)) logs.push_back(std::log(median));
  if (logs.empty()) return {};
  const double centre = mean(logs);
  LaunchEstimate estimate{std::exp(centre), std::nullopt, standard_deviation(logs), logs.size()};
  if (logs.size() >= 2) estimate.interval = around(centre, half_width(estimate.spread, logs.size(), confidence));
  return estimate;
}

RoundComparison compare_rounds(std::span<const double> baseline, std::span<const double> candidate,
                               std::size_t comparisons) {
  ASSAY_CHECK(baseline.size() == candidate.size(), "rounds are compared in pairs");
  std::vector<double> logs;
  logs.reserve(baseline.size());
  for (std::size_t i = 0; i < baseline.size(); ++i)
    if (counts(baseline[i]) && counts(candidate[i])) logs.push_back(std::log(candidate[i] / baseline[i]));

  RoundComparison result;
  result.comparisons = comparisons;
  result.rounds = logs.size();
  if (logs.empty()) return result;
  const double centre = mean(logs);
  result.ratio = std::exp(centre);
  if (logs.size() < 2) return result;
  result.spread = standard_deviation(logs);
  result.interval = around(centre, half_width(result.spread, result.rounds, kShownConfidence));
  const double least = claimed_from(result.spread, result.rounds, comparisons);
  result.smallest_detectable = std::expm1(least);
  result.difference = std::abs(centre) <= least ? Difference::kNotShown
                      : centre < 0              ? Difference::kFaster
                                                : Difference::kSlower;
  return result;
}

bool undecided(const RoundComparison& comparison, std::size_t most_rounds) {
  if (comparison.difference != Difference::kNotShown || comparison.rounds >= most_rounds || !comparison.interval)
    return false;
  if (comparison.rounds < kEnoughRounds) return true;
  const double farthest = std::max(-std::log(comparison.interval->low), std::log(comparison.interval->high));
  return farthest > claimed_from(comparison.spread, most_rounds, comparison.comparisons);
}

std::optional<std::size_t> rounds_to_settle(const RoundComparison& comparison) {
  if (comparison.difference != Difference::kNotShown) return std::nullopt;
  const double distance = std::abs(std::log(comparison.ratio));
  for (std::size_t rounds = comparison.rounds + 1; rounds <= kMostRoundsToSettle; ++rounds)
    if (distance > claimed_from(comparison.spread, rounds, comparison.comparisons)) return rounds;
  return std::nullopt;
}

}  // namespace assay::stats
