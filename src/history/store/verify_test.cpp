// SPDX-License-Identifier: Apache-2.0
// What `assay db verify` must find: any change of any value, and rows and bundles that are missing or too many.
#include "history/store/verify.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/files.hpp"
#include "history/store/compare_tables.hpp"
#include "history/store/peaks.hpp"
#include "history/store/store_for_test.hpp"

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

/// Changes tables of one open database and looks what is found.
class ChangedTableTest : public VerifyTest {
 protected:
  struct ColumnOf {
    std::string table, name, type;
  };

  void SetUp() override {
    make_history();
    auto opened = duckdb::open_database(path_, duckdb::Access::kReadWrite);
    ASSERT_TRUE(opened) << to_string(opened.error());
    database_.emplace(std::move(*opened));
    EXPECT_THAT(verify(), IsEmpty());
  }

  [[nodiscard]] std::vector<std::string> verify() {
    const auto findings = duckdb::verify_against_bundles(*database_, spool_);
    EXPECT_TRUE(findings) << to_string(findings.error());
    return findings ? messages(*findings) : std::vector<std::string>();
  }

  /// Those of the catalogue: one that is added later is tried, too.
  [[nodiscard]] std::vector<ColumnOf> columns() {
    const auto rows = database_->query(
        "SELECT c.table_name, c.column_name, c.data_type FROM duckdb_columns() AS c JOIN duckdb_tables() AS t USING "
        "(database_name, schema_name, table_name) WHERE database_name = current_database() AND NOT c.internal AND NOT "
        "t.temporary ORDER BY ALL");
    EXPECT_TRUE(rows) << to_string(rows.error());
    std::vector<ColumnOf> columns;
    for (const auto& row : rows->rows)
      columns.push_back({row[0].get<std::string>(), row[1].get<std::string>(), row[2].get<std::string>()});
    EXPECT_GT(columns.size(), 300U) << "samples, shapes, bundles, runs, machines, results and launches";
    return columns;
  }

  /// What is found after `sql`, which is undone then.
  [[nodiscard]] std::vector<std::string> found_after(const std::string& table, const std::string& sql) {
    const auto execute = [&](const std::string& text) {
      const Status done = database_->execute(text);
      EXPECT_TRUE(done) << text << ": " << to_string(done.error());
    };
    execute(fmt::format("CREATE TEMP TABLE kept AS FROM {}", table));
    execute(sql);
    std::vector<std::string> findings = verify();
    execute(fmt::format("DELETE FROM {0}; INSERT INTO {0} FROM kept; DROP TABLE kept", table));
    return findings;
  }

  /// Gives the column another value.
  static std::string change_of(const ColumnOf& column) {
    const std::string name = duckdb::quoted_name(column.name);
    if (column.type == "VARCHAR") return fmt::format("{0} = coalesce({0}, '') || 'x'", name);
    if (column.type == "BOOLEAN") return fmt::format("{0} = NOT coalesce({0}, false)", name);
    if (column.type == "BLOB") return fmt::format("{0} = coalesce({0}, ''::BLOB) || 'x'::BLOB", name);
    if (column.type == "TIMESTAMP")
      return fmt::format("{0} = coalesce({0}, '2026-01-01'::TIMESTAMP) + INTERVAL 1000 YEAR", name);
    return fmt::format("{0} = coalesce({0}, 0) + 1", name);
  }
  static std::string where_first(const std::string& table) {
    return fmt::format("WHERE rowid = (SELECT min(rowid) FROM {})", table);
  }
  static auto names(const ColumnOf& column) {
    return Contains(AllOf(HasSubstr("table " + column.table), HasSubstr(column.name)));
  }

  std::optional<duckdb::Database> database_;
};

TEST_F(ChangedTableTest, AChangeOfAnyColumnOfAnyTableIsFoundAndNamed) {
  // The key of the row stays, so that the finding is about the columns.
  const std::set<std::string> keys{"version",   "run_id", "hardware_id", "launch_id",
                                   "result_id", "sha256", "kind",        "seq"};
  std::map<std::string, std::vector<ColumnOf>> tables;
  for (ColumnOf& column : columns())
    if (!keys.contains(column.name) || column.table == "launches") tables[column.table].push_back(std::move(column));
  EXPECT_THAT(tables, SizeIs(8));
  for (auto& [table, changed] : tables) {
    std::erase_if(changed,
                  [](const ColumnOf& column) { return column.table == "launches" && column.name == "launch_id"; });
    std::string set;
    for (const ColumnOf& column : changed) set += (set.empty() ? "" : ", ") + change_of(column);
    const auto findings = found_after(table, fmt::format("UPDATE {} SET {} {}", table, set, where_first(table)));
    for (const ColumnOf& column : changed) EXPECT_THAT(findings, names(column));
  }
  EXPECT_THAT(verify(), IsEmpty());
}

TEST_F(ChangedTableTest, AChangeOfAnyColumnIsFoundOneAtATime) {
  for (const ColumnOf& column : columns()) {
    const std::string sql =
        fmt::format("UPDATE {} SET {} {}", column.table, change_of(column), where_first(column.table));
    const auto findings = found_after(column.table, sql);
    // By this number a bundle has its launch: if it is another, the launch differs from the bundle.
    if (column.table == "bundles" && column.name == "launch_id")
      EXPECT_THAT(findings, Contains(HasSubstr("table launches, column attempt_id: values differ"))) << sql;
    else
      EXPECT_THAT(findings, names(column)) << sql;
  }
  EXPECT_THAT(verify(), IsEmpty());
}

TEST_F(ChangedTableTest, ARowThatIsMissingAndOneThatIsTooManyAreFoundInAnyTable) {
  std::set<std::string> tables;
  for (const ColumnOf& column : columns()) tables.insert(column.table);
  for (const std::string& table : tables) {
    const auto has = [&](const char* what) { return Contains(AllOf(HasSubstr("table " + table), HasSubstr(what))); };
    const std::string first = where_first(table);
    EXPECT_THAT(found_after(table, fmt::format("DELETE FROM {} {}", table, first)), has("missing")) << table;
    EXPECT_THAT(found_after(table, fmt::format("INSERT INTO {0} FROM {0} {1}", table, first)), has("no bundle has"))
        << table;
  }
  EXPECT_THAT(verify(), IsEmpty());
  // All rows of a bundle.
  for (const char* table : {"launches", "bundles", "samples", "sample_distributions"})
    ASSERT_TRUE(database_->execute(fmt::format("DELETE FROM {} WHERE launch_id = 1", table)));
  EXPECT_THAT(verify(), Contains(HasSubstr("bundles of the spool are not in the database (1)")));
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
                           HasSubstr(", seq 2 has 777777777, and its bundle 1"), HasSubstr("; and 51 more"))));
  ASSERT_TRUE(Store::rebuild(path_, spool_));
  change("UPDATE launches SET host = 'elsewhere' WHERE launch_id = 2");
  EXPECT_THAT(found(),
              ElementsAre("table launches, column host: values differ from those of the bundles (1): launch_id 2 "
                          "has 'elsewhere', and its bundle 'host-1'"));
  change("ALTER TABLE launches DROP COLUMN host; ALTER TABLE bundles ADD COLUMN mine BIGINT");
  EXPECT_THAT(found(), ElementsAre("table launches: the column host is missing"));
}

TEST_F(VerifyTest, OneBundleThatIsGoneOrDamagedIsOneFindingAndHidesNoOther) {
  make_history();
  const auto folder_of = [&](const char* model) {
    return spool_ /
           query(fmt::format("SELECT b.path FROM bundles AS b JOIN launches USING (launch_id) WHERE model = '{}' "
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

TEST_F(VerifyTest, ARowForACopyOfABundleIsFoundAndHidesNoChange) {
  make_history();
  const std::string id =
      query("SELECT launch_id::VARCHAR FROM launches WHERE model = 'ccc'").rows.at(0).at(0).get<std::string>();
  const fs::path folder =
      spool_ / query("SELECT path FROM bundles WHERE launch_id = " + id).rows.at(0).at(0).get<std::string>();
  fs::copy(folder, folder.parent_path() / "a-copy");
  EXPECT_THAT(found(), IsEmpty());
  change(
      fmt::format("INSERT INTO launches SELECT * REPLACE (99 AS launch_id, 'a-copy' AS attempt_id) FROM launches "
                  "WHERE launch_id = {0}; UPDATE launches SET host = 'elsewhere' WHERE launch_id = {0}",
                  id));
  EXPECT_THAT(found(), AllOf(Contains(HasSubstr("table launches, column host")), Contains(HasSubstr("launch_id 99"))));
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
