// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "history/analyse/analysis.hpp"
#include "history/analyse/results_for_test.hpp"
#include "history/store/dataset.hpp"

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

TEST(Changes, AnImportedResultIsNeitherTheNewestRunNorComparedWithOwnOnes) {
  Dataset data = with_history({{1, 0, 8}, {2, 1, 8.1}, {3, 2, 100}});
  data.history[2].flags = {Flag::kImported};
  EXPECT_THAT(analyse(data).since_last_run, IsEmpty());
  data.history[1].p50_ms = 16;
  ASSERT_THAT(analyse(data).since_last_run, SizeIs(1));
  EXPECT_THAT(analyse(data).since_last_run[0].words, HasSubstr("8 → 16 ms"));
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
  for (const auto* changes : {&analysis.since_a_week, &analysis.since_a_month}) {
    ASSERT_THAT(*changes, SizeIs(1));
    EXPECT_EQ(changes->front().words, "b on cpu, batch 1: new: 1 verified");
  }
}

TEST(Changes, WhatWasWrongIsFixedByAVerdictOnly) {
  Dataset data = with_history({{1, 0, 8, CellStatus::kWrong}, {2, 1, 8}});
  data.history.back().verification = Verification::kUnverified;
  EXPECT_THAT(analyse(data).since_last_run, IsEmpty());
  data.history.back().verification = Verification::kVerified;
  ASSERT_THAT(analyse(data).since_last_run, SizeIs(1));
  EXPECT_EQ(analyse(data).since_last_run[0].what, Change::What::kFixed);
}

HistoryPoint& add(Dataset& data, std::uint32_t series, double day, std::uint32_t run,
                  CellStatus status = CellStatus::kCompleted) {
  HistoryPoint point;
  point.series = series;
  point.time_s = day * 86400;
  point.run = run;
  point.status = status;
  if (status == CellStatus::kCompleted) {
    point.verification = Verification::kVerified;
    point.p50_ms = data.cells[series].latency_p50_ms;
  } else if (status == CellStatus::kUnavailable || status == CellStatus::kSkipped) {
    point.refusal = 0;
  }
  return data.history.emplace_back(point);
}

// Two batches on cuda and one on the CPU, measured in the first run; in the second cuda was refused with this reason.
Dataset with_refused_cuda(const Refusal& refusal) {
  Record refused = testing::ended(result("a", "cuda", 1), refusal.status, refusal.reason_code, refusal.message);
  refused.series_key = "a-cuda";
  refused.batch_size = std::nullopt;
  Dataset data = dataset({result("a", "cuda", 4), result("a", "cuda", 20, 8), result("a", "cpu", 8), refused});
  data.refusals = {refusal};
  data.versions = {"onnxruntime 1.31, assay 0.1"};
  for (const std::uint32_t series : {0, 1, 2}) add(data, series, 1, 0);
  add(data, 2, 2, 1);
  add(data, 3, 2, 1, refusal.status);
  return data;
}
const Refusal kNoDriver{CellStatus::kUnavailable, Reason::kNoHardware, "no driver is loaded", ""};

TEST(Changes, HardwareThatVanishedIsOneChangeAndAnswersSayFromWhenTheyAre) {
  Dataset data = with_refused_cuda(kNoDriver);
  Analysis analysis = analyse(data);
  ASSERT_THAT(analysis.since_last_run, SizeIs(1));
  const Change& gone = analysis.since_last_run[0];
  EXPECT_EQ(gone.what, Change::What::kGone);
  EXPECT_THAT(gone.rows, SizeIs(2));
  EXPECT_EQ(gone.words,
            "cuda: not available since 1970-01-03, 2 cells of a; no_hardware: no driver is loaded; the results are of "
            "1970-01-02");
  ASSERT_THAT(analysis.models, SizeIs(1));
  ASSERT_TRUE(analysis.models[0].latency);
  EXPECT_THAT(analysis.models[0].latency->words,
              HasSubstr("; not available since 1970-01-03 (no_hardware), measured on 1970-01-02"));
  ASSERT_FALSE(analysis.choices.empty());
  EXPECT_THAT(analysis.choices[0].words, HasSubstr("measured on 1970-01-02"));
  // A run later nothing has changed any more; in the week it has.
  add(data, 2, 8.5, 2);
  add(data, 3, 8.5, 2, CellStatus::kUnavailable);
  analysis = analyse(data);
  EXPECT_THAT(analysis.since_last_run, IsEmpty());
  ASSERT_THAT(analysis.since_a_week, SizeIs(1));
  EXPECT_EQ(analysis.since_a_week[0].what, Change::What::kGone);
}

TEST(Changes, HardwareThatVanishedMayChangeTheIdOfItsMachineAndIsOfAllModels) {
  Dataset data = with_refused_cuda(kNoDriver);
  data.cells[3].hardware_id = "machine-1-without-gpu";
  data.cells[1].model = "b";
  const std::vector<Change> changes = analyse(data).since_last_run;
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_THAT(changes[0].words, HasSubstr("2 cells of 2 models (a, b)"));
  data.cells[3].host = "another";
  EXPECT_THAT(analyse(data).since_last_run, IsEmpty());
}

TEST(Changes, ARuntimeThatIsMissingIsOfTheModelAndALackOfTimeIsNoChange) {
  Dataset data = with_refused_cuda({CellStatus::kUnavailable, Reason::kNoRuntime, "libcuda is missing", ""});
  data.cells[1].model = "b";
  const std::vector<Change> changes = analyse(data).since_last_run;
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_THAT(changes[0].words, HasSubstr("a on cuda, batch 1: not available since 1970-01-03; no_runtime"));
  EXPECT_THAT(analyse(with_refused_cuda({CellStatus::kSkipped, Reason::kNoTime, "--budget", ""})).since_last_run,
              IsEmpty());
  EXPECT_THAT(analyse(with_refused_cuda({CellStatus::kSkipped, Reason::kCancelled, "", ""})).since_last_run, IsEmpty());
  ASSERT_THAT(analyse(with_refused_cuda({CellStatus::kSkipped, Reason::kTooLarge, "needs 9 GB", ""})).since_last_run,
              SizeIs(1));
}

TEST(Changes, HardwareThatIsThereAgainIsSaid) {
  Dataset data = with_refused_cuda(kNoDriver);
  for (const std::uint32_t series : {0, 1, 2}) add(data, series, 3, 2);
  const std::vector<Change> changes = analyse(data).since_last_run;
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].what, Change::What::kFixed);
  EXPECT_EQ(changes[0].words,
            "cuda: measured again, 2 cells of a; not available on 1970-01-03: no_hardware: no driver is loaded");
}

TEST(Changes, CellsWithoutAnEarlierResultAreNewUnlessAllAre) {
  Dataset data = dataset({result("a", "cpu", 8), result("b", "cpu", 8), result("c", "cpu", 8, 4)});
  for (const std::uint32_t series : {0, 1, 2}) add(data, series, 1, 0);
  EXPECT_THAT(analyse(data).since_last_run, IsEmpty()) << "a first run changes nothing";
  data.history.clear();
  add(data, 0, 1, 0);
  for (const std::uint32_t series : {0, 1, 2}) add(data, series, 2, 1);
  data.versions = {"onnxruntime 1.31, assay 0.1"};
  const std::vector<Change> changes = analyse(data).since_last_run;
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].what, Change::What::kNew);
  EXPECT_EQ(changes[0].words, "cpu: new, 2 cells of 2 models (b, c): 2 verified");
}

TEST(Changes, AMeanIsComparedWhereThereIsNoMedianButNotWithAMedian) {
  Dataset data = with_history({{1, 0, 8}, {2, 1, 8}});
  for (HistoryPoint& point : data.history) point.p50_ms = std::nullopt;
  data.history[0].mean_ms = 8;
  data.history[1].mean_ms = 12;
  std::vector<Change> changes = analyse(data).since_last_run;
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].quantity, "latency_mean_ms");
  EXPECT_THAT(changes[0].words, HasSubstr("a on cpu, batch 1: mean 8 → 12 ms (1.50×) since 1970-01-02"));
  data.history[1].mean_ms = std::nullopt;
  data.history[1].p50_ms = 12;
  changes = analyse(data).since_last_run;
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].what, Change::What::kNotComparable);
  EXPECT_EQ(
      changes[0].words,
      "a on cpu, batch 1: its time is not compared with that of 1970-01-02, which is a mean: this one is a median");
}

TEST(Changes, MemoryMovesBeyondTheSpreadOfItsSource) {
  Dataset data = with_history({{1, 0, 8}, {2, 1, 8}, {3, 2, 8}, {4, 3, 8}, {5, 4, 8}, {6, 5, 8}});
  for (HistoryPoint& point : data.history) {
    point.memory_mb = 100 + point.run % 2;
    point.memory_source = MemorySource::kProcess;
  }
  EXPECT_THAT(analyse(data).since_last_run, IsEmpty());
  data.history.back().memory_mb = 108;
  const std::vector<Change> changes = analyse(data).since_last_run;
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_TRUE(changes[0].beyond_spread);
  EXPECT_EQ(changes[0].quantity, "memory_mb");
  EXPECT_THAT(changes[0].words, HasSubstr("peak memory 100 → 108 MB (1.08×) since 1970-01-06, beyond the spread of"));
  data.history.back().memory_source = MemorySource::kWarmProcess;
  EXPECT_THAT(analyse(data).since_last_run, IsEmpty());
}

TEST(Changes, AThroughputMovesOnlyIfTheTimeDoesNot) {
  Dataset data = with_history({{1, 0, 8}, {2, 1, 8}});
  data.history[0].throughput_ips = 100;
  data.history[1].throughput_ips = 50;
  ASSERT_THAT(analyse(data).since_last_run, SizeIs(1));
  EXPECT_EQ(analyse(data).since_last_run[0].quantity, "throughput_ips");
  data.history[1].p50_ms = 16;
  ASSERT_THAT(analyse(data).since_last_run, SizeIs(1));
  EXPECT_EQ(analyse(data).since_last_run[0].quantity, "latency_p50_ms");
}

}  // namespace
}  // namespace assay
