// SPDX-License-Identifier: Apache-2.0
// The views that users query: latest_results, and the tables of the guides.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "core/base/clock.hpp"
#include "core/base/files.hpp"
#include "core/result/newest.hpp"
#include "history/store/schema.hpp"
#include "history/store/store_for_test.hpp"

namespace assay {
namespace {
using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST_F(StoreTest, TheGuidesViewsJoin) {
  add("a");
  add("b");
  ASSERT_TRUE(open().ingest(spool_));
  const auto rows = query(
      "SELECT c.batch_size, c.latency_avg, a.architecture, h.hardware_type, a.models FROM comprehensive_benchmarks c "
      "JOIN model_architecture_coverage a USING (architecture_id) JOIN hardware_platforms h ON h.id = c.hardware_id");
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
  put("measured", "onnxruntime", 1, 2, [](Record& record) { record.flags.add(Flag::kPartial); });
  put("measured", "onnxruntime", 1, 3, [](Record& record) { record.latency_p50_ms.reset(); });
  put("measured", "onnxruntime", 1, 4, [](Record& record) { record.status = CellStatus::kFailed; });
  put("measured", "onnxruntime", 1, 5, [](Record& record) { record.verification = Verification::kUnverified; });
  put("wrong since", "onnxruntime", 5, 1);
  put("wrong since", "onnxruntime", 5, 2, [](Record& record) {
    record.status = CellStatus::kWrong;
    record.verification = Verification::kWrong;
  });
  put("simulated", "onnxruntime", 5, 1, [](Record& record) { record.flags.add(Flag::kSimulated); });
  const auto rows = answer();
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].front(), "measured");
  EXPECT_EQ(rows[0][7], 5) << "latency_p50_ms";
  EXPECT_THAT(query("SELECT 1 FROM latest_results WHERE NOT ranked").rows, SizeIs(1)) << "shown, not ranked";
}

TEST_F(LatestResultsTest, AnImportedResultReplacesNoOwnOneHoweverNewAndHoweverWrong) {
  const auto imported = [](Record& record) { record.flags.add(Flag::kImported); };
  put("both", "onnxruntime", 5, 1);
  put("both", "onnxruntime", 1, 2, imported);
  put("wrong here", "onnxruntime", 5, 1, [](Record& record) {
    record.status = CellStatus::kWrong;
    record.verification = Verification::kWrong;
  });
  put("wrong here", "onnxruntime", 1, 2, imported);
  put("only imported", "onnxruntime", 3, 1, imported);
  ASSERT_TRUE(open().ingest(spool_));
  const auto rows = query("SELECT model_id, latency_p50_ms FROM latest_results ORDER BY model_id").rows;
  EXPECT_THAT(rows, ElementsAre(ElementsAre("both", 5), ElementsAre("only imported", 3)));
  // The C++ side picks the same.
  for (const Record& row : *open(Store::Mode::kRead).results({.latest_per_task = true})) {
    EXPECT_EQ(is_imported(row), row.model_id == "only imported") << row.model_id;
  }
}

TEST_F(LatestResultsTest, ATimeThatCannotBeTrueIsFlaggedAndOrderedByTheIngest) {
  const auto at = [](const char* timestamp) { return [=](Record& record) { record.timestamp = timestamp; }; };
  put("future", "onnxruntime", 1, 1, at("9999-12-31T23:59:59.000000Z"));
  put("past", "onnxruntime", 1, 1, at("0001-01-01T00:00:00.000000Z"));
  put("words", "onnxruntime", 1, 1, at("zzzz"));
  put("future", "onnxruntime", 2, 2);
  ASSERT_TRUE(open().ingest(spool_));
  const auto flagged = query("SELECT model_id, flags, timestamp FROM benchmark_results WHERE latency_p50_ms = 1").rows;
  ASSERT_THAT(flagged, SizeIs(3));
  for (const auto& row : flagged) {
    EXPECT_EQ(row[1], "doubtful_time") << row[0];
    EXPECT_LE(row[2].get<std::string>(), iso8601(wall_now())) << row[0];
    EXPECT_GE(row[2].get<std::string>(), "2026-03-02") << row[0];
  }
  // A measurement after the ingest is newer than what came from the future.
  put("future", "onnxruntime", 3, 3, [](Record& record) { record.timestamp = iso8601(wall_now()); });
  ASSERT_TRUE(open().ingest(spool_));
  EXPECT_EQ(query("SELECT latency_p50_ms FROM latest_results WHERE model_id = 'future'").rows.at(0).at(0), 3);
  const auto findings = open(Store::Mode::kRead).verify(spool_);
  ASSERT_TRUE(findings);
  EXPECT_THAT(*findings, ::testing::IsEmpty());
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

}  // namespace
}  // namespace assay
