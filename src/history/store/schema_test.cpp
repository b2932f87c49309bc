// SPDX-License-Identifier: Apache-2.0
#include "history/store/schema.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <vector>

#include "core/base/files.hpp"
#include "core/result/record.hpp"

namespace assay::duckdb {
namespace {
namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SchemaTest : public ::testing::Test {
 protected:
  const TemporaryDirectory folder_ = *TemporaryDirectory::create();
  const fs::path path_ = folder_.path() / "history.duckdb";

  static Json one(Database& database, const std::string& sql) {
    const auto rows = database.query(sql);
    EXPECT_TRUE(rows) << to_string(rows.error());
    return rows ? rows->rows.at(0).at(0) : Json();
  }
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path())) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
};

TEST_F(SchemaTest, ResultColumnsAreTheRecordsFieldsInAnyOrderAndCarryTheirMeanings) {
  ASSERT_TRUE(create_database(path_));
  auto database = open_database(path_, Access::kReadOnly);
  ASSERT_TRUE(database) << to_string(database.error());
  for (const std::string table : {"benchmark_results", "launches"}) {
    const auto columns = database->query(
        "SELECT column_name, data_type, comment FROM duckdb_columns() WHERE table_name = '" + table + "'");
    ASSERT_TRUE(columns);
    std::set<std::vector<Json>> found,
        expected{{"result_id", "BIGINT", "key of the result in this database; other tables name it"}};
    if (table == "launches")
      expected.insert({{"launch_id", "BIGINT", "key of the launch in this database; its samples name it"},
                       {"counted", "BOOLEAN", "whether the samples of the launch are part of the result"}});
    for (const auto& row : columns->rows) found.insert(row);
    for (const Field& field : result_fields()) {
      const std::string unit = field.unit.empty() ? "" : " (" + std::string(field.unit) + ")";
      expected.insert({field.name, field.sql_type, std::string(field.meaning) + unit});
    }
    EXPECT_EQ(found, expected) << table << ": a field without a migration, or a column without a field";
  }
}

TEST_F(SchemaTest, TheGuidesTablesHaveTheGuidesColumns) {
  ASSERT_TRUE(create_database(path_));
  auto database = open_database(path_, Access::kReadOnly);
  ASSERT_TRUE(database);
  for (const char* sql :
       {"SELECT run_id, started_at, tool_version, git_commit, command, host, environment FROM benchmark_runs",
        "SELECT hardware_id, processor FROM hardware_info",
        "SELECT result_id, launch_number, seq, kind, stream, start_ns, duration_ns FROM raw_benchmark_data",
        ("SELECT benchmark_id, architecture_id, hardware_id, batch_size, throughput, latency_avg, latency_std, "
         "memory_peak_mb, test_timestamp FROM comprehensive_benchmarks"),
        "SELECT architecture_id, architecture FROM model_architecture_coverage", "SELECT id FROM hardware_platforms"})
    EXPECT_TRUE(database->execute(sql)) << sql;
}

TEST_F(SchemaTest, ANewDatabaseLeavesNothingBesideIt) {
  ASSERT_TRUE(create_database(path_));
  EXPECT_THAT(files(), ElementsAre("history.duckdb"));
}

TEST_F(SchemaTest, RefusesForeignDatabasesAndOtherFiles) {
  const fs::path foreign = folder_.path() / "foreign.duckdb";
  {
    auto database = Database::open(foreign, Access::kReadWrite);
    ASSERT_TRUE(database);
    ASSERT_TRUE(database->execute("CREATE TABLE precious (a BIGINT)"));
  }
  EXPECT_EQ(open_database(foreign, Access::kReadWrite).error().code, ErrorCode::kInvalidArgument);

  const fs::path text = folder_.path() / "text.duckdb";
  std::ofstream(text) << std::string(10'000, 'x');
  EXPECT_EQ(open_database(text, Access::kReadWrite).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(*read_file(text), std::string(10'000, 'x'));
}

TEST_F(SchemaTest, ALogThatCannotBeReplayedIsMovedAside) {
  ASSERT_TRUE(create_database(path_));
  const pid_t child = ::fork();
  if (child == 0) {  // dies without a checkpoint, so its log stays
    auto database = open_database(path_, Access::kReadWrite);
    if (!database) ::_exit(1);
    for (int i = 0; i < 20; ++i)
      if (!database->execute("INSERT INTO hardware_info (hardware_id) VALUES ('" + std::string(500, 'x') + "')"))
        ::_exit(1);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  const fs::path log = path_.string() + ".wal";
  std::string bytes = *read_file(log);
  ASSERT_GT(bytes.size(), 5'000U);
  for (std::size_t i = 2'000; i < 4'000; ++i) bytes[i] = static_cast<char>(bytes[i] ^ 0x5A);
  std::ofstream(log, std::ios::binary) << bytes;

  auto database = open_database(path_, Access::kReadWrite);
  ASSERT_TRUE(database) << to_string(database.error());
  EXPECT_EQ(one(*database, "SELECT count(*) FROM hardware_info"), 0);
  EXPECT_THAT(files(), ::testing::Contains(HasSubstr("history.duckdb.wal.corrupt-")));
}

TEST_F(SchemaTest, QueriesSayWhatIsWrongWithThem) {
  ASSERT_TRUE(create_database(path_));
  auto database = open_database(path_, Access::kReadWrite);
  ASSERT_TRUE(database);
  EXPECT_EQ(database->query("SELEC 1").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(database->query("SELECT nonsense").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(database->query("SELECT 1; SELECT 2").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(database->query("SELECT date '2026-01-01'").error().code, ErrorCode::kUnsupported);
  EXPECT_FALSE(database->execute("INSTALL httpfs; LOAD httpfs"));
  const Json parameters[] = {"it's", 7, 0.5, true, nullptr};
  const auto rows = database->query("SELECT $1, $2, $3, $4, $5::VARCHAR, repeat('long', 10)", parameters);
  ASSERT_TRUE(rows) << to_string(rows.error());
  EXPECT_THAT(rows->rows.at(0), ElementsAre("it's", 7, 0.5, true, nullptr, "longlonglonglonglonglonglonglonglonglong"));
}

}  // namespace
}  // namespace assay::duckdb
