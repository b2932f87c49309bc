// SPDX-License-Identifier: Apache-2.0
#include "app/suite/collected.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "app/suite/folder.hpp"
#include "app/suite/offline.hpp"
#include "core/base/files.hpp"
#include "core/base/json.hpp"
#include "core/result/keys.hpp"
#include "history/exchange/dataset_of_files.hpp"
#include "show/report/report.hpp"

namespace assay::suite {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class CollectedTest : public ::testing::Test {
 protected:
  static Record row(const std::string& run, const std::string& machine, const std::string& time, Number p50) {
    Record record;
    record.run_id = run;
    record.attempt_id = run + time;
    record.host = record.hardware_id = machine;
    record.timestamp = time;
    record.model = "bert";
    record.family = "embedding";
    record.model_class = "bert";
    record.hardware = "cpu";
    record.engine = "onnxruntime";
    record.batch_size = 1;
    record.status = p50 ? CellStatus::kCompleted : CellStatus::kSkipped;
    record.verification = p50 ? Verification::kVerified : Verification::kUnverified;
    record.latency_p50_ms = record.latency_mean_ms = p50;
    record.throughput_ips = p50 ? Number(1000 / *p50) : std::nullopt;
    record.task_key = task_key(record);
    record.series_key = series_key(record);
    return record;
  }
  /// A folder as `suite` makes it, with its matrix.
  [[nodiscard]] fs::path folder(const std::string& name, const std::vector<Record>& rows) const {
    fs::path folder = work_.path() / name;
    EXPECT_TRUE(make_directories(folder));
    ReportInput input;
    input.run.run_id = rows.front().run_id;
    input.run.host = input.run.hardware_fingerprint = rows.front().hardware_id;
    input.run.started = rows.back().timestamp;
    input.rows = rows;
    EXPECT_TRUE(write_results(folder, input));
    return folder;
  }
  [[nodiscard]] static std::vector<Record> rows_in(const fs::path& folder) {
    std::vector<Record> rows;
    const auto files = exchange::read_all(std::array{folder});
    EXPECT_TRUE(files) << to_string(files.error());
    for (const exchange::ResultsFile& file : *files)
      for (const exchange::ReadRow& each : file.rows) rows.push_back(each.record);
    return rows;
  }
  const TemporaryDirectory work_ = *TemporaryDirectory::create();
  const std::string first_ = "2026-03-01T00:00:00.000000Z", second_ = "2026-03-02T00:00:00.000000Z";
};

// The second run was interrupted, or its --budget ended.
TEST_F(CollectedTest, WhatWasSkippedDoesNotHideAResult) {
  const std::vector<fs::path> folders{folder("1", {row("r1", "m", first_, 8)}), folder("2", {row("r2", "m", "", {})})};
  const auto files = exchange::read_all(folders);
  ASSERT_TRUE(files) << to_string(files.error());
  ASSERT_THAT(by_machine(*files), SizeIs(1));
  const std::vector<Record> cells = cells_of(*files);
  ASSERT_THAT(cells, SizeIs(1));
  EXPECT_EQ(cells[0].run_id, "r1");
  EXPECT_EQ(cells[0].latency_p50_ms, 8);
}

TEST_F(CollectedTest, MachinesHaveAFolderEachAlsoIfTheirNamesAreEqual) {
  Record other = row("r2", "n", second_, 16);
  other.host = "m";
  const std::vector<fs::path> folders{folder("1", {row("r1", "m", first_, 8)}), folder("2", {other})};
  const auto written = aggregate(folders, work_.path() / "all", "assay");
  ASSERT_TRUE(written) << to_string(written.error());
  ASSERT_THAT(written->files, SizeIs(2));
  EXPECT_THAT(written->notes.back(), HasSubstr("2 machines: each has a folder of its own"));
  EXPECT_EQ(rows_in(written->files[0]).at(0).latency_p50_ms, 8);
  EXPECT_EQ(rows_in(written->files[1]).at(0).latency_p50_ms, 16);
  for (const fs::path& folder : written->files) {
    EXPECT_TRUE(fs::exists(folder / "hardware_compatibility_matrix.json"));
    EXPECT_THAT(exchange::dataset_of(std::array{folder})->machines, SizeIs(1));
  }
}

TEST_F(CollectedTest, AMatrixKeepsWhatTheFolderLacks) {
  Record gpu = row("r1", "m", second_, 2);
  gpu.hardware = "cuda";
  const fs::path both = folder("both", {row("r1", "m", first_, 8), gpu}),
                 less = folder("less", {row("r1", "m", first_, 8)});
  const fs::path matrix = less / kMatrixFile, absent = work_.path() / "absent.duckdb";
  const auto all = update_matrix_only(both, absent);
  ASSERT_TRUE(all) << to_string(all.error());
  EXPECT_THAT(all->notes, ElementsAre(HasSubstr("there is no database")));
  fs::copy_file(both / kMatrixFile, matrix);
  const auto written = update_matrix_only(less, absent);
  ASSERT_TRUE(written) << to_string(written.error());
  EXPECT_THAT(written->notes.front(), HasSubstr("keeps an earlier matrix"));
  EXPECT_TRUE(
      (*read_json(matrix))["earlier"][0]["model_families"]["embedding"]["hardware_compatibility"].contains("cuda"));
}

}  // namespace
}  // namespace assay::suite
