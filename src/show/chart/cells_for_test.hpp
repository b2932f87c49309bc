// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "history/analyse/analysis.hpp"
#include "history/analyse/results_for_test.hpp"
#include "history/store/dataset.hpp"
#include "show/chart/chart.hpp"

/// Invented cells, and the charts of them, for tests.
namespace assay::chart {

/// A result of the machine "laboratory" and the run "run-1"; each model is an architecture of its own.
inline Record laboratory_cell(const std::string& model, const std::string& hardware, double p50,
                              std::int64_t batch = 1) {
  Record row = testing::result(model, hardware, p50, batch);
  row.run_id = "run-1";
  row.architecture = model;
  row.category = "text_encoders";
  row.hardware_id = row.host;
  row.timestamp = "2026-03-02T12:34:56.000000Z";
  row.series_key = model + hardware + std::to_string(batch);
  row.task_key = "task " + row.series_key;
  return row;
}

inline Record wrong(Record row) {
  row.status = CellStatus::kWrong;
  row.verification = Verification::kWrong;
  return row;
}

inline Dataset data_of(std::vector<Record> cells) {
  Dataset data;
  data.cells = std::move(cells);
  for (std::size_t i = 0; i < data.cells.size(); ++i) data.ids.push_back(static_cast<std::int64_t>(i) + 1);
  return data;
}

/// A launch of the result, of two times: 1 ms and 2 ms.
inline SampleDistribution two_times(std::int64_t result_id) {
  SampleDistribution distribution;
  distribution.result_id = result_id;
  distribution.launch_number = 1;
  distribution.low_ns = 1'000'000;
  distribution.high_ns = distribution.window_ns = 2'000'000;
  distribution.quantiles = {0, 65535};
  distribution.bins = {0, 1, 2};
  return distribution;
}

inline Chart chart_of(Kind kind, const Dataset& data) {
  const Analysis analysis = analyse(data);
  return make_charts(kind, {.data = &data, .analysis = &analysis}).front();
}

}  // namespace assay::chart
