// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "history/store/dataset.hpp"
#include "show/chart/cells_for_test.hpp"
#include "show/chart/chart.hpp"
#include "show/chart/layout.hpp"
#include "show/chart/render.hpp"

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

TEST(Titles, OfTheArchitecturesNameWhoIsAheadOfAllOthersAndInHowMany) {
  std::vector<Record> rows;
  for (const char* model : {"bert", "vit", "gpt2"})
    for (const char* hardware : {"cpu", "openvino", "cuda"}) {
      const bool best = hardware == std::string(model == std::string("gpt2") ? "cuda" : "openvino");
      rows.push_back(laboratory_cell(model, hardware, best ? 5 : hardware == std::string("cpu") ? 10 : 9));
    }
  EXPECT_EQ(chart_of(Kind::kArchitecturePerformanceMatrix, data_of(rows)).title,
            "openvino is ahead of all others for 2 of 3 architectures, cuda for 1");
  std::vector<Record> without = rows;
  without.back() = failed(without.back());
  for (Record& row : without)
    if (row.model == "gpt2" && row.hardware == "cpu") row = laboratory_cell("gpt2", "cpu", 9);
  EXPECT_EQ(chart_of(Kind::kArchitecturePerformanceMatrix, data_of(without)).title,
            "openvino is ahead of all others for 2 of 3 architectures; for 1 none is shown to be");
  // Two targets that are equal: nobody is ahead of all.
  for (Record& row : rows)
    if (row.hardware == "cpu") row = laboratory_cell(row.model, "cpu", 5);
  EXPECT_EQ(chart_of(Kind::kArchitecturePerformanceMatrix, data_of(rows)).title,
            "Which hardware for which architecture?");
}

TEST(Titles, OfOpportunitiesNameWhatHelps) {
  EXPECT_EQ(chart_of(Kind::kOptimizationOpportunities,
                     data_of({laboratory_cell("bert", "cpu", 10), laboratory_cell("bert", "openvino", 5)}))
                .title,
            "For bert on cpu, openvino would help most: 2.00× as fast");
}

TEST(Titles, OfCategoriesCountThoseThatWereCompared) {
  std::vector<Record> rows;
  for (const char* category : {"vision", "audio"})
    for (const char* hardware : {"cpu", "openvino"}) {
      if (category == std::string("audio") && hardware == std::string("openvino")) continue;
      rows.push_back(laboratory_cell(category, hardware, hardware == std::string("cpu") ? 10 : 5));
      rows.back().category = category;
    }
  rows.push_back(laboratory_cell("audio", "cuda", 4));
  rows.back().category = "audio";
  EXPECT_EQ(chart_of(Kind::kCategoryComparison, data_of(rows)).title,
            "cuda is faster than cpu for 1 of 1 categories, openvino for 1");
}

TEST(Titles, OfHistorySayWhatChangedSinceTheRunBefore) {
  Dataset data = data_of({laboratory_cell("bert", "cpu", 10), laboratory_cell("vit", "cpu", 10)});
  data.versions = {"onnxruntime 1.2.3"};
  for (std::uint32_t series = 0; series < 2; ++series) {
    data.series.push_back(data.cells[series].series_key);
    for (int day = 0; day < 8; ++day) {
      HistoryPoint point;
      point.series = series;
      point.run = static_cast<std::uint32_t>(day);
      point.time_s = 1772323200 + 86400.0 * day;
      point.status = CellStatus::kCompleted;
      point.verification = Verification::kVerified;
      point.p50_ms = day == 7 && series == 0 ? 20 : 10 + 0.01 * (day % 2);
      point.launches = 3;
      data.history.push_back(point);
    }
  }
  EXPECT_EQ(chart_of(Kind::kHistory, data).title,
            "bert on cpu, batch 1 moved beyond the spread of its earlier runs, not confirmed");
  data.history.back().status = CellStatus::kWrong;
  EXPECT_EQ(
      chart_of(Kind::kHistory, data).title,
      "vit on cpu, batch 1 computes wrong numbers now; bert on cpu, batch 1 moved beyond the spread of its earlier "
      "runs, not confirmed");
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
