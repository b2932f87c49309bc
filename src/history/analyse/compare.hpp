// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "core/result/record.hpp"
#include "core/stats/launches.hpp"

namespace assay {

/// Whether the times of cells differ. Only launches are evidence: medians of the same round of one run are compared in
/// pairs, so that what the machine did meanwhile cancels. Intervals within one process are never used
/// (docs/metrics.md, "When two cells are called different").

/// What a comparison could use.
enum class Evidence {
  kRounds,          ///< two common rounds or more
  kOneProcess,      ///< the same run, but one of the cells has fewer than two launches
  kNoCommonRounds,  ///< several launches each, but fewer than two common rounds
  kDifferentRuns,   ///< the rounds of two runs are not pairs
};

/// A candidate's time over a baseline's.
struct CellComparison {
  double ratio = 1;                         ///< geometric mean over the common rounds; without: ratio of the medians
  std::optional<stats::Interval> interval;  ///< 95 %, over rounds
  stats::Difference difference = stats::Difference::kNotCompared;  ///< the claim; stricter than the interval
  Evidence evidence = Evidence::kOneProcess;
  std::size_t rounds = 0;
  std::optional<double> smallest_detectable;    ///< 0.03: a difference of 3 % would have been claimed
  std::optional<std::size_t> rounds_to_settle;  ///< rounds in all that would show this difference

  [[nodiscard]] bool claimed() const {
    return difference == stats::Difference::kFaster || difference == stats::Difference::kSlower;
  }
  /// Whether the candidate is called slower.
  [[nodiscard]] bool baseline_ahead() const { return difference == stats::Difference::kSlower; }
};

/// By the medians of the runs. Both rows have a median. `among`: if one of the two was chosen because it is the fastest
/// or the slowest, of how many cells; what is claimed accounts for the choice.
[[nodiscard]] CellComparison compare_cells(const Record& baseline, const Record& candidate, std::size_t among = 2);

/// By the median time of one item: that of a run over batch and streams.
[[nodiscard]] CellComparison compare_per_item(const Record& baseline, const Record& candidate, std::size_t among = 2);

/// Two rows of the same cell on two targets.
struct CellPair {
  const Record* baseline = nullptr;
  const Record* candidate = nullptr;
};
/// The geometric mean of the ratios of several pairs: of each round over the pairs, then over the rounds that all pairs
/// have. At least one pair. If a pair is of two runs, nothing is compared.
[[nodiscard]] CellComparison compare_together(std::span<const CellPair> pairs, std::size_t among = 2);

/// The index of the comparison that decides whether the best may be called best: the first in which it is not called
/// faster; 0 if it is called faster in all. `with_others`: the best (baseline) compared with each of the others.
[[nodiscard]] std::size_t deciding(std::span<const CellComparison> with_others);

/// The size of a relative difference: "3.2 %", "12 %", "a factor of 2.4", "a factor above 100".
[[nodiscard]] std::string difference_words(double share);

/// "no difference shown (± 3 %)", "not compared: one process each", "not compared: measured in different runs"; of a
/// claimed difference "".
[[nodiscard]] std::string no_claim_words(const CellComparison& comparison);

/// "2.00 times (95 %: 1.95 to 2.05)" of a comparison with an interval.
[[nodiscard]] std::string times_words(const CellComparison& comparison);

/// The candidate against the baseline for JSON: faster, slower, not_shown, not_compared.
[[nodiscard]] std::string_view to_string(stats::Difference difference);

}  // namespace assay
