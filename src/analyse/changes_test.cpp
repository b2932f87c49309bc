// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyse/analysis.hpp"
#include "analyse/results_for_test.hpp"
#include "store/dataset.hpp"

namespace assay {
namespace {
using ::testing::AllOf;
using testing::dataset;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::result;
using ::testing::SizeIs;

struct Point {
  double day;
  std::uint32_t run;
  double p50;
  CellStatus status = CellStatus::kCompleted;
  std::uint32_t version = 0;
};

Dataset with_history(const std::vector<Point>& points) {
  Dataset data = dataset({result("a", "cpu", points.back().p50)});
  data.versions = {"onnxruntime 1.30, assay 0.1", "onnxruntime 1.31, assay 0.1"};
  for (const Point& each : points) {
    HistoryPoint point;
    point.time_s = each.day * 86400;
    point.run = each.run;
    point.version = each.version;
    point.status = each.status;
    point.verification = Verification::kVerified;
    point.p50_ms = each.p50;
    data.history.push_back(point);
  }
  return data;
}

TEST(Changes, BetweenRunsAreFactsForVerdictsAndNeverClaimsForTimes) {
  Dataset data = with_history({{1, 0, 8}, {2, 1, 8, CellStatus::kWrong, 1}});
  const std::vector<Change> changes = analyse(data).since_last_run;
  ASSERT_THAT(changes, SizeIs(2));
  EXPECT_EQ(changes[0].what, Change::What::kNewlyWrong);
  EXPECT_EQ(changes[0].words,
            "a on cpu, batch 1: wrong now, verified on 1970-01-02; onnxruntime 1.30, assay 0.1 → onnxruntime 1.31, "
            "assay 0.1");
  EXPECT_EQ(changes[1].what, Change::What::kVersion);
  data = with_history({{1, 0, 8, CellStatus::kFailed}, {2, 1, 8}});
  ASSERT_THAT(analyse(data).since_last_run, SizeIs(1));
  EXPECT_EQ(analyse(data).since_last_run[0].what, Change::What::kFixed);
}

TEST(Changes, AMoveIsNamedIfItIsBeyondTheSpreadOfTheRunsBefore) {
  const std::vector<Point> quiet{{1, 0, 8}, {2, 1, 8.1}, {3, 2, 7.9}, {4, 3, 8.05}, {5, 4, 8}, {6, 5, 9}};
  const std::vector<Change> changes = analyse(with_history(quiet)).since_last_run;
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_TRUE(changes[0].beyond_spread);
  EXPECT_THAT(changes[0].words, AllOf(HasSubstr("8 → 9 ms (1.12×)"),
                                      HasSubstr("beyond the spread of the 5 runs before"), HasSubstr("not confirmed")));
  std::vector<Point> restless = quiet;
  restless[1].p50 = 9.5;
  restless[2].p50 = 7;
  restless[3].p50 = 7.2;
  EXPECT_THAT(analyse(with_history(restless)).since_last_run, IsEmpty());
}

TEST(Changes, OfAWeekSkipTheRunsOfTheWeek) {
  const Dataset data = with_history({{1, 0, 4}, {9, 1, 8}, {10, 2, 8}});
  const Analysis analysis = analyse(data);
  EXPECT_THAT(analysis.since_last_run, IsEmpty());
  ASSERT_THAT(analysis.since_a_week, SizeIs(1));
  EXPECT_NEAR(*analysis.since_a_week[0].ratio, 2, 1e-9);
  EXPECT_THAT(analysis.since_a_month, IsEmpty());
}

TEST(Changes, OfAWeekAreNotOlderThanTheWeek) {
  // One series changed long ago and was not measured again.
  Dataset data = with_history({{1, 0, 4}, {80, 1, 8}});
  HistoryPoint other = data.history.back();
  data.cells.push_back(result("b", "cpu", 1));
  data.series.push_back(data.cells.back().series_key);
  other.series = 1;
  other.time_s = 200 * 86400.0;
  other.run = 2;
  data.history.push_back(other);
  const Analysis analysis = analyse(data);
  EXPECT_THAT(analysis.since_a_week, IsEmpty());
  EXPECT_THAT(analysis.since_a_month, IsEmpty());
}

TEST(Changes, WhatWasWrongIsFixedByAVerdictOnly) {
  Dataset data = with_history({{1, 0, 8, CellStatus::kWrong}, {2, 1, 8}});
  data.history.back().verification = Verification::kUnverified;
  EXPECT_THAT(analyse(data).since_last_run, IsEmpty());
  data.history.back().verification = Verification::kVerified;
  ASSERT_THAT(analyse(data).since_last_run, SizeIs(1));
  EXPECT_EQ(analyse(data).since_last_run[0].what, Change::What::kFixed);
}

}  // namespace
}  // namespace assay
