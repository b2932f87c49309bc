// SPDX-License-Identifier: Apache-2.0
#include "store/store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <set>

#include "base/files.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"
#include "measure/launches.hpp"
#include "stats/stats.hpp"
#include "store/fake_bundles.hpp"
#include "store/schema.hpp"
#include "store/unsaved.hpp"

namespace assay {
namespace {
namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class StoreTest : public ::testing::Test {
 protected:
  const TemporaryDirectory folder_ = *TemporaryDirectory::create();
  const fs::path path_ = folder_.path() / "history.duckdb";
  const fs::path spool_ = default_spool(path_);

  [[nodiscard]] Store open(Store::Mode mode = Store::Mode::kWrite) const {
    auto store = Store::open(path_, mode);
    EXPECT_TRUE(store) << to_string(store.error());
    return std::move(*store);
  }
  Record add(const std::string& model, std::size_t samples = 50, std::size_t steady_from = 0) const {
    const Samples made = testing::fake_samples(samples, std::hash<std::string>()(model));
    Record record = testing::fake_record(model, made, steady_from);
    testing::write_fake_bundle(spool_, record, made);
    return record;
  }
  [[nodiscard]] duckdb::Rows query(const std::string& sql) const {
    auto database = duckdb::open_database(path_, duckdb::Access::kReadOnly);
    EXPECT_TRUE(database) << to_string(database.error());
    auto rows = database->query(sql);
    EXPECT_TRUE(rows) << to_string(rows.error());
    return std::move(*rows);
  }
  /// The row of a cell with one launch.
  static Record cell_of(const Record& launch) {
    const LaunchSamples only[] = {{&launch, nullptr}};
    return combine_launches(only);
  }
  /// Everything that a reader can see, but for the time of ingesting.
  [[nodiscard]] std::string dump() const {
    std::string text;
    for (const char* sql :
         {"SELECT sha256, path, attempt_id, result_id, samples, launch_id FROM bundles ORDER BY ALL",
          "SELECT * FROM launches ORDER BY launch_id",
          ("SELECT run_id, started_at::VARCHAR, command, host, hardware_id, environment FROM benchmark_runs "
           "ORDER BY ALL"),
          "SELECT * FROM hardware_info ORDER BY ALL", "SELECT * FROM benchmark_results ORDER BY result_id",
          "SELECT * REPLACE (kind::VARCHAR AS kind) FROM raw_benchmark_data ORDER BY ALL"})
      for (const auto& row : query(sql).rows) text += Json(row).dump() + "\n";
    return text;
  }
  template <class Body>
  static int in_child(Body body) {
    const pid_t child = ::fork();
    if (child == 0) {
      body();
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return status;
  }
};

TEST_F(StoreTest, GivesBackTheResultsThatWereIngested) {
  Record record = add("a");
  Record failed = testing::fake_record("b", {});
  failed.status = CellStatus::kFailed;
  failed.reason_code = "worker_died";
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

TEST_F(StoreTest, RebuildingFromUnsavedBundlesMovesThemToo) {
  const fs::path run = UnsavedSpool::begin(spool_, "run")->path();
  testing::write_fake_bundle(run, testing::fake_record("a", {}), {});
  const auto rebuilt = Store::rebuild(path_, run);
  ASSERT_TRUE(rebuilt) << to_string(rebuilt.error());
  EXPECT_EQ(rebuilt->ingested.bundles, 1U);
  EXPECT_THAT(*list_bundles(spool_), SizeIs(1));
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

TEST_F(StoreTest, AnotherProcessThatHoldsItIsNamedAndTheBundlesStay) {
  add("a");
  int ready[2], done[2];
  ASSERT_EQ(::pipe(ready) | ::pipe(done), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(done[1]);
    auto store = Store::open(path_, Store::Mode::kWrite);
    char byte = store ? 'y' : 'n';
    if (::write(ready[1], &byte, 1) != 1 || ::read(done[0], &byte, 1) < 0) ::_exit(1);
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ASSERT_EQ(byte, 'y');
  for (const Store::Mode mode : {Store::Mode::kWrite, Store::Mode::kRead}) {
    const auto store = Store::open(path_, mode);
    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().code, ErrorCode::kStoreBusy);
    EXPECT_THAT(store.error().message, HasSubstr(fmt::format("PID {}", child)));
    EXPECT_THAT(store.error().hint, HasSubstr(mode == Store::Mode::kWrite ? "history.snapshot.duckdb" : "--db-path"));
  }
  EXPECT_EQ(Store::init(path_, spool_, true).error().code, ErrorCode::kStoreBusy);
  EXPECT_EQ(Store::rebuild(path_, spool_).error().code, ErrorCode::kStoreBusy);
  ::close(done[1]);
  int status = 0;
  ::waitpid(child, &status, 0);
  for (const int fd : {ready[0], ready[1], done[0]}) ::close(fd);
  EXPECT_EQ(open().ingest(spool_)->bundles, 1U);
}

TEST_F(StoreTest, AForeignProgramThatHoldsItIsNamedToo) {
  ASSERT_TRUE(Store::init(path_, spool_, false));
  int ready[2], done[2];
  ASSERT_EQ(::pipe(ready) | ::pipe(done), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(done[1]);
    auto database = duckdb::Database::open(path_, duckdb::Access::kReadWrite);  // without our lock
    char byte = database ? 'y' : 'n';
    if (::write(ready[1], &byte, 1) != 1 || ::read(done[0], &byte, 1) < 0) ::_exit(1);
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  const auto store = Store::open(path_, Store::Mode::kWrite);
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::kStoreBusy);
  EXPECT_THAT(store.error().message, HasSubstr(fmt::format("PID {}", child)));
  ::close(done[1]);
  int status = 0;
  ::waitpid(child, &status, 0);
  for (const int fd : {ready[0], ready[1], done[0]}) ::close(fd);
}

TEST_F(StoreTest, TwoWritersInOneProcessAreRefusedWhichDuckdbItselfDoesNot) {
  const Store first = open();
  const auto second = Store::open(path_, Store::Mode::kWrite);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kStoreBusy);
  EXPECT_THAT(second.error().message, HasSubstr("this process itself"));
}

TEST_F(StoreTest, AWriterIsRefusedWhileSomeoneReadsAndTheMessageNamesTheReader) {
  static_cast<void>(open());
  const Store reader = open(Store::Mode::kRead), another = open(Store::Mode::kRead);
  const auto writer = Store::open(path_, Store::Mode::kWrite);
  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.error().code, ErrorCode::kStoreBusy);
  EXPECT_THAT(writer.error().message, HasSubstr("a reader"));
}

TEST_F(StoreTest, RebuildGivesTheSameDatabase) {
  for (int i = 0; i < 5; ++i) add(fmt::format("m{}", i), 100, 7);
  ASSERT_TRUE(open().ingest(spool_));
  const std::string before = dump();
  std::ofstream(path_) << "spoiled";
  const auto rebuilt = Store::rebuild(path_, spool_);
  ASSERT_TRUE(rebuilt) << to_string(rebuilt.error());
  EXPECT_EQ(rebuilt->ingested.bundles, 5U);
  ASSERT_TRUE(rebuilt->kept);
  EXPECT_EQ(*read_file(*rebuilt->kept), "spoiled");
  EXPECT_EQ(dump(), before);
  const auto again = Store::rebuild(path_, spool_);
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->kept) << "all of it is in the new one";
  EXPECT_EQ(dump(), before);
}

TEST_F(StoreTest, RebuildKeepsTheOldDatabaseWhenASpoolLacksSomeOfIt) {
  const Record gone = add("a");
  add("b");
  ASSERT_TRUE(open().ingest(spool_));
  fs::remove_all(spool_ / gone.task_key);
  const auto rebuilt = Store::rebuild(path_, spool_);
  ASSERT_TRUE(rebuilt);
  EXPECT_EQ(rebuilt->ingested.bundles, 1U);
  ASSERT_TRUE(rebuilt->kept);
  EXPECT_THAT(*Store::open(*rebuilt->kept, Store::Mode::kRead)->results(), SizeIs(2));
  EXPECT_EQ(Store::rebuild(path_, folder_.path() / "no-spool").error().code, ErrorCode::kNotFound);
}

TEST_F(StoreTest, RebuildKeepsAnOldDatabaseThatCanBeOpenedButNotRead) {
  for (int i = 0; i < 5; ++i) add(fmt::format("m{}", i), 100, 7);
  ASSERT_TRUE(open().ingest(spool_));
  {
    auto database = duckdb::open_database(path_, duckdb::Access::kReadWrite);
    ASSERT_TRUE(database->execute("DROP VIEW IF EXISTS latest_results; DROP TABLE benchmark_results CASCADE"));
  }
  const auto rebuilt = Store::rebuild(path_, spool_);
  ASSERT_TRUE(rebuilt) << to_string(rebuilt.error());
  EXPECT_EQ(rebuilt->ingested.bundles, 5U);
  EXPECT_TRUE(rebuilt->kept);
  EXPECT_THAT(*open().results(), SizeIs(5));
}

TEST_F(StoreTest, RebuildKeepsADatabaseWithTablesOfUsersAndPublishesTheSnapshot) {
  add("a");
  ASSERT_TRUE(open().ingest(spool_));
  ASSERT_TRUE(duckdb::open_database(path_, duckdb::Access::kReadWrite)
                  ->execute("CREATE VIEW fastest AS SELECT * FROM benchmark_results"));
  const auto rebuilt = Store::rebuild(path_, spool_);
  ASSERT_TRUE(rebuilt) << to_string(rebuilt.error());
  ASSERT_TRUE(rebuilt->kept);
  EXPECT_TRUE(duckdb::open_database(*rebuilt->kept, duckdb::Access::kReadOnly)->query("SELECT * FROM fastest"));
  const auto snapshot = duckdb::open_database(folder_.path() / "history.snapshot.duckdb", duckdb::Access::kReadOnly);
  ASSERT_TRUE(snapshot);
  EXPECT_FALSE(Store::rebuild(path_, spool_)->kept) << "now there is nothing of a user";
}

TEST_F(StoreTest, InitOverwritesOnlyOnRequestAndMovesTheOldFilesAside) {
  ASSERT_THAT(*Store::init(path_, spool_, false), IsEmpty());
  add("a");
  ASSERT_TRUE(open().ingest(spool_));
  const auto refused = Store::init(path_, spool_, false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(refused.error().hint, HasSubstr("--overwrite"));
  const auto kept = Store::init(path_, spool_, true);
  ASSERT_TRUE(kept) << to_string(kept.error());
  ASSERT_THAT(*kept, SizeIs(2));
  EXPECT_THAT(*open().results(), IsEmpty());
  EXPECT_EQ(open().ingest(spool_)->bundles, 0U);
  EXPECT_THAT(*Store::open((*kept)[0], Store::Mode::kRead)->results(), SizeIs(1));
  EXPECT_THAT(*list_bundles((*kept)[1]), SizeIs(1));
}

TEST_F(StoreTest, ReadersUseTheSnapshotWhileAWriterWorks) {
  const Record record = add("a");
  Store writer = open();
  ASSERT_TRUE(writer.ingest(spool_));
  ASSERT_EQ(*writer.publish_snapshot(), folder_.path() / "history.snapshot.duckdb");
  ASSERT_TRUE(writer.publish_snapshot());
  Store reader = open(Store::Mode::kRead);
  EXPECT_EQ(reader.path(), folder_.path() / "history.snapshot.duckdb");
  const auto results = reader.results();
  ASSERT_THAT(*results, SizeIs(1));
  EXPECT_EQ(to_json(results->front()), to_json(cell_of(record)));
  EXPECT_EQ(to_json(reader.launches()->front()), to_json(record));
  EXPECT_EQ(reader.summary()->samples, 50U);
  EXPECT_EQ(reader.samples(record.attempt_id).error().code, ErrorCode::kStoreBusy);
  EXPECT_EQ(reader.verify(spool_).error().code, ErrorCode::kStoreBusy) << "all samples would seem lost";
}

TEST_F(StoreTest, SqlOnSamplesIsRefusedWhileAWriterWorksInsteadOfAnsweredWithNone) {
  add("a");
  Store writer = open();
  ASSERT_TRUE(writer.ingest(spool_));
  ASSERT_TRUE(writer.publish_snapshot());
  Store reader = open(Store::Mode::kRead);
  for (const char* sql :
       {"SELECT count(*), avg(duration_ns) FROM raw_benchmark_data", "SELECT count(*) FROM samples",
        "SELECT model, median(duration_ns) FROM benchmark_results JOIN raw_benchmark_data USING (result_id) WHERE kind "
        "= "
        "'run' GROUP BY ALL",
        "WITH s AS (SELECT * FROM main.samples) SELECT (SELECT max(seq) FROM s)", "SUMMARIZE raw_benchmark_data"}) {
    const auto rows = reader.ask_sql(sql, 10);
    ASSERT_FALSE(rows) << sql;
    EXPECT_EQ(rows.error().code, ErrorCode::kStoreBusy) << rows.error().message;
    EXPECT_THAT(rows.error().message, HasSubstr("history.snapshot.duckdb' has no samples to query"));
  }
  EXPECT_TRUE(reader.ask_sql("SELECT count(*) FROM benchmark_results", 10));
  EXPECT_TRUE(reader.ask_sql("DESCRIBE samples", 10));
  // A notebook that opens the snapshot, as the manual says.
  auto notebook = duckdb::open_database(reader.path(), duckdb::Access::kReadOnly);
  EXPECT_THAT(notebook->query("SELECT count(*) FROM raw_benchmark_data").error().message,
              HasSubstr("a snapshot has no samples"));
  const auto exported = open(Store::Mode::kRead).export_tables(folder_.path() / "out", ExportFormat::kCsv, false);
  ASSERT_TRUE(exported) << to_string(exported.error());
  EXPECT_EQ(exported->back().rows, 50U);
}

TEST_F(StoreTest, LookingWhetherItCanBeWrittenChangesNothing) {
  EXPECT_FALSE(Store::check_writable(path_)->older);
  EXPECT_TRUE(fs::is_empty(folder_.path()));
  ASSERT_TRUE(duckdb::create_database(path_, duckdb::migrations().first(duckdb::migrations().size() - 1)));
  const std::string before = *sha256_file(path_);
  const auto older = Store::check_writable(path_);
  ASSERT_TRUE(older) << to_string(older.error());
  EXPECT_TRUE(older->older);
  EXPECT_EQ(*sha256_file(path_), before) << "an older assay can still read it";
  {
    const Store writer = open();
    EXPECT_EQ(Store::check_writable(path_).error().code, ErrorCode::kStoreBusy);
  }
  EXPECT_FALSE(Store::check_writable(path_)->older);
  ASSERT_TRUE(duckdb::Database::open(path_, duckdb::Access::kReadWrite)
                  ->execute("INSERT INTO schema_version (version) VALUES (99)"));
  EXPECT_THAT(Store::check_writable(path_).error().message, HasSubstr("has schema version 99"));
  std::ofstream(path_, std::ios::trunc) << "not a database, but long enough to be looked at";
  EXPECT_FALSE(Store::check_writable(path_));
}

TEST_F(StoreTest, ADatabaseOfAnyNameHasASnapshotWithTheSameTablesAndViews) {
  for (const char* name : {"main.duckdb", "snapshot.duckdb", "a.b.duckdb", "temp.duckdb", "it's \"mine\".duckdb"}) {
    auto writer = Store::open(folder_.path() / name, Store::Mode::kWrite);
    ASSERT_TRUE(writer) << to_string(writer.error());
    const auto snapshot = writer->publish_snapshot();
    ASSERT_TRUE(snapshot) << to_string(snapshot.error());
    auto copy = duckdb::open_database(*snapshot, duckdb::Access::kReadOnly);
    ASSERT_TRUE(copy) << to_string(copy.error());
    const std::string relations =
        "SELECT table_name, column_name, data_type FROM information_schema.columns ORDER BY ALL";
    const fs::path fresh = folder_.path() / "fresh.duckdb";
    ASSERT_TRUE(duckdb::create_database(fresh));
    auto expected = duckdb::open_database(fresh, duckdb::Access::kReadOnly);
    EXPECT_EQ(copy->query(relations)->rows, expected->query(relations)->rows);
    EXPECT_TRUE(copy->query("SELECT * FROM latest_results"));
  }
}

TEST_F(StoreTest, ReadingWhatDoesNotExistSaysHowToMakeIt) {
  const auto store = Store::open(path_, Store::Mode::kRead);
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(store.error().hint, HasSubstr("assay db init"));
  EXPECT_TRUE(fs::is_empty(folder_.path()));
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
  with_older_verdict.message = "verdict of " + judged.timestamp;
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
    if (partial) record.add_flag(flag::kPartial);
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
  const int status = in_child([&] {
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

TEST_F(StoreTest, TheGuidesViewsJoin) {
  add("a");
  add("b");
  ASSERT_TRUE(open().ingest(spool_));
  const auto rows = query(
      "SELECT c.batch_size, c.latency_avg, a.architecture, h.hardware_type, a.models FROM comprehensive_benchmarks c "
      "JOIN "
      "model_architecture_coverage a USING (architecture_id) JOIN hardware_platforms h ON h.id = c.hardware_id");
  ASSERT_THAT(rows.rows, SizeIs(2));
  EXPECT_EQ(rows.rows[0][0], 4);
  EXPECT_EQ(rows.rows[0][2], "bert");
  EXPECT_EQ(rows.rows[0][3], "cpu");
  EXPECT_EQ(rows.rows[0][4], 2);
}

// Results of one cell, which differ in what the caller sets.
class LatestResultsTest : public StoreTest {
 protected:
  void put(
      const std::string& model_id, const std::string& engine, double median_ms, int day,
      const std::function<void(Record&)>& change = [](Record&) {}) const {
    Record record = testing::fake_record("bert", testing::fake_samples(10));
    record.model_id = record.model_class = model_id;
    record.engine = engine;
    record.sequence_length = 128;
    record.timestamp = fmt::format("2026-03-{:02}T00:00:00.000000Z", day);
    record.run_id = fmt::format("run-{}", day);
    record.latency_p50_ms = median_ms;
    record.latency_p50_low_ms = median_ms - 0.1;
    record.latency_p50_high_ms = median_ms + 0.1;
    change(record);
    record.task_key = task_key(record);
    record.series_key = series_key(record);
    testing::write_fake_bundle(spool_, record, testing::fake_samples(10));
  }
  /// The rows of the query in README.md.
  [[nodiscard]] std::vector<std::vector<Json>> answer() const {
    EXPECT_TRUE(open().ingest(spool_));
    const std::string readme = *read_file(ASSAY_SOURCE_DIR "/README.md");
    const std::size_t begin = readme.find("```sql\n") + 7;
    return query(readme.substr(begin, readme.find("```", begin) - begin)).rows;
  }
};

TEST_F(LatestResultsTest, TheReadmesQuerySaysWhichIsFastestAndHowSure) {
  put("google-bert/bert-base-uncased", "onnxruntime", 20, 1);
  put("prajjwal1/bert-tiny", "openvino", 2, 1);
  put("prajjwal1/bert-tiny", "openvino", 3, 2);  // newer
  put("prajjwal1/bert-tiny", "onnxruntime", 2.5, 1);
  put("prajjwal1/bert-tiny", "onnxruntime", 1, 1, [](Record& record) { record.streams = 4; });
  put("prajjwal1/bert-tiny", "onnxruntime", 1, 1, [](Record& record) { record.threads = 4; });
  const auto row = [](const char* model_id, const char* engine, double median) {
    return ElementsAre(model_id, 4, 128, Json(), Json(), "cpu", engine, median, median - 0.1, median + 0.1);
  };
  EXPECT_THAT(answer(),
              ElementsAre(row("google-bert/bert-base-uncased", "onnxruntime", 20),
                          row("prajjwal1/bert-tiny", "onnxruntime", 2.5), row("prajjwal1/bert-tiny", "openvino", 3)));
}

TEST_F(LatestResultsTest, OneRowSurvivesAnUpgradeAndRowsOfOtherMachinesAreTheirOwn) {
  put("m", "onnxruntime", 5, 1);
  put("m", "onnxruntime", 4, 2, [](Record& record) { record.engine_version = "2"; });
  put("m", "onnxruntime", 9, 1, [](Record& record) { record.hardware_id = "machine-2"; });
  EXPECT_THAT(answer(), SizeIs(2));
  EXPECT_EQ(query("SELECT latency_p50_ms FROM latest_results WHERE hardware_id = 'machine-1'").rows.at(0).at(0), 4);
}

TEST_F(LatestResultsTest, WhatIsWrongCutShortOrNotMeasuredIsNotTheNewestTime) {
  put("measured", "onnxruntime", 5, 1);
  put("measured", "onnxruntime", 1, 2, [](Record& record) { record.add_flag(flag::kPartial); });
  put("measured", "onnxruntime", 1, 3, [](Record& record) { record.latency_p50_ms.reset(); });
  put("measured", "onnxruntime", 1, 4, [](Record& record) { record.status = CellStatus::kFailed; });
  put("measured", "onnxruntime", 1, 5, [](Record& record) { record.verification = Verification::kUnverified; });
  put("wrong since", "onnxruntime", 5, 1);
  put("wrong since", "onnxruntime", 5, 2, [](Record& record) {
    record.status = CellStatus::kWrong;
    record.verification = Verification::kWrong;
  });
  put("simulated", "onnxruntime", 5, 1, [](Record& record) { record.add_flag(flag::kSimulated); });
  const auto rows = answer();
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].front(), "measured");
  EXPECT_EQ(rows[0][7], 5) << "latency_p50_ms";
  EXPECT_THAT(query("SELECT 1 FROM latest_results WHERE NOT ranked").rows, SizeIs(1)) << "shown, not ranked";
}

TEST_F(LatestResultsTest, ViewsDistinguishModelsOfOneName) {
  put("google-bert/bert-base-uncased", "onnxruntime", 20, 1);
  put("prajjwal1/bert-tiny", "onnxruntime", 2, 1);
  ASSERT_TRUE(open().ingest(spool_));
  EXPECT_EQ(query("SELECT models FROM model_architecture_coverage").rows.at(0).at(0), 2);
  EXPECT_THAT(query("SELECT DISTINCT model, model_id FROM comprehensive_benchmarks").rows, SizeIs(2));
}

TEST_F(LatestResultsTest, ColumnsOfTheDatabaseAndOfItsSnapshotSayWhatTheyAre) {
  Store store = open();
  const auto snapshot = store.publish_snapshot();
  ASSERT_TRUE(snapshot) << to_string(snapshot.error());
  auto database = duckdb::open_database(*snapshot, duckdb::Access::kReadOnly);
  const auto comments = database->query(
      "SELECT table_name, comment FROM duckdb_columns() WHERE column_name = 'latency_p50_low_ms' ORDER BY table_name");
  ASSERT_TRUE(comments);
  const std::string meaning = "95 % interval of the median, lower end (ms)";
  EXPECT_THAT(comments->rows, ElementsAre(ElementsAre("benchmark_results", meaning),
                                          ElementsAre("latest_results", meaning), ElementsAre("launches", meaning)));
}

// Not a test of speed, which machines differ in: prints the figure of docs/performance.md.
TEST_F(StoreTest, PrintsHowFastSamplesGoIn) {
  for (int i = 0; i < 20; ++i) add(fmt::format("m{}", i), 50'000);
  Store store = open();
  const auto start = std::chrono::steady_clock::now();
  const auto report = store.ingest(spool_);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->samples, 1'000'000U);
  std::printf("ingest: %.2f million samples/s (%llu in %.3f s)\n", static_cast<double>(report->samples) / seconds / 1e6,
              static_cast<unsigned long long>(report->samples), seconds);
}

TEST_F(StoreTest, CompactingKeepsEveryRowAndWhatUsersAdded) {
  for (const char* model : {"a", "b"}) {
    const Samples samples = testing::fake_samples(5000);
    testing::write_fake_bundle(spool_, testing::fake_record(model, samples), samples);
  }
  ASSERT_TRUE(open().ingest(spool_));
  {
    auto database = duckdb::open_database(path_, duckdb::Access::kReadWrite);
    const Status added = database->execute(
        "CREATE TABLE filler AS SELECT hash(i) AS a, hash(i + 1) AS b FROM range(500000) AS t(i); CHECKPOINT; "
        "CREATE VIEW mine AS SELECT model FROM benchmark_results; CREATE TABLE notes AS SELECT 'x' AS text; "
        "DROP TABLE filler");
    ASSERT_TRUE(added) << to_string(added.error());
  }
  const auto sizes = Store::compact(path_);
  ASSERT_TRUE(sizes) << to_string(sizes.error());
  EXPECT_LT(sizes->after, sizes->before / 2);
  EXPECT_LT(fs::file_size(path_), sizes->before / 2);
  EXPECT_FALSE(fs::exists(path_.string() + ".tmp-compact"));
  Store store = open();
  EXPECT_THAT(*store.verify(spool_), IsEmpty());
  EXPECT_EQ(store.summary()->samples, 10'000U);
  auto copy = duckdb::open_database(*store.publish_snapshot(), duckdb::Access::kReadOnly);
  EXPECT_EQ(copy->query("SELECT count(*) FROM mine")->rows.at(0).at(0), 2);
  EXPECT_EQ(copy->query("SELECT text FROM notes")->rows.at(0).at(0), "x");
  EXPECT_TRUE(copy->query("SELECT comment FROM duckdb_columns() WHERE comment IS NOT NULL")->rows.size() > 100);
}

TEST_F(StoreTest, CompactingWaitsForNobodyAndMakesNoDatabase) {
  EXPECT_EQ(Store::compact(path_).error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(fs::exists(path_));
  Store writer = open();
  EXPECT_EQ(Store::compact(path_).error().code, ErrorCode::kStoreBusy);
}

}  // namespace
}  // namespace assay
