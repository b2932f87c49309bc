// SPDX-License-Identifier: Apache-2.0
// All lines of bench/coverage with fewer runs each; docs/statistics.md has the table of many. Bounds are those that a
// binomial count of so many runs exceeds once in a thousand times; if intervals were narrower by a fifth, they would be
// exceeded.
#include <gtest/gtest.h>

#include <cstdio>
#include <vector>

#include "bench/measure/simulated_cell.hpp"
#include "core/stats/stats.hpp"

namespace assay {
namespace {

constexpr double kRarely = 0.001;
constexpr double kNominal = 0.05, kGoal = 0.07;  ///< shares of wrong intervals: 0.93 are to hold, 0.95 is aimed at
/// Least share of runs that give an interval, if there are 100 samples and neighbours are hardly correlated.
constexpr double kLeastGiven = 0.95;

struct Line {
  double run_ms, correlation;
  bool one_launch;
  [[nodiscard]] bool hardly_correlated() const { return correlation <= 0.5; }
};

struct Counts {
  int runs = 0, given = 0, wrong = 0, many = 0;
};

// The least count that more than `share` of `n` runs exceed only rarely.
int most_of(int n, double share) {
  int k = 0;
  while (stats::binomial_cdf(k, n, share) < 1 - kRarely) ++k;
  return k;
}
int least_of(int n, double share) { return n - most_of(n, 1 - share); }

Counts count(const Line& line, int runs) {
  const SimulatedSeries series{.run_ns = line.run_ms * 1e6, .correlation = line.correlation};
  MeasurePlan plan;
  if (line.one_launch) plan.max_time_ns = 10'000'000'000 / 3;
  Counts counts{.runs = runs};
  for (int i = 0; i < runs; ++i) {
    const Record record = simulated_cell(series, plan, static_cast<std::uint64_t>(i) + 1000);
    counts.many += record.iterations.value_or(0) >= 100;
    if (!record.latency_p50_low_ms) {
      EXPECT_TRUE(record.flags.has(Flag::kFewSamples));
      continue;
    }
    ++counts.given;
    counts.wrong += *record.latency_p50_low_ms > line.run_ms || *record.latency_p50_high_ms < line.run_ms;
  }
  std::printf("%.0f ms, correlation %.2f, %s: %d of %d have an interval, %d wrong\n", line.run_ms, line.correlation,
              line.one_launch ? "10/3 s" : "30 s", counts.given, runs, counts.wrong);
  return counts;
}

std::vector<Line> lines(bool hardly_correlated) {
  std::vector<Line> all;
  for (const bool one_launch : {false, true})
    for (const double run_ms : {1.0, 20.0, 200.0, 2000.0})
      for (const double correlation : {0.0, 0.5, 0.9, 0.97})
        if (const Line line{run_ms, correlation, one_launch}; line.hardly_correlated() == hardly_correlated)
          all.push_back(line);
  return all;
}

// Where the intervals of docs/statistics.md hold the median in 95.5 to 97.5 % of the runs.
TEST(CoverageCampaign, IntervalsOfLittleCorrelationHoldAndAreThere) {
  constexpr int kRuns = 200;
  Counts all;
  for (const Line& line : lines(true)) {
    const Counts counts = count(line, kRuns);
    EXPECT_LE(counts.wrong, most_of(counts.given, kGoal)) << line.run_ms << " ms, " << line.correlation;
    if (counts.many == kRuns) {
      EXPECT_GE(counts.given, least_of(kRuns, kLeastGiven));
    }
    all.given += counts.given;
    all.wrong += counts.wrong;
  }
  std::printf("together: %d of %d are wrong, at most %d\n", all.wrong, all.given, most_of(all.given, kNominal));
  EXPECT_GE(all.given, 9 * kRuns);
  EXPECT_LE(all.wrong, most_of(all.given, kNominal));
}

// Where few runs have an interval, those that have one are the ones that seemed less correlated: then the share of all
// runs with a wrong one counts.
TEST(CoverageCampaign, IntervalsOfMuchCorrelationHoldOrAreAbsentAndFlagged) {
  constexpr int kRuns = 40;
  Counts often;
  for (const Line& line : lines(false)) {
    const Counts counts = count(line, kRuns);
    EXPECT_LE(counts.wrong, most_of(kRuns, kNominal)) << line.run_ms << " ms, " << line.correlation;
    if (counts.given < kRuns / 2) continue;
    often.given += counts.given;
    often.wrong += counts.wrong;
  }
  std::printf("together, if more than half have one: %d of %d are wrong, at most %d\n", often.wrong, often.given,
              most_of(often.given, kNominal));
  EXPECT_LE(often.wrong, most_of(often.given, kNominal));
}

}  // namespace
}  // namespace assay
