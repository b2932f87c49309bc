// SPDX-License-Identifier: Apache-2.0
// The quick version of bench/coverage: intervals through warm-up, stop rule, steady state and summary, from fixed
// seeds.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>

#include "bench/measure/simulated_cell.hpp"

namespace assay {
namespace {

struct Cell {
  double run_ms, correlation;
  double least_given;    ///< share of the runs that have an interval
  double least_covered;  ///< share of those whose interval contains the median
  int runs = 40;
};

class PipelineCoverage : public ::testing::TestWithParam<Cell> {};

TEST_P(PipelineCoverage, TheStoredIntervalContainsTheMedianOrIsAbsentAndFlagged) {
  const Cell& cell = GetParam();
  const SimulatedSeries series{.run_ns = cell.run_ms * 1e6, .correlation = cell.correlation};
  MeasurePlan plan;
  plan.max_time_ns = 10'000'000'000 / 3;  // of one of three launches
  int given = 0, wrong = 0;
  for (int i = 0; i < cell.runs; ++i) {
    const Record record = simulated_cell(series, plan, static_cast<std::uint64_t>(i) + 1);
    if (!record.latency_p50_low_ms) {
      EXPECT_TRUE(record.flags.has(Flag::kFewSamples));
      continue;
    }
    ++given;
    wrong += *record.latency_p50_low_ms > cell.run_ms || *record.latency_p50_high_ms < cell.run_ms;
  }
  EXPECT_GE(given, cell.least_given * cell.runs);
  EXPECT_LE(wrong, (1 - cell.least_covered) * cell.runs);
}

INSTANTIATE_TEST_SUITE_P(Quick, PipelineCoverage,
                         ::testing::Values(Cell{1, 0.5, 1, 0.9}, Cell{20, 0, 1, 0.9}, Cell{20, 0.5, 0.9, 0.9},
                                           Cell{20, 0.9, 0, 0.9}, Cell{20, 0.97, 0, 0.9}, Cell{200, 0, 0, 0.95},
                                           Cell{200, 0.97, 0, 0.95}, Cell{2000, 0.9, 0, 0.95}));

TEST(Pipeline, ADisturbanceOfLessThanHalfNeverBecomesTheResult) {
  MeasurePlan plan;
  plan.relative_precision = 0.0;  // a window of a known length
  plan.max_time_ns = 4'000'000'000;
  plan.warmup_iterations = 0;
  std::uint64_t seed = 0;
  for (const double size : {0.05, -0.05}) {
    for (const double share : {0.1, 0.25, 0.45}) {
      for (const double from : {0.0, 0.5 - share / 2, 1.0 - share}) {
        SimulatedSeries series{.run_ns = 20e6, .correlation = 0.2, .deviation = 0.01};
        series.size = size;
        series.from_ns = 4e9 * from;
        series.until_ns = 4e9 * (from + share);
        const Record record = simulated_cell(series, plan, ++seed);
        const std::string what =
            std::to_string(size) + " in " + std::to_string(share) + " from " + std::to_string(from);
        EXPECT_LE(std::abs(*record.latency_p50_ms / 20 - 1), 0.02) << what;
        EXPECT_EQ(record.flags.has(Flag::kUnsteady), !(from == 0.0 && size > 0)) << what;
        EXPECT_TRUE(record.latency_window_p50_ms);
      }
    }
  }
}

}  // namespace
}  // namespace assay
