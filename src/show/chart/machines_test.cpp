// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "history/store/dataset.hpp"
#include "show/chart/cells_for_test.hpp"
#include "show/chart/chart.hpp"

/// Charts of a database with two machines of one host name, and with targets that compute wrong numbers.
namespace assay::chart {
namespace {
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::SizeIs;

Record cell(const std::string& model, const std::string& hardware, double p50, const std::string& machine) {
  Record row = laboratory_cell(model, hardware, p50);
  row.run_id = "run-" + machine;
  row.host = "localhost";
  row.hardware_id = machine;
  row.timestamp = machine == "older" ? "2026-03-01T00:00:00Z" : "2026-03-02T00:00:00Z";
  row.flops = 1e9;
  row.flops_counted = 1;
  return row;
}

Dataset two_machines() {
  Dataset data;
  for (const char* model : {"bert", "gpt2", "t5"}) {
    data.cells.push_back(cell(model, "cpu", 8, "older"));
    data.cells.push_back(cell(model, "openvino", 4, "older"));
    data.cells.push_back(cell(model, "cpu", 3, "newer"));
    data.cells.push_back(cell(model, "openvino", 6, "newer"));
  }
  for (const char* machine : {"older", "newer"})
    for (const char* hardware : {"cpu", "openvino"})
      data.peaks.push_back({machine, hardware, "", "float32", "onnxruntime", "1", 1e12, 0, 2, "2026-03-01T00:00:00Z"});
  return data;
}

TEST(Machines, ATitleCountsTheModelsOfTheMachineThatIsShown) {
  const Chart chart = chart_of(Kind::kHardwareComparison, two_machines());
  EXPECT_EQ(chart.title, "cpu is the fastest for 3 of 3 models");
  EXPECT_THAT(chart.notes, Contains(HasSubstr("6 cells of the machine localhost older")));
  EXPECT_THAT(rows_json(chart.table), SizeIs(6));
}

TEST(Machines, OfOneHostNameHaveTheirOwnEfficiencyAndCategories) {
  const Json efficiency = rows_json(chart_of(Kind::kHardwareEfficiency, two_machines()).table);
  ASSERT_THAT(efficiency, SizeIs(2));
  EXPECT_NEAR(efficiency[0]["share"].get<double>(), 1e9 / 3e-3 / 1e12, 1e-9);
  const Json categories = rows_json(chart_of(Kind::kCategoryComparison, two_machines()).table);
  ASSERT_THAT(categories, SizeIs(1));
  EXPECT_NEAR(categories[0]["ratio"].get<double>(), 0.5, 1e-6) << "of the newer machine, and ranked";
  EXPECT_EQ(categories[0]["claim"], "slower");
}

TEST(Categories, ATargetWithoutACommonCellHasNoRatio) {
  Dataset data = two_machines();
  std::erase_if(data.cells, [](const Record& row) { return row.hardware_id == "older"; });
  data.cells.push_back(cell("bert", "cuda", 1, "newer"));
  data.cells.back().precision = data.cells.back().effective_precision = "float16";
  const Json rows = rows_json(chart_of(Kind::kCategoryComparison, data).table);
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(rows[0]["target"], "cuda") << "in the order of all charts";
  EXPECT_TRUE(rows[0]["ratio"].is_null());
  EXPECT_EQ(rows[0]["claim"], "no common cell");
}

TEST(WrongNumbers, AtOneShapeAreNoBestAtAnother) {
  Dataset data = two_machines();
  std::erase_if(data.cells, [](const Record& row) { return row.hardware_id == "newer"; });
  data.cells.push_back(cell("t5", "openvino", 9, "older"));
  data.cells.back().batch_size = 4;
  data.cells.back().status = CellStatus::kWrong;
  data.cells.back().verification = Verification::kWrong;
  for (const Json& row : rows_json(chart_of(Kind::kHardwareComparison, data).table))
    EXPECT_EQ(row["latency_p50_ms"].is_null(), row["model"] == "t5" && row["target"] == "openvino") << row;
  for (const Json& row : rows_json(chart_of(Kind::kArchitecturePerformanceMatrix, data).table))
    if (row["architecture"] == "t5") {
      EXPECT_EQ(row["claim"], row["target"] == "cpu" ? "best" : "");
    }
}

}  // namespace
}  // namespace assay::chart
