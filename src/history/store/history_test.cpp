// SPDX-License-Identifier: Apache-2.0
// What older versions of assay left on disk stays readable: testdata/schemaN has bundles, and the database that was
// made of them, as the last version with that schema wrote them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "core/base/files.hpp"
#include "core/base/hash.hpp"
#include "core/base/text.hpp"
#include "core/result/keys.hpp"
#include "history/store/dataset.hpp"
#include "history/store/schema.hpp"
#include "history/store/store.hpp"

namespace assay {
namespace {
namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class HistoryTest : public ::testing::Test {
 protected:
  HistoryTest() { use("schema1"); }

  /// The bundles of another schema.
  void use(const std::string& schema) {
    data_ = fs::path(ASSAY_SOURCE_DIR) / "src/history/store/testdata" / schema;
    fs::remove_all(spool_);
    fs::copy(data_ / "spool", spool_, fs::copy_options::recursive);
  }
  /// The database of that schema, at path_.
  void make_old_database() const {
    auto database = duckdb::Database::open(path_, duckdb::Access::kReadWrite);
    ASSERT_TRUE(database) << to_string(database.error());
    const Status made = database->execute(*read_file(data_ / "database.sql"));
    ASSERT_TRUE(made) << to_string(made.error());
    ASSERT_TRUE(database->execute("CHECKPOINT"));
  }
  /// Every table and view, but for the times of ingesting and migrating.
  static std::string dump(const fs::path& path) {
    auto database = duckdb::open_database(path, duckdb::Access::kReadOnly);
    EXPECT_TRUE(database) << to_string(database.error());
    std::string text;
    for (const char* sql :
         {"SELECT * EXCLUDE (ingested_at) FROM bundles ORDER BY ALL",
          "SELECT * REPLACE (started_at::VARCHAR AS started_at) FROM benchmark_runs ORDER BY ALL",
          "SELECT * FROM hardware_info ORDER BY ALL", "SELECT * FROM benchmark_results ORDER BY result_id",
          "SELECT * FROM launches ORDER BY launch_id",
          "SELECT * REPLACE (kind::VARCHAR AS kind) FROM raw_benchmark_data ORDER BY ALL",
          "SELECT table_name, column_name, data_type, comment FROM duckdb_columns() WHERE NOT internal ORDER BY ALL",
          "SELECT view_name, sql FROM duckdb_views() WHERE NOT internal ORDER BY ALL"}) {
      const auto rows = database->query(sql);
      EXPECT_TRUE(rows) << to_string(rows.error());
      for (const auto& row : rows->rows) text += json_text(Json(row)) + "\n";
    }
    return text;
  }
  static std::string one_of(const fs::path& path, const std::string& sql) {
    auto database = duckdb::Database::open(path, duckdb::Access::kReadOnly);
    const auto rows = database->query(sql);
    EXPECT_TRUE(rows) << to_string(rows.error());
    return rows->rows.at(0).at(0).get<std::string>();
  }
  /// Replaces the manifest of a bundle, and its hash in DONE.
  static void write_manifest(const fs::path& bundle, const Json& manifest) {
    std::ofstream(bundle / "manifest.json") << manifest.dump(2) << "\n";
    std::string done = *read_file(bundle / "DONE");
    done.replace(done.find("  manifest.json") - 64, 64, *sha256_file(bundle / "manifest.json"));
    std::ofstream(bundle / "DONE") << done;
  }
  [[nodiscard]] std::map<std::string, std::string> files_of_spool() const {
    std::map<std::string, std::string> hashes;
    for (const auto& entry : fs::recursive_directory_iterator(spool_))
      if (entry.is_regular_file()) hashes[entry.path()] = *sha256_file(entry.path());
    return hashes;
  }
  const TemporaryDirectory folder_ = *TemporaryDirectory::create();
  const fs::path path_ = folder_.path() / "history.duckdb";
  const fs::path spool_ = default_spool(path_);
  fs::path data_;
};

TEST_F(HistoryTest, ADatabaseOfSchema1IsMigratedAndKeepsEveryValue) {
  make_old_database();
  duckdb::Rows before;
  {
    auto old = duckdb::Database::open(path_, duckdb::Access::kReadOnly);
    before = *old->query("SELECT * EXCLUDE (task_key, series_key) FROM benchmark_results ORDER BY result_id");
  }
  {
    auto store = Store::open(path_, Store::Mode::kWrite);
    ASSERT_TRUE(store) << to_string(store.error());
    EXPECT_EQ(store->ingest(spool_)->bundles, 0U) << "all of them are known";
    EXPECT_THAT(*store->verify(spool_), IsEmpty());
    EXPECT_EQ(store->summary()->samples, 35U);
    const auto rows = store->results();
    ASSERT_THAT(*rows, SizeIs(6));
    for (const Record& row : *rows) {
      EXPECT_EQ(row.task_key, task_key(row));
      EXPECT_EQ(row.series_key, series_key(row));
    }
  }
  EXPECT_TRUE(fs::exists(path_.string() + ".v1.bak"));
  auto now = duckdb::open_database(path_, duckdb::Access::kReadOnly);
  std::string columns;
  for (const std::string& name : before.columns) columns += (columns.empty() ? "" : ", ") + name;
  const auto form = std::ranges::find(before.columns, "form") - before.columns.begin();
  columns.replace(columns.find("form"), 4, "kv_cache");
  const auto after = now->query("SELECT " + columns + " FROM benchmark_results ORDER BY result_id");
  ASSERT_TRUE(after) << to_string(after.error());
  const std::map<Json, Json> renamed{{"portable", "growing"}, {"fixed", "static"}, {nullptr, nullptr}};
  for (auto& row : before.rows) row.at(form) = renamed.at(row.at(form));
  EXPECT_EQ(after->rows, before.rows);
  EXPECT_TRUE(now->query("SELECT kv_cache FROM latest_results"));
}

TEST_F(HistoryTest, WhatUsersAddedToTheDatabaseSurvivesAMigration) {
  make_old_database();
  {
    auto old = duckdb::Database::open(path_, duckdb::Access::kReadWrite);
    const Status added = old->execute(R"sql(
      CREATE VIEW "top-10" AS SELECT model, latency_p50_ms FROM benchmark_results LIMIT 10;
      CREATE VIEW of_a_column_that_gets_another_name AS SELECT form FROM benchmark_results;
      CREATE VIEW Latest_Results AS SELECT model FROM benchmark_results;
      CREATE TABLE latest_results_own AS SELECT 1 AS a;
      CREATE INDEX "by-model" ON benchmark_results (model);
      CREATE INDEX by_form ON benchmark_results (form);
      CREATE TABLE "my ""notes" (text VARCHAR);
      INSERT INTO "my ""notes" VALUES ('important');
      CREATE SCHEMA x;
      CREATE TABLE x.t AS SELECT 1 AS a;
      CREATE TABLE x.benchmark_results AS SELECT 1 AS a;
      CREATE VIEW x.latest_results AS SELECT a FROM x.t;)sql");
    ASSERT_TRUE(added) << to_string(added.error());
  }
  {
    auto store = Store::open(path_, Store::Mode::kWrite);
    ASSERT_TRUE(store) << to_string(store.error());
    const auto ingested = store->ingest(spool_);
    ASSERT_TRUE(ingested) << to_string(ingested.error());
    EXPECT_EQ(ingested->known, 6U);
    EXPECT_THAT(*store->results(), SizeIs(6));
    const auto snapshot = store->publish_snapshot();
    ASSERT_TRUE(snapshot) << to_string(snapshot.error());
    auto copy = duckdb::open_database(*snapshot, duckdb::Access::kReadOnly);
    ASSERT_TRUE(copy) << to_string(copy.error());
    for (const char* table : {"\"my \"\"notes\"", "latest_results_own", "x.t", "x.benchmark_results"})
      EXPECT_EQ(copy->query(fmt::format("SELECT count(*) FROM {}", table))->rows.at(0).at(0), 1) << table;
  }
  auto now = duckdb::open_database(path_, duckdb::Access::kReadOnly);
  ASSERT_TRUE(now) << to_string(now.error());
  const auto one = [&](const std::string& sql) {
    const auto rows = now->query(sql);
    EXPECT_TRUE(rows) << sql << ": " << to_string(rows.error());
    return rows && !rows->rows.empty() ? rows->rows.at(0).at(0) : Json();
  };
  EXPECT_EQ(one("SELECT count(*) FROM \"top-10\""), 6);
  EXPECT_EQ(one("SELECT count(*) FROM latest_results_own"), 1) << "the table keeps its name, the view gets another";
  EXPECT_EQ(one("SELECT count(model) FROM latest_results_own_2"), 6);
  EXPECT_TRUE(now->query("SELECT kv_cache FROM latest_results"));
  EXPECT_EQ(one("SELECT text FROM \"my \"\"notes\""), "important");
  EXPECT_EQ(one("SELECT count(*) FROM x.t"), 1);
  EXPECT_EQ(one("SELECT a FROM x.benchmark_results"), 1);
  EXPECT_EQ(one("SELECT a FROM x.latest_results"), 1);
  EXPECT_EQ(one("SELECT string_agg(index_name) FROM duckdb_indexes()"), "by-model")
      << "the other one is of a column that is gone";
  EXPECT_EQ(one("SELECT sql LIKE '%COMMENT%' OR comment IS NOT NULL FROM duckdb_views() WHERE view_name = 'top-10'"),
            false);
}

TEST_F(HistoryTest, AnObstacleToAMigrationIsNamedAndChangesNothing) {
  make_old_database();
  {
    auto old = duckdb::Database::open(path_, duckdb::Access::kReadWrite);
    ASSERT_TRUE(old->execute("ALTER TABLE benchmark_results ADD COLUMN kv_cache VARCHAR"));
  }
  const auto store = Store::open(path_, Store::Mode::kWrite);
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(store.error().message, HasSubstr("kv_cache"));
  EXPECT_THAT(store.error().hint, HasSubstr("assay db rebuild"));
  EXPECT_FALSE(fs::exists(path_.string() + ".tmp-migrate"));
  const auto rebuilt = Store::rebuild(path_, spool_);
  ASSERT_TRUE(rebuilt) << to_string(rebuilt.error());
  EXPECT_EQ(rebuilt->ingested.bundles, 6U);
  EXPECT_TRUE(rebuilt->kept);
}

TEST_F(HistoryTest, MigratingAndRebuildingAgree) {
  for (const char* schema : {"schema1", "schema8"}) {
    use(schema);
    make_old_database();
    ASSERT_TRUE(Store::open(path_, Store::Mode::kWrite));
    const fs::path rebuilt = folder_.path() / "rebuilt.duckdb";
    const auto report = Store::rebuild(rebuilt, spool_);
    ASSERT_TRUE(report) << to_string(report.error());
    EXPECT_THAT(report->ingested.refused, IsEmpty());
    EXPECT_EQ(dump(path_), dump(rebuilt)) << schema;
    fs::remove(path_);
  }
}

TEST_F(HistoryTest, ADatabaseOfSchema8KeepsItsSamplesAndGetsShapes) {
  use("schema8");
  make_old_database();
  const std::string samples =
      "SELECT result_id, launch_id, launch_number, seq, kind::VARCHAR AS kind, stream, start_ns, duration_ns FROM "
      "raw_benchmark_data ORDER BY ALL";
  duckdb::Rows before;
  {
    auto old = duckdb::Database::open(path_, duckdb::Access::kReadOnly);
    before = *old->query(samples);
  }
  {
    auto store = Store::open(path_, Store::Mode::kWrite);
    ASSERT_TRUE(store) << to_string(store.error());
    EXPECT_THAT(*store->verify(spool_), IsEmpty());
    EXPECT_EQ(store->summary()->samples, 75U);
    const auto data = read_dataset(*store);
    ASSERT_TRUE(data) << to_string(data.error());
    EXPECT_THAT(data->cells, SizeIs(5));
    std::map<SampleKind, std::int64_t> kinds;
    for (const LaunchShape& shape : data->shapes) {
      EXPECT_FALSE(shape.whole_window) << "the database had the steady samples only";
      kinds[shape.kind] += shape.samples;
    }
    EXPECT_EQ(kinds[SampleKind::kRun] + kinds[SampleKind::kFirstToken] + kinds[SampleKind::kToken], 75);
    EXPECT_GT(kinds[SampleKind::kToken], 0);
  }
  auto now = duckdb::open_database(path_, duckdb::Access::kReadOnly);
  const auto after = now->query(samples);
  ASSERT_TRUE(after) << to_string(after.error());
  EXPECT_EQ(after->rows, before.rows);
  const fs::path rebuilt = folder_.path() / "rebuilt.duckdb";
  ASSERT_TRUE(Store::rebuild(rebuilt, spool_));
  EXPECT_EQ(one_of(rebuilt, "SELECT bool_and(whole_window)::VARCHAR FROM launch_shapes"), "true");
}

TEST_F(HistoryTest, TimesThatCannotBeTrueAreCorrectedByTheMigration) {
  use("schema9");
  make_old_database();
  {
    auto old = duckdb::Database::open(path_, duckdb::Access::kReadWrite);
    ASSERT_TRUE(
        old->execute("UPDATE launches SET timestamp = '9999-12-31T00:00:00.000000Z', flags = 'seeded' WHERE "
                     "launch_id = 1; UPDATE launches SET timestamp = 'soon', flags = NULL WHERE launch_id = 2"));
  }
  ASSERT_TRUE(Store::open(path_, Store::Mode::kWrite));
  auto now = duckdb::open_database(path_, duckdb::Access::kReadOnly);
  const auto rows = now->query(
      "SELECT l.flags, l.timestamp = strftime(b.ingested_at, '%Y-%m-%dT%H:%M:%S.%fZ') FROM launches AS l JOIN bundles "
      "AS "
      "b USING (launch_id) ORDER BY launch_id");
  ASSERT_TRUE(rows) << to_string(rows.error());
  using ::testing::ElementsAre;
  EXPECT_THAT(rows->rows.at(0), ElementsAre("doubtful_time,seeded", true));
  EXPECT_THAT(rows->rows.at(1), ElementsAre("doubtful_time", true));
  for (std::size_t i = 2; i < rows->rows.size(); ++i)
    EXPECT_THAT(rows->rows[i].at(0).dump(), ::testing::Not(::testing::HasSubstr("doubtful"))) << "the others stay";
  EXPECT_EQ(one_of(path_, "SELECT count(*)::VARCHAR FROM benchmark_results WHERE flags LIKE '%doubtful_time%'"), "2");
}

TEST_F(HistoryTest, TheMigrationComparesTimesWithTheTimeOfTheirIngest) {
  use("schema9");
  make_old_database();
  {
    auto old = duckdb::Database::open(path_, duckdb::Access::kReadWrite);
    ASSERT_TRUE(old->execute(
        "UPDATE bundles SET ingested_at = '2026-03-01 00:00:00'; UPDATE launches SET timestamp = "
        "'2026-03-04T00:00:00.000000Z', flags = NULL WHERE launch_id = 1; UPDATE benchmark_runs SET started_at = "
        "'2026-03-04 00:00:00' WHERE run_id = (SELECT run_id FROM launches WHERE launch_id = 1); INSERT INTO "
        "benchmark_runs (run_id, started_at) VALUES ('peaks', '9999-12-31 00:00:00')"));
  }
  ASSERT_TRUE(Store::open(path_, Store::Mode::kWrite));
  EXPECT_EQ(one_of(path_, "SELECT timestamp || ' ' || flags FROM launches WHERE launch_id = 1"),
            "2026-03-01T00:00:00.000000Z doubtful_time");
  EXPECT_EQ(one_of(path_,
                   "SELECT started_at::VARCHAR FROM benchmark_runs AS r WHERE run_id = (SELECT run_id FROM "
                   "launches WHERE launch_id = 1)"),
            "2026-03-01 00:00:00");
  EXPECT_EQ(one_of(path_, "SELECT coalesce(started_at::VARCHAR, 'none') FROM benchmark_runs WHERE run_id = 'peaks'"),
            "none");
}

TEST_F(HistoryTest, OfSeveralOldAttemptsOfOneCellTheNewestThatIsWholeCounts) {
  make_old_database();
  // What --resume left: attempts of the cell of result 1, the last of them cut short.
  const fs::path first = spool_ / one_of(path_, "SELECT path FROM bundles WHERE result_id = 1");
  int id = 6;
  for (const char* attempt : {"second", "third"}) {
    ++id;
    const fs::path copy = first.parent_path() / attempt;
    fs::copy(first, copy);
    Json manifest = *read_json(copy / "manifest.json");
    manifest["record"]["attempt_id"] = attempt;
    manifest["record"]["attempt_number"] = id - 5;
    manifest["record"]["timestamp"] = fmt::format("2026-11-2{}T00:00:00.000000Z", id);
    const bool whole = id == 7;
    if (!whole) manifest["record"]["flags"] = "partial";
    write_manifest(copy, manifest);
    auto old = duckdb::Database::open(path_, duckdb::Access::kReadWrite);
    const Status added = old->execute(fmt::format(
        "INSERT INTO benchmark_results SELECT * REPLACE ({0} AS result_id, '{1}' AS attempt_id, {0} - 5 AS "
        "attempt_number, '2026-11-2{0}T00:00:00.000000Z' AS timestamp, {2} AS flags) FROM benchmark_results WHERE "
        "result_id = 1; INSERT INTO raw_benchmark_data SELECT * REPLACE ({0} AS result_id) FROM raw_benchmark_data "
        "WHERE result_id = 1; INSERT INTO bundles SELECT * REPLACE ('{3}' AS sha256, '{4}/{1}' AS path, '{1}' AS "
        "attempt_id, {0} AS result_id, TIMESTAMP '2026-11-27' AS ingested_at) FROM bundles WHERE result_id = 1; "
        "CHECKPOINT",
        id, attempt, whole ? "flags" : "'partial'", *sha256_file(copy / "DONE"),
        first.parent_path().filename().string()));
    ASSERT_TRUE(added) << to_string(added.error());
  }
  {
    auto store = Store::open(path_, Store::Mode::kWrite);
    ASSERT_TRUE(store) << to_string(store.error());
    EXPECT_EQ(store->ingest(spool_)->bundles, 0U);
    EXPECT_THAT(*store->launches(), SizeIs(8));
    const auto rows = store->results();
    ASSERT_THAT(*rows, SizeIs(6));
    EXPECT_EQ(std::ranges::count(*rows, "second", &Record::attempt_id), 1);
    EXPECT_EQ(store->samples("third")->size(), 5U);
    const auto found = *store->verify(spool_);
    EXPECT_THAT(found, IsEmpty()) << (found.empty() ? "" : to_string(found.front()));
  }
  EXPECT_EQ(one_of(path_, "SELECT result_id::VARCHAR FROM benchmark_results WHERE attempt_id = 'second'"), "1")
      << "the number of its first attempt";
  const fs::path rebuilt = folder_.path() / "rebuilt.duckdb";
  ASSERT_TRUE(Store::rebuild(rebuilt, spool_));
  EXPECT_EQ(dump(path_), dump(rebuilt));
}

TEST_F(HistoryTest, OldBundlesGetNewKeysAndAreNotRewritten) {
  const auto before = files_of_spool();
  std::set<std::string> old_keys;
  for (const auto& entry : fs::directory_iterator(spool_)) old_keys.insert(entry.path().filename());
  auto store = Store::open(path_, Store::Mode::kWrite);
  ASSERT_TRUE(store) << to_string(store.error());
  const auto report = store->ingest(spool_);
  ASSERT_TRUE(report) << to_string(report.error());
  EXPECT_THAT(report->refused, IsEmpty());
  EXPECT_EQ(files_of_spool(), before);
  const auto rows = store->results();
  ASSERT_THAT(*rows, SizeIs(6));
  std::multiset<std::string> caches;
  for (const Record& row : *rows) {
    caches.insert(row.kv_cache);
    EXPECT_FALSE(old_keys.contains(row.task_key));
    // What this assay plans for the same cell: resuming and --benchmark-only find the old row.
    Record planned = row;
    planned.method_version = 1;
    EXPECT_EQ(task_key(planned), row.task_key);
  }
  EXPECT_THAT(caches, ElementsAre("", "", "", "growing", "growing", "static"));
  EXPECT_THAT(*store->verify(spool_), IsEmpty());
}

TEST_F(HistoryTest, ABundleOfKeyVersion2HasTheFormerNameOfTheKvCache) {
  const std::vector<fs::path> bundles = *list_bundles(spool_);
  for (const fs::path& bundle : bundles) {
    Json manifest = *read_json(bundle / "manifest.json");
    Json record = manifest["record"];
    if (record.at("form") != "fixed") {
      fs::remove_all(bundle);
      continue;
    }
    record["form"] = "native";
    manifest["key_version"] = 2;
    for (const char* key : {"task_key", "series_key"}) {
      const std::string list = std::string(key) + "_fields";
      std::set<std::string> hashed;
      for (const Json& name : manifest[list])
        if (!record.at(name.get<std::string>()).is_null()) hashed.insert(name.get<std::string>());
      manifest[list] = hashed;
      std::string text;
      for (const std::string& name : hashed) text += name + "=" + json_text(record.at(name)) + "\n";
      EXPECT_THAT(text, HasSubstr("form=\"native\"\n"));
      record[key] = sha256_hex(text);
    }
    manifest["record"] = record;
    write_manifest(bundle, manifest);
  }
  auto store = Store::open(path_, Store::Mode::kWrite);
  const auto report = store->ingest(spool_);
  ASSERT_TRUE(report) << to_string(report.error());
  EXPECT_THAT(report->refused, IsEmpty());
  const auto rows = store->results();
  ASSERT_THAT(*rows, SizeIs(1));
  EXPECT_EQ(rows->at(0).kv_cache, KvCache::kRuntime);
  EXPECT_THAT(key_text(rows->at(0), KeyKind::kSeries), HasSubstr("kv_cache=\"runtime\"\n"));
  EXPECT_EQ(rows->at(0).series_key, series_key(rows->at(0)));
  EXPECT_THAT(*store->verify(spool_), IsEmpty());
}

TEST_F(HistoryTest, AKeyThatIsNotThatOfItsFieldsIsRefused) {
  const fs::path bundle = list_bundles(spool_)->front();
  Json manifest = *read_json(bundle / "manifest.json");
  manifest["record"]["batch_size"] = 77;
  write_manifest(bundle, manifest);
  auto store = Store::open(path_, Store::Mode::kWrite);
  const auto report = store->ingest(spool_);
  ASSERT_TRUE(report) << to_string(report.error());
  EXPECT_EQ(report->bundles, 5U);
  ASSERT_THAT(report->refused, SizeIs(1));
  EXPECT_EQ(report->refused[0].code, ErrorCode::kMismatch);
  EXPECT_THAT(report->refused[0].message, HasSubstr("its task_key is not that of the fields"));
}

}  // namespace
}  // namespace assay
