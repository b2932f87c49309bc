// SPDX-License-Identifier: Apache-2.0
#include "history/store/store.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <set>

#include "core/base/files.hpp"
#include "core/base/hash.hpp"
#include "core/base/text.hpp"
#include "core/stats/stats.hpp"
#include "history/store/child_for_test.hpp"
#include "history/store/store_for_test.hpp"
#include "history/store/unsaved.hpp"

namespace assay {
namespace {
namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(StoreTest, GivesBackTheResultsThatWereIngested) {
  Record record = add("a");
  Record failed = testing::fake_record("b", {});
  failed.status = CellStatus::kFailed;
  failed.reason_code = Reason::kWorkerDied;
  failed.message = "quotes ' and \" and ünïcode";
  failed.timestamp = "2026-03-03T00:00:00.000000Z";
  testing::write_fake_bundle(spool_, failed, {});
  {
    Store store = open();
    const auto report = store.ingest(spool_);
    ASSERT_TRUE(report) << to_string(report.error());
    EXPECT_EQ(report->bundles, 2U);
    EXPECT_EQ(report->samples, 50U);
    const auto results = store.results();
    ASSERT_TRUE(results) << to_string(results.error());
    ASSERT_THAT(*results, SizeIs(2));
    EXPECT_EQ(to_json((*results)[0]), to_json(cell_of(record)));
    EXPECT_EQ(to_json((*results)[1]), to_json(failed)) << "nothing was measured";
    const auto launches = store.launches();
    ASSERT_THAT(*launches, SizeIs(2));
    EXPECT_EQ(to_json((*launches)[0]), to_json(record)) << "as the bundle has it";
  }
  const auto run =
      query("SELECT run_id, started_at::VARCHAR, tool_version, command, host, hardware_id FROM benchmark_runs");
  ASSERT_THAT(run.rows, SizeIs(1));
  EXPECT_THAT(run.rows[0], ElementsAre("run-1", "2026-03-02 12:30:00", "0.1.0", "assay run --models-set small",
                                       "host-1", "machine-1"));
  const auto machine = query("SELECT processor, cpu_threads, memory_gb, gpu_count, info FROM hardware_info");
  ASSERT_THAT(machine.rows, SizeIs(1));
  EXPECT_THAT(machine.rows[0], ElementsAre("A CPU", 2, 25.5, nullptr, testing::fake_context().hardware.dump()));
}

TEST_F(StoreTest, SamplesSumToTheMeanAndQuantilesAreOurs) {
  const Record record = add("a", 997, 100);
  ASSERT_TRUE(open().ingest(spool_));
  const auto rows = query(
      "SELECT SUM(duration_ns)::DOUBLE / COUNT(*) / 1e6, COUNT(*), MIN(seq), quantile_disc(duration_ns, 0.5), "
      "quantile_disc(duration_ns, 0.9), quantile_disc(duration_ns, 0.95), quantile_disc(duration_ns, 0.99) FROM "
      "raw_benchmark_data JOIN benchmark_results USING (result_id) WHERE attempt_id = '" +
      record.attempt_id + "'");
  const auto& row = rows.rows.at(0);
  EXPECT_DOUBLE_EQ(row[0].get<double>(), *record.latency_mean_ms);
  EXPECT_EQ(row[1], 897);
  EXPECT_EQ(row[2], 100);
  const Samples samples = testing::fake_samples(997, std::hash<std::string>()("a"));
  std::vector<double> sorted(samples.duration_ns.begin() + 100, samples.duration_ns.end());
  std::sort(sorted.begin(), sorted.end());
  std::size_t column = 3;
  for (const double p : {0.5, 0.9, 0.95, 0.99})
    EXPECT_EQ(row[column++].get<double>(), stats::quantile_sorted(sorted, p)) << p;
}

TEST_F(StoreTest, NearestRankAgreesWithSqlForEverySmallCount) {
  add("a", 120);
  ASSERT_TRUE(open().ingest(spool_));
  const auto rows = query(
      "SELECT list(duration_ns::DOUBLE ORDER BY duration_ns)::VARCHAR, quantile_disc(duration_ns, [0.5, 0.9, 0.95, "
      "0.99])::VARCHAR FROM range(1, 121) AS counts(n) JOIN raw_benchmark_data ON seq < n GROUP BY n");
  ASSERT_THAT(rows.rows, SizeIs(120));
  for (const auto& row : rows.rows) {
    const auto sorted = parse_json(row[0].get<std::string>(), "list")->get<std::vector<double>>();
    const auto quantiles = parse_json(row[1].get<std::string>(), "list")->get<std::vector<double>>();
    std::size_t i = 0;
    for (const double p : {0.5, 0.9, 0.95, 0.99})
      EXPECT_EQ(quantiles[i++], stats::quantile_sorted(sorted, p)) << "n=" << sorted.size() << " p=" << p;
  }
}

TEST_F(StoreTest, SamplesComeBackWithTheirUnknownStarts) {
  const Record record = add("a", 5'000, 3);
  Store store = open();
  ASSERT_TRUE(store.ingest(spool_));
  const auto samples = store.samples(record.attempt_id);
  ASSERT_TRUE(samples) << to_string(samples.error());
  const Samples made = testing::fake_samples(5'000, std::hash<std::string>()("a"));
  const auto tail = [](const auto& values) { return std::vector(values.begin() + 3, values.end()); };
  EXPECT_EQ(samples->kind, tail(made.kind));
  EXPECT_EQ(samples->stream, tail(made.stream));
  EXPECT_EQ(samples->start_ns, tail(made.start_ns));
  EXPECT_EQ(samples->duration_ns, tail(made.duration_ns));
  EXPECT_EQ(store.samples("nobody").error().code, ErrorCode::kNotFound);
}

TEST_F(StoreTest, IngestingTwiceOrACopyChangesNothing) {
  const Record record = add("a");
  add("b");
  ASSERT_TRUE(open().ingest(spool_));
  const std::string before = dump();
  fs::copy(spool_ / record.task_key / record.attempt_id, spool_ / record.task_key / "copied-under-another-name");
  const auto again = open().ingest(spool_);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->bundles, 0U);
  EXPECT_EQ(again->known, 3U);
  EXPECT_EQ(dump(), before);
}

TEST_F(StoreTest, ADamagedBundleIsRefusedAndTheOthersAreIn) {
  const Record damaged = add("a");
  add("b");
  std::ofstream(spool_ / damaged.task_key / damaged.attempt_id / "samples.bin", std::ios::app) << "x";
  Store store = open();
  const auto report = store.ingest(spool_);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->bundles, 1U);
  ASSERT_THAT(report->refused, SizeIs(1));
  EXPECT_EQ(report->refused[0].code, ErrorCode::kMismatch);
  EXPECT_THAT(*store.results(), SizeIs(1));
}

TEST_F(StoreTest, AFolderWhoseNameIsNotTextIsRefusedAndTheOthersAreIn) {
  const Record attempt = add("a"), task = add("b");
  add("c");
  fs::rename(spool_ / attempt.task_key / attempt.attempt_id, spool_ / attempt.task_key / "att\xFF");
  fs::rename(spool_ / task.task_key, spool_ / "ta\xFE");
  const auto check = [](const IngestReport& report) {
    EXPECT_EQ(report.bundles, 1U);
    ASSERT_THAT(report.refused, SizeIs(2));
    for (const Error& refused : report.refused) {
      EXPECT_THAT(refused.message, ::testing::AnyOf(HasSubstr("att\\xff'"), HasSubstr("ta\\xfe'")));
      EXPECT_TRUE(is_utf8(to_string(refused)));
    }
  };
  {
    Store store = open();
    const auto report = store.ingest(spool_);
    ASSERT_TRUE(report) << to_string(report.error());
    check(*report);
    EXPECT_THAT(*store.results(), SizeIs(1));
  }
  const auto rebuilt = Store::rebuild(path_, spool_);
  ASSERT_TRUE(rebuilt) << to_string(rebuilt.error());
  check(rebuilt->ingested);
  fs::rename(spool_ / "ta\xFE", spool_ / task.task_key);
  EXPECT_EQ(open().ingest(spool_)->bundles, 1U) << "renamed, as the message says";
}

TEST_F(StoreTest, TextsOfABundleThatADatabaseCannotHoldAreCleaned) {
  const Record record = add("a");
  const fs::path bundle = spool_ / record.task_key / record.attempt_id;
  Json environment = *read_json(bundle / "environment.json");
  environment["run"]["command"] = std::string("assay \0 run", 11);
  std::ofstream(bundle / "environment.json") << environment.dump();
  std::string done = *read_file(bundle / "DONE");
  const std::size_t at = done.find("environment.json");
  done.replace(at - 66, 64, *sha256_file(bundle / "environment.json"));
  std::ofstream(bundle / "DONE") << done;
  const auto report = open().ingest(spool_);
  ASSERT_TRUE(report) << to_string(report.error());
  EXPECT_EQ(report->bundles, 1U);
  EXPECT_EQ(query("SELECT command FROM benchmark_runs").rows.at(0).at(0), "assay  run");
}

TEST_F(StoreTest, UnsavedBundlesThatAreIngestedStay) {
  const auto unsaved = [&](const std::string& model) {
    const auto run = UnsavedSpool::begin(spool_, "run-of-" + model);
    const Samples made = testing::fake_samples(20);
    testing::write_fake_bundle(run->path(), testing::fake_record(model, made), made);
    return run->path();
  };
  const fs::path first = unsaved("a"), second = unsaved("b");
  for (const fs::path& folder : {first, second, first / ""}) {
    const auto report = open().ingest(folder);
    ASSERT_TRUE(report) << to_string(report.error());
    EXPECT_THAT(report->refused, IsEmpty());
  }
  for (int i = 0; i < 12; ++i) ASSERT_TRUE(UnsavedSpool::begin(spool_, "later"));
  Store store = open();
  EXPECT_THAT(*store.results(), SizeIs(2));
  EXPECT_THAT(*store.verify(spool_), IsEmpty());
  EXPECT_THAT(*list_bundles(spool_), SizeIs(2));
}

TEST_F(StoreTest, KilledInMidIngestItLosesNothing) {
  for (int i = 0; i < 20; ++i) add(fmt::format("m{}", i), 10'000);
  // Killed while the transaction is open, wherever that happens to be.
  for (const int delay_us : {0, 3'000, 10'000, 25'000, 60'000}) {
    const pid_t child = ::fork();
    if (child == 0) {
      auto store = Store::open(path_, Store::Mode::kWrite);
      if (store) static_cast<void>(store->ingest(spool_));
      ::pause();
    }
    ::usleep(static_cast<useconds_t>(delay_us));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
  }
  Store store = open();
  ASSERT_TRUE(store.ingest(spool_));
  EXPECT_THAT(*store.results(), SizeIs(20));
  EXPECT_EQ(store.summary()->samples, 200'000U);
  EXPECT_THAT(*store.verify(spool_), IsEmpty());
}

TEST_F(StoreTest, FiltersAndKeepsTheLatestOfATask) {
  Record old = testing::fake_record("a", testing::fake_samples(10));
  Record newer = old, other = testing::fake_record("b", testing::fake_samples(10));
  newer.attempt_id = "newer";
  newer.timestamp = "2026-04-01T00:00:00.000000Z";
  newer.run_id = "run-2";
  for (const Record& record : {old, newer, other})
    testing::write_fake_bundle(spool_, record, testing::fake_samples(10));
  Store store = open();
  ASSERT_TRUE(store.ingest(spool_));
  const auto attempts = [&](const ResultFilter& filter) {
    std::vector<std::string> ids;
    const auto results = store.results(filter);
    EXPECT_TRUE(results) << to_string(results.error());
    for (const Record& record : *results) ids.push_back(record.attempt_id);
    return ids;
  };
  EXPECT_THAT(attempts({}), SizeIs(3));
  EXPECT_THAT(attempts({.task_key = old.task_key}), ElementsAre(old.attempt_id, "newer"));
  EXPECT_THAT(attempts({.run_id = "run-1", .model = "a"}), ElementsAre(old.attempt_id));
  EXPECT_THAT(attempts({.latest_per_task = true}), ElementsAre(other.attempt_id, "newer"));
  EXPECT_THAT(attempts({.run_id = "run-1", .latest_per_task = true}), SizeIs(2));
  EXPECT_THAT(attempts({.model = "' OR 1=1 --"}), IsEmpty());
}

TEST_F(StoreTest, TheLatestVerdictIsTheNewestThatJudged) {
  Record judged = testing::fake_record("a", {});
  judged.verification = Verification::kWrong;
  Record unjudged = judged;
  unjudged.attempt_id = unjudged.run_id = "unjudged";
  unjudged.timestamp = "2027-01-01T00:00:00.000000Z";
  unjudged.verification = Verification::kUnverified;
  Record with_older_verdict = judged;
  with_older_verdict.attempt_id = with_older_verdict.run_id = "with_older_verdict";
  with_older_verdict.timestamp = "2027-01-02T00:00:00.000000Z";
  with_older_verdict.verdict_source = judged.attempt_id;
  for (const Record& record : {judged, unjudged, with_older_verdict}) testing::write_fake_bundle(spool_, record, {});
  Store store = open();
  ASSERT_TRUE(store.ingest(spool_));
  const auto verdicts = store.results({.judged = true, .latest_per_task = true});
  ASSERT_TRUE(verdicts) << to_string(verdicts.error());
  ASSERT_THAT(*verdicts, SizeIs(1));
  EXPECT_EQ(verdicts->front().verification, Verification::kWrong);
  EXPECT_EQ(verdicts->front().timestamp, judged.timestamp);
  EXPECT_THAT(*store.results({.model = "another", .judged = true}), IsEmpty());
}

TEST_F(StoreTest, ResumingRunsAgainWhatFailedOrWasCutShort) {
  const auto put = [&](const std::string& model, CellStatus status, bool measured, bool partial = false) {
    Record record = testing::fake_record(model, measured ? testing::fake_samples(10) : Samples{});
    record.status = status;
    if (partial) record.flags.add(Flag::kPartial);
    testing::write_fake_bundle(spool_, record, {});
    return record.task_key;
  };
  const std::string done = put("done", CellStatus::kCompleted, true), wrong = put("wrong", CellStatus::kWrong, true),
                    refused = put("refused", CellStatus::kUnsupported, false),
                    verified = put("verified", CellStatus::kCompleted, false);
  put("failed", CellStatus::kFailed, false);
  put("partial", CellStatus::kCompleted, true, true);
  put("skipped", CellStatus::kSkipped, false);
  Store store = open();
  ASSERT_TRUE(store.ingest(spool_));
  const auto settled = [&](const char* run, bool with_latency) {
    std::set<std::string> keys;
    const auto rows = store.results({.run_id = run});
    for (const Record& row : *rows)
      if (row.settled(with_latency)) keys.insert(row.task_key);
    return keys;
  };
  EXPECT_EQ(settled("run-1", true), (std::set{done, wrong, refused}));
  EXPECT_EQ(settled("run-1", false), (std::set{done, wrong, refused, verified}));
  EXPECT_THAT(settled("run-2", true), IsEmpty());
}

TEST_F(StoreTest, VerifyFindsWhatChanged) {
  const Record changed = add("a"), gone = add("b");
  Store store = open();
  ASSERT_TRUE(store.ingest(spool_));
  EXPECT_THAT(*store.verify(spool_), IsEmpty());
  std::ofstream(spool_ / changed.task_key / changed.attempt_id / "manifest.json") << "{}";
  fs::remove_all(spool_ / gone.task_key);
  EXPECT_THAT(*store.verify(spool_), SizeIs(2));
}

TEST_F(StoreTest, AFullDiskFailsTheIngestAndNothingElse) {
  for (int i = 0; i < 3; ++i) add(fmt::format("m{}", i), 100'000);
  ASSERT_TRUE(Store::init(path_, spool_, false));
  const int status = testing::in_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    auto store = Store::open(path_, Store::Mode::kWrite);
    const struct rlimit bound {
      400'000, 400'000
    };
    ::setrlimit(RLIMIT_FSIZE, &bound);
    const auto report = store->ingest(spool_);
    ::_exit(report ? 1 : 0);
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  Store store = open();
  EXPECT_THAT(*store.results(), IsEmpty());
  EXPECT_EQ(store.ingest(spool_)->samples, 300'000U);
}

// Not a test of speed, which machines differ in: prints the figure of docs/performance.md.
}  // namespace
}  // namespace assay
