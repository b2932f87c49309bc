// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <string_view>

#include "chart_data.hpp"

namespace assay {
namespace {

// Six targets that do not support the model.
void add_unsupported(Dataset& data, const Record& like) {
  for (const char* hardware : {"rocm", "mps", "webnn", "wasm", "tpu", "webgpu"}) {
    Record row = like;
    row.hardware = row.device_type = hardware;
    row.engine = row.framework = "onnxruntime-nightly";
    row.series_key += hardware;
    row.task_key += hardware;
    row.status = CellStatus::kUnsupported;
    row.reason_code = Reason::kUnsupported;
    row.effective_precision.clear();
    row.latency_p50_ms = row.max_abs_error = {};
    data.ids.push_back(static_cast<std::int64_t>(data.cells.size()) + 1);
    data.cells.push_back(std::move(row));
  }
}

}  // namespace

Dataset long_names() {
  Dataset data = *dataset_of("normal");
  for (Record& row : data.cells) {
    if (row.hardware == "cpu" && row.engine != "onnxruntime") row.engine = "transformers-with-accelerate";
    if (row.hardware == "qnn") {
      row.hardware = "webgpu";
      row.engine = "onnxruntime-web";
    }
    row.framework = row.engine;
  }
  for (const Record& row : std::vector<Record>(data.cells))
    if (row.model == "clip" && row.hardware == "cpu" && row.engine == "onnxruntime" && row.batch_size == 1)
      add_unsupported(data, row);
  data.versions.emplace_back("onnxruntime-nightly 1.32.0.dev20260301, assay 0.2.0-beta");
  constexpr std::size_t kPoints = 9;
  for (std::size_t i = 0; i < data.history.size(); ++i) {
    if (i % kPoints == kPoints - 2) data.history[i].version = 0;
    if (i % kPoints == kPoints - 1) data.history[i].version = 2;
    if (i % kPoints == 5 || i % kPoints == 6) data.history[i].run = static_cast<std::uint32_t>(data.runs.size());
    if (i % kPoints == 1 || i % kPoints == kPoints - 1)
      data.history[i].flags = {Flag::kNoisy};
    else
      data.history[i].flags = {};
  }
  RunFacts disturbed = data.runs.front();
  disturbed.run_id = "disturbed";
  disturbed.score = 31;
  Json findings = Json::array();
  for (const char* item : {"spin_test", "memory_free", "virtualised", "load"})
    findings.push_back({{"item", item}, {"verdict", "bad"}});
  disturbed.environment["doctor"] = {{"score", 31}, {"findings", findings}};
  data.runs.push_back(disturbed);
  return data;
}

}  // namespace assay
