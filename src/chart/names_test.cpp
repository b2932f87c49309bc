// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "chart/cells_for_test.hpp"
#include "chart/chart.hpp"
#include "chart/layout.hpp"
#include "chart/render.hpp"
#include "store/dataset.hpp"

/// Where the names of targets stand, and what titles and second lines say.
namespace assay::chart {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;

Record failed(Record row) {
  row.status = CellStatus::kFailed;
  row.latency_p50_ms = {};
  return row;
}

// A model with that many targets at two batches.
Dataset targets(std::size_t count) {
  const std::vector<std::string> all{"cpu", "openvino", "cuda", "rocm", "mps", "webgpu", "wasm"};
  std::vector<Record> rows;
  for (std::size_t i = 0; i < count; ++i)
    for (const std::int64_t batch : {1, 4})
      rows.push_back(
          laboratory_cell("bert", all.at(i), 10 + static_cast<double>(i) * static_cast<double>(batch), batch));
  return data_of(std::move(rows));
}

std::string svg_of(const Chart& chart) {
  Result<Renderer> renderer = Renderer::create();
  EXPECT_TRUE(renderer);
  const Result<std::string> svg = renderer->svg(chart, theme("light"));
  EXPECT_TRUE(svg);
  return svg.value_or("");
}

TEST(Names, StandAtTheEndsOfAtMostSixLines) {
  const Chart six = chart_of(Kind::kLatencyVsBatchSize, targets(6));
  EXPECT_EQ(six.option["legend"]["show"], false);
  const std::string svg = svg_of(six);
  EXPECT_THAT(svg, HasSubstr(">webgpu"));
  EXPECT_THAT(text_faults(svg), IsEmpty());
  const Chart seven = chart_of(Kind::kLatencyVsBatchSize, targets(7));
  EXPECT_EQ(seven.option["legend"]["show"], true);
  EXPECT_THAT(seven.option["series"].dump(), Not(HasSubstr("line_end")));
}

TEST(Names, OfALineWithoutAValueHasItsMark) {
  Dataset data = targets(1);
  data.cells.push_back(failed(laboratory_cell("bert", "openvino", 5, 4)));
  data.ids.push_back(9);
  EXPECT_THAT(svg_of(chart_of(Kind::kLatencyVsBatchSize, data)), HasSubstr(">✕\u2009openvino</text>"));
}

TEST(Names, StandBesideBarsAndWhatHasNoValue) {
  Dataset data = targets(2);
  data.cells.push_back(failed(laboratory_cell("bert", "mps", 5)));
  data.ids.push_back(9);
  const std::string svg = svg_of(chart_of(Kind::kHardwareComparison, data));
  for (const char* name : {">cpu</text>", ">openvino</text>", ">mps</text>", ">✕ failed</text>"})
    EXPECT_THAT(svg, HasSubstr(name));
  EXPECT_THAT(text_faults(svg), IsEmpty());
}

TEST(Ratios, SayWhyATargetHasNone) {
  Record vision = wrong(laboratory_cell("vit", "openvino", 5)), base = laboratory_cell("vit", "cpu", 10);
  vision.family = base.family = "vision";
  Record audio = failed(laboratory_cell("whisper", "openvino", 5)), slow = laboratory_cell("whisper", "cpu", 9);
  audio.family = slow.family = "audio";
  Record text = laboratory_cell("bert", "openvino", 5), other = laboratory_cell("bert", "cpu", 9);
  text.family = other.family = "text_generation";
  const Chart chart = chart_of(Kind::kRelativeSpeedup, data_of({vision, base, audio, slow, text, other}));
  std::map<std::string, std::string> claims;
  for (const Json& row : rows_json(chart.table)) claims[row["group"]] = row["claim"];
  EXPECT_THAT(claims, ElementsAre(Pair("all models", "faster"), Pair("audio", "failed"),
                                  Pair("text generation", "faster"), Pair("vision", "wrong")));
}

TEST(Titles, OfVerificationNameWhatIsWrong) {
  Record bad = wrong(laboratory_cell("vit", "openvino", 5)), good = laboratory_cell("vit", "cpu", 5);
  for (Record* row : {&bad, &good}) {
    row->max_abs_error = row == &bad ? 10 : 0.1;
    row->error_limit = 1;
  }
  EXPECT_EQ(chart_of(Kind::kVerification, data_of({bad, good})).title, "openvino computes wrong numbers for vit");
  EXPECT_THAT(chart_of(Kind::kVerification, data_of({good})).title, StartsWith("How close"));
}

TEST(History, SaysWhatItsResultsHaveInCommon) {
  Dataset data = data_of({laboratory_cell("bert", "cpu", 10)});
  data.series = {data.cells.front().series_key};
  data.versions = {"onnxruntime 1.2.3"};
  for (const int day : {0, 1}) {
    HistoryPoint point;
    point.time_s = 1772323200 + 86400.0 * day;  // 2026-03-01
    point.status = CellStatus::kCompleted;
    point.p50_ms = 10 + day;
    point.launches = 1 + 2 * day;
    data.history.push_back(point);
  }
  EXPECT_THAT(chart_of(Kind::kHistory, data).subtitle,
              StartsWith("batch 1 · float32 · laboratory · 1 to 3 launches · 2026-03-01 to 2026-03-02"));
}

}  // namespace
}  // namespace assay::chart
