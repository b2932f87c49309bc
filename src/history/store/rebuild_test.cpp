// SPDX-License-Identifier: Apache-2.0
// What makes a database again: rebuilding it from its spool, beginning it anew, compacting it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/base/files.hpp"
#include "history/store/schema.hpp"
#include "history/store/store_for_test.hpp"
#include "history/store/unsaved.hpp"

namespace assay {
namespace {
namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

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

TEST_F(StoreTest, RebuildingFromUnsavedBundlesMovesThemToo) {
  const fs::path run = UnsavedSpool::begin(spool_, "run")->path();
  testing::write_fake_bundle(run, testing::fake_record("a", {}), {});
  const auto rebuilt = Store::rebuild(path_, run);
  ASSERT_TRUE(rebuilt) << to_string(rebuilt.error());
  EXPECT_EQ(rebuilt->ingested.bundles, 1U);
  EXPECT_THAT(*list_bundles(spool_), SizeIs(1));
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
