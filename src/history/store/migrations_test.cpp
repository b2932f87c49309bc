// SPDX-License-Identifier: Apache-2.0
// Databases of every schema that assay has had, and of the newest one for the next migration: they are migrated,
// checked, compacted and rebuilt, and a newer one is refused.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

#include "core/base/files.hpp"
#include "core/base/hash.hpp"
#include "history/store/schema.hpp"
#include "history/store/store.hpp"

namespace assay {
namespace {
namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// `folder` of testdata: a whole database and its bundles. `version`: what later assays made of it.
struct Released {
  const char* folder;
  std::size_t version;
};
std::ostream& operator<<(std::ostream& out, const Released& released) {
  return out << released.folder << "_at_" << released.version;
}

class ReleasedSchemaTest : public ::testing::TestWithParam<Released> {
 protected:
  ReleasedSchemaTest() {
    const fs::path data = fs::path(ASSAY_SOURCE_DIR) / "src/history/store/testdata" / GetParam().folder;
    fs::copy(data / "spool", spool_, fs::copy_options::recursive);
    auto database = duckdb::Database::open(path_, duckdb::Access::kReadWrite);
    EXPECT_TRUE(database->execute(*read_file(data / "database.sql")));
    const auto newest = database->query("SELECT max(version) FROM schema_version");
    for (auto i = newest->rows.at(0).at(0).get<std::size_t>(); i < GetParam().version; ++i) {
      const duckdb::Migration& step = duckdb::migrations()[i];
      const Status done = database->execute(
          fmt::format("BEGIN; {}; INSERT INTO schema_version VALUES ({}, '{}', now()::TIMESTAMP, '0.1.0'); COMMIT",
                      step.sql, i + 1, step.name));
      EXPECT_TRUE(done) << to_string(done.error());
    }
    EXPECT_TRUE(database->execute("CHECKPOINT"));
  }
  /// Whether it is that of this assay, which keeps it as it is. The comments on its columns come with a migration.
  [[nodiscard]] static bool is_newest() { return GetParam().version == duckdb::migrations().size(); }
  [[nodiscard]] std::string dump() const {
    auto database = duckdb::open_database(path_, duckdb::Access::kReadOnly);
    EXPECT_TRUE(database) << to_string(database.error());
    std::string text;
    const std::string comment = is_newest() ? "" : ", comment";
    for (const std::string& sql : std::initializer_list<std::string>{
             "SELECT * EXCLUDE (ingested_at) FROM bundles ORDER BY ALL",
             "SELECT * REPLACE (started_at::VARCHAR AS started_at) FROM benchmark_runs ORDER BY ALL",
             "SELECT * FROM hardware_info ORDER BY ALL", "SELECT * FROM benchmark_results ORDER BY result_id",
             "SELECT * FROM launches ORDER BY launch_id",
             "SELECT launch_id, seq, kind::BIGINT, stream::BIGINT, start_ns, duration_ns FROM samples ORDER BY ALL",
             "SELECT launch_id, kind::BIGINT, steady, hex(quantiles) FROM launch_shapes ORDER BY ALL",
             "SELECT table_name, column_name, data_type" + comment +
                 " FROM duckdb_columns() WHERE NOT internal ORDER BY ALL",
             "SELECT view_name, sql FROM duckdb_views() WHERE NOT internal ORDER BY ALL"}) {
      const auto rows = database->query(sql);
      EXPECT_TRUE(rows) << to_string(rows.error());
      for (const auto& row : rows->rows) text += json_text(Json(row)) + "\n";
    }
    return text;
  }
  void expect_agreement(const char* after) const {
    auto store = Store::open(path_, Store::Mode::kRead);
    ASSERT_TRUE(store) << after << ": " << to_string(store.error());
    const auto findings = store->verify(spool_);
    ASSERT_TRUE(findings) << after << ": " << to_string(findings.error());
    EXPECT_THAT(*findings, IsEmpty()) << after << ": " << to_string(findings->front());
    EXPECT_EQ(store->summary()->bundles, list_bundles(spool_)->size()) << after;
  }
  const TemporaryDirectory folder_ = *TemporaryDirectory::create();
  const fs::path path_ = folder_.path() / "history.duckdb";
  const fs::path spool_ = default_spool(path_);
};

// history_test.cpp compares what a migration keeps, value by value.
TEST_P(ReleasedSchemaTest, IsMigratedCompactedAndRebuiltToTheSameDatabase) {
  const std::string before = *sha256_file(path_);
  const fs::path original = folder_.path() / "original.duckdb";
  fs::copy_file(path_, original);
  if (const auto reader = Store::open(path_, Store::Mode::kRead); is_newest()) {
    ASSERT_TRUE(reader) << to_string(reader.error());
  } else {
    ASSERT_FALSE(reader) << "only a writer migrates";
    EXPECT_EQ(reader.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(reader.error().message, HasSubstr(fmt::format("schema version {}", GetParam().version)));
    EXPECT_THAT(reader.error().hint, HasSubstr("assay db ingest"));
  }
  EXPECT_EQ(*sha256_file(path_), before);

  const auto sizes = Store::compact(path_);
  ASSERT_TRUE(sizes) << to_string(sizes.error());
  const fs::path backup = path_.string() + fmt::format(".v{}.bak", GetParam().version);
  EXPECT_EQ(fs::exists(backup), !is_newest());
  if (!is_newest()) {
    EXPECT_EQ(*sha256_file(backup), before);
  }
  expect_agreement("compacted");
  const std::string compacted = dump();

  fs::copy_file(original, path_, fs::copy_options::overwrite_existing);
  const auto rebuilt = Store::rebuild(path_, spool_);
  ASSERT_TRUE(rebuilt) << to_string(rebuilt.error());
  EXPECT_THAT(rebuilt->ingested.refused, IsEmpty());
  EXPECT_FALSE(rebuilt->kept) << "the new one has everything";
  expect_agreement("rebuilt");
  EXPECT_EQ(dump(), compacted);
}

INSTANTIATE_TEST_SUITE_P(Schemas, ReleasedSchemaTest,
                         ::testing::Values(Released{"schema1", 1}, Released{"schema1", 2}, Released{"schema1", 3},
                                           Released{"schema1", 4}, Released{"schema1", 5}, Released{"schema1", 6},
                                           Released{"schema1", 7}, Released{"schema1", 8}, Released{"schema8", 8},
                                           Released{"schema9", 9}, Released{"schema10", 10}),
                         ::testing::PrintToStringParamName());

TEST(ReleasedSchemas, HaveADatabaseOfTheNewestOne) {
  const std::string newest = fmt::format("schema{}", duckdb::migrations().size());
  EXPECT_TRUE(fs::exists(fs::path(ASSAY_SOURCE_DIR) / "src/history/store/testdata" / newest / "database.sql"))
      << "a migration needs a database and bundles as this assay writes them, for the migration after it";
}

TEST(NewerSchemaTest, IsRefusedByEveryCallAndStaysAsItIs) {
  const TemporaryDirectory folder = *TemporaryDirectory::create();
  const fs::path path = folder.path() / "history.duckdb", spool = default_spool(path);
  fs::create_directories(spool);
  std::vector<duckdb::Migration> steps(duckdb::migrations().begin(), duckdb::migrations().end());
  steps.push_back({"9999_of_a_newer_assay", "CREATE TABLE precious AS SELECT 1 AS a"});
  ASSERT_TRUE(duckdb::create_database(path, steps));
  fs::copy_file(path, folder.path() / "history.snapshot.duckdb");
  const std::string before = *sha256_file(path);
  const auto expect_refusal = [&](const auto& result, const char* call) {
    ASSERT_FALSE(result) << call;
    EXPECT_EQ(result.error().code, ErrorCode::kUnsupported) << call;
    EXPECT_THAT(result.error().message, AllOf(HasSubstr(fmt::format("schema version {}", steps.size())),
                                              HasSubstr(fmt::format("up to {}", steps.size() - 1))))
        << call;
    EXPECT_THAT(result.error().hint, HasSubstr("use the assay that wrote it")) << call;
    EXPECT_EQ(*sha256_file(path), before) << call;
  };
  expect_refusal(Store::open(path, Store::Mode::kRead), "read");
  expect_refusal(Store::open(path, Store::Mode::kWrite), "write");
  expect_refusal(Store::open_snapshot(path), "snapshot");
  expect_refusal(Store::compact(path), "compact");
  expect_refusal(Store::rebuild(path, spool), "rebuild");
  for (const auto& entry : fs::directory_iterator(folder.path()))
    EXPECT_THAT(entry.path().filename().string(), ::testing::Not(HasSubstr("bak"))) << "nothing was moved";
}

}  // namespace
}  // namespace assay
