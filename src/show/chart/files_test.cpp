// SPDX-License-Identifier: Apache-2.0
#include "show/chart/files.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <variant>

#include "core/base/files.hpp"
#include "core/base/text.hpp"
#include "history/analyse/analysis.hpp"
#include "history/store/dataset.hpp"
#include "show/chart/cells_for_test.hpp"
#include "show/chart/chart.hpp"
#include "show/chart/picture.hpp"

namespace assay::chart {
namespace {
namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

Record cell(const std::string& hardware, const std::string& engine, double p50) {
  Record row = laboratory_cell("bert", hardware, p50);
  row.engine = engine;
  row.family = "embedding";
  return row;
}

TEST(WriteCharts, WritesEachChartThatHasDataInBothFormatsAndRemovesThoseOfBefore) {
  const Result<TemporaryDirectory> folder = TemporaryDirectory::create();
  ASSERT_TRUE(folder);
  const fs::path plots = folder->path() / "plots";
  fs::create_directories(plots);
  for (const char* old : {"hardware_comparison_2.svg", "history.svg", "history.png", "mine.svg"})
    std::ofstream(plots / old) << "old";

  Dataset data;
  data.cells = {cell("cpu", "onnxruntime", 8), cell("openvino", "openvino", 4)};
  data.ids = {0, 0};
  const Result<WrittenCharts> written = write_charts(data, plots);

  ASSERT_TRUE(written) << to_string(written.error());
  EXPECT_THAT(written->notes, IsEmpty());
  EXPECT_THAT(written->not_drawn.lines(),
              Contains(AllOf(HasSubstr("not drawn: history: "), HasSubstr("a further run"))));
  for (const char* name : {"hardware_comparison", "relative_speedup", "batch_size_scaling"}) {
    EXPECT_TRUE(fs::exists(plots / (std::string(name) + ".svg"))) << name;
    EXPECT_TRUE(fs::exists(plots / (std::string(name) + ".png"))) << name;
  }
  EXPECT_FALSE(fs::exists(plots / "hardware_comparison_2.svg"));
  EXPECT_FALSE(fs::exists(plots / "history.svg"));
  EXPECT_TRUE(fs::exists(plots / "mine.svg"));
}

TEST(WriteCharts, EndsWhenTheUserCancels) {
  const Result<TemporaryDirectory> folder = TemporaryDirectory::create();
  ASSERT_TRUE(folder);
  Dataset data;
  data.cells = {cell("cpu", "onnxruntime", 8), cell("openvino", "openvino", 4)};
  data.ids = {0, 0};
  const Result<WrittenCharts> written = write_charts(data, folder->path() / "plots", [] { return true; });
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kCancelled);
}

TEST(WriteCharts, ADatasetWithoutCellsWritesNothing) {
  const Result<TemporaryDirectory> folder = TemporaryDirectory::create();
  ASSERT_TRUE(folder);
  const Result<WrittenCharts> written = write_charts({}, folder->path() / "plots");
  ASSERT_TRUE(written) << to_string(written.error());
  EXPECT_EQ(written->pictures, 0U);
  const std::string missing = join(written->not_drawn.lines(), "\n");
  for (const Kind kind : all_kinds()) EXPECT_THAT(missing, ContainsRegex(fmt::format("[:,] {}[:,]", name_of(kind))));
  EXPECT_LT(written->not_drawn.lines().size(), all_kinds().size()) << "those that lack the same are in one line";
  EXPECT_FALSE(fs::exists(folder->path() / "plots"));
}

// As of a first try on a busy machine.
Record unranked(Record row) {
  row.latency_p50_interval = IntervalScope::kOneProcess;
  row.latency_p50_quality = "few_samples(n=5<36)";
  row.latency_p50_low_ms = row.latency_p50_high_ms = {};
  row.memory_mb = 100;
  row.memory_source = MemorySource::kProcess;
  row.parameter_count = 4'000'000;
  row.category = "text_encoders";
  row.launches = 1;
  return row;
}

std::vector<int> styles_of(const Chart& chart) {
  std::vector<int> styles;
  const Json& source = chart.option["dataset"]["source"];
  for (std::size_t i = 1; i < source.size(); ++i)
    if (!source[i][4].is_null()) styles.push_back(source[i][8].get<int>());
  return styles;
}

TEST(Charts, WhatIsNotRankedIsDrawnDashedAndNothingIsClaimedOfIt) {
  Dataset data;
  data.cells = {unranked(cell("cpu", "onnxruntime", 8)), unranked(cell("openvino", "openvino", 4))};
  data.ids = {0, 0};
  ASSERT_FALSE(data.cells[0].ranked());
  const Analysis analysis = analyse(data);
  for (const Kind kind : {Kind::kHardwareComparison, Kind::kModelPerformance, Kind::kRelativeSpeedup,
                          Kind::kArchitecturePerformanceMatrix, Kind::kArchitectureComparison,
                          Kind::kCategoryComparison, Kind::kLatencyVsBatchSize}) {
    const std::vector<Chart> charts = make_charts(kind, {.data = &data, .analysis = &analysis});
    ASSERT_FALSE(charts.front().option.is_null()) << name_of(kind);
    EXPECT_THAT(styles_of(charts.front()), Contains(kUnranked)) << name_of(kind);
    EXPECT_THAT(charts.front().notes, Contains(HasSubstr("not ranked"))) << name_of(kind);
    EXPECT_THAT(json_text(rows_json(charts.front().table), 0), HasSubstr("not ranked")) << name_of(kind);
    for (const char* claim : {"fastest for", "times as fast", "times as many"})
      EXPECT_THAT(charts.front().title, AnyOf(EndsWith("?"), Not(HasSubstr(claim)))) << name_of(kind);
  }
}

TEST(Charts, AGeometricMeanWithoutAnIntervalIsHollow) {
  Dataset data;
  Record other = cell("cpu", "onnxruntime", 12);
  other.model = "bert-large";
  data.cells = {cell("cpu", "onnxruntime", 8), other};
  for (Record& row : data.cells) row.architecture = "bert";
  data.ids = {0, 0};
  const Chart two = make_charts(Kind::kArchitectureComparison, {.data = &data}).front();
  EXPECT_THAT(styles_of(two), ElementsAre(kHollow));
  EXPECT_THAT(two.notes, Contains(HasSubstr("a mean over several models")));
  data.cells.pop_back();
  const Chart one = make_charts(Kind::kArchitectureComparison, {.data = &data}).front();
  EXPECT_THAT(styles_of(one), ElementsAre(0)) << "a median with its interval";

  Analysis analysis;
  Efficiency share;
  share.target = "cpu";
  share.hardware_id = data.cells.front().hardware_id;
  share.share = 0.4;
  share.cells = 2;
  analysis.efficiency = {share};
  EXPECT_THAT(styles_of(make_charts(Kind::kHardwareEfficiency, {.data = &data, .analysis = &analysis}).front()),
              ElementsAre(kHollow));
}

TEST(Charts, NoiseDoesNotMakeMemoryUncertain) {
  Dataset data;
  data.cells = {unranked(cell("cpu", "onnxruntime", 8))};
  data.ids = {0};
  for (const Kind kind : {Kind::kMemoryUsage, Kind::kMemoryScaling, Kind::kMemoryUsageVsBatchSize}) {
    const std::vector<Chart> charts = make_charts(kind, {.data = &data});
    ASSERT_FALSE(charts.front().option.is_null()) << name_of(kind);
    EXPECT_THAT(styles_of(charts.front()), Each(0)) << name_of(kind);
    EXPECT_THAT(charts.front().notes, Not(Contains(HasSubstr("not ranked")))) << name_of(kind);
  }
}

TEST(Charts, HollowMemoryIsAnUpperBound) {
  Dataset data;
  data.cells = {unranked(cell("cpu", "onnxruntime", 8))};
  data.cells[0].memory_source = MemorySource::kWarmProcess;
  data.ids = {0};
  const Chart chart = make_charts(Kind::kMemoryUsage, {.data = &data}).front();
  EXPECT_THAT(styles_of(chart), ElementsAre(kHollow));
  EXPECT_THAT(chart.notes, Contains(HasSubstr("Hollow: at most")));
  EXPECT_THAT(chart.notes, Not(Contains(HasSubstr("one process"))));
}

TEST(Charts, RankedTimesComeBeforeOthers) {
  Dataset data;
  Record larger = cell("cpu", "onnxruntime", 30);
  larger.batch_size = 4;
  larger.series_key = "larger";
  data.cells = {unranked(cell("cpu", "onnxruntime", 8)), unranked(cell("openvino", "openvino", 4)), larger};
  data.ids = {0, 0, 0};
  const std::vector<Chart> charts = make_charts(Kind::kModelPerformance, {.data = &data});
  EXPECT_THAT(styles_of(charts.front()), ElementsAre(0));
}

TEST(Charts, WrongAndFailedCellsHaveNoTime) {
  Dataset data;
  Record wrong = cell("openvino", "openvino", 4), failed = cell("cuda", "onnxruntime", 1);
  wrong.status = CellStatus::kWrong;
  wrong.verification = Verification::kWrong;
  wrong.max_abs_error = 0.5;
  wrong.error_limit = 0.01;
  failed.status = CellStatus::kFailed;
  data.cells = {cell("cpu", "onnxruntime", 8), wrong, failed};
  data.ids = {0, 0, 0};
  EXPECT_THAT(styles_of(make_charts(Kind::kModelPerformance, {.data = &data}).front()), SizeIs(1));
  const Chart errors = make_charts(Kind::kVerification, {.data = &data}).front();
  ASSERT_FALSE(errors.option.is_null());
  EXPECT_DOUBLE_EQ(std::get<double>(errors.table.rows.at(0).at(3)), 50) << "only the wrong one was compared";
}

SampleDistribution shape_of(std::int64_t result, std::int64_t launch) {
  SampleDistribution distribution;
  distribution.result_id = result;
  distribution.launch_number = launch;
  distribution.samples = distribution.steady = 100;
  distribution.low_ns = 1'000'000 * result;
  distribution.high_ns = 2'000'000 * result;
  distribution.quantiles = {0, 32768, 65535};
  return distribution;
}

std::vector<std::string> series_of(const Chart& chart, std::string_view function) {
  std::vector<std::string> names;
  for (const Json& series : chart.option["series"])
    if (series["type"] == function || (series.contains("renderItem") && series["renderItem"]["$fn"] == function))
      names.push_back(series["$rows"]["series"]);
  return names;
}

TEST(Charts, TheDistributionsOfACellOnSeveralTargetsAreInOnePanel) {
  Dataset data;
  data.cells = {cell("cpu", "onnxruntime", 8), cell("openvino", "openvino", 4)};
  data.ids = {2, 1};
  for (const std::int64_t result : {1, 2})
    for (const std::int64_t launch : {1, 2}) data.distributions.push_back(shape_of(result, launch));
  const Chart both = make_charts(Kind::kLatencyDistribution, {.data = &data}).front();
  EXPECT_EQ(both.option["grid"].size(), 1U);
  EXPECT_THAT(series_of(both, "line"), ElementsAre("openvino", "cpu")) << "the fastest first, a line each";
  std::vector<std::string> names;
  double last = 0;
  for (const Json& row : both.option["dataset"]["source"]) {
    if (row[2] == "names") names.push_back(row[9]);
    if (row[2] == "cpu") last = row[4].get<double>();
  }
  EXPECT_THAT(names, ElementsAre("openvino 4.00", "cpu 8.00"));
  EXPECT_EQ(last, 1) << "a line of all launches ends at all samples";

  for (const Json& series : both.option["series"]) {
    const Json draws = series.value("renderItem", Json::object());
    if (draws.value("$fn", "") != "point") continue;
    EXPECT_EQ(draws["ink"], draws["colour"]) << "whiskers are of their target";
    EXPECT_EQ(draws["shift"], 0) << "the intervals do not touch";
  }

  data.cells[0].latency_p50_low_ms = 3.9;
  const Chart touching = make_charts(Kind::kLatencyDistribution, {.data = &data}).front();
  EXPECT_EQ(touching.option["series"].at(3)["renderItem"]["shift"], 8) << "cpu, under openvino";

  data.cells[0].latency_p50_interval = IntervalScope::kOneProcess;
  const Chart single = make_charts(Kind::kLatencyDistribution, {.data = &data}).front();
  for (const Json& row : single.option["dataset"]["source"])
    if (row[1] == "cpu, p50") {
      EXPECT_NE(row[8].get<int>() & (kHollow | kUnranked), 0);
    }

  data.cells[1].batch_size = 4;
  const Chart apart = make_charts(Kind::kLatencyDistribution, {.data = &data}).front();
  EXPECT_EQ(apart.option["grid"].size(), 2U) << "another batch is another cell";
  EXPECT_THAT(series_of(apart, "line"), SizeIs(4)) << "a line for each launch";
}

TEST(Charts, NamesAreThoseOfTheirKinds) {
  for (const Kind kind : all_kinds()) EXPECT_EQ(find_kind(name_of(kind)), kind);
  EXPECT_EQ(find_kind("no_such_chart"), std::nullopt);
}

}  // namespace
}  // namespace assay::chart
