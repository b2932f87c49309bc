// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Conclusions from launches: what one cell's latency is, and whether two cells differ. A launch is one fresh process;
/// each gives one number, its median. Processes differ from each other (addresses of memory pages, placement of
/// threads) by more than the samples within one of them show, so launches, and not samples, are the independent
/// observations. Formulas, simulation and choice of the constants: docs/statistics.md, "Launches" and "When two cells
/// differ"; `bench/aa` tests them.

#include <cstddef>
#include <optional>
#include <span>

#include "core/stats/stats.hpp"

namespace assay::stats {

/// The most rounds to which two cells that are still undecided are extended.
inline constexpr std::size_t kMostRounds = 10;
/// With fewer rounds a claim also needs a ratio beyond kFewRoundsFactor: each round may have met the same two of
/// several modes of the processes, and then the spread says nothing.
inline constexpr std::size_t kEnoughRounds = 6;
inline constexpr double kFewRoundsFactor = 1.25;
/// Differences below 0.5 %, the precision to which one launch is measured, are never claimed.
inline constexpr double kLeastFactor = 1.005;

struct LaunchEstimate {
  double value = 0.0;                ///< geometric mean of the launches' medians, in their unit; 0 without a launch
  std::optional<Interval> interval;  ///< Student's, on logarithms; nullopt with fewer than two launches
  double spread = 0.0;               ///< standard deviation of the logarithms: 0.01 is 1 % between processes
  std::size_t launches = 0;          ///< those that count: positive and finite
};
/// `medians`: one for each launch. Values that are not positive and finite are left out.
[[nodiscard]] LaunchEstimate estimate_over_launches(std::span<const double> medians, double confidence = 0.95);

/// What is claimed about the candidate, if the compared values are times.
enum class Difference {
  kNotCompared,  ///< fewer than two common rounds
  kNotShown,
  kFaster,
  kSlower,
};

struct RoundComparison {
  double ratio = 1.0;  ///< geometric mean of candidate / baseline
  /// The 95 % confidence interval of the ratio (Student's t, on logarithms); nullopt with fewer than two rounds.
  std::optional<Interval> interval;
  Difference difference = Difference::kNotCompared;
  std::size_t rounds = 0;       ///< those that count: both values positive and finite
  double spread = 0.0;          ///< standard deviation of the log ratios
  std::size_t comparisons = 1;  ///< the argument of compare_rounds()
  /// The least relative difference that these rounds would have shown, given their spread: 0.03 is 3 %. Present if
  /// compared. This is the x of "no difference shown (± x %)".
  std::optional<double> smallest_detectable;
};
/// Compares times that are paired by position: baseline[i] and candidate[i] are of the same round, so that what the
/// machine did meanwhile cancels. As many baselines as candidates.
///
/// A difference is claimed only if a wider interval than the one shown excludes 1: that of 99 % (below six rounds;
/// there the ratio must also be beyond kFewRoundsFactor) or 99.8 %. So a pair of equal cells is called different in
/// less than 1 % of the cases, although it is looked at after every round from the second to the tenth, for normal,
/// bimodal and heavy-tailed processes whose standard deviation is up to 10 %.
///
/// `comparisons`: if the pair was chosen because of its result (the best of k cells against another), the number of
/// pairs that it was chosen from, pairs_among(k). From kEnoughRounds on, the share of false claims is divided among
/// them (Bonferroni); with fewer rounds kFewRoundsFactor is enough.
[[nodiscard]] RoundComparison compare_rounds(std::span<const double> baseline, std::span<const double> candidate,
                                             std::size_t comparisons = 1);

/// The number of pairs among so many cells; at least 1.
[[nodiscard]] constexpr std::size_t pairs_among(std::size_t cells) { return cells < 3 ? 1 : cells * (cells - 1) / 2; }

/// Whether another round may still decide: compared, not shown, fewer than `most_rounds`; and, from kEnoughRounds, some
/// ratio within the shown interval would be claimed after `most_rounds` at the present spread.
[[nodiscard]] bool undecided(const RoundComparison& comparison, std::size_t most_rounds = kMostRounds);

/// The number of rounds in all (not of further ones) after which the difference would be claimed, if ratio and spread
/// stay as they are; at least one more than now. nullopt: not compared, already claimed, or more than 100.
[[nodiscard]] std::optional<std::size_t> rounds_to_settle(const RoundComparison& comparison);

}  // namespace assay::stats
