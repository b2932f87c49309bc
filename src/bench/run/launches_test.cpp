// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "bench/run/resumed.hpp"
#include "bench/run/run_testing.hpp"
#include "core/result/launch_medians.hpp"
#include "core/samples/launches.hpp"
#include "history/store/bundle.hpp"

// Rounds of launches with workers of the null engine.
namespace assay {
namespace {
using testing::complete_tasks;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::quick_settings;
using testing::services_in;
using ::testing::SizeIs;
using testing::zoo_model;
namespace fs = std::filesystem;

class Launching : public ::testing::Test {
 protected:
  void SetUp() override {
    settings_.batch_sizes = {1, 2, 4};
    settings_.launches = 3;
  }
  [[nodiscard]] std::vector<Task> tasks() {
    return complete_tasks(zoo_model("prajjwal1/bert-tiny", settings_, registry_, folder_.path()), settings_, registry_,
                          folder_.path());
  }
  /// Runs the tasks; fills launches_ and rows_.
  void run(std::vector<Task> tasks, ExecutorServices services) {
    launches_.clear();
    rows_.clear();
    const auto executor = LocalExecutor::create(testing::test_run(), std::move(services)).value();
    const Status done = executor->run(
        std::move(tasks), {.launched = [&](std::size_t, const Launch& launch) { launches_.push_back(launch); },
                           .finished = [&](std::size_t, const Record& row) { rows_.push_back(row); }});
    ASSERT_TRUE(done) << to_string(done.error());
  }
  void run() { run(tasks(), services_in(folder_.path(), registry_)); }
  /// "round batch process" of each launch.
  [[nodiscard]] std::vector<std::string> order() const {
    std::vector<std::string> lines;
    lines.reserve(launches_.size());
    for (const Launch& launch : launches_)
      lines.push_back(
          fmt::format("{} {} {}", *launch.row.launch_number, *launch.row.batch_size, to_string(launch.row.process)));
    return lines;
  }

  TemporaryDirectory folder_ = TemporaryDirectory::create().value();
  EngineRegistry registry_{testing::build_places()};
  RunSettings settings_ = quick_settings();
  std::vector<Launch> launches_;
  std::vector<Record> rows_;
};

TEST_F(Launching, EachRoundHasAFreshWorkerAndStartsWithTheNextShape) {
  ExecutorServices services = services_in(folder_.path(), registry_);
  std::vector<std::string> made;
  services.making = [&](const std::string& what) { made.push_back(what); };
  run(tasks(), services);
  EXPECT_THAT(order(), ElementsAre("1 1 fresh", "1 2 warm", "1 4 warm", "2 2 fresh", "2 4 warm", "2 1 warm",
                                   "3 4 fresh", "3 1 warm", "3 2 warm"));
  EXPECT_THAT(made, ElementsAre("building prajjwal1/bert-tiny")) << "once for all launches";
  ASSERT_THAT(rows_, SizeIs(3));
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    EXPECT_EQ(rows_[i].batch_size, settings_.batch_sizes[i]) << "in the order of the plan";
    EXPECT_EQ(rows_[i].launches, 3);
    EXPECT_EQ(rows_[i].latency_p50_interval, IntervalScope::kLaunches);
    EXPECT_EQ(rows_[i].verification, Verification::kVerified) << rows_[i].message;
  }
  EXPECT_THAT(list_bundles(folder_.path() / "spool").value(), SizeIs(9));
  EXPECT_TRUE(fs::is_empty(folder_.path() / "cache/models"));
}

TEST_F(Launching, WithoutWarmWorkersEachLaunchHasItsProcess) {
  ExecutorServices services = services_in(folder_.path(), registry_);
  services.keep_workers = false;
  run(tasks(), services);
  ASSERT_THAT(launches_, SizeIs(9));
  for (const Launch& launch : launches_) EXPECT_EQ(launch.row.process, Process::kFresh);
}

TEST_F(Launching, ACellThatCrashesIsNotLaunchedAgainAndTheOthersGoOn) {
  settings_.engine_options = {{"crash_at_run", "4"}, {"only_batch", "2"}};
  run();
  EXPECT_THAT(launches_, SizeIs(7));
  ASSERT_THAT(rows_, SizeIs(3));
  EXPECT_EQ(rows_[0].launches, 3);
  EXPECT_EQ(rows_[1].reason_code, Reason::kWorkerDied);
  EXPECT_EQ(rows_[2].launches, 3);
}

TEST_F(Launching, FilesOfFixedShapesAreMadeOnceForAllLaunches) {
  // The prepared model, which has files too, ends here.
  std::vector<Task> tasks =
      testing::complete_tasks(zoo_model("prajjwal1/bert-tiny", settings_, registry_, folder_.path()), settings_,
                              registry_, folder_.path(), /*static_shapes=*/true);
  std::map<std::int64_t, std::set<std::string>> folders;  // in the cache, by round
  ExecutorServices services = services_in(folder_.path(), registry_);
  const auto executor = LocalExecutor::create(testing::test_run(), services).value();
  const Status done = executor->run(std::move(tasks), {.launched = [&](std::size_t, const Launch& launch) {
                                      EXPECT_EQ(launch.row.status, CellStatus::kCompleted) << launch.row.message;
                                      for (const auto& entry : fs::directory_iterator(folder_.path() / "cache/models"))
                                        folders[*launch.row.launch_number].insert(entry.path().filename());
                                    }});
  ASSERT_TRUE(done);
  EXPECT_GE(folders[2].size(), 4U);
  EXPECT_EQ(folders[2], folders[3]) << "nothing is written in the last round";
  EXPECT_TRUE(fs::is_empty(folder_.path() / "cache/models"));
}

TEST_F(Launching, AnInterruptionKeepsTheLaunchesBeforeAndResumingAddsThoseThatAreMissing) {
  ExecutorServices services = services_in(folder_.path(), registry_);
  services.cancelled = [&] { return launches_.size() >= 5; };
  run(tasks(), services);
  EXPECT_THAT(order(), ElementsAre("1 1 fresh", "1 2 warm", "1 4 warm", "2 2 fresh", "2 4 warm"));
  ASSERT_THAT(rows_, SizeIs(3));
  EXPECT_EQ(rows_[0].launches, 1);
  EXPECT_EQ(rows_[1].launches, 2);

  services = services_in(folder_.path(), registry_);
  for (Launch launch : launches_) {
    launch.resumed = true;
    services.resumed[resume_key(launch.row)].push_back(std::move(launch));
  }
  run(tasks(), services);
  std::vector<std::string> fresh;
  for (const Launch& launch : launches_)
    if (!launch.resumed) fresh.push_back(fmt::format("{} {}", *launch.row.launch_number, *launch.row.batch_size));
  EXPECT_THAT(fresh, ElementsAre("3 4", "3 1", "3 2", "4 1")) << "rounds have new numbers";
  ASSERT_THAT(rows_, SizeIs(3));
  for (const Record& row : rows_) {
    EXPECT_EQ(row.launches, 3);
    EXPECT_EQ(row.attempt_number, 1);
  }
}

TEST_F(Launching, ALaunchThatIsInterruptedDoesNotSpoilItsCell) {
  settings_.batch_sizes = {1};
  settings_.engine_options = {{"cost_ns", "100000000"}};
  ExecutorServices services = services_in(folder_.path(), registry_);
  bool stop = false;
  services.cancelled = [&] { return stop; };
  services.doing = [&](const std::string& what) {
    stop = stop || (launches_.size() == 1 && what.ends_with(": measuring"));
  };
  run(tasks(), services);
  ASSERT_THAT(launches_, SizeIs(2));
  EXPECT_FALSE(settled(launches_[1].row));
  ASSERT_THAT(rows_, SizeIs(1));
  EXPECT_EQ(rows_[0].status, CellStatus::kCompleted);
  EXPECT_EQ(rows_[0].launches, 1);
}

TEST_F(Launching, ResumingTriesACellThatFailedAgain) {
  settings_.batch_sizes = {1};
  run();
  ExecutorServices services = services_in(folder_.path(), registry_);
  for (Launch launch : launches_) {
    launch.resumed = true;
    if (launch.row.launch_number == 3) {
      launch.row.status = CellStatus::kFailed;
      launch.row.reason_code = Reason::kWorkerDied;
    }
    services.resumed[resume_key(launch.row)].push_back(std::move(launch));
  }
  run(tasks(), services);
  ASSERT_THAT(rows_, SizeIs(1));
  EXPECT_EQ(rows_[0].status, CellStatus::kCompleted) << rows_[0].message;
  EXPECT_EQ(rows_[0].attempt_number, 2);
  EXPECT_EQ(rows_[0].launch_p50_ms.back().launch, 4);
  EXPECT_EQ(rows_[0].launches, 3);
}

TEST_F(Launching, OtherOutputsInALaterLaunchAreANote) {
  settings_.batch_sizes = {1};
  ExecutorServices services = services_in(folder_.path(), registry_);
  run(tasks(), services);
  EXPECT_EQ(rows_.at(0).message.find("outputs of launches"), std::string::npos);
  Launch other = launches_.at(0);
  other.resumed = true;
  other.outputs = R"({"set0_sha256": "those of another process"})";
  services.resumed[resume_key(other.row)] = {other};
  run(tasks(), services);
  EXPECT_THAT(rows_.at(0).message, HasSubstr("the outputs of launches differ, within the limit"));
  services.resumed[resume_key(other.row)].front().outputs = R"({"set3_sha256": "another one"})";
  run(tasks(), services);
  EXPECT_THAT(rows_.at(0).message, HasSubstr("the outputs of launches differ, within the limit"));
}

TEST_F(Launching, OutputsThatCannotBeComparedAreSaid) {
  settings_.batch_sizes = {1};
  ExecutorServices services = services_in(folder_.path(), registry_);
  run(tasks(), services);
  Launch none = launches_.at(0), other = launches_.at(0);
  none.resumed = other.resumed = true;
  none.outputs = "";
  other.outputs = R"({"set9_sha256": "of a set that others did not run"})";
  services.resumed[resume_key(other.row)] = {none, other};
  run(tasks(), services);
  EXPECT_THAT(rows_.at(0).message, HasSubstr("the outputs of launches were not compared with each other: they ran "
                                             "different input sets"));
}

TEST_F(Launching, AnEngineWhoseRunsFillTheTimeHasOneLaunch) {
  settings_.batch_sizes = {1};
  settings_.measure.iterations = 3;
  settings_.engine_options = {{"cost_ns", "20000000"}};
  settings_.max_time = std::chrono::milliseconds(120);
  run();
  ASSERT_THAT(rows_, SizeIs(1));
  EXPECT_EQ(rows_[0].launches, 1) << "four runs of 20 ms are more than a third of 120 ms";
  EXPECT_THAT(rows_[0].message,
              HasSubstr("1 of 3 launches: a warm-up and three runs take all the time of a cell (--max-time)"));
}

TEST_F(Launching, ALaterLaunchThatFillsTheTimeIsSaid) {
  settings_.batch_sizes = {1};
  run();
  Launch first = launches_.at(0);
  first.resumed = true;
  ExecutorServices services = services_in(folder_.path(), registry_);
  services.resumed[resume_key(first.row)] = {first};
  std::vector<Task> slow = tasks();
  slow.at(0).max_time = std::chrono::milliseconds(120);
  slow.at(0).load.options.emplace_back("cost_ns", "20000000");
  run(std::move(slow), services);
  ASSERT_THAT(rows_, SizeIs(1));
  EXPECT_EQ(rows_[0].launches, 2) << "the second one was slow";
  EXPECT_EQ(rows_[0].planned_launches, 3);
  EXPECT_EQ(rows_[0].message, "2 of 3 launches: a warm-up and three runs take all the time of a cell (--max-time)");
}

// As the database derives it, without samples.
Record row_of_bundles(const fs::path& spool, const std::string& task_key) {
  std::vector<Record> rows;
  const std::vector<fs::path> folders = list_bundles(spool).value();
  for (const fs::path& folder : folders) rows.push_back(read_bundle(folder).value().record);
  std::erase_if(rows, [&](const Record& row) { return row.task_key != task_key; });
  std::vector<LaunchSamples> launches;
  launches.reserve(rows.size());
  for (const Record& row : rows) launches.push_back({&row, nullptr});
  return combine_launches(launches);
}

TEST_F(Launching, ARoundForWhichThereIsNoTimeIsLeftOutAndTheRowsSayWhy) {
  const auto with_rounds = [&](int rounds, bool fewer_planned) {
    std::vector<Task> planned = tasks();
    for (Task& task : planned) task.launches = fewer_planned ? 2 : 3;
    ExecutorServices services = services_in(folder_.path(), registry_);
    fs::remove_all(services.spool);
    int asked = 0;
    services.has_time = [&](double seconds, ExecutorServices::Round round) {
      EXPECT_GT(seconds, 0);
      EXPECT_EQ(round, ExecutorServices::Round::kPlanned);
      return ++asked < rounds;
    };
    run(std::move(planned), services);
    EXPECT_THAT(launches_, SizeIs(3 * rounds));
    EXPECT_THAT(rows_, SizeIs(3));
    for (const Record& row : rows_) {
      EXPECT_EQ(row.launches, rounds);
      EXPECT_EQ(row.planned_launches, 3);
      EXPECT_EQ(row.message, fmt::format("{} of 3 launches: --budget left no time for more", rounds));
      EXPECT_TRUE(row.flags.has(Flag::kLimitedByBudget));
      const Record stored = row_of_bundles(services.spool, row.task_key);
      EXPECT_EQ(std::tuple(stored.status, stored.launches, stored.flags, stored.message),
                std::tuple(row.status, row.launches, row.flags, row.message));
    }
  };
  with_rounds(2, false);
  with_rounds(1, false);
  with_rounds(1, true);
}

TEST_F(Launching, FewerPlannedLaunchesForTheBudgetAreSaid) {
  std::vector<Task> planned = tasks();
  for (Task& task : planned) task.launches = 2;
  run(std::move(planned), services_in(folder_.path(), registry_));
  ASSERT_THAT(rows_, SizeIs(3));
  for (const Record& row : rows_) {
    EXPECT_EQ(row.launches, 2);
    EXPECT_TRUE(row.flags.has(Flag::kLimitedByBudget));
    EXPECT_EQ(row.message, "2 of 3 launches: --budget left no time for more");
  }
  for (const Launch& launch : launches_)
    EXPECT_EQ(launch.row.flags.has(Flag::kLimitedByBudget), launch.row.launch_number == 2) << "the last one knows";
}

TEST_F(Launching, APairThatIsUndecidedGetsFurtherRounds) {
  settings_.batch_sizes = {1};
  settings_.engine_options = {{"cost_ns", "1000000"}};
  std::vector<Task> pair = tasks();
  pair.push_back(pair.at(0));
  pair.back().row.hardware = "qnn";  // the same cell on a second target
  run(std::move(pair), services_in(folder_.path(), registry_));
  ASSERT_THAT(rows_, SizeIs(2));
  for (const Record& row : rows_)
    if (!row.ranked()) GTEST_SKIP() << "other programs disturbed the cells so much that they are not compared";
  EXPECT_GE(*rows_[0].launches, 6) << "equal cells stay undecided until six rounds, at least";
  EXPECT_LE(*rows_[0].launches, 10);
  EXPECT_EQ(rows_[0].launches, rows_[1].launches);
}

TEST_F(Launching, CellsThatContradictEachOtherAreLaunchedOnceMore) {
  settings_.batch_sizes = {1, 2};
  const auto contradicting = [&] {
    std::vector<Task> planned = tasks();
    planned.at(0).load.options.emplace_back("cost_ns", "5000000");  // batch 2 takes next to nothing
    return planned;
  };
  run(contradicting(), services_in(folder_.path(), registry_));
  ASSERT_THAT(rows_, SizeIs(2));
  for (const Record& row : rows_) {
    EXPECT_EQ(row.launches, 4) << launch_medians_text(row.launch_p50_ms);
    EXPECT_EQ(row.planned_launches, 3);
    EXPECT_EQ(row.launch_p50_ms.back().launch, 4);
  }

  ExecutorServices services = services_in(folder_.path(), registry_);
  services.has_time = [](double, ExecutorServices::Round round) { return round != ExecutorServices::Round::kRepeated; };
  run(contradicting(), services);
  ASSERT_THAT(rows_, SizeIs(2));
  for (const Record& row : rows_) EXPECT_EQ(row.launches, 3) << "there is no time";
}

TEST_F(Launching, FilesOfACellThatEndedMakeRoomForThoseOfOthers) {
  settings_.batch_sizes = {1, 2};
  settings_.launches = 4;
  std::vector<Task> planned =
      testing::complete_tasks(zoo_model("prajjwal1/bert-tiny", settings_, registry_, folder_.path()), settings_,
                              registry_, folder_.path(), /*static_shapes=*/true);
  ExecutorServices services = services_in(folder_.path(), registry_);
  services.kept_bytes_limit = 25'000'000;  // each of the two files has 17.5 MB
  int loads = 0;
  services.doing = [&](const std::string& what) {
    if (what.ends_with("batch_1_seq_16: loading") && ++loads == 2) throw std::runtime_error("the second launch fails");
  };
  std::map<std::int64_t, std::set<std::string>> folders;  // when batch 2 was launched, by round
  const auto executor = LocalExecutor::create(testing::test_run(), services).value();
  const Status done = executor->run(
      std::move(planned), {.launched =
                               [&](std::size_t task, const Launch& launch) {
                                 if (task != 1) return;
                                 EXPECT_EQ(launch.row.status, CellStatus::kCompleted) << launch.row.message;
                                 for (const auto& entry : fs::directory_iterator(folder_.path() / "cache/models"))
                                   folders[*launch.row.launch_number].insert(entry.path().filename());
                               },
                           .finished = [&](std::size_t, const Record& row) { rows_.push_back(row); }});
  ASSERT_TRUE(done);
  ASSERT_THAT(rows_, SizeIs(2));
  EXPECT_EQ(rows_[0].status, CellStatus::kFailed);
  EXPECT_NE(folders[1], folders[2]) << "no room beside those of batch 1";
  EXPECT_EQ(folders[3], folders[4]) << "batch 1 needs its files no longer";
}

}  // namespace
}  // namespace assay
