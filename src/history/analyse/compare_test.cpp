// SPDX-License-Identifier: Apache-2.0
#include "history/analyse/compare.hpp"
#include "core/result/launch_medians.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {
using ::testing::HasSubstr;

Record cell(const std::string& medians, double p50 = 1) {
  Record row;
  row.run_id = "run";
  row.batch_size = 1;
  row.latency_p50_ms = p50;
  row.latency_p50_low_ms = p50 * 0.999;
  row.latency_p50_high_ms = p50 * 1.001;
  row.launch_p50_ms = *parse_launch_medians(medians);
  return row;
}

TEST(CompareCells, IntervalsOfOneProcessEachShowNothing) {
  const CellComparison found = compare_cells(cell("", 1), cell("", 2));
  EXPECT_FALSE(found.claimed());
  EXPECT_EQ(found.evidence, Evidence::kOneProcess);
  EXPECT_EQ(found.interval, std::nullopt);
  EXPECT_DOUBLE_EQ(found.ratio, 2);
  EXPECT_EQ(no_claim_words(found), "not compared: one process each");
}

TEST(CompareCells, PairsTheRoundsThatBothHave) {
  // The machine became slower from round to round: alone, the cells overlap; in pairs, one is always half as fast.
  const CellComparison found = compare_cells(cell("1:1 2:2 3:4 4:8 7:100"), cell("2:4 1:2 3:8.1 4:16 5:1"));
  EXPECT_EQ(found.rounds, 4U);
  EXPECT_EQ(found.evidence, Evidence::kRounds);
  EXPECT_NEAR(found.ratio, 2, 0.01);
  EXPECT_EQ(found.difference, stats::Difference::kSlower);
  EXPECT_EQ(no_claim_words(found), "");
  EXPECT_THAT(times_words(found), HasSubstr("2.01 times (95 %: 1.9"));
}

TEST(CompareCells, SayWhatWouldHaveBeenShown) {
  const CellComparison found = compare_cells(cell("1:1 2:1 3:1 4:1 5:1 6:1"), cell("1:1 2:1.01 3:1 4:0.99 5:1 6:1"));
  EXPECT_FALSE(found.claimed());
  EXPECT_THAT(no_claim_words(found), HasSubstr("no difference shown (± "));
  EXPECT_THAT(no_claim_words(compare_cells(cell("1:1 2:1"), cell("1:1 2:3"))), HasSubstr("a factor above 100"));
}

TEST(CompareCells, RoundsOfDifferentRunsAreNoPairs) {
  Record other = cell("1:2 2:2 3:2");
  other.run_id = "another";
  const CellComparison found = compare_cells(cell("1:1 2:1 3:1"), other);
  EXPECT_FALSE(found.claimed());
  EXPECT_EQ(no_claim_words(found), "not compared: measured in different runs");
}

TEST(CompareCells, LaunchesWithoutCommonRoundsAreNotCalledOneProcess) {
  const CellComparison found = compare_cells(cell("1:1 2:1"), cell("3:2 4:2"));
  EXPECT_FALSE(found.claimed());
  EXPECT_EQ(no_claim_words(found), "not compared: no common rounds");
}

TEST(CompareTogether, PairsThatAResumedRunMeasuredInOtherRoundsAreComparedTogether) {
  const Record first = cell("1:1 2:1 3:1"), slower = cell("1:2 2:2 3:2");
  const Record later = cell("4:1 5:1 6:1"), later_slower = cell("4:2 5:2 6:2");
  const CellPair pairs[] = {{&first, &slower}, {&later, &later_slower}};
  const CellComparison found = compare_together(pairs);
  EXPECT_EQ(found.rounds, 3U);
  EXPECT_EQ(found.evidence, Evidence::kRounds);
  EXPECT_NEAR(found.ratio, 2, 1e-9);
}

TEST(ComparePerItem, DividesByBatchAndStreams) {
  Record one = cell("1:4 2:4.01 3:4", 4), four = cell("1:8 2:8 3:8.01", 8);
  four.batch_size = 2;
  four.streams = 2;
  const CellComparison found = compare_per_item(one, four);
  EXPECT_NEAR(found.ratio, 0.5, 0.001);
  EXPECT_EQ(found.difference, stats::Difference::kFaster);
}

TEST(CompareTogether, CellsOfDifferentRunsAreNotPairedWithEachOther) {
  const Record a = cell("1:1 2:1 3:1"), b = cell("1:2 2:2 3:2.02");
  Record c = cell("4:1 5:1 6:1"), d = cell("4:8 5:8.1 6:8");
  c.run_id = d.run_id = "later";
  const std::vector<CellPair> pairs{{&a, &b}, {&c, &d}};
  const CellComparison found = compare_together(pairs);
  EXPECT_EQ(found.rounds, 3U);
  EXPECT_NEAR(found.ratio, 4, 0.05);
  EXPECT_TRUE(found.claimed());
}

TEST(DifferenceWords, ArePlain) {
  EXPECT_EQ(difference_words(0.0321), "3.2 %");
  EXPECT_EQ(difference_words(0.127), "13 %");
  EXPECT_EQ(difference_words(1.4), "a factor of 2.4");
  EXPECT_EQ(difference_words(1e9), "a factor above 100");
}

}  // namespace
}  // namespace assay
