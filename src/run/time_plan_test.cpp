// SPDX-License-Identifier: Apache-2.0
#include "run/time_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fake_clock.hpp"

namespace assay {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

constexpr std::int64_t kSecond = 1'000'000'000;

/// Batches of a model, 3 launches of 12 s together each; every run costs nothing.
std::vector<Task> tasks_of(const std::string& model, const std::vector<std::int64_t>& batches) {
  std::vector<Task> tasks;
  for (const std::int64_t batch : batches) {
    Task task;
    task.row.model = model;
    task.row.input_hash = model + std::to_string(batch);
    task.shape.batch = batch;
    task.default_batch = true;
    task.launches = 3;
    task.max_time = 12s;
    tasks.push_back(task);
  }
  return tasks;
}

Record ended(double p50_ms = 0) {
  Record row;
  row.status = CellStatus::kCompleted;
  if (p50_ms > 0) row.latency_p50_ms = p50_ms;
  return row;
}

/// One launch: 0.3 s to start, 0.15 s to warm up, sampling between 1 s and 3 s.
constexpr double kLaunchS = 0.3 + 0.15 + 1 + 0.75 * 2;

TEST(TimePlan, AddsUpAllLaunches) {
  FakeClock clock;
  TimePlan plan({}, clock, clock.now_ns(), {});
  plan.add(tasks_of("a", {1, 2}));
  EXPECT_EQ(plan.launches(), 6U);
  EXPECT_NEAR(plan.left_s(), 6 * kLaunchS, 1);
}

TEST(TimePlan, MeasuredTimesReplaceTheEstimates) {
  FakeClock clock;
  TimePlan plan({}, clock, clock.now_ns(), {});
  plan.add(tasks_of("a", {1, 2}));
  plan.add(tasks_of("b", {1}));
  plan.begin(0);
  plan.prepared();
  clock.advance(5 * kSecond);
  plan.launched(0, ended(), false);
  clock.advance(10 * kSecond);
  plan.launched(1, ended(), false);
  EXPECT_EQ(plan.launches(), 9U);
  // Two of each 5 and 10 s, and the other model by the ratio of measured to expected until now.
  const double factor = (15 + 3) / (2 * kLaunchS + 3);
  EXPECT_NEAR(plan.left_s(), 2 * 5 + 2 * 10 + 3 * kLaunchS * factor, 1);
  plan.launched(0, ended(), true);
  EXPECT_NEAR(plan.left_s(), 5 + 2 * 10 + 3 * kLaunchS * factor, 1) << "a kept launch took no time";
  plan.end();
  EXPECT_NEAR(plan.left_s(), 3 * kLaunchS * factor, 1) << "whatever the first model did not need";
}

TEST(TimePlan, ExpectsFurtherRoundsWhereTargetsAreCompared) {
  FakeClock clock;
  TimePlan plan({}, clock, clock.now_ns(), {});
  std::vector<Task> tasks = tasks_of("a", {1});
  tasks.push_back(tasks[0]);
  tasks[1].engine = "other";
  plan.add(tasks);
  plan.add(tasks);
  EXPECT_NEAR(plan.left_s(), 12 * kLaunchS * 1.15, 1) << "a part, before it is known";
  plan.begin(0);
  plan.prepared();
  for (std::size_t launch = 0; launch < 6; ++launch) {
    clock.advance(10 * kSecond);
    plan.launched(launch % 2, ended(), false);
  }
  plan.end();  // no pair was undecided
  const double factor = (20 + 3) / (2 * kLaunchS + 3), share = 0.15 * 30 / (60 + 30);
  EXPECT_NEAR(plan.left_s(), 6 * kLaunchS * factor * (1 + share), 2);
}

TEST(TimePlan, WithoutABudgetNothingIsGivenUp) {
  FakeClock clock;
  TimePlan plan({}, clock, clock.now_ns(), {});
  std::vector<Task> tasks = tasks_of("a", {1, 2});
  plan.add(tasks);
  EXPECT_THAT(plan.fit({&tasks}, 0), IsEmpty());
  EXPECT_EQ(tasks[0].launches, 3);
  EXPECT_TRUE(plan.has_time(1e9));
}

/// What fits into a budget, and what is said.
struct Fitted {
  std::vector<Task> one = tasks_of("a", {1, 4, 8}), other = tasks_of("b", {1, 4, 8});
  std::vector<std::string> notes;
  explicit Fitted(std::chrono::nanoseconds budget) {
    FakeClock clock;
    TimePlan plan(budget, clock, clock.now_ns(), {});
    plan.add(one);
    plan.add(other);
    notes = plan.fit({&one, &other}, 0);
  }
};

TEST(TimePlan, FirstLaunchesAreGivenUpThenTheLargestDefaultBatches) {
  EXPECT_THAT(Fitted(70s).notes, IsEmpty());
  const Fitted two(45s);
  EXPECT_THAT(two.notes, ElementsAre("--budget 45 s: 2 launches of each further cell instead of 3"));
  EXPECT_EQ(two.one[0].launches, 2);
  EXPECT_EQ(two.one[0].max_time, 8s) << "the share of a launch stays";
  EXPECT_TRUE(two.other[2].runs());
  const Fitted one(25s);
  EXPECT_THAT(one.notes, ElementsAre("--budget 25 s: 1 launch of each further cell instead of 3"));
  const Fitted fewer(15s);
  EXPECT_THAT(fewer.notes, ElementsAre(HasSubstr("1 launch"), "--budget 15 s: batch 8 is not measured"));
  EXPECT_EQ(fewer.one[2].row.status, CellStatus::kSkipped);
  EXPECT_EQ(fewer.one[2].row.reason_code, "no_time");
  EXPECT_THAT(fewer.one[2].row.message, HasSubstr("--budget 15 s"));
  EXPECT_THAT(fewer.one[2].row.hint, HasSubstr("--batch-sizes 8"));
  EXPECT_TRUE(fewer.other[1].runs());
  const Fitted least(2s);
  EXPECT_THAT(least.notes,
              ElementsAre(HasSubstr("1 launch"), HasSubstr("batch 8"), HasSubstr("batch 4"),
                          AllOf(HasSubstr("what is left takes about"), HasSubstr("it is measured anyway"))));
  EXPECT_TRUE(least.one[0].runs()) << "the smallest batch of a model stays";
}

TEST(TimePlan, BatchesThatTheUserNamesAreNotGivenUp) {
  FakeClock clock;
  TimePlan plan(2s, clock, clock.now_ns(), {});
  std::vector<Task> tasks = tasks_of("a", {1, 8});
  for (Task& task : tasks) task.default_batch = false;
  plan.add(tasks);
  EXPECT_THAT(plan.fit({&tasks}, 0), ElementsAre(HasSubstr("1 launch"), HasSubstr("it is measured anyway")));
  EXPECT_TRUE(tasks[1].runs());
}

TEST(TimePlan, LaterModelsComeBeforeOptionalRounds) {
  FakeClock clock;
  TimePlan plan(60s, clock, clock.now_ns(), {});
  plan.add(tasks_of("a", {1}));
  plan.add(tasks_of("b", {1, 2}));
  plan.begin(0);
  plan.prepared();
  clock.advance(20 * kSecond);
  EXPECT_TRUE(plan.has_time(10));
  EXPECT_FALSE(plan.has_time(30)) << "6 launches of the other model need about 18 s";
}

TEST(TimePlan, AnExpectedLaunchHasItsRunsAndItsWeights) {
  Task task;
  task.row.flops = 110e9;  // 1 s at the usual rate
  task.row.parameter_count = 700'000'000 / 4;
  task.benchmark = false;
  EXPECT_NEAR(expected_launch_s(task_cost(task), {}), 0.3 + 1 + 7 * 1, 1e-9);
  EXPECT_NEAR(expected_launch_s(task_cost(task), MachineRate{220e9, 1e12}), 0.3 + 1 + 7 * 0.5, 1e-9);
  task.benchmark = true;
  task.measure.warmup_iterations = 2;
  task.measure.iterations = 8;
  EXPECT_NEAR(expected_launch_s(task_cost(task), {}), 0.3 + 1 + 7 + 10, 1e-9);
  task.max_time = 5s;
  EXPECT_NEAR(expected_launch_s(task_cost(task), {}), 0.3 + 1 + 7 + 5, 1e-9);
}

TEST(TimePlan, LearnsTheRateOfTheMachineFromLaunches) {
  FakeClock clock;
  TimePlan plan({}, clock, clock.now_ns(), {});
  std::vector<Task> small = tasks_of("small", {1}), large = tasks_of("large", {1});
  for (Task* task : {&small[0], &large[0]}) task->verify = false;
  small[0].row.flops = 1e9;
  large[0].row.flops = 220e9;  // 2 s at the usual rate: one launch, which has the whole time
  plan.add(small);
  plan.add(large);
  EXPECT_EQ(plan.launches(), 3U + 1);
  plan.begin(0);
  plan.prepared();
  clock.advance(3 * kSecond);
  plan.launched(0, ended(2.5), false);  // 400e9 in a second
  EXPECT_EQ(plan.launches(), 3U + 3) << "four runs of 0.55 s are half of the share";
}

TEST(TimePlan, SaysTimesInWords) {
  EXPECT_EQ(time_words(40), "40 s");
  EXPECT_EQ(time_words(310), "5 min 10 s");
  EXPECT_EQ(time_words(5400), "1 h 30 min");
}

}  // namespace
}  // namespace assay
