// SPDX-License-Identifier: Apache-2.0
#include "chart/files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/files.hpp"
#include "chart/chart.hpp"

namespace assay::chart {
namespace {
namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Record cell(const std::string& hardware, const std::string& engine, double p50) {
  Record row;
  row.model = "bert";
  row.family = "embedding";
  row.run_id = "run-1";
  row.hardware = hardware;
  row.engine = engine;
  row.hardware_id = row.host = "laboratory";
  row.precision = row.effective_precision = "float32";
  row.contract = "e2e_host";
  row.timestamp = "2026-03-02T12:34:56.000000Z";
  row.batch_size = row.streams = 1;
  row.status = CellStatus::kCompleted;
  row.verification = Verification::kVerified;
  row.latency_p50_ms = p50;
  row.latency_p50_low_ms = 0.99 * p50;
  row.latency_p50_high_ms = 1.01 * p50;
  row.latency_p50_interval = "launches";
  row.launches = 3;
  row.throughput_ips = 1000 / p50;
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
  EXPECT_THAT(written->without_data, Contains("history"));
  for (const char* name : {"hardware_comparison", "relative_speedup", "batch_size_scaling"}) {
    EXPECT_TRUE(fs::exists(plots / (std::string(name) + ".svg"))) << name;
    EXPECT_TRUE(fs::exists(plots / (std::string(name) + ".png"))) << name;
  }
  EXPECT_FALSE(fs::exists(plots / "hardware_comparison_2.svg"));
  EXPECT_FALSE(fs::exists(plots / "history.svg"));
  EXPECT_TRUE(fs::exists(plots / "mine.svg"));
}

TEST(WriteCharts, ADatasetWithoutCellsWritesNothing) {
  const Result<TemporaryDirectory> folder = TemporaryDirectory::create();
  ASSERT_TRUE(folder);
  const Result<WrittenCharts> written = write_charts({}, folder->path() / "plots");
  ASSERT_TRUE(written) << to_string(written.error());
  EXPECT_EQ(written->pictures, 0U);
  EXPECT_THAT(written->without_data, SizeIs(all_kinds().size()));
  EXPECT_FALSE(fs::exists(folder->path() / "plots"));
}

TEST(Charts, NamesAreThoseOfTheirKinds) {
  for (const Kind kind : all_kinds()) EXPECT_EQ(find_kind(name_of(kind)), kind);
  EXPECT_EQ(find_kind("no_such_chart"), std::nullopt);
}

}  // namespace
}  // namespace assay::chart
