// SPDX-License-Identifier: Apache-2.0
#include "bench/run/time_plan.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <tuple>
#include <utility>

#include "core/base/fake_clock.hpp"
#include "core/base/json.hpp"

namespace assay {
namespace {
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

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
  const double factor = (15 + 10) / (2 * kLaunchS + 10);
  EXPECT_NEAR(plan.left_s(), 2 * 5 + 2 * 10 + 3 * kLaunchS * factor, 1);
  plan.launched(0, ended(), true);
  EXPECT_NEAR(plan.left_s(), 5 + 2 * 10 + 3 * kLaunchS * factor, 1) << "a kept launch took no time";
  plan.end();
  EXPECT_NEAR(plan.left_s(), 3 * kLaunchS * factor, 1) << "whatever the first model did not need";
}

TEST(TimePlan, RefusedAndFailedLaunchesDoNotMakeTheOthersFaster) {
  FakeClock clock;
  TimePlan plan({}, clock, clock.now_ns(), {});
  const std::vector<Task> tasks = tasks_of("a", std::vector<std::int64_t>(20, 1));
  plan.add(tasks);
  plan.add(tasks_of("b", {1}));
  plan.begin(0);
  plan.prepared();
  for (std::size_t task = 0; task < tasks.size(); ++task) {
    Record launch;
    launch.status = std::vector{CellStatus::kUnsupported, CellStatus::kFailed, CellStatus::kSkipped}[task % 3];
    clock.advance(kSecond / 2);
    plan.launched(task, launch, false);
  }
  plan.end();
  EXPECT_NEAR(plan.left_s(), 3 * kLaunchS, 0.5);
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
  const double factor = (20 + 10) / (2 * kLaunchS + 10), share = 0.15 * 30 / (60 + 30);
  EXPECT_NEAR(plan.left_s(), 6 * kLaunchS * factor * (1 + share), 2);
}

TEST(TimePlan, WithoutABudgetNothingIsGivenUp) {
  FakeClock clock;
  TimePlan plan({}, clock, clock.now_ns(), {});
  std::vector<Task> tasks = tasks_of("a", {1, 2});
  plan.add(tasks);
  plan.fit({&tasks}, 0);
  EXPECT_THAT(plan.given_up(), IsEmpty());
  EXPECT_EQ(tasks[0].launches, 3);
  EXPECT_TRUE(plan.has_time(1e9, false));
}

/// What fits into a budget, and what is said.
struct Fitted {
  std::vector<Task> one = tasks_of("a", {1, 4, 8}), other = tasks_of("b", {1, 4, 8});
  std::vector<std::string> notes;
  bool overruns = false;
  explicit Fitted(std::chrono::nanoseconds budget) {
    FakeClock clock;
    TimePlan plan(budget, clock, clock.now_ns(), {});
    plan.add(one);
    plan.add(other);
    plan.fit({&one, &other}, 0);
    notes = plan.given_up();
    overruns = plan.overrun().has_value();
  }
};

TEST(TimePlan, FirstSamplingIsGivenUpThenLaunchesThenTheLargestDefaultBatches) {
  EXPECT_THAT(Fitted(70s).notes, IsEmpty());
  const Fitted shorter(45s);
  EXPECT_THAT(shorter.notes, ElementsAre("--budget 45 s: 2.9 s to warm up and sample in a launch instead of 4.0 s"));
  EXPECT_EQ(shorter.one[0].launches, 3);
  EXPECT_NEAR(std::chrono::duration<double>(*shorter.one[0].max_time).count(), 8.76, 0.01);
  const std::string least_sampling = "1.5 s to warm up and sample";
  const Fitted two(25s);
  EXPECT_THAT(two.notes, ElementsAre(HasSubstr(least_sampling), HasSubstr("of 6 cells have fewer than 3 launches")));
  EXPECT_EQ(two.one[2].launches, 2);
  EXPECT_EQ(two.other[2].launches, 3) << "no more than needed";
  EXPECT_EQ(two.one[2].max_time, 3s) << "the share of a launch stays";
  EXPECT_TRUE(two.other[2].runs());
  const Fitted one(12s);
  EXPECT_THAT(one.notes,
              ElementsAre(HasSubstr(least_sampling), "--budget 12 s: 6 of 6 cells have fewer than 3 launches"));
  EXPECT_EQ(one.other[0].launches, 1);
  const Fitted fewer(8s);
  EXPECT_THAT(fewer.notes, ElementsAre(HasSubstr(least_sampling), HasSubstr("4 of 4 cells have fewer"),
                                       "--budget 8 s: batch 8 is not measured"));
  EXPECT_FALSE(fewer.overruns);
  EXPECT_EQ(fewer.one[2].row.status, CellStatus::kSkipped);
  EXPECT_EQ(fewer.one[2].row.reason_code, Reason::kNoTime);
  EXPECT_THAT(fewer.one[2].row.message, HasSubstr("--budget 8 s"));
  EXPECT_THAT(fewer.one[2].row.hint, HasSubstr("a larger --budget"));
  EXPECT_TRUE(fewer.other[1].runs());
  const Fitted least(2s);
  EXPECT_THAT(least.notes, ElementsAre(HasSubstr(least_sampling), HasSubstr("fewer than 3"),
                                       HasSubstr("batches 4, 8 are not measured")));
  EXPECT_TRUE(least.one[0].runs()) << "the smallest batch of a model stays";
  EXPECT_TRUE(least.overruns) << "two launches and two references";
}

TEST(TimePlan, BatchesThatTheUserNamesAreNotGivenUp) {
  FakeClock clock;
  TimePlan plan(2s, clock, clock.now_ns(), {});
  std::vector<Task> tasks = tasks_of("a", {1, 8});
  for (Task& task : tasks) task.default_batch = false;
  plan.add(tasks);
  plan.fit({&tasks}, 0);
  EXPECT_THAT(plan.given_up(), ElementsAre(HasSubstr("1.5 s"), HasSubstr("2 of 2 cells have fewer than 3 launches")));
  EXPECT_THAT(plan.given_up(1), Contains(HasSubstr("1 of 2 cells has fewer"))) << "what was measured counts";
  EXPECT_THAT(plan.given_up(0), ElementsAre(HasSubstr("1.5 s")));
  ASSERT_TRUE(plan.overrun());
  EXPECT_EQ(plan.overrun()->warning,
            "--budget 2 s: the plan was reduced as far as possible and takes about 4 s: it is measured anyway");
  EXPECT_EQ(plan.overrun()->note, "--budget 2 s: the plan was reduced as far as possible; expected time 4 s");
  clock.advance(9 * kSecond);
  EXPECT_THAT(plan.given_up(), Contains("--budget 2 s: the run took 9 s"));
  EXPECT_TRUE(tasks[1].runs());
}

TEST(TimePlan, WhatResumeKeptCostsNoTimeAndIsNotGivenUp) {
  FakeClock clock;
  TimePlan plan(17s, clock, clock.now_ns(), {});
  std::vector<Task> one = tasks_of("a", {1, 8}), other = tasks_of("b", {1, 8});
  const KeptLaunches all{.launches = 3, .missing = 0, .run_s = 0.001};
  plan.add(one, {all, all});
  plan.add(other, {{.launches = 1, .missing = 2, .run_s = 0.001}, {}});
  EXPECT_EQ(plan.launches(), 12U);
  EXPECT_NEAR(plan.left_s(), 5 * kLaunchS, 0.5);
  plan.fit({&one, &other}, 0);
  EXPECT_THAT(plan.given_up(), IsEmpty()) << "twelve launches would not fit";
  plan.begin(0);
  plan.prepared();
  for (std::size_t launch = 0; launch < 6; ++launch) plan.launched(launch % 2, ended(), true);
  EXPECT_EQ(plan.launches(), 12U);
  EXPECT_NEAR(plan.left_s(), 5 * kLaunchS, 0.5);
}

TEST(TimePlan, ACellThatLacksLaunchesAfterResumeGetsOneMoreAtLeast) {
  FakeClock clock;
  TimePlan plan(1s, clock, clock.now_ns(), {});
  std::vector<Task> tasks = tasks_of("a", {1, 4, 8});
  for (Task& task : tasks) task.row.planned_launches = 3;
  plan.add(tasks, {{.launches = 3, .missing = 0}, {.launches = 1, .missing = 2}, {.launches = 1, .missing = 3}});
  plan.fit({&tasks}, 0);
  EXPECT_EQ(tasks[0].launches, 3);
  EXPECT_THAT(tasks[0].notes, IsEmpty());
  EXPECT_EQ(tasks[1].launches, 2);
  EXPECT_EQ(tasks[1].max_time, 3s) << "the share of a launch stays";
  EXPECT_TRUE(tasks[1].runs());
  EXPECT_FALSE(tasks[2].runs()) << "none of its launches ended well";
}

TEST(TimePlan, LaunchesAreGivenUpWhereTheyTakeLongest) {
  FakeClock clock;
  TimePlan plan(44s, clock, clock.now_ns(), {});
  std::vector<Task> tasks = tasks_of("a", {1, 8});
  tasks[1].row.flops = 220e9;  // 2 s at the usual rate
  for (Task& task : tasks) task.max_time = 60s;
  plan.add(tasks);
  plan.fit({&tasks}, 0);
  EXPECT_THAT(plan.given_up(),
              ElementsAre(HasSubstr(" 1.5 to 10.0 s to warm up and sample"), HasSubstr("1 of 2 cells has fewer")))
      << "five runs of 2 s";
  EXPECT_EQ(tasks[0].launches, 3);
  EXPECT_LT(tasks[1].launches, 3);
}

TEST(TimePlan, SamplingComesBackWhenThereIsTimeAgain) {
  FakeClock clock;
  TimePlan plan(40s, clock, clock.now_ns(), {});
  std::vector<Task> one = tasks_of("a", {1, 4, 8}), other = tasks_of("b", {1, 4, 8});
  plan.add(one);
  plan.add(other);
  plan.fit({&one, &other}, 0);
  EXPECT_THAT(plan.given_up(), ElementsAre(HasSubstr("to warm up and sample in a launch")));
  EXPECT_LT(*other[0].max_time, 9s);
  EXPECT_FALSE(plan.has_time(0.1, false)) << "further rounds are given up first";
  plan.begin(0);
  plan.prepared();
  for (std::size_t cell = 0; cell < 3; ++cell) {
    clock.advance(kSecond);
    plan.launched(cell, ended(), false);
  }
  plan.end();  // it needed less than expected
  plan.fit({&one, &other}, 1);
  EXPECT_EQ(other[0].max_time, 12s);
  EXPECT_THAT(plan.given_up(), ElementsAre(HasSubstr("to warm up"))) << "the first model had less";
}

TEST(TimePlan, NoCellLosesItsFurtherLaunchesBecauseASampleIsShorter) {
  FakeClock clock;
  TimePlan plan(16s, clock, clock.now_ns(), {});
  std::vector<Task> tasks = tasks_of("a", {1});
  tasks[0].row.flops = 55e9;  // 0.5 s at the usual rate
  plan.add(tasks);
  plan.fit({&tasks}, 0);
  EXPECT_THAT(plan.given_up(), ElementsAre("--budget 16 s: 2.5 s to warm up and sample in a launch instead of 4.0 s",
                                           "--budget 16 s: the cell has fewer than 3 launches"));
  EXPECT_EQ(tasks[0].max_time, 5s) << "five runs in each of two launches";
  EXPECT_FALSE(fills_its_time(shared_time(tasks[0]), 500ms));
}

TEST(TimePlan, LaterModelsComeBeforeOptionalRounds) {
  FakeClock clock;
  TimePlan plan(60s, clock, clock.now_ns(), {});
  plan.add(tasks_of("a", {1}));
  plan.add(tasks_of("b", {1, 2}));
  plan.begin(0);
  plan.prepared();
  clock.advance(20 * kSecond);
  EXPECT_TRUE(plan.has_time(10, false));
  EXPECT_FALSE(plan.has_time(25, false)) << "6 launches of the other model need about 18 s";
  EXPECT_TRUE(plan.has_time(25, true)) << "those of the other model can be shorter";
  EXPECT_FALSE(plan.has_time(35, true));
}

TEST(TimePlan, APlannedRoundIsGivenUpIfLaterModelsCannotBeShorter) {
  FakeClock clock;
  TimePlan plan(60s, clock, clock.now_ns(), {});
  plan.add(tasks_of("a", {1}));
  std::vector<Task> later = tasks_of("b", std::vector<std::int64_t>(30, 1));
  for (Task& task : later) {
    task.launches = 1;
    task.max_time = 1500ms;  // 1.55 s with its start
  }
  plan.add(later);
  plan.begin(0);
  plan.prepared();
  clock.advance(10 * kSecond);
  EXPECT_TRUE(plan.has_time(2, true));
  EXPECT_FALSE(plan.has_time(9, true)) << "46 s come later";
}

TEST(TimePlan, AnExpectedLaunchHasItsRunsAndItsWeights) {
  TaskCost task;
  task.flops = 110e9;  // 1 s at the usual rate
  task.weight_bytes = 700e6;
  task.input_sets = 4;
  task.benchmark = false;
  const double load = 0.3 + 1;
  EXPECT_NEAR(expected_launch_s(task, {}).first_s, load + 4 * 1, 1e-9);
  EXPECT_NEAR(expected_launch_s(task, MachineRate{220e9, 1e12}).first_s, load + 4 * 0.5, 1e-9);
  task.benchmark = true;
  task.measure.warmup_iterations = 2;
  task.measure.iterations = 8;
  EXPECT_NEAR(expected_launch_s(task, {}).first_s, load + 4 + 1 + 10, 1e-9) << "one set again after sampling";
  EXPECT_NEAR(expected_launch_s(task, {}).later_s, load + 1 + 1 + 10, 1e-9) << "one set before";
  task.time.max_time = 5s;
  EXPECT_NEAR(expected_launch_s(task, {}).first_s, load + 4 + 1 + 5, 1e-9);
  task.verify = false;
  EXPECT_NEAR(expected_launch_s(task, {}).later_s, load + 1 + 5, 1e-9);
}

TEST(TimePlan, LearnsTheRateOfTheMachineFromLaunches) {
  FakeClock clock;
  TimePlan plan({}, clock, clock.now_ns(), {});
  std::vector<Task> small = tasks_of("small", {1}), large = tasks_of("large", {1});
  for (Task* task : {&small[0], &large[0]}) task->verify = false;
  small[0].row.flops = 40e9;
  large[0].row.flops = 220e9;  // 2 s at the usual rate: one launch, which has the whole time
  plan.add(small);
  plan.add(large);
  EXPECT_EQ(plan.launches(), 3U + 1);
  plan.begin(0);
  plan.prepared();
  clock.advance(3 * kSecond);
  plan.launched(0, ended(100), false);  // 400e9 in a second; with what was known before 255e9
  EXPECT_EQ(plan.launches(), 3U + 3) << "four runs of 0.86 s are less than a share";
}

TEST(TimePlan, LearnsTheRateOfTheMachineFromWhatResumeKept) {
  FakeClock clock;
  TimePlan plan({}, clock, clock.now_ns(), {});
  std::vector<Task> small = tasks_of("small", {1}), large = tasks_of("large", {1});
  small[0].row.flops = 40e9;
  large[0].row.flops = 220e9;
  plan.add(small, {{.launches = 3, .missing = 0, .run_s = 0.1}});
  plan.add(large);
  EXPECT_EQ(plan.launches(), 3U + 3);
}

/// A run that `bench/timeline.py` recorded: its tasks, and what happened when.
struct Recorded {
  Json json;
  explicit Recorded(const char* name)
      : json(read_json(std::filesystem::path(ASSAY_SOURCE_DIR) / "src/bench/run/testdata" / name).value()) {}

  static Task task_of(const Json& cell, const std::string& model) {
    Task task;
    task.engine = cell.at("target").get<std::string>();
    task.row.model = model;
    task.row.flops = cell.at("flops").get<double>();
    task.row.bytes = cell.at("bytes").get<double>();
    task.row.parameter_count = cell.at("parameters").get<std::int64_t>();
    task.shape.batch = cell.at("batch").get<std::int64_t>();
    task.row.input_hash = fmt::format("{} {}", model, task.shape.batch);
    if (cell.at("generates").get<bool>()) task.generation.emplace();
    task.inputs = {InputRecipe{.name = "x", .dtype = DType::kFloat32, .shape = {1}, .fill = Fill::kNormal}};
    task.input_sets = cell.at("sets").get<std::size_t>();
    task.launches = 3;
    task.max_time = 10s;
    return task;
  }

  /// The largest error of the forecast of the whole time, after the first tenth of it; and where it was.
  std::pair<double, std::string> worst_forecast(std::optional<std::chrono::nanoseconds> budget) const {
    FakeClock clock;
    const Json& rate = json.at("rate");
    TimePlan plan(budget, clock, clock.now_ns(), MachineRate{rate.at("flops_per_s"), rate.at("bytes_per_s")});
    std::vector<std::vector<Task>> tasks;
    for (const Json& model : json.at("models")) {
      tasks.emplace_back();
      for (const Json& cell : model.at("cells")) tasks.back().push_back(task_of(cell, model.at("model")));
      plan.add(tasks.back());
    }
    std::vector<std::vector<Task>*> all;
    for (std::vector<Task>& each : tasks) all.push_back(&each);
    const double total_s = json.at("total_s");
    std::pair<double, std::string> worst{0, ""};
    const auto look = [&](const Json& model, const char* at) {
      if (plan.elapsed_s() < total_s / 10) return;
      const double error = std::abs((plan.elapsed_s() + plan.left_s()) / total_s - 1);
      if (error > worst.first)
        worst = {error, fmt::format("{} {} at {:.0f} s: {:.0f} s left", model.at("model").get<std::string>(), at,
                                    plan.elapsed_s(), plan.left_s())};
    };
    const auto pass = [&](double seconds) { clock.advance(std::llround(seconds * kSecond)); };
    for (std::size_t m = 0; m < all.size(); ++m) {
      const Json& model = json.at("models")[m];
      plan.fit(all, m);
      plan.begin(m);
      look(model, "begins");
      pass(model.at("prepare_s"));
      plan.prepared();
      look(model, "prepared");
      for (const Json& launch : model.at("launches")) {
        pass(launch.at("s"));
        plan.launched(launch.at("cell"), ended(launch.at("median_ms")), false);
        look(model, "launched");
      }
      plan.end();
    }
    return worst;
  }
};

TEST(TimePlan, ForecastsOfRecordedRunsAreWithinAQuarterAfterTheFirstTenth) {
  for (const char* name : {"small_set_cold.json", "small_set_warm.json", "small_set_disturbed.json"}) {
    const auto [error, where] = Recorded(name).worst_forecast(6min);
    EXPECT_LE(error, 0.25) << name << ": " << where;
  }
}

}  // namespace
}  // namespace assay
