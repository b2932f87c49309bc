// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "core/result/launch_medians.hpp"
#include "history/analyse/analysis.hpp"
#include "history/store/dataset.hpp"
#include "show/chart/cells_for_test.hpp"
#include "show/chart/chart.hpp"
#include "show/chart/charts.hpp"
#include "show/chart/picture.hpp"

/// Which cells stand beside each other in a picture, and what is claimed of them.
namespace assay::chart {
namespace {
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

Record simulated(Record row) {
  row.flags.add(Flag::kSimulated);
  return row;
}

// The rows of `dataset.source` with a value.
Json values_of(const Chart& chart) {
  Json found = Json::array();
  if (chart.option.is_null()) return found;
  const Json& source = chart.option["dataset"]["source"];
  for (std::size_t i = 1; i < source.size(); ++i)
    if (!source[i][4].is_null()) found.push_back(source[i]);
  return found;
}

std::string status_in_table(const Chart& chart, const std::string& target) {
  for (const Json& row : rows_json(chart.table))
    if (row["target"] == target) return row["status"];
  return "no such row";
}

TEST(ShownTogether, ATimeOfAnotherEffectivePrecisionIsNotDrawnBesideOthers) {
  Record other = laboratory_cell("bert", "openvino", 4);
  other.effective_precision = "bfloat16";
  const Dataset data = data_of({laboratory_cell("bert", "cpu", 8), other, laboratory_cell("gpt2", "cpu", 8),
                                laboratory_cell("gpt2", "openvino", 4)});
  for (const Kind kind : {Kind::kHardwareComparison, Kind::kMemoryUsage}) {
    const Chart chart = chart_of(kind, data);
    EXPECT_THAT(values_of(chart), SizeIs(kind == Kind::kMemoryUsage ? 3 : 6)) << name_of(kind);
    EXPECT_THAT(status_in_table(chart, "openvino"), HasSubstr("no common cell")) << name_of(kind);
    EXPECT_THAT(chart.notes, Contains(HasSubstr("∅ no common cell"))) << name_of(kind);
  }
  EXPECT_THAT(chart_of(Kind::kModelPerformance, data).notes, Contains(HasSubstr("∅ no common cell")));
}

TEST(ShownTogether, ALineAgainstTheBatchHasCellsThatDifferInNothingElse) {
  std::vector<Record> rows{laboratory_cell("bert", "cpu", 8), laboratory_cell("bert", "cpu", 30, 4)};
  for (const Record& row : std::vector<Record>(rows)) {
    Record faster = row;
    faster.threads = 2;
    faster.series_key += " 2 threads";
    faster.latency_p50_ms = *row.latency_p50_ms / 4;
    rows.push_back(faster);
  }
  const Dataset data = data_of(rows);
  for (const Kind kind : {Kind::kLatencyVsBatchSize, Kind::kBatchSizeScaling}) {
    const Json table = rows_json(chart_of(kind, data).table);
    EXPECT_THAT(table, SizeIs(2)) << name_of(kind) << ": of one number of threads";
  }
  EXPECT_THAT(chart_of(Kind::kBatchSizeScaling, data).title, EndsWith("?"))
      << "what 2 threads gain is not a gain of the batch";
}

TEST(ShownTogether, AFailedBatchHasItsMarkAlthoughLittleIsKnownOfIt) {
  Record failed = laboratory_cell("bert", "cpu", 1, 4);
  failed.status = CellStatus::kFailed;
  failed.effective_precision.clear();
  const Chart chart = chart_of(Kind::kLatencyVsBatchSize, data_of({laboratory_cell("bert", "cpu", 8), failed}));
  EXPECT_THAT(chart.notes, Contains(HasSubstr("✕ failed (1)")));
}

TEST(TitleOfTheBatch, AccountsForTheNumberOfPairsItChoosesFrom) {
  constexpr std::array<double, 8> kNoise{0.991, 1.012, 0.996, 1.006, 0.985, 1.009, 1.001, 0.998};
  const auto with_gain = [&](double gain) {
    std::vector<Record> rows;
    for (const std::int64_t batch : {1, 2, 4, 8}) {
      Record row = laboratory_cell("bert", "cpu", 8 * static_cast<double>(batch) / (batch == 8 ? gain : 1), batch);
      std::vector<LaunchMedian> medians;
      for (std::size_t round = 0; round < kNoise.size(); ++round)
        medians.push_back({static_cast<std::int64_t>(round) + 1,
                           *row.latency_p50_ms * kNoise.at((round * static_cast<std::size_t>(batch) + round) % 8)});
      row.launch_p50_ms = medians;
      row.launches = kNoise.size();
      rows.push_back(row);
    }
    return rows;
  };
  bool between = false;  // a gain that one comparison shows, but not one chosen of six
  for (double gain = 1; gain < 1.1 && !between; gain += 0.0005) {
    const std::vector<Record> rows = with_gain(gain);
    bool alone = false, chosen = false;
    for (std::size_t small = 0; small < 4; ++small)
      for (std::size_t large = small + 1; large < 4; ++large) {
        alone |= compare_per_item(rows[large], rows[small]).baseline_ahead();
        chosen |= compare_per_item(rows[large], rows[small], 4).baseline_ahead();
      }
    between = alone && !chosen;
    if (!between) continue;
    EXPECT_THAT(chart_of(Kind::kBatchSizeScaling, data_of(rows)).title, EndsWith("?")) << gain;
  }
  EXPECT_TRUE(between);
  EXPECT_THAT(chart_of(Kind::kBatchSizeScaling, data_of(with_gain(2))).title, HasSubstr("times as many items"));
}

TEST(Machines, AreNotMixedInDistributionsAndHistories) {
  Record older = laboratory_cell("bert", "cpu", 4);
  older.hardware_id = "another";
  older.timestamp = "2026-01-01T00:00:00Z";
  older.series_key = "another";
  Dataset data = data_of({older, laboratory_cell("bert", "cpu", 8)});
  for (const std::int64_t id : data.ids) {
    data.distributions.push_back(two_times(id));
    HistoryPoint point;
    point.series = static_cast<std::uint32_t>(data.series.size());
    point.status = CellStatus::kCompleted;
    point.verification = Verification::kVerified;
    point.p50_ms = 8;
    data.history.insert(data.history.end(), {point, point});
    data.series.push_back(data.cells[point.series].series_key);
  }
  for (const Kind kind : {Kind::kLatencyDistribution, Kind::kHistory}) {
    const Chart chart = chart_of(kind, data);
    EXPECT_THAT(chart.option["grid"], SizeIs(1)) << name_of(kind);
    EXPECT_THAT(chart.notes, Contains(HasSubstr("1 cell of the machine"))) << name_of(kind);
  }
  EXPECT_EQ(rows_json(chart_of(Kind::kLatencyDistribution, data).table)[0]["time_ms"], 8.0) << "of the newest machine";
}

TEST(Simulated, KeepsItsMarkAndIsNeverTheBest) {
  Dataset data = data_of({simulated(laboratory_cell("bert", "qnn", 8))});
  HistoryPoint point;
  point.status = CellStatus::kCompleted;
  point.verification = Verification::kVerified;
  point.p50_ms = 8;
  point.launches = 3;
  data.series = {data.cells[0].series_key};
  data.history = {point, point};
  data.distributions = {two_times(1)};
  for (const Kind kind : {Kind::kHardwareComparison, Kind::kModelPerformance, Kind::kArchitectureComparison,
                          Kind::kArchitecturePerformanceMatrix, Kind::kHistory}) {
    const Chart chart = chart_of(kind, data);
    ASSERT_FALSE(values_of(chart).empty()) << name_of(kind);
    for (const Json& row : values_of(chart)) EXPECT_EQ(row[8].get<int>() & kHatched, kHatched) << name_of(kind);
    EXPECT_THAT(chart.notes, Contains(HasSubstr("simulated or software"))) << name_of(kind);
    EXPECT_THAT(chart.notes, Not(Contains(HasSubstr("too disturbed")))) << name_of(kind);
  }
  for (const Json& row : values_of(chart_of(Kind::kLatencyDistribution, data)))
    if (row[2] == "percentiles") {
      EXPECT_EQ(row[8].get<int>() & kHatched, kHatched);
    }
  for (const Kind kind : {Kind::kLatencyDistribution, Kind::kSamplesOverTime})
    EXPECT_THAT(chart_of(kind, data).notes, Contains(HasSubstr("simulated or software device"))) << name_of(kind);
  EXPECT_EQ(rows_json(chart_of(Kind::kArchitecturePerformanceMatrix, data).table)[0]["claim"],
            "simulated or software: not compared");
}

TEST(Simulated, OfSeveralModelsOfAnArchitectureKeepsItsMark) {
  std::vector<Record> rows{simulated(laboratory_cell("bert", "qnn", 8)),
                           simulated(laboratory_cell("bert-large", "qnn", 20))};
  for (Record& row : rows) row.architecture = "bert";
  for (const Json& row : values_of(chart_of(Kind::kArchitectureComparison, data_of(rows))))
    EXPECT_EQ(row[8].get<int>() & kHatched, kHatched);
}

TEST(ArchitectureMatrix, ASimulatedTimeIsThatOfTheBestCell) {
  const auto ratio_of_qnn = [](const std::vector<Record>& rows) {
    const Chart chart = chart_of(Kind::kArchitecturePerformanceMatrix, data_of(rows));
    for (const Json& row : rows_json(chart.table))
      if (row["target"] == "qnn") return row["ratio"];
    return Json("no such row");
  };
  std::vector<Record> rows{laboratory_cell("t5", "cpu", 10), simulated(laboratory_cell("t5", "qnn", 900, 8))};
  EXPECT_TRUE(ratio_of_qnn(rows).is_null()) << "of another batch";
  EXPECT_THAT(chart_of(Kind::kArchitecturePerformanceMatrix, data_of(rows)).notes,
              AllOf(Contains(HasSubstr("∅ no common cell (1)")), Not(Contains(HasSubstr("not measured")))));
  Record other = simulated(laboratory_cell("t5", "qnn", 700));
  other.sequence_length = 32;
  rows.push_back(other);
  EXPECT_TRUE(ratio_of_qnn(rows).is_null()) << "of another length";
  rows.push_back(simulated(laboratory_cell("t5", "qnn", 40)));
  EXPECT_NEAR(ratio_of_qnn(rows).get<double>(), 4, 1e-9);
}

TEST(WrongNumbers, AtAnotherShapeKeepATargetOutOfComparisons) {
  const Dataset data = data_of({laboratory_cell("t5", "cpu", 10), laboratory_cell("t5", "openvino", 5),
                                laboratory_cell("t5", "cpu", 40, 4), wrong(laboratory_cell("t5", "openvino", 20, 4)),
                                laboratory_cell("bert", "cpu", 10), laboratory_cell("bert", "openvino", 20)});
  const Json rows = rows_json(chart_of(Kind::kComparison, data).table);
  ASSERT_THAT(rows, Not(IsEmpty()));
  EXPECT_EQ(rows[0]["ratio"], 2.0) << "of bert alone";
  for (const Json& row : rows)
    if (row["cell"] == "t5, batch 1") {
      EXPECT_TRUE(row["ratio"].is_null());
      EXPECT_EQ(row["claim"], "wrong at another shape");
    }
  const Chart matrix = chart_of(Kind::kArchitecturePerformanceMatrix, data);
  for (const Json& row : rows_json(matrix.table))
    if (row["architecture"] == "t5") {
      EXPECT_EQ(row["claim"], row["target"] == "cpu" ? "best" : "");
    }
  EXPECT_THAT(matrix.notes, Contains(HasSubstr("≠ wrong numbers (1)")));
}

TEST(CommonWords, AreOfAllRowsAndRangesOfTheirLaunchesAndDates) {
  Record text = laboratory_cell("bert", "cpu", 8), image = laboratory_cell("vit", "cpu", 9);
  text.sequence_length = 128;
  image.launches = 1;
  image.timestamp = "2026-03-05T00:00:00Z";
  EXPECT_EQ(common_words(std::vector<const Record*>{&text, &image}),
            "batch 1 · float32 · laboratory · 1 to 3 launches · 2026-03-02 to 2026-03-05");
  EXPECT_EQ(common_words(std::vector<const Record*>{&text, &text}),
            "batch 1 · 128 tokens · float32 · laboratory · 3 launches · 2026-03-02");
  EXPECT_EQ(common_words({}), "");
}

TEST(Throughput, WhiskersSayWhatTheyAreAndAreInTheTable) {
  const Dataset data = data_of({laboratory_cell("bert", "cpu", 8), laboratory_cell("bert", "cpu", 30, 4)});
  for (const Kind kind : {Kind::kHardwareComparison, Kind::kThroughputVsBatchSize, Kind::kBatchSizeScaling})
    EXPECT_THAT(chart_of(kind, data).notes, Contains(std::string(kWhiskersOfRates))) << name_of(kind);
  for (const Kind kind : {Kind::kLatencyVsBatchSize, Kind::kModelPerformance})
    EXPECT_THAT(chart_of(kind, data).notes, Not(Contains(std::string(kWhiskersOfRates)))) << name_of(kind);
  const Json row = rows_json(chart_of(Kind::kHardwareComparison, data).table)[0];
  EXPECT_NEAR(row["throughput_low"].get<double>(), 125 / 1.01, 1e-9);
  EXPECT_NEAR(row["throughput_high"].get<double>(), 125 / 0.99, 1e-9);
}

}  // namespace
}  // namespace assay::chart
