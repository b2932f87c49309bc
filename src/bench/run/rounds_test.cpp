// SPDX-License-Identifier: Apache-2.0
#include "bench/run/rounds.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/samples/summary.hpp"

namespace assay {
namespace {
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using namespace std::chrono_literals;

Launch launch_of(std::int64_t round, double p50_ms, const std::string& engine) {
  Launch launch;
  for (int i = 0; i < 50; ++i) {
    launch.samples.kind.push_back(0);
    launch.samples.stream.push_back(0);
    launch.samples.start_ns.push_back(kUnknownStart);
    launch.samples.duration_ns.push_back(std::llround(p50_ms * 1e6));
  }
  Record& row = launch.row;
  row.model = "m";
  row.engine = row.hardware = engine;
  row.batch_size = 1;
  row.launch_number = round;
  row.attempt_number = 1;
  row.status = CellStatus::kCompleted;
  row.verification = Verification::kVerified;
  summarise(Measurement{}, launch.samples, 1, row);
  return launch;
}

LocalTask cell_of(const std::string& engine, const std::vector<double>& medians, std::int64_t launches = 3) {
  LocalTask cell;
  cell.task.engine = engine;
  cell.task.row.model = "m";
  cell.task.row.hardware = engine;
  cell.task.launches = launches;
  cell.has_reference = true;
  std::int64_t round = 0;
  for (const double median : medians) cell.launches.push_back(launch_of(++round, median, engine));
  return cell;
}

std::vector<std::size_t> tasks_of(const std::vector<ScheduledLaunch>& launches) {
  std::vector<std::size_t> tasks;
  for (const ScheduledLaunch& launch : launches) tasks.push_back(launch.task);
  return tasks;
}

TEST(Rounds, ACellIsLaunchedUntilItHasItsLaunches) {
  EXPECT_EQ(missing_launches(cell_of("a", {})), 3);
  EXPECT_EQ(missing_launches(cell_of("a", {1, 1})), 1);
  EXPECT_EQ(missing_launches(cell_of("a", {1, 1, 1})), 0);
  EXPECT_EQ(missing_launches(cell_of("a", {1, 1, 1, 1})), 0);
  const std::vector<LocalTask> cells{cell_of("a", {1, 1, 1}), cell_of("b", {1}), cell_of("c", {})};
  EXPECT_THAT(tasks_of(next_round(cells, 4)), UnorderedElementsAre(1, 2));
}

TEST(Rounds, AfterALaunchThatDidNotEndWellThereIsNoOther) {
  for (const CellStatus status : {CellStatus::kFailed, CellStatus::kWrong, CellStatus::kUnsupported}) {
    LocalTask cell = cell_of("a", {1});
    cell.launches[0].row.status = status;
    EXPECT_EQ(missing_launches(cell), 0) << to_string(status);
  }
  LocalTask cut = cell_of("a", {1});
  cut.launches[0].row.flags.add(Flag::kPartial);
  EXPECT_EQ(missing_launches(cut), 0);
}

TEST(Rounds, ResumingTriesAgainWhatFailedAndKeepsWhatIsWrong) {
  LocalTask cell = cell_of("a", {1, 1});
  for (Launch& launch : cell.launches) launch.resumed = true;
  EXPECT_EQ(missing_launches(cell), 1);
  cell.launches[1].row.status = CellStatus::kFailed;
  EXPECT_EQ(missing_launches(cell), 2);
  cell.launches[1].row.status = CellStatus::kWrong;
  EXPECT_EQ(missing_launches(cell), 0);
}

TEST(Rounds, ATaskThatCannotRunHasARowOnce) {
  LocalTask cell = cell_of("a", {});
  cell.task.row.reason_code = Reason::kNoHardware;
  EXPECT_EQ(missing_launches(cell), 1);
}

TEST(Rounds, ACellWhoseRunsAreLongHasOneLaunch) {
  LocalTask cell = cell_of("a", {1000});
  cell.task.max_time = 10s;
  EXPECT_EQ(missing_launches(cell), 0) << "four runs take 4 s of 3.3 s";
  cell = cell_of("a", {800});
  cell.task.max_time = 10s;
  EXPECT_EQ(missing_launches(cell), 2);
  cell.task.max_time.reset();
  cell.launches[0] = launch_of(1, 20'000, "a");
  EXPECT_EQ(missing_launches(cell), 2) << "there is no limit";
}

TEST(Rounds, WithOneLaunchEachTheOrderIsThatOfThePlan) {
  const std::vector<LocalTask> cells{cell_of("c", {}, 1), cell_of("a", {}, 1), cell_of("b", {}, 1)};
  EXPECT_THAT(tasks_of(next_round(cells, 1)), ElementsAre(0, 1, 2));
}

TEST(Rounds, OnlyBestAndRunnerUpGetFurtherRoundsAndOnlyIfTheyAreUndecided) {
  const std::vector<LocalTask> close{cell_of("slow", {3, 3.01, 2.99}), cell_of("a", {1.00, 1.03, 1.01}),
                                     cell_of("b", {1.05, 1.02, 1.04})};
  EXPECT_THAT(tasks_of(further_round(close, 4)), UnorderedElementsAre(1, 2));
  const std::vector<LocalTask> apart{cell_of("a", {1.00, 1.01, 1.02}), cell_of("b", {3.02, 3.01, 3.00})};
  EXPECT_THAT(further_round(apart, 4), IsEmpty());
  const std::vector<LocalTask> alone{cell_of("a", {1.00, 1.01, 1.02})};
  EXPECT_THAT(further_round(alone, 4), IsEmpty());
}

TEST(Rounds, FurtherOnesHaveTheUndecidedPairsForWhichThereIsTime) {
  std::vector<LocalTask> cells{cell_of("a", {1.00, 1.03, 1.01}), cell_of("b", {1.05, 1.02, 1.04}),
                               cell_of("a", {5.00, 5.03, 5.01}), cell_of("b", {5.05, 5.02, 5.04})};
  for (const std::size_t larger : {2U, 3U})
    for (Launch& launch : cells[larger].launches) launch.row.batch_size = 8;
  for (LocalTask& cell : cells) cell.last_launch_s = cell.launches[0].row.batch_size == 8 ? 5 : 1;
  EXPECT_THAT(tasks_of(further_round(cells, 4)), UnorderedElementsAre(0, 1, 2, 3));
  EXPECT_THAT(tasks_of(further_round(cells, 4, 11)), UnorderedElementsAre(0, 1));
  EXPECT_THAT(further_round(cells, 4, 1), IsEmpty());
}

TEST(Rounds, ThereAreAtMostTenRounds) {
  std::vector<double> one, other;
  for (int i = 0; i < 9; ++i) {
    one.push_back(1.0 + 0.01 * (i % 3));
    other.push_back(1.012 + 0.01 * ((i + 1) % 3));
  }
  EXPECT_THAT(further_round(std::vector<LocalTask>{cell_of("a", one), cell_of("b", other)}, 10), ::testing::SizeIs(2));
  one.push_back(1);
  other.push_back(1.01);
  EXPECT_THAT(further_round(std::vector<LocalTask>{cell_of("a", one), cell_of("b", other)}, 11), IsEmpty());
}

TEST(Rounds, WhatCannotBeLaunchedAgainGetsNoFurtherRound) {
  std::vector<LocalTask> cells{cell_of("a", {1.00, 1.03, 1.01}), cell_of("b", {1.05, 1.02, 1.04})};
  ASSERT_THAT(further_round(cells, 4), ::testing::SizeIs(2));
  cells[1].has_reference = false;  // --resume kept all its launches
  EXPECT_THAT(further_round(cells, 4), IsEmpty());
  cells[1].has_reference = true;
  cells[1].task.max_time = 1s;
  for (Launch& launch : cells[1].launches) launch.row.window_ns = 1'100'000'000;
  EXPECT_THAT(further_round(cells, 4), IsEmpty()) << "3.3 s are more than three times --max-time";
  cells[1].task.max_time.reset();
  cells[1].launches[0].row.verification = Verification::kUnverified;
  EXPECT_THAT(further_round(cells, 4), IsEmpty()) << "it is not ranked";
}

TEST(Rounds, CellsThatContradictEachOtherAreLaunchedOnceMore) {
  const auto batch = [](LocalTask cell, std::int64_t size) {
    cell.task.row.batch_size = cell.task.shape.batch = size;
    for (Launch& launch : cell.launches) launch.row.batch_size = size;
    return cell;
  };
  std::vector<LocalTask> cells{batch(cell_of("a", {5, 5, 5}), 1), batch(cell_of("a", {2, 2, 2}), 4),
                               batch(cell_of("a", {6, 6, 6}), 8), batch(cell_of("b", {3, 3, 3}), 4)};
  EXPECT_THAT(tasks_of(repeated_round(cells, 4)), UnorderedElementsAre(0, 1));
  cells[1].task.max_time = 1s;
  for (Launch& launch : cells[1].launches) launch.row.window_ns = 1'100'000'000;
  EXPECT_THAT(repeated_round(cells, 4), IsEmpty()) << "3.3 s are more than three times --max-time";
  cells[1] = batch(cell_of("a", {6, 6, 6}), 4);
  EXPECT_THAT(repeated_round(cells, 4), IsEmpty());
  const std::vector<LocalTask> once{batch(cell_of("a", {5}, 1), 1), batch(cell_of("a", {2}, 1), 4)};
  EXPECT_THAT(repeated_round(once, 2), IsEmpty()) << "one launch was requested";
}

TEST(Rounds, ACellLacksLaunchesIfResumingAddsSome) {
  EXPECT_TRUE(lacks_launches(cell_of("a", {1, 1})));
  EXPECT_FALSE(lacks_launches(cell_of("a", {1, 1, 1})));
  LocalTask cell = cell_of("a", {1, 1, 1});
  cell.launches[2].row.flags.add(Flag::kPartial);
  cell.launches[2].row.stop_reason = StopReasons{StopReason::kInterrupted};
  EXPECT_EQ(missing_launches(cell), 0) << "not in this invocation";
  EXPECT_TRUE(lacks_launches(cell));
  cell = cell_of("a", {1});
  cell.launches[0].row.status = CellStatus::kFailed;
  EXPECT_FALSE(lacks_launches(cell)) << "the row says that it failed";
  cell = cell_of("a", {1000});
  cell.task.max_time = 10s;
  EXPECT_FALSE(lacks_launches(cell)) << "the first launch fills the time";
}

TEST(LaunchLimits, DivideTheTimeOfTheCellAmongItsLaunches) {
  Task task;
  task.launches = 3;
  task.max_time = 12s;
  MeasurePlan plan;
  next_limits(shared_time(task), {}).apply_to(plan, 1ms);
  EXPECT_EQ(plan.max_warmup_ns, 1'000'000'000);
  EXPECT_EQ(plan.max_time_ns, 3'000'000'000);
  EXPECT_EQ(plan.min_time_ns, 1'000'000'000);
  EXPECT_TRUE(plan.time_limits_iterations);
  EXPECT_EQ(plan.relative_precision, MeasurePlan().relative_precision);

  plan = {};
  next_limits(shared_time(task), {}).apply_to(plan, 1100ms);
  EXPECT_EQ(plan.max_warmup_ns + plan.max_time_ns, 12'000'000'000) << "one launch has it all";

  plan = {};
  task.max_time = 600ms;
  next_limits(shared_time(task), {}).apply_to(plan, 1ms);
  EXPECT_EQ(plan.min_time_ns, plan.max_time_ns) << "the least time is not longer than the longest";

  plan = {};
  task.max_time.reset();
  next_limits(shared_time(task), {}).apply_to(plan, 1ms);
  EXPECT_EQ(plan.max_time_ns, MeasurePlan().max_time_ns);
  EXPECT_FALSE(plan.time_limits_iterations);
}

TEST(LaunchLimits, NeedLessPrecisionThanTheSpreadOfTheLaunchesBefore) {
  const LocalTask cell = cell_of("a", {1.0, 1.2});
  MeasurePlan plan;
  next_limits(shared_time(cell.task), cell.launches).apply_to(plan, 1ms);
  EXPECT_NEAR(plan.relative_precision, std::log(1.2) / std::sqrt(2.0) / 3, 1e-9);
  plan = {};
  const LocalTask one = cell_of("a", {1.0});
  next_limits(shared_time(one.task), one.launches).apply_to(plan, 1ms);
  EXPECT_EQ(plan.relative_precision, MeasurePlan().relative_precision) << "one launch has no spread";
}

}  // namespace
}  // namespace assay
