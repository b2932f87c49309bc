// SPDX-License-Identifier: Apache-2.0
// Who may open a database, and what readers see while another process writes it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "core/base/hash.hpp"
#include "history/store/schema.hpp"
#include "history/store/store_for_test.hpp"

namespace assay {
namespace {
namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::SizeIs;

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
        "= 'run' GROUP BY ALL",
        "WITH s AS (SELECT * FROM main.samples) SELECT (SELECT max(seq) FROM s)", "SUMMARIZE raw_benchmark_data"}) {
    const auto rows = reader.ask_sql(sql, {});
    ASSERT_FALSE(rows) << sql;
    EXPECT_EQ(rows.error().code, ErrorCode::kStoreBusy) << rows.error().message;
    EXPECT_THAT(rows.error().message, HasSubstr("history.snapshot.duckdb' has no samples to query"));
  }
  EXPECT_TRUE(reader.ask_sql("SELECT count(*) FROM benchmark_results", {}));
  EXPECT_TRUE(reader.ask_sql("DESCRIBE samples", {}));
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
  {
    const Store writer = open();
    EXPECT_EQ(Store::check_writable(path_).error().code, ErrorCode::kStoreBusy);
  }
  const std::string before = *sha256_file(path_);
  EXPECT_FALSE(Store::check_writable(path_)->older);
  EXPECT_EQ(*sha256_file(path_), before);
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

}  // namespace
}  // namespace assay
