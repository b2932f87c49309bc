// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/result/launch_medians.hpp"
#include "history/store/dataset.hpp"
#include "show/chart/cells_for_test.hpp"
#include "show/chart/chart.hpp"
#include "show/chart/picture.hpp"

namespace assay::chart {
namespace {
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

Record cell(const std::string& hardware, const std::string& engine, const std::string& model, double p50) {
  Record row = laboratory_cell(model, hardware, p50);
  row.engine = engine;
  return row;
}

struct Drawn {
  std::string group, series, text;
  int style = 0, mark = 0;
};
std::vector<Drawn> drawn(const Chart& chart, int panel) {
  std::vector<Drawn> rows;
  const Json& source = chart.option["dataset"]["source"];
  for (std::size_t i = 1; i < source.size(); ++i)
    if (source[i][0] == panel && source[i][1] != "")
      rows.push_back({source[i][1], source[i][2], source[i][9], source[i][8].get<int>(), source[i][7].get<int>()});
  return rows;
}

TEST(Comparison, OfTwoTargetsClaimsWhatPairedLaunchesShow) {
  Dataset data;
  data.cells = {cell("cpu", "onnxruntime", "bert", 8), cell("openvino", "openvino", "bert", 4),
                cell("cpu", "onnxruntime", "vit", 8), cell("openvino", "openvino", "vit", 8.001)};
  data.ids = {0, 0, 0, 0};
  data.cells[3].launch_p50_ms = {{1, 8.08}, {2, 8}, {3, 7.93}};
  ASSERT_TRUE(data.cells[0].ranked());
  const Chart chart = make_charts(Kind::kComparison, {.data = &data}).front();
  ASSERT_FALSE(chart.option.is_null());
  const std::vector<Drawn> cells = drawn(chart, 1);
  ASSERT_THAT(cells, SizeIs(2));
  EXPECT_EQ(cells[0].group, "bert, batch 1") << "the largest effect first";
  EXPECT_EQ(cells[0].style, 0);
  EXPECT_EQ(cells[0].series, "openvino");
  EXPECT_EQ(cells[1].style, kHollow) << "equal times";
  EXPECT_EQ(cells[1].series, "no difference");
  EXPECT_THAT(drawn(chart, 0).front().group, "geometric mean, 2 cells");
  EXPECT_EQ(chart.table.rows.size(), 3U);
}

TEST(Comparison, HasTheLargestEffectFirstWhicheverSideIsFaster) {
  Dataset data;
  for (const auto& [model, p50] : {std::pair("bert", 4.0), std::pair("t5", 8.8), std::pair("vit", 24.0)}) {
    data.cells.push_back(cell("cpu", "onnxruntime", model, 8));
    data.cells.push_back(cell("openvino", "openvino", model, p50));
  }
  data.ids.assign(data.cells.size(), 0);
  std::vector<std::string> order;
  for (const Drawn& row : drawn(make_charts(Kind::kComparison, {.data = &data}).front(), 1)) order.push_back(row.group);
  EXPECT_THAT(order, ElementsAre("vit, batch 1", "bert, batch 1", "t5, batch 1"));
}

TEST(Comparison, OfTwoRunsClaimsNothing) {
  Dataset before, after;
  before.source = "old";
  after.source = "new";
  before.cells = {cell("cpu", "onnxruntime", "bert", 8), cell("cpu", "onnxruntime", "vit", 8),
                  cell("cpu", "onnxruntime", "t5", 8)};
  after.cells = {cell("cpu", "onnxruntime", "bert", 4), cell("cpu", "onnxruntime", "vit", 8)};
  for (Record& row : after.cells) row.run_id = "run-2";
  after.cells[1].status = CellStatus::kFailed;
  const Chart chart = make_charts(Kind::kComparison, {.data = &after, .before = &before}).front();
  ASSERT_FALSE(chart.option.is_null());
  EXPECT_EQ(chart.title, "How do before and after differ, cell by cell?");
  EXPECT_EQ(chart.subtitle, "before: old · after: new");
  const std::vector<Drawn> cells = drawn(chart, 1);
  ASSERT_THAT(cells, SizeIs(2));
  EXPECT_EQ(cells[0].style, kHollow);
  EXPECT_EQ(cells[0].text, "0.500 (0.490 to 0.510)") << "the interval of one median over that of the other";
  EXPECT_EQ(cells[1].mark, static_cast<int>(Mark::kFailed));
  EXPECT_EQ(cells[1].text, "after: failed");
  EXPECT_THAT(chart.notes, Contains("Only before: 1 cell."));
  EXPECT_THAT(chart.notes, Contains(HasSubstr("Nothing is claimed of times of two runs")));
}

TEST(Phases, AreThoseOfOneLaunchOneBehindTheOther) {
  Dataset data;
  data.cells = {cell("cpu", "onnxruntime", "bert", 8)};
  data.ids = {0};
  data.cells[0].runtime_load_ms = 30;
  data.cells[0].model_load_time = 0.05;
  data.cells[0].first_inference_ms = 20;
  data.cells[0].warmup_time_ms = 300;       // of three launches
  data.cells[0].window_ns = 2'700'000'000;  // likewise
  const Chart chart = make_charts(Kind::kPhases, {.data = &data}).front();
  ASSERT_FALSE(chart.option.is_null());
  std::vector<double> begins, lengths;
  for (const Json& row : chart.option["dataset"]["source"])
    if (row[0] == 1 && row[2] != "sum") {
      begins.push_back(row[3].get<double>());
      lengths.push_back(row[4].get<double>());
    }
  const auto near = [](double value) { return ::testing::DoubleNear(value, 1e-9); };
  EXPECT_THAT(begins, ElementsAre(near(0), near(0.03), near(0.08), near(0.1), near(0.2)));
  EXPECT_THAT(lengths, ElementsAre(near(0.03), near(0.05), near(0.02), near(0.1), near(0.9)));
  EXPECT_EQ(drawn(chart, 0).back().text, "100\u2009ms");
  EXPECT_EQ(drawn(chart, 1).back().text, "1.10\u2009s");
  EXPECT_THAT(chart.notes, Contains(HasSubstr("The compilation time of 1 of 1 rows is not known")));
}

TEST(Phases, OfOneCellHaveItsNameInTheTitle) {
  Dataset data;
  data.cells = {cell("cpu", "onnxruntime", "bert", 8), cell("openvino", "openvino", "vit", 4)};
  data.ids = {0, 1};
  for (Record& row : data.cells) row.first_inference_ms = 20;
  data.cells[1].task_key = "that one";
  const Chart chart = make_charts(Kind::kPhases, {.data = &data, .cell = "that one"}).front();
  ASSERT_FALSE(chart.option.is_null());
  EXPECT_THAT(chart.title, HasSubstr("Where does the time of vit on openvino, batch 1"));
  const Json& rows = chart.option["dataset"]["source"];
  for (std::size_t i = 1; i < rows.size(); ++i) EXPECT_EQ(rows[i][1], "openvino");
  EXPECT_THAT(chart.notes, Contains(HasSubstr("The compilation time is not known")));
}

TEST(Distribution, HasNoTimesOfWrongNumbers) {
  Dataset data;
  data.cells = {cell("cpu", "onnxruntime", "bert", 8), cell("openvino", "openvino", "bert", 4)};
  data.ids = {1, 2};
  data.cells[1].status = CellStatus::kWrong;
  data.cells[1].verification = Verification::kWrong;
  data.cells[1].task_key = "wrong";
  for (const std::int64_t id : data.ids) data.distributions.push_back(two_times(id));
  for (const Kind kind : {Kind::kLatencyDistribution, Kind::kSamplesOverTime}) {
    const Chart both = make_charts(kind, {.data = &data}).front();
    EXPECT_THAT(both.title, HasSubstr("bert on cpu, batch 1"));
    EXPECT_TRUE(make_charts(kind, {.data = &data, .cell = "wrong"}).front().option.is_null()) << name_of(kind);
  }
}

TEST(Charts, WithoutResultsNoneIsSaidToLackOnlyFurtherOnes) {
  const Dataset nothing;
  Dataset results;
  results.cells = {cell("cpu", "onnxruntime", "bert", 8)};
  results.ids = {1};
  const auto missing = [](Kind kind, const Dataset& data) { return make_charts(kind, {.data = &data}).front().notes; };
  for (const Kind kind : {Kind::kLatencyDistribution, Kind::kSamplesOverTime, Kind::kHistory})
    EXPECT_THAT(missing(kind, nothing), ElementsAre(HasSubstr("`assay run --models-set small` measures")))
        << name_of(kind);
  for (const Kind kind : {Kind::kLatencyDistribution, Kind::kSamplesOverTime})
    EXPECT_THAT(missing(kind, results), ElementsAre(HasSubstr("in a database, not in files"))) << name_of(kind);
  EXPECT_THAT(missing(Kind::kHistory, results), ElementsAre(HasSubstr("each cell has one result")));
}

TEST(Charts, NameWhatTheResultsLackAndTheCommandThatMeasuresIt) {
  Dataset data = data_of({laboratory_cell("bert", "cpu", 8)});
  Record& row = data.cells.front();
  row.memory_mb = row.throughput_ips = std::nullopt;
  const auto missing = [&](Kind kind) { return make_charts(kind, {.data = &data}).front().notes; };
  for (const Kind kind : {Kind::kMemoryUsage, Kind::kMemoryScaling, Kind::kMemoryUsageVsBatchSize})
    EXPECT_THAT(missing(kind), ElementsAre(AllOf(HasSubstr("no peak memory is stored"), HasSubstr("`assay run "))))
        << name_of(kind);
  EXPECT_THAT(missing(Kind::kThroughputVsBatchSize), ElementsAre(HasSubstr("no throughput is stored")));
  row.memory_mb = 100;
  EXPECT_THAT(missing(Kind::kMemoryScaling), ElementsAre(HasSubstr("how many parameters its model has")));
  EXPECT_THAT(missing(Kind::kMachineNoise),
              ElementsAre(AllOf(HasSubstr("`assay run` and `assay suite` examine the machine"),
                                HasSubstr("`bench` and `verify` do not"))));
  data.series = {row.series_key};
  data.history.resize(2);
  EXPECT_THAT(missing(Kind::kHistory), ElementsAre(HasSubstr("no cell with several results has a median")));
}

TEST(History, RunsOnADisturbedMachineAreBandsWithTheReason) {
  Dataset data = data_of({laboratory_cell("bert", "cpu", 8)});
  data.series = {data.cells.front().series_key};
  data.versions = {"onnxruntime 1.31.1, assay 0.1.0"};
  for (const int score : {90, 38, 41}) {
    RunFacts run;
    run.score = score;
    run.environment["doctor"] = {
        {"score", score}, {"findings", {{{"item", "load"}, {"verdict", "bad"}}, {{"item", "smt"}, {"verdict", "ok"}}}}};
    data.runs.push_back(run);
  }
  for (const std::uint32_t run : {0, 1, 1, 2, 2}) {
    HistoryPoint point;
    point.time_s = 100.0 * static_cast<double>(data.history.size());
    point.run = run;
    point.status = CellStatus::kCompleted;
    point.verification = Verification::kVerified;
    point.p50_ms = 8;
    data.history.push_back(point);
  }
  data.history.back().flags = {Flag::kNoisy};
  const Chart chart = make_charts(Kind::kHistory, {.data = &data}).front();
  std::vector<std::tuple<double, double, std::string>> bands;
  for (const Json& row : chart.option["dataset"]["source"])
    if (row[2] == "incidents")
      bands.emplace_back(row[5].get<double>(), row[6].get<double>(), row[9].get<std::string>());
  EXPECT_THAT(bands, ElementsAre(std::tuple(100, 200, "score 38 of 100 (load)"), std::tuple(400, 400, "noisy")));
  EXPECT_THAT(chart.notes, Contains(HasSubstr("Shaded: the machine was disturbed; its score before the run")));
  const Json table = rows_json(chart.table);
  EXPECT_EQ(table[1]["disturbed_by"], "score 38 of 100 (load)");
  EXPECT_EQ(table[3]["disturbed_by"], "");
  Dataset quiet = data;
  quiet.runs.clear();
  quiet.history.back().flags = {};
  EXPECT_THAT(make_charts(Kind::kHistory, {.data = &quiet}).front().notes,
              ::testing::Not(Contains(HasSubstr("Shaded"))));
}

TEST(MachineNoise, IsTheScoreBeforeEachRunOfAMachine) {
  Dataset data;
  for (const char* started : {"2026-03-03T00:00:00.000000Z", "2026-03-02T00:00:00.000000Z", "2026-03-01T00:00:00Z"}) {
    RunFacts run;
    run.host = run.machine = "laboratory";
    run.started = started;
    if (!data.runs.empty()) run.score = static_cast<int>(80 + data.runs.size());
    data.runs.push_back(run);
  }
  const Chart chart = make_charts(Kind::kMachineNoise, {.data = &data}).front();
  ASSERT_FALSE(chart.option.is_null());
  const Json& source = chart.option["dataset"]["source"];
  ASSERT_EQ(source.size(), 3U) << "a run without a score is not drawn";
  EXPECT_EQ(source[1][3], 1772323200) << "2026-03-01, the earliest first";
  EXPECT_EQ(source[1][4], 82);
  EXPECT_EQ(source[2][4], 81);
  EXPECT_THAT(chart.notes, Contains("1 run has no score."));
}

}  // namespace
}  // namespace assay::chart
