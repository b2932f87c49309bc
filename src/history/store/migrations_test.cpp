// SPDX-License-Identifier: Apache-2.0
// A stored database is migrated by the migrations of this assay and a made-up next one; databases of other schemas are
// refused.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>

#include "core/base/hash.hpp"
#include "core/base/text.hpp"
#include "history/store/ingest.hpp"
#include "history/store/snapshot.hpp"
#include "history/store/store_for_test.hpp"

namespace assay {
namespace {
namespace fs = std::filesystem;
using duckdb::Access;
using duckdb::Database;
using duckdb::kFirstSchema;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr const char* kNextMigration = R"sql(
  ALTER TABLE benchmark_results ADD COLUMN next_field VARCHAR;
  ALTER TABLE launches ADD COLUMN next_field VARCHAR;
  UPDATE launches SET next_field = 'set by the migration';
  CREATE TABLE next_table (text VARCHAR);
  CREATE VIEW next_view AS SELECT model, latency_p50_ms FROM benchmark_results;)sql";

class MigrationsTest : public StoredHistoryTest {
 protected:
  const std::vector<duckdb::Migration> steps_ = with_next_migration(kNextMigration);
  const std::size_t newest_ = kFirstSchema + steps_.size() - 1;
  const fs::path backup_ = path_.string() + fmt::format(".v{}.bak", kFirstSchema);

  void change(const std::string& sql) const {
    auto database = Database::open(path_, Access::kReadWrite);
    const Status done = database->execute(sql + "; CHECKPOINT");
    ASSERT_TRUE(done) << to_string(done.error());
  }
  [[nodiscard]] Result<Database> migrate() const { return duckdb::open_database(path_, Access::kReadWrite, steps_); }
  static Json one(Database& database, const std::string& sql) {
    const auto rows = database.query(sql);
    EXPECT_TRUE(rows) << sql << ": " << to_string(rows.error());
    return rows && !rows->rows.empty() ? rows->rows.at(0).at(0) : Json();
  }
  /// Every table and view, but for the times of ingesting and migrating, and the column that only the migration fills.
  static std::string dump_of(Database& database) {
    std::string text;
    for (const char* sql :
         {"SELECT * EXCLUDE (ingested_at) FROM bundles ORDER BY ALL",
          "SELECT * REPLACE (started_at::VARCHAR AS started_at) FROM benchmark_runs ORDER BY ALL",
          "SELECT * FROM hardware_info ORDER BY ALL", "SELECT * FROM benchmark_results ORDER BY result_id",
          "SELECT * EXCLUDE (next_field) FROM launches ORDER BY launch_id",
          "SELECT launch_id, seq, kind::BIGINT, stream::BIGINT, start_ns, duration_ns FROM samples ORDER BY ALL",
          ("SELECT * REPLACE (kind::BIGINT AS kind, hex(quantiles) AS quantiles, hex(bins) AS bins) FROM "
           "sample_distributions "
           "ORDER BY ALL"),
          "SELECT table_name, column_name, data_type, comment FROM duckdb_columns() WHERE NOT internal ORDER BY ALL",
          "SELECT view_name, sql FROM duckdb_views() WHERE NOT internal ORDER BY ALL"}) {
      const auto rows = database.query(sql);
      EXPECT_TRUE(rows) << to_string(rows.error());
      for (const auto& row : rows->rows) text += json_text(Json(row)) + "\n";
    }
    return text;
  }
};

TEST_F(MigrationsTest, AMigrationKeepsEveryValueAndTheOldFile) {
  const std::string before = *sha256_file(path_);
  duckdb::Rows launches, cells;
  {
    auto stored = Database::open(path_, Access::kReadOnly);
    launches = *stored->query("SELECT * FROM launches ORDER BY launch_id");
    cells = *stored->query("SELECT * FROM benchmark_results ORDER BY result_id");
  }
  {
    auto now = migrate();
    ASSERT_TRUE(now) << to_string(now.error());
    const auto same_columns = [&](const duckdb::Rows& rows, const char* from) {
      return *now->query(fmt::format("SELECT {} FROM {}", join(rows.columns, ", "), from));
    };
    EXPECT_EQ(same_columns(launches, "launches ORDER BY launch_id").rows, launches.rows);
    EXPECT_EQ(same_columns(cells, "benchmark_results ORDER BY result_id").rows, cells.rows);
    EXPECT_EQ(one(*now, "SELECT count(*) FROM launches WHERE next_field = 'set by the migration'"), kLaunches);
    EXPECT_EQ(one(*now, "SELECT count(*) FROM next_view"), kCells);
    EXPECT_EQ(one(*now, "SELECT max(version) FROM schema_version"), newest_);
    EXPECT_EQ(one(*now, "SELECT name FROM schema_version ORDER BY version DESC LIMIT 1"), "9999_next");
  }
  EXPECT_EQ(*sha256_file(backup_), before);
  EXPECT_FALSE(fs::exists(path_.string() + ".tmp-migrate"));
}

TEST_F(MigrationsTest, MigratingAndIngestingTheBundlesAgree) {
  // Whatever the database has of them, keys and rows of cells follow from the launches.
  change(
      "UPDATE launches SET task_key = 'old', series_key = 'old', result_id = launch_id, counted = false; UPDATE "
      "bundles "
      "SET result_id = launch_id; UPDATE benchmark_results SET latency_p50_ms = 1, series_key = 'old'");
  const fs::path path = folder_.path() / "from-bundles.duckdb";
  ASSERT_TRUE(duckdb::create_database(path, steps_));
  auto made = duckdb::open_database(path, Access::kReadWrite, steps_);
  ASSERT_TRUE(made) << to_string(made.error());
  const auto report = duckdb::ingest_spool(*made, path, spool_);
  ASSERT_TRUE(report) << to_string(report.error());
  EXPECT_THAT(report->refused, IsEmpty());
  EXPECT_EQ(report->bundles, kLaunches);
  auto migrated = migrate();
  ASSERT_TRUE(migrated) << to_string(migrated.error());
  EXPECT_EQ(dump_of(*migrated), dump_of(*made));
}

TEST_F(MigrationsTest, OnlyAWriterMigrates) {
  const std::string before = *sha256_file(path_);
  const auto older = duckdb::is_older(path_, steps_);
  ASSERT_TRUE(older) << to_string(older.error());
  EXPECT_TRUE(*older);
  const auto reader = duckdb::open_database(path_, Access::kReadOnly, steps_);
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(reader.error().message, AllOf(HasSubstr(fmt::format("schema version {},", kFirstSchema)),
                                            HasSubstr(fmt::format("reads version {}", newest_))));
  EXPECT_THAT(reader.error().hint, HasSubstr("assay db ingest"));
  EXPECT_EQ(*sha256_file(path_), before);
  ASSERT_TRUE(migrate());
  EXPECT_TRUE(duckdb::open_database(path_, Access::kReadOnly, steps_));
  EXPECT_FALSE(*duckdb::is_older(path_, steps_));
}

TEST_F(MigrationsTest, WhatUsersAddedToTheDatabaseSurvives) {
  change(R"sql(
      CREATE VIEW "top-10" AS SELECT model, latency_p50_ms FROM benchmark_results LIMIT 10;
      CREATE VIEW of_a_column_that_gets_another_name AS SELECT gpu_count FROM hardware_info;
      CREATE VIEW Next_View AS SELECT model FROM benchmark_results;
      CREATE TABLE next_view_own AS SELECT 1 AS a;
      CREATE INDEX "by-model" ON benchmark_results (model);
      CREATE INDEX by_gpus ON hardware_info (gpu_count);
      CREATE TABLE "my ""notes" (text VARCHAR);
      INSERT INTO "my ""notes" VALUES ('important');
      CREATE SCHEMA x;
      CREATE TABLE x.t AS SELECT 1 AS a;
      CREATE TABLE x.benchmark_results AS SELECT 1 AS a;
      CREATE VIEW x.next_view AS SELECT a FROM x.t)sql");
  const std::string sql = std::string(kNextMigration) + "ALTER TABLE hardware_info RENAME COLUMN gpu_count TO gpus;";
  auto now = duckdb::open_database(path_, Access::kReadWrite, with_next_migration(sql));
  ASSERT_TRUE(now) << to_string(now.error());
  EXPECT_EQ(one(*now, "SELECT count(*) FROM \"top-10\""), kCells);
  EXPECT_EQ(one(*now, "SELECT count(*) FROM next_view_own"), 1) << "the table keeps its name, the view gets another";
  EXPECT_EQ(one(*now, "SELECT count(model) FROM next_view_own_2"), kCells);
  EXPECT_TRUE(now->query("SELECT latency_p50_ms FROM next_view"));
  EXPECT_EQ(one(*now, "SELECT text FROM \"my \"\"notes\""), "important");
  EXPECT_EQ(one(*now, "SELECT count(*) FROM x.t"), 1);
  EXPECT_EQ(one(*now, "SELECT a FROM x.benchmark_results"), 1);
  EXPECT_EQ(one(*now, "SELECT a FROM x.next_view"), 1);
  EXPECT_EQ(one(*now, "SELECT string_agg(index_name) FROM duckdb_indexes()"), "by-model")
      << "the other one is of a column that is gone";
  EXPECT_EQ(one(*now,
                "SELECT sql LIKE '%COMMENT%' OR comment IS NOT NULL FROM duckdb_views() WHERE view_name = "
                "'top-10'"),
            false);
  const auto snapshot = write_snapshot(*now, path_);
  ASSERT_TRUE(snapshot) << to_string(snapshot.error());
  auto copy = Database::open(*snapshot, Access::kReadOnly);
  ASSERT_TRUE(copy) << to_string(copy.error());
  for (const char* table : {"\"my \"\"notes\"", "next_view_own", "x.t", "x.benchmark_results"})
    EXPECT_EQ(one(*copy, fmt::format("SELECT count(*) FROM {}", table)), 1) << table;
}

TEST_F(MigrationsTest, AnObstacleIsNamedAndNothingChanges) {
  change("ALTER TABLE benchmark_results ADD COLUMN next_field VARCHAR");
  const std::string before = *sha256_file(path_);
  const auto database = migrate();
  ASSERT_FALSE(database);
  EXPECT_EQ(database.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(database.error().message,
              AllOf(HasSubstr("next_field"), HasSubstr(fmt::format("version {} to {}", kFirstSchema, newest_))));
  EXPECT_THAT(database.error().hint, HasSubstr("assay db rebuild"));
  EXPECT_EQ(*sha256_file(path_), before);
  EXPECT_FALSE(fs::exists(path_.string() + ".tmp-migrate"));
  EXPECT_FALSE(fs::exists(backup_));
}

TEST_F(MigrationsTest, ALostRowIsAnErrorAndNothingChanges) {
  const std::string before = *sha256_file(path_);
  for (const char* table :
       {"launches", "samples", "sample_distributions", "bundles", "benchmark_runs", "hardware_info"}) {
    const std::string sql = fmt::format("DELETE FROM {0} WHERE rowid = (SELECT min(rowid) FROM {0});", table);
    const auto database = duckdb::open_database(path_, Access::kReadWrite, with_next_migration(sql));
    ASSERT_FALSE(database) << table;
    EXPECT_THAT(database.error().message, HasSubstr(fmt::format("rows of table {}", table)));
    EXPECT_EQ(*sha256_file(path_), before) << table;
    EXPECT_FALSE(fs::exists(backup_)) << table;
  }
}

/// A database that this assay cannot read, with its snapshot.
class OtherSchemaTest : public StoredHistoryTest {
 protected:
  void expect_refusal_by_every_call(const ::testing::Matcher<std::string>& message,
                                    const ::testing::Matcher<std::string>& hint) {
    const fs::path snapshot = folder_.path() / "history.snapshot.duckdb";
    fs::copy_file(path_, snapshot);
    const std::string before = *sha256_file(path_);
    const auto expect_refusal = [&](const auto& result, const char* call) {
      ASSERT_FALSE(result) << call;
      EXPECT_EQ(result.error().code, ErrorCode::kUnsupported) << call;
      EXPECT_THAT(result.error().message, message) << call;
      EXPECT_THAT(result.error().hint, hint) << call;
      EXPECT_EQ(*sha256_file(path_), before) << call;
    };
    expect_refusal(Store::open(path_, Store::Mode::kRead), "read");
    expect_refusal(Store::open(path_, Store::Mode::kWrite), "write");
    expect_refusal(Store::open_snapshot(path_), "snapshot");
    expect_refusal(Store::check_writable(path_), "check");
    expect_refusal(Store::compact(path_), "compact");
    expect_refusal(Store::rebuild(path_, spool_), "rebuild");
    fs::remove(snapshot);
    expect_refusal(Store::publish_missing_snapshot(path_), "publish");
    for (const auto& entry : fs::directory_iterator(folder_.path()))
      EXPECT_THAT(entry.path().filename().string(), AllOf(Not(HasSubstr("bak")), Not(HasSubstr("tmp"))));
  }
};

TEST_F(OtherSchemaTest, OneOfANewerAssayIsRefused) {
  const auto steps = with_next_migration(kNextMigration);
  ASSERT_TRUE(duckdb::open_database(path_, Access::kReadWrite, steps));
  fs::remove(path_.string() + fmt::format(".v{}.bak", kFirstSchema));
  const std::size_t newest = kFirstSchema + steps.size() - 1;
  expect_refusal_by_every_call(
      AllOf(HasSubstr(fmt::format("schema version {},", newest)), HasSubstr(fmt::format("up to {}", newest - 1))),
      HasSubstr("use the assay that wrote it"));
}

TEST_F(OtherSchemaTest, OneOfADevelopmentVersionIsRefusedAndCanBeMovedAside) {
  {
    auto database = Database::open(path_, Access::kReadWrite);
    ASSERT_TRUE(
        database->execute("UPDATE schema_version SET version = version - 1; DROP VIEW latest_results; CHECKPOINT"));
  }
  expect_refusal_by_every_call(AllOf(HasSubstr(fmt::format("schema version {}", kFirstSchema - 1)),
                                     HasSubstr("was written by a development version of assay before its first "
                                               "release")),
                               AllOf(HasSubstr("--db-path"), HasSubstr("assay db init --overwrite")));
  const auto kept = Store::init(path_, spool_, true);
  ASSERT_TRUE(kept) << to_string(kept.error());
  EXPECT_THAT(*kept, SizeIs(2));
  EXPECT_EQ(open().summary()->results, 0U);
}

}  // namespace
}  // namespace assay
