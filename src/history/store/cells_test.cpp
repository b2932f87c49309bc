// SPDX-License-Identifier: Apache-2.0
// Several launches of one cell: the row of the cell, in SQL and in any order of ingesting.
#include "history/store/cells.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/base/files.hpp"
#include "core/result/launch_medians.hpp"
#include "core/samples/launches.hpp"
#include "core/samples/summary.hpp"
#include "history/store/fake_bundles.hpp"
#include "history/store/schema.hpp"
#include "history/store/store.hpp"

namespace assay {
namespace {
namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class CellsTest : public ::testing::Test {
 protected:
  struct Made {
    Record row;
    Samples samples;
  };
  /// A launch with summarised samples, not yet written. Generations have samples of three kinds.
  static Made make(const std::string& model, std::int64_t launch, std::size_t count = 40, bool generation = false) {
    Made made{{}, testing::fake_samples(count, std::hash<std::string>()(model) + 7919 * launch)};
    made.samples.stream.assign(count, 0);
    if (generation)
      for (std::size_t i = 0; i < count; ++i) made.samples.kind[i] = static_cast<std::uint8_t>(i % 4 < 2 ? i % 4 : 2);
    made.row = testing::fake_record(model, {});
    made.row.launch_number = launch;
    made.row.attempt_number = 1;
    made.row.timestamp = fmt::format("2026-03-02T12:{:02}:00.000000Z", launch);
    const std::size_t unsteady = 5;
    Measurement measurement;
    measurement.window_ns = 1'000'000'000;
    measurement.steady_from = unsteady;
    summarise(measurement, made.samples, *made.row.batch_size, made.row);
    made.row.flags = {};
    return made;
  }
  void write(const Made& made) const { testing::write_fake_bundle(spool_, made.row, made.samples); }
  Made add(const std::string& model, std::int64_t launch, std::size_t count = 40, bool generation = false) const {
    Made made = make(model, launch, count, generation);
    write(made);
    return made;
  }
  [[nodiscard]] Store open(Store::Mode mode = Store::Mode::kWrite) const {
    auto store = Store::open(path_, mode);
    EXPECT_TRUE(store) << to_string(store.error());
    return std::move(*store);
  }
  void ingest() const {
    Store store = open();
    const auto report = store.ingest(spool_);
    ASSERT_TRUE(report) << to_string(report.error());
    EXPECT_THAT(report->refused, IsEmpty());
  }
  [[nodiscard]] duckdb::Rows query(const std::string& sql) const { return query(path_, sql); }
  static duckdb::Rows query(const fs::path& path, const std::string& sql) {
    auto database = duckdb::open_database(path, duckdb::Access::kReadOnly);
    EXPECT_TRUE(database) << to_string(database.error());
    auto rows = database->query(sql);
    EXPECT_TRUE(rows) << sql << ": " << to_string(rows.error());
    return rows ? std::move(*rows) : duckdb::Rows();
  }
  /// All rows, without the numbers that depend on the order of ingesting.
  static std::string contents(const fs::path& path) {
    std::string text;
    for (const char* sql :
         {"SELECT * EXCLUDE (result_id) FROM benchmark_results ORDER BY ALL",
          "SELECT * EXCLUDE (launch_id, result_id) FROM launches ORDER BY ALL",
          "SELECT r.task_key, l.attempt_id, l.counted FROM launches AS l JOIN benchmark_results AS r USING (result_id) "
          "ORDER BY ALL",
          "SELECT l.attempt_id, s.result_id = l.result_id AS counted, s.* EXCLUDE (result_id, launch_id) REPLACE "
          "(s.kind::VARCHAR AS kind) FROM raw_benchmark_data AS s JOIN launches AS l USING (launch_id) ORDER BY ALL",
          "SELECT b.attempt_id, b.samples, b.result_id = l.result_id FROM bundles AS b JOIN launches AS l USING "
          "(launch_id) ORDER BY ALL"})
      for (const auto& row : query(path, sql).rows) text += Json(row).dump() + "\n";
    return text;
  }
  /// Everything, numbers included.
  static std::string dump(const fs::path& path) {
    std::string text = contents(path);
    for (const char* sql : {"SELECT result_id, attempt_id FROM benchmark_results ORDER BY ALL",
                            "SELECT launch_id, result_id, attempt_id FROM launches ORDER BY ALL",
                            "SELECT * EXCLUDE (ingested_at) FROM bundles ORDER BY ALL"})
      for (const auto& row : query(path, sql).rows) text += Json(row).dump() + "\n";
    return text;
  }

  const TemporaryDirectory folder_ = *TemporaryDirectory::create();
  const fs::path path_ = folder_.path() / "history.duckdb";
  const fs::path spool_ = default_spool(path_);
};

TEST_F(CellsTest, ThreeLaunchesAreOneRowAsCombinedInMemory) {
  std::vector<Made> made;
  for (const std::int64_t launch : {1, 2, 3}) made.push_back(add("a", launch));
  add("b", 1);
  Store store = open();
  const auto report = store.ingest(spool_);
  ASSERT_TRUE(report) << to_string(report.error());
  EXPECT_EQ(report->bundles, 4U);
  EXPECT_EQ(report->samples, 4U * 35);
  std::vector<LaunchSamples> inputs;
  std::vector<Samples> steady;
  inputs.reserve(made.size());
  steady.reserve(made.size());
  for (const Made& each : made) steady.push_back(*store.samples(each.row.attempt_id));
  for (std::size_t i = 0; i < made.size(); ++i) inputs.push_back({&made[i].row, &steady[i]});
  const auto rows = store.results({.model = "a"});
  ASSERT_TRUE(rows) << to_string(rows.error());
  ASSERT_THAT(*rows, SizeIs(1));
  EXPECT_EQ(to_json(rows->front()), to_json(combine_launches(inputs)));
  EXPECT_EQ(rows->front().launches, 3);
  const auto launches = store.launches({.model = "a"});
  ASSERT_THAT(*launches, SizeIs(3));
  for (std::size_t i = 0; i < made.size(); ++i) EXPECT_EQ(to_json((*launches)[i]), to_json(made[i].row));
  EXPECT_THAT(*store.verify(spool_), IsEmpty());
  EXPECT_THAT(*store.bundle_paths("run-1"), SizeIs(4)) << "each launch has its log";
}

TEST_F(CellsTest, StatisticsOfALaunchEqualThoseThatSqlComputesFromItsSamples) {
  for (const std::int64_t launch : {1, 2, 3}) add("a", launch, 60 + static_cast<std::size_t>(launch), true);
  ingest();
  const auto rows = query(
      "SELECT l.latency_p50_ns, l.latency_mean_ms, l.latency_p90_ms, l.latency_p99_ms, l.tpot_p50_ms, l.ttft_ms, "
      "l.iterations, s.* FROM launches AS l JOIN (SELECT launch_id, "
      "quantile_disc(duration_ns, 0.5) FILTER (kind = 'run'), "
      "(sum(duration_ns) FILTER (kind = 'run'))::DOUBLE / (count(*) FILTER (kind = 'run')) / 1e6, "
      "(quantile_disc(duration_ns, 0.9) FILTER (kind = 'run')) / 1e6, "
      "(quantile_disc(duration_ns, 0.99) FILTER (kind = 'run')) / 1e6, "
      "(quantile_disc(duration_ns, 0.5) FILTER (kind = 'token')) / 1e6, "
      "(sum(duration_ns) FILTER (kind = 'first_token'))::DOUBLE / (count(*) FILTER (kind = 'first_token')) / 1e6, "
      "count(*) FILTER (kind = 'run') FROM raw_benchmark_data GROUP BY launch_id) AS s USING (launch_id)");
  ASSERT_THAT(rows.rows, SizeIs(3));
  for (const auto& row : rows.rows)
    for (std::size_t i = 0; i < 7; ++i)
      EXPECT_DOUBLE_EQ(row.at(i).get<double>(), row.at(i + 8).get<double>()) << rows.columns.at(i);
}

TEST_F(CellsTest, StatisticsOfACellEqualThoseThatSqlComputesFromItsSamples) {
  for (const std::int64_t launch : {1, 2, 4}) {
    add("a", launch, 50 + 10 * static_cast<std::size_t>(launch), true);
    add("b", launch, 30 + static_cast<std::size_t>(launch));
  }
  ingest();
  const auto rows = query(
      "WITH medians AS (SELECT result_id, launch_number, quantile_disc(duration_ns, 0.5) / 1e6 AS p50 FROM "
      "raw_benchmark_data WHERE kind = 'run' GROUP BY ALL), "
      "cells AS (SELECT result_id, exp(avg(ln(p50))) AS p50, stddev_samp(ln(p50)) AS spread, count(*) AS launches FROM "
      "medians GROUP BY result_id) "
      "SELECT r.latency_p50_ms, r.launch_spread, r.launches, r.latency_mean_ms, r.latency_p90_ms, r.latency_p95_ms, "
      "r.latency_p99_ms, r.latency_min_ms, r.latency_max_ms, r.latency_std_ms, r.throughput_ips, r.iterations, "
      "c.p50, c.spread, c.launches, avg(duration_ns) / 1e6, quantile_disc(duration_ns, 0.9) / 1e6, "
      "quantile_disc(duration_ns, 0.95) / 1e6, quantile_disc(duration_ns, 0.99) / 1e6, min(duration_ns) / 1e6, "
      "max(duration_ns) / 1e6, stddev_samp(duration_ns) / 1e6, any_value(r.batch_size) * count(*) / sum(duration_ns) * "
      "1e9, count(*) FROM benchmark_results AS r JOIN cells AS c USING (result_id) JOIN raw_benchmark_data AS s USING "
      "(result_id) WHERE s.kind = 'run' GROUP BY ALL");
  ASSERT_THAT(rows.rows, SizeIs(2));
  for (const auto& row : rows.rows)
    for (std::size_t i = 0; i < 12; ++i) {
      const double own = row.at(i).get<double>();
      EXPECT_NEAR(own, row.at(i + 12).get<double>(), 1e-9 * own) << rows.columns.at(i);
    }
  const auto tokens = query(
      "SELECT r.tpot_ms, r.tpot_p90_ms, r.ttft_ms, avg(duration_ns) FILTER (kind = 'token') / 1e6, "
      "quantile_disc(duration_ns, 0.9) FILTER (kind = 'token') / 1e6, avg(duration_ns) FILTER (kind = 'first_token') / "
      "1e6 FROM benchmark_results AS r JOIN raw_benchmark_data USING (result_id) WHERE r.model = 'a' GROUP BY ALL");
  ASSERT_THAT(tokens.rows, SizeIs(1));
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_DOUBLE_EQ(tokens.rows[0].at(i).get<double>(), tokens.rows[0].at(i + 3).get<double>()) << tokens.columns[i];
}

TEST_F(CellsTest, ALaterLaunchChangesTheRowAndNotItsNumber) {
  add("a", 1);
  add("b", 2);
  ingest();
  const auto number = [&] {
    const auto rows = query("SELECT result_id, launches FROM benchmark_results WHERE model = 'a'").rows;
    EXPECT_THAT(rows, SizeIs(1));
    return rows.at(0);
  };
  EXPECT_THAT(number(), ElementsAre(1, 1));
  add("a", 2);
  ingest();
  EXPECT_THAT(number(), ElementsAre(1, 2));
  const std::string before = contents(path_);
  ingest();
  EXPECT_EQ(contents(path_), before) << "ingesting twice changes nothing";
  add("a", 3);
  ingest();
  EXPECT_THAT(number(), ElementsAre(1, 3));
  EXPECT_THAT(query("SELECT DISTINCT result_id FROM raw_benchmark_data WHERE launch_number <> 2").rows,
              ElementsAre(ElementsAre(1)));
  EXPECT_THAT(*open().verify(spool_), IsEmpty());
}

TEST_F(CellsTest, TheOrderOfIngestingDoesNotMatterAndRebuildingGivesTheSame) {
  std::vector<Made> made;
  for (const std::int64_t launch : {1, 2, 3})
    for (const char* model : {"a", "b"}) made.push_back(make(model, launch));
  made[1].row.status = CellStatus::kFailed;  // b, launch 1: resumed as launch 4
  made.push_back(make("b", 4));
  made.back().row.attempt_number = 2;
  made.push_back(made[0]);  // a second attempt of launch 1 of a
  made.back().row.attempt_id = "second";
  made.back().row.attempt_number = 2;
  made.push_back(made[2]);  // cut short
  made.back().row.attempt_id = "cut";
  made.back().row.attempt_number = 3;
  made.back().row.flags.add(Flag::kPartial);
  const auto ingest_one_by_one = [&] {
    for (const Made& each : made) {
      write(each);
      ingest();
    }
  };
  ingest_one_by_one();
  const std::string expected = contents(path_);
  EXPECT_THAT(query("SELECT attempt_id FROM launches WHERE NOT counted AND attempt_id = 'cut'").rows, SizeIs(1));
  EXPECT_THAT(query("SELECT 1 FROM launches WHERE NOT counted").rows, SizeIs(3));
  EXPECT_THAT(query("SELECT DISTINCT launch_number FROM raw_benchmark_data WHERE result_id IS NULL").rows, SizeIs(2))
      << "their samples stay";
  EXPECT_EQ(open().samples("cut")->size(), 35U);
  EXPECT_THAT(*open().verify(spool_), IsEmpty());
  for (const int start : {1, 4, 7}) {
    fs::remove(path_);
    fs::remove_all(spool_);
    std::ranges::rotate(made, made.begin() + start);
    ingest_one_by_one();
    EXPECT_TRUE(contents(path_) == expected) << "from the bundle " << start << " on";
  }
  ASSERT_TRUE(Store::rebuild(path_, spool_));
  EXPECT_EQ(contents(path_), expected);
  EXPECT_THAT(*open().verify(spool_), IsEmpty());
  const std::string rebuilt = dump(path_);
  ASSERT_TRUE(Store::rebuild(path_, spool_));
  EXPECT_EQ(dump(path_), rebuilt);
}

TEST_F(CellsTest, DerivingAllRowsAgainGivesTheSame) {
  for (const std::int64_t launch : {1, 2, 3})
    for (const char* model : {"a", "b"}) add(model, launch, 40, launch == 3);
  add("c", 1);
  ingest();
  const std::string before = dump(path_);
  {
    auto database = duckdb::open_database(path_, duckdb::Access::kReadWrite);
    ASSERT_TRUE(
        database->execute("UPDATE benchmark_results SET latency_p50_ms = 1, launches = NULL; "
                          "UPDATE launches SET counted = false; BEGIN"));
    const Status derived = duckdb::derive_all_cells(*database);
    ASSERT_TRUE(derived) << to_string(derived.error());
    ASSERT_TRUE(database->execute("COMMIT"));
  }
  EXPECT_TRUE(dump(path_) == before);
}

TEST_F(CellsTest, TheViewRanksAsTheProgramDoes) {
  const Flags flag_sets[] = {
      {}, {Flag::kNoisy}, {Flag::kUnsteady}, {Flag::kFewSamples, Flag::kNoisy}, {Flag::kSimulated}, {Flag::kPartial}};
  int cell = 0;
  std::vector<Made> made;
  for (const Flags flags : flag_sets)
    for (const char* quality : {"ok", "few_samples(n=3<6)"})
      for (const double width : {0.05, 0.1, 0.3, 0.6, -1.0})
        for (const bool several : {false, true}) {
          Record row = testing::fake_record(fmt::format("m{}", cell++), {});
          row.flags = flags;
          row.latency_p50_ms = 3.0;
          row.latency_p50_quality = quality;
          row.launch_number = 1;
          if (width >= 0) {
            row.latency_p50_low_ms = 3.0 * (1 - width);
            row.latency_p50_high_ms = 3.0 * (1 + width / 2);
          }
          made.push_back({row, {}});
          if (!several) continue;
          Record second = row;
          second.attempt_id += "-2";
          second.launch_number = 2;
          second.latency_p50_ms = 3.0 * (1 + width / 4);
          made.push_back({second, {}});
        }
  for (const Made& each : made) write(each);
  ingest();
  std::map<std::string, bool> ranked;
  std::set<bool> seen;
  const auto results = open().results();
  for (const Record& row : *results) ranked[row.model] = row.ranked();
  const auto rows = query("SELECT model, ranked FROM latest_results").rows;
  EXPECT_EQ(rows.size(), ranked.size() / 6 * 5) << "all but those that were cut short";
  for (const auto& row : rows) {
    seen.insert(row[1].get<bool>());
    EXPECT_EQ(row[1].get<bool>(), ranked.at(row[0].get<std::string>())) << row[0];
  }
  EXPECT_THAT(seen, SizeIs(2));
}

TEST_F(CellsTest, TheViewHasOneRowForASeriesWhateverItsNames) {
  Made made = make("bert", 1);
  made.row.model_class = "BertModel";
  const auto put = [&](const std::string& model, const std::string& run, const std::string& engine_options) {
    made.row.model = model;
    made.row.run_id = run;
    made.row.attempt_id = "of-" + run;
    made.row.engine_options = engine_options;
    made.row.timestamp = "2026-03-02T12:00:00.00000" + run.substr(run.size() - 1) + "Z";
    made.row.task_key = task_key(made.row);
    made.row.series_key = series_key(made.row);
    write(made);
  };
  put("bert", "run-1", "");
  put("prajjwal1/bert-tiny", "run-2", "");
  put("bert", "run-3", "threads=4");
  ingest();
  const auto rows = query("SELECT model, names, engine_options, launches FROM latest_results ORDER BY ALL").rows;
  EXPECT_THAT(rows, ElementsAre(ElementsAre("bert", "bert", "threads=4", 1),
                                ElementsAre("prajjwal1/bert-tiny", "bert, prajjwal1/bert-tiny", nullptr, 1)));
}

TEST_F(CellsTest, TheViewBeginsAndEndsWithTheColumnsThatAreReadFirst) {
  static_cast<void>(open());
  std::vector<std::string> names;
  names.reserve(100);
  for (const auto& row : query("SELECT name FROM pragma_table_info('latest_results') ORDER BY cid").rows)
    names.push_back(row.at(0));
  ASSERT_GT(names.size(), 6U);
  // DuckDB prints the first and the last columns of a table that is wider than the terminal.
  EXPECT_THAT(std::vector(names.begin(), names.begin() + 3), ElementsAre("model", "engine", "batch_size"));
  EXPECT_THAT(std::vector(names.end() - 3, names.end()),
              ElementsAre("latency_p50_ms", "latency_p50_low_ms", "latency_p50_high_ms"));
}

}  // namespace
}  // namespace assay
