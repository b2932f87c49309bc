// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "core/result/launch_medians.hpp"
#include "core/result/record.hpp"
#include "history/store/dataset.hpp"

/// Invented results of one machine, for tests.
namespace assay::testing {

inline Record result(const std::string& model, const std::string& hardware, double p50, std::int64_t batch = 1) {
  Record row;
  row.run_id = "run";
  row.model = model;
  row.category = row.architecture = model == "vit" ? "vision" : "text";
  row.hardware = hardware;
  row.engine = hardware == "openvino" ? "openvino" : "onnxruntime";
  row.precision = row.effective_precision = "float32";
  row.contract = Contract::kHost;
  row.host = "laboratory";
  row.hardware_id = "machine-1";
  row.series_key = fmt::format("{}-{}-{}", model, hardware, batch);
  row.status = CellStatus::kCompleted;
  row.verification = Verification::kVerified;
  row.batch_size = batch;
  row.latency_p50_ms = p50;
  row.latency_p50_low_ms = p50 * 0.99;
  row.latency_p50_high_ms = p50 * 1.01;
  row.throughput_ips = 1000.0 * static_cast<double>(batch) / p50;
  row.memory_mb = 100;
  row.memory_source = MemorySource::kProcess;
  row.iterations = 100;
  row.launches = 3;
  row.latency_p50_interval = IntervalScope::kLaunches;
  row.launch_p50_ms = *parse_launch_medians(fmt::format("1:{} 2:{} 3:{}", p50 * 0.999, p50, p50 * 1.001));
  return row;
}

inline Record ended(Record row, CellStatus status, Word<Reason> reason, std::string message) {
  row.status = status;
  row.reason_code = reason;
  row.message = std::move(message);
  row.latency_p50_ms = std::nullopt;
  return row;
}

inline Dataset dataset(std::vector<Record> rows) {
  Dataset data;
  data.cells = std::move(rows);
  for (const Record& row : data.cells) {
    data.ids.push_back(static_cast<std::int64_t>(data.ids.size()) + 1);
    data.series.push_back(row.series_key);
  }
  return data;
}

}  // namespace assay::testing
