// SPDX-License-Identifier: Apache-2.0
// What `assay db verify` must find: any change of any value, and rows and bundles that are missing or too many.
#include "store/verify.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "store/compare_tables.hpp"
#include "store/peaks.hpp"
#include "store/store_for_test.hpp"

namespace assay {
namespace {
namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class VerifyTest : public StoreTest {
 protected:
  /// Two cells of two and one launches in two runs on two machines, a failure without samples, and measured peaks.
  void make_history() const {
    // The messages of cells are compared if this version of assay composed them.
    static_cast<void>(open());
    const auto version = query("SELECT max(tool_version) FROM schema_version").rows.at(0).at(0).get<std::string>();
    const auto put = [&](const std::string& model, std::int64_t launch, const std::string& run,
                         const std::function<void(Record&)>& change) {
      const Samples samples = testing::fake_samples(20, static_cast<std::uint64_t>(launch) + model.size());
      Record record = testing::fake_record(model, samples, 2);
      record.run_id = run;
      record.hardware_id = "machine-of-" + run;
      record.launch_number = launch;
      record.tool_version = version;
      record.message = "a message";
      change(record);
      record.task_key = task_key(record);
      record.series_key = series_key(record);
      testing::write_fake_bundle(spool_, record, record.status == CellStatus::kFailed ? Samples{} : samples);
    };
    put("a", 1, "run-1", [](Record&) {});
    put("a", 2, "run-1", [](Record& record) { record.timestamp = "2026-03-02T13:00:00.000000Z"; });
    put("bb", 1, "run-2", [](Record&) {});
    put("ccc", 1, "run-2", [](Record& record) { record.status = CellStatus::kFailed; });
    RunInfo run;
    run.run_id = "peaks";
    run.started = "2026-03-01T00:00:00.000000Z";
    ASSERT_TRUE(write_peaks(spool_, run, Json::array()));
    ASSERT_TRUE(open().ingest(spool_));
  }

  static std::vector<std::string> messages(const std::vector<Error>& findings) {
    std::vector<std::string> texts;
    for (const Error& finding : findings) texts.push_back(finding.message);
    return texts;
  }
  std::vector<std::string> found() const {
    const auto findings = open(Store::Mode::kRead).verify(spool_);
    EXPECT_TRUE(findings) << to_string(findings.error());
    return findings ? messages(*findings) : std::vector<std::string>();
  }
  void change(const std::string& sql) const {
    auto database = duckdb::open_database(path_, duckdb::Access::kReadWrite);
    const Status done = database->execute(sql);
    ASSERT_TRUE(done) << sql << ": " << to_string(done.error());
  }
};

/// Another value for a column of this type.
std::string changed_value(const std::string& column, const std::string& type) {
  const std::string name = duckdb::quoted_name(column);
  if (type == "VARCHAR") return fmt::format("coalesce({}, '') || 'x'", name);
  if (type == "BOOLEAN") return fmt::format("NOT coalesce({}, false)", name);
  if (type == "BLOB") return fmt::format("coalesce({}, ''::BLOB) || 'x'::BLOB", name);
  if (type == "TIMESTAMP") return fmt::format("coalesce({}, '2026-01-01'::TIMESTAMP) + INTERVAL 1000 YEAR", name);
  return fmt::format("coalesce({}, 0) + 1", name);
}

TEST_F(VerifyTest, FindsAChangeOfAnyColumnOfAnyTable) {
  make_history();
  auto database = duckdb::open_database(path_, duckdb::Access::kReadWrite);
  ASSERT_TRUE(database);
  const auto columns = database->query(
      "SELECT c.table_name, c.column_name, c.data_type FROM duckdb_columns() AS c JOIN duckdb_tables() AS t USING "
      "(database_name, schema_name, table_name) WHERE database_name = current_database() AND NOT c.internal");
  ASSERT_TRUE(columns) << to_string(columns.error());
  ASSERT_GT(columns->rows.size(), 300U) << "samples, shapes, bundles, runs, machines, and results and launches";
  const auto verify = [&]() -> std::vector<std::string> {
    const auto findings = duckdb::verify_against_bundles(*database, spool_);
    EXPECT_TRUE(findings) << to_string(findings.error());
    return findings ? messages(*findings) : std::vector<std::string>();
  };
  ASSERT_THAT(verify(), IsEmpty());
  for (const auto& row : columns->rows) {
    const auto table = row[0].get<std::string>(), column = row[1].get<std::string>(), type = row[2].get<std::string>();
    const std::string set = fmt::format("UPDATE {0} SET {1} = {2} WHERE rowid = (SELECT {3}(rowid) FROM {0})", table,
                                        duckdb::quoted_name(column), changed_value(column, type),
                                        table == "benchmark_runs" ? "max" : "min");
    const Status changed = database->execute(fmt::format("CREATE TEMP TABLE kept AS FROM {}; {}", table, set));
    ASSERT_TRUE(changed) << set << ": " << to_string(changed.error());
    EXPECT_THAT(verify(), Contains(AllOf(HasSubstr("table " + table), HasSubstr(column)))) << set;
    ASSERT_TRUE(database->execute(fmt::format("DELETE FROM {0}; INSERT INTO {0} FROM kept; DROP TABLE kept", table)));
  }
  EXPECT_THAT(verify(), IsEmpty());
}

TEST_F(VerifyTest, FindsARowThatIsMissingAndOneThatIsTooManyInAnyTable) {
  make_history();
  auto database = duckdb::open_database(path_, duckdb::Access::kReadWrite);
  ASSERT_TRUE(database);
  const auto tables = database->query("SELECT table_name FROM duckdb_tables() WHERE NOT internal");
  ASSERT_THAT(tables->rows, SizeIs(8));
  const auto expect_finding = [&](const std::string& table, const std::string& sql, const char* what) {
    const Status changed = database->execute(fmt::format("CREATE TEMP TABLE kept AS FROM {}; {}", table, sql));
    ASSERT_TRUE(changed) << sql << ": " << to_string(changed.error());
    const auto findings = duckdb::verify_against_bundles(*database, spool_);
    ASSERT_TRUE(findings) << sql << ": " << to_string(findings.error());
    EXPECT_THAT(messages(*findings), Contains(AllOf(HasSubstr("table " + table), HasSubstr(what)))) << sql;
    ASSERT_TRUE(database->execute(fmt::format("DELETE FROM {0}; INSERT INTO {0} FROM kept; DROP TABLE kept", table)));
  };
  for (const auto& row : tables->rows) {
    const auto table = row[0].get<std::string>();
    expect_finding(table, fmt::format("DELETE FROM {0} WHERE rowid = (SELECT min(rowid) FROM {0})", table), "missing");
    expect_finding(table, fmt::format("INSERT INTO {0} FROM {0} LIMIT 1", table), "no bundle has");
    expect_finding(table, fmt::format("DELETE FROM {}", table), "missing");
  }
  // All that is left of a bundle.
  const auto without = [&](const char* table) {
    return fmt::format("DELETE FROM {} WHERE launch_id = 1; ", table);
  };
  ASSERT_TRUE(database->execute(without("launches") + without("bundles") + without("samples") + without("launch_shapes")));
  EXPECT_THAT(messages(*duckdb::verify_against_bundles(*database, spool_)),
              Contains(HasSubstr("bundles of the spool are not in the database (1)")));
}

TEST_F(VerifyTest, FindsABundleThatWasNeverIngestedAndThenNothingElse) {
  make_history();
  const Record late = add("late");
  EXPECT_THAT(found(), ElementsAre(AllOf(HasSubstr("not in the database (1)"), HasSubstr(late.attempt_id))));
  ASSERT_TRUE(open().ingest(spool_));
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(VerifyTest, SaysWhereWhatIsStoredAndWhatIsExpected) {
  make_history();
  change("UPDATE samples SET duration_ns = 777777777");
  EXPECT_THAT(found(), ElementsAre(AllOf(
                           HasSubstr("table samples, column duration_ns: values differ from those of the bundles (54)"),
                           HasSubstr("launch_id 1, seq 2 has 777777777, and its bundle 10"), HasSubstr("; and 51 more"))));
  ASSERT_TRUE(Store::rebuild(path_, spool_));
  change("UPDATE launches SET host = 'elsewhere' WHERE launch_id = 2");
  EXPECT_THAT(found(), ElementsAre("table launches, column host: values differ from those of the bundles (1): launch_id 2 "
                                   "has 'elsewhere', and its bundle 'host-1'"));
  change("ALTER TABLE launches DROP COLUMN host; ALTER TABLE bundles ADD COLUMN mine BIGINT");
  EXPECT_THAT(found(), ElementsAre("table launches: the column host is missing"));
}

TEST_F(VerifyTest, OneBundleThatIsGoneOrDamagedIsOneFindingAndHidesNoOther) {
  make_history();
  const auto folder_of = [&](const char* model) {
    return spool_ / query(fmt::format("SELECT b.path FROM bundles AS b JOIN launches USING (launch_id) WHERE model = '{}' "
                                      "ORDER BY launch_id",
                                      model))
                        .rows.at(0)
                        .at(0)
                        .get<std::string>();
  };
  std::ofstream(folder_of("bb") / "samples.bin", std::ios::app) << "x";
  fs::remove_all(folder_of("a"));
  EXPECT_THAT(found(), ElementsAre(HasSubstr("'samples.bin' is not what was written"),
                                   HasSubstr("bundles of the database are not in the spool")));
  change("UPDATE launches SET host = 'elsewhere'");
  EXPECT_THAT(found(), Contains(HasSubstr("table launches, column host: values differ from those of the bundles (1)")))
      << "of the failure, whose bundle is there";
}

TEST_F(VerifyTest, AcceptsWhatWasIngestedInAnotherOrderOrTwice) {
  std::vector<Record> records;
  for (const char* time : {"3", "1", "2"}) {
    const Samples samples = testing::fake_samples(30);
    Record record = testing::fake_record("a", samples);
    record.timestamp = fmt::format("2026-03-0{}T00:00:00.000000Z", time);
    record.launch_number = 1;
    record.attempt_number = static_cast<std::int64_t>(records.size() + 1);
    record.host = "host-" + std::string(time);
    testing::write_fake_bundle(spool_, record, samples);
    ASSERT_TRUE(open().ingest(spool_));
    records.push_back(record);
    EXPECT_THAT(found(), IsEmpty()) << "after " << time;
  }
  fs::copy(spool_ / records[0].task_key / records[0].attempt_id, spool_ / records[0].task_key / "a-copy");
  ASSERT_TRUE(open().ingest(spool_));
  EXPECT_THAT(found(), IsEmpty()) << "with a copy";
  ASSERT_TRUE(Store::compact(path_));
  EXPECT_THAT(found(), IsEmpty()) << "compacted";
  ASSERT_TRUE(Store::rebuild(path_, spool_));
  EXPECT_THAT(found(), IsEmpty()) << "rebuilt";
}

TEST_F(VerifyTest, AnEmptyDatabaseAgreesWithNoSpool) {
  static_cast<void>(open());
  EXPECT_THAT(found(), IsEmpty());
}

TEST(DifferencesTest, ListsAFewAndCountsTheOthers) {
  duckdb::Differences differences;
  for (int i = 0; i < 5; ++i) differences.add(fmt::format("row {}", i));
  EXPECT_EQ(differences.listed(), "row 0; row 1; row 2; and 2 more");
}

}  // namespace
}  // namespace assay
