// SPDX-License-Identifier: Apache-2.0
#include "history/store/dataset.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/files.hpp"
#include "history/store/fake_bundles.hpp"
#include "history/store/schema.hpp"
#include "history/store/store.hpp"

namespace assay {
namespace {
namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class DatasetTest : public ::testing::Test {
 protected:
  void add(const std::string& model, const std::string& run, const std::string& timestamp,
           const std::string& version = "1.0") {
    const Samples samples = testing::fake_samples(20, ++seed_);
    Record record = testing::fake_record(model, samples);
    record.run_id = run;
    record.timestamp = timestamp;
    record.engine_version = version;
    record.task_key = task_key(record);
    testing::write_fake_bundle(spool_, record, samples);
  }
  Store ingested() {
    auto store = Store::open(path_, Store::Mode::kWrite);
    EXPECT_TRUE(store) << to_string(store.error());
    EXPECT_TRUE(store->ingest(spool_));
    return std::move(*store);
  }
  const TemporaryDirectory folder_ = *TemporaryDirectory::create();
  const fs::path path_ = folder_.path() / "history.duckdb";
  const fs::path spool_ = default_spool(path_);
  std::uint64_t seed_ = 0;
};

TEST_F(DatasetTest, HasTheNewestCellsAndTheirHistoryByTime) {
  add("bert", "run-1", "2026-03-01T00:00:00.500000Z");
  add("bert", "run-2", "2026-03-02T00:00:00.000000Z", "1.1");
  add("vit", "run-2", "2026-03-02T01:00:00.000000Z");
  Store store = ingested();
  const auto data = read_dataset(store);
  ASSERT_TRUE(data) << to_string(data.error());
  ASSERT_THAT(data->cells, SizeIs(2));
  EXPECT_EQ(data->cells[0].model, "vit");
  EXPECT_EQ(data->cells[1].run_id, "run-2") << "the newer one of bert";
  EXPECT_EQ(data->series[1], data->cells[1].series_key);
  EXPECT_EQ(data->left_out, 0U);
  EXPECT_EQ(data->source, "history.duckdb");
  ASSERT_THAT(data->history, SizeIs(3));
  const HistoryPoint &vit = data->history[0], &first = data->history[1], &second = data->history[2];
  EXPECT_EQ(vit.series, 0U);
  EXPECT_EQ(first.series, 1U);
  EXPECT_DOUBLE_EQ(first.time_s, 1'772'323'200.5);
  EXPECT_EQ(data->versions[first.version], "null 1.0, assay 0.1.0");
  EXPECT_EQ(data->versions[second.version], "null 1.1, assay 0.1.0");
  EXPECT_EQ(data->runs[first.run].run_id, "run-1");
  EXPECT_EQ(data->runs[second.run].run_id, "run-2");
  EXPECT_EQ(second.result_id, data->ids[1]);
  EXPECT_TRUE(second.ranked);
  EXPECT_EQ(second.p50_ms, data->cells[1].latency_p50_ms);
  ASSERT_THAT(data->runs, SizeIs(2));
  const RunFacts& run = data->runs[second.run];
  EXPECT_EQ(run.cells, 2);
  EXPECT_EQ(run.started, "2026-03-02T12:30:00.000000Z");
  EXPECT_EQ(run.environment.at("governor"), "performance");
  EXPECT_EQ(run.score, std::nullopt) << "nobody looked";
  ASSERT_THAT(data->machines, SizeIs(1));
  EXPECT_EQ(data->machines[0].processor, "A CPU");
  EXPECT_EQ(data->machines[0].first_seen, "2026-03-01T00:00:00.500000Z");
  EXPECT_EQ(data->machines[0].info.at("cpu_threads"), 2);
}

TEST_F(DatasetTest, PointsSayWhyTheyDidNotRunAndWhatTheyRestOn) {
  add("bert", "run-1", "2026-03-01T00:00:00.000000Z");
  add("bert", "run-2", "2026-03-02T00:00:00.000000Z");
  { const Store closed = ingested(); }
  {
    auto database = duckdb::open_database(path_, duckdb::Access::kReadWrite);
    const Status changed = database->execute(
        "UPDATE benchmark_results SET flags = 'noisy', memory_source = 'process', latency_mean_ms = 9 WHERE run_id = "
        "'run-1'; UPDATE benchmark_results SET status = 'unavailable', reason_code = 'no_hardware', message = 'no "
        "driver', latency_p50_ms = NULL, latency_mean_ms = NULL WHERE run_id = 'run-2'");
    ASSERT_TRUE(changed) << to_string(changed.error());
  }
  auto store = Store::open(path_, Store::Mode::kRead);
  const auto data = read_dataset(*store);
  ASSERT_TRUE(data) << to_string(data.error());
  ASSERT_THAT(data->history, SizeIs(2));
  const HistoryPoint &measured = data->history[0], &refused = data->history[1];
  EXPECT_EQ(measured.mean_ms, 9);
  EXPECT_EQ(measured.memory_source, MemorySource::kProcess);
  EXPECT_EQ(measured.flags, Flags({Flag::kNoisy}));
  EXPECT_EQ(measured.refusal, -1);
  ASSERT_THAT(data->refusals, SizeIs(1));
  EXPECT_EQ(refused.refusal, 0);
  EXPECT_EQ(data->refusals[0].reason_code, Reason::kNoHardware);
  EXPECT_EQ(data->refusals[0].message, "no driver");
}

TEST_F(DatasetTest, CountsTheCellsThatItLeavesOut) {
  for (const char* model : {"a", "b", "c"})
    add(model, "run-1", std::string("2026-03-0") + *model + "T00:00:00.000000Z");
  Store store = ingested();
  const auto data = read_dataset(store, {.most_cells = 2, .history = false});
  ASSERT_TRUE(data) << to_string(data.error());
  EXPECT_THAT(data->cells, SizeIs(2));
  EXPECT_EQ(data->left_out, 1U);
  EXPECT_THAT(data->history, IsEmpty());
  EXPECT_THAT(data->runs, SizeIs(1)) << "of the cells";
}

TEST_F(DatasetTest, HasPeaksScoresAndShapes) {
  add("bert", "run-1", "2026-03-01T00:00:00.000000Z");
  { const Store closed = ingested(); }
  {
    auto database = duckdb::open_database(path_, duckdb::Access::kReadWrite);
    const Status changed = database->execute(
        R"(UPDATE benchmark_runs SET environment = '{"doctor": {"score": 91}, "peaks": [{"hardware": "cpu", )"
        R"("precision": "float32", "engine": "null", "flops_per_s": 2e11, "threads": 2}]}')");
    ASSERT_TRUE(changed) << to_string(changed.error());
  }
  auto store = Store::open(path_, Store::Mode::kRead);
  const auto data = read_dataset(*store);
  ASSERT_TRUE(data) << to_string(data.error());
  EXPECT_EQ(data->runs.at(0).score, 91);
  ASSERT_THAT(data->peaks, SizeIs(1));
  EXPECT_EQ(data->peaks[0].hardware_id, "machine-1");
  EXPECT_EQ(data->peaks[0].flops_per_s, 2e11);
  EXPECT_EQ(data->peaks[0].threads, 2);
  ASSERT_THAT(data->distributions, SizeIs(1));
  EXPECT_EQ(data->distributions[0].result_id, data->ids[0]);
  EXPECT_EQ(data->distributions[0].quantiles.size(), 20U);
  EXPECT_THAT(read_dataset(*store, {.distributions = false})->distributions, IsEmpty());
}

TEST_F(DatasetTest, OfWhatPagesAndChartsShowNothingIsReadFromSamples) {
  for (const char* model : {"bert", "vit"})
    for (const char* run : {"run-1", "run-2"}) add(model, run, "2026-03-01T00:00:00.000000Z");
  Store store = ingested();
  const auto before = read_dataset(store);
  ASSERT_TRUE(before) << to_string(before.error());
  { const Store closed = std::move(store); }
  {
    auto database = duckdb::open_database(path_, duckdb::Access::kReadWrite);
    ASSERT_TRUE(database->execute("DROP VIEW raw_benchmark_data; DROP TABLE samples"));
  }
  auto without = Store::open(path_, Store::Mode::kRead);
  const auto after = read_dataset(*without);
  ASSERT_TRUE(after) << to_string(after.error());
  EXPECT_THAT(after->ids, ElementsAre(before->ids[0], before->ids[1]));
  for (std::size_t i = 0; i < before->cells.size(); ++i) EXPECT_EQ(to_json(after->cells[i]), to_json(before->cells[i]));
  EXPECT_THAT(after->history, SizeIs(4));
  ASSERT_EQ(after->distributions.size(), before->distributions.size());
  for (std::size_t i = 0; i < before->distributions.size(); ++i)
    EXPECT_EQ(after->distributions[i].quantiles, before->distributions[i].quantiles);
}

TEST_F(DatasetTest, SelectsByTime) {
  add("bert", "run-1", "2026-03-01T00:00:00.000000Z");
  add("bert", "run-2", "2026-03-02T00:00:00.000000Z");
  Store store = ingested();
  Selection selection;
  selection.until = WallTime(std::chrono::sys_days(std::chrono::year{2026} / 3 / 1) + std::chrono::hours(12));
  const auto data = read_dataset(store, selection);
  ASSERT_THAT(data->cells, SizeIs(1));
  EXPECT_EQ(data->cells[0].run_id, "run-1");
  EXPECT_THAT(data->history, SizeIs(1)) << "what came later is not what the cells are compared with";
  EXPECT_THAT(data->runs, SizeIs(1));
}

TEST_F(DatasetTest, OfAnOlderRunTheHistoryEndsWithIt) {
  for (const char* run : {"1", "2", "3"})
    add("bert", std::string("run-") + run, std::string("2026-03-0") + run + "T00:00:00.000000Z");
  Store store = ingested();
  Selection selection;
  selection.runs = {"run-2"};
  const auto data = read_dataset(store, selection);
  ASSERT_THAT(data->cells, SizeIs(1));
  ASSERT_THAT(data->history, SizeIs(2));
  EXPECT_EQ(data->runs[data->history[0].run].run_id, "run-1");
  EXPECT_EQ(data->history[1].result_id, data->ids[0]);
  selection.runs.clear();
  selection.since = WallTime(std::chrono::sys_days(std::chrono::year{2026} / 3 / 3));
  EXPECT_THAT(read_dataset(store, selection)->history, SizeIs(3)) << "what came before is history";
}

TEST_F(DatasetTest, OfAnEmptyDatabaseIsEmpty) {
  ASSERT_TRUE(Store::init(path_, spool_, false));
  auto store = Store::open(path_, Store::Mode::kRead);
  const auto data = read_dataset(*store);
  ASSERT_TRUE(data) << to_string(data.error());
  EXPECT_THAT(data->cells, IsEmpty());
  EXPECT_THAT(data->runs, IsEmpty());
  EXPECT_EQ(data->left_out, 0U);
}

}  // namespace
}  // namespace assay
