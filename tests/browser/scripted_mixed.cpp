// SPDX-License-Identifier: Apache-2.0
#include "scripted_mixed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/result/launch_medians.hpp"
#include "core/traits/cell.hpp"
#include "history/analyse/analyse.hpp"
#include "history/analyse/analysis.hpp"
#include "history/analyse/pairs.hpp"

namespace assay {
namespace {

constexpr const char* kHostile[] = {"<b onload=\"x()\">&amp;'quoted'</b></script><!--", "\u202eltr\u202c שלום"};

class Mixed {
 public:
  Dataset make() {
    data_.source = "benchmark_db.duckdb";
    data_.made_at = "2026-03-02T12:30:00Z";
    for (const char* id : {"1a2b3c4d", "9f8e7d6c"}) {
      MachineFacts machine;
      machine.hardware_id = id;
      machine.host = "laboratory";
      machine.processor = "AMD EPYC 7B13, 2 cores";
      data_.machines.push_back(std::move(machine));
    }
    for (const char* id : {"run-1", "run-2"}) {
      RunFacts run;
      run.run_id = id;
      run.started = "2026-03-02T10:00:00Z";
      run.host = "laboratory";
      data_.runs.push_back(std::move(run));
    }
    constexpr int kVariations = 150;
    for (int i = 0; i < kVariations; ++i) {
      Record row = plain(static_cast<std::size_t>(i) % 5);
      if (i >= 5) vary(row);
      const double cost = std::exp(normal_(random_));
      add_targets(row, cost);
      if (one_in(3)) {
        row.batch_size = *row.batch_size == 1 ? 4 : 1;
        add_targets(row, cost);
      } else if (one_in(3)) {
        row.precision = row.effective_precision = row.precision == "float16" ? "float32" : "float16";
        add_targets(row, cost * 0.8);
      }
    }
    return std::move(data_);
  }

 private:
  bool one_in(std::size_t n) { return random_() % n == 0; }

  static Record plain(std::size_t model) {
    Record row;
    row.model = model < 2 ? "bert" : model < 4 ? kHostile[model - 2] : "gpt2";
    row.model_id = model < 2 ? fmt::format("zoo:bert-{}", model) : "zoo:" + row.model;
    row.config_hash = "config-" + row.model_id;
    row.weights_hash = "seeded:1:0";
    row.family = row.category = model < 2 ? "text_encoders" : "text_decoders";
    row.architecture = row.model;
    row.size = "small";
    row.run_id = "run-1";
    row.host = "laboratory";
    row.hardware_id = "1a2b3c4d";
    row.precision = row.effective_precision = row.dtype = "float32";
    row.contract = Contract::kHost;
    row.engine_version = "1.31.1";
    row.tool_version = "0.1.0";
    row.timestamp = "2026-03-02T10:20:00.000000Z";
    row.batch_size = 1;
    row.sequence_length = 128;
    row.streams = 1;
    if (model == 4) {
      row.output_tokens = kDefaultOutputTokens;
      row.kv_cache = KvCache::kGrowing;
    }
    return row;
  }

  // In some of the fields that comparable() looks at.
  void vary(Record& row) {
    if (one_in(3)) row.batch_size = 4;
    if (one_in(5)) row.sequence_length = 256;
    if (one_in(5)) row.hardware_id = "9f8e7d6c";
    if (one_in(5)) row.precision = row.effective_precision = "float16";
    if (one_in(9)) row.precision = "runtime";
    if (one_in(9)) row.effective_precision = "bfloat16";
    if (one_in(9)) row.streams = 2;
    if (one_in(9)) row.threads = 2;
    if (one_in(9)) row.spin = Spin::kOff;
    if (one_in(9)) row.shapes = ShapesForm::kDynamic;
    if (one_in(9)) row.contract = Contract::kDeviceResident;
    if (one_in(9)) row.engine_options = "graph_optimization_level=basic";
    if (one_in(9)) row.weights_hash = "seeded:1:1";
    if (one_in(9)) row.size = "base";
    if (one_in(9)) row.run_id = "run-2";
    if (row.output_tokens && one_in(3)) row.kv_cache = KvCache::kStatic;
    if (row.output_tokens && one_in(3)) row.output_tokens = 128;
  }

  void add_targets(const Record& row, double cost) {
    for (const auto& [hardware, engine] :
         {std::pair("cpu", "onnxruntime"), std::pair("openvino", "openvino"), std::pair("webgpu", "onnxruntime")})
      if (!one_in(4)) add(row, hardware, engine, cost);
  }

  void add(Record row, const char* hardware, const char* engine, double cost) {
    row.hardware = row.device_type = hardware;
    row.engine = row.framework = engine;
    if (!seen_.insert(cell_key(row) + target_key(row)).second) return;
    const auto id = static_cast<std::int64_t>(data_.cells.size()) + 1000;
    row.series_key = fmt::format("series-{}", id);
    row.task_key = fmt::format("task-{}", id);
    if (one_in(12)) {
      row.effective_precision.clear();
      row.config_hash.clear();
      row.status = one_in(2) ? CellStatus::kFailed : CellStatus::kUnavailable;
      row.reason_code = row.status == CellStatus::kFailed ? Reason::kWorkerDied : Reason::kNoHardware;
      row.message = "the worker said: <script>alert(1)</script>";
    } else {
      measured(row, cost * std::exp(0.3 * normal_(random_)) * static_cast<double>(*row.batch_size));
    }
    data_.ids.push_back(id);
    data_.series.push_back(row.series_key);
    data_.cells.push_back(std::move(row));
  }

  void measured(Record& row, double p50) {
    row.status = CellStatus::kCompleted;
    row.verification = Verification::kVerified;
    row.latency_p50_ms = p50;
    row.latency_p50_low_ms = p50 * 0.98;
    row.latency_p50_high_ms = p50 * 1.02;
    row.latency_p50_quality = "ok";
    row.launches = one_in(10) ? 1 : 3 + static_cast<std::int64_t>(random_() % 5);
    row.latency_p50_interval = *row.launches > 1 ? IntervalScope::kLaunches : IntervalScope::kOneProcess;
    row.throughput_ips = 1000.0 * static_cast<double>(*row.batch_size) / p50;
    row.memory_mb = 60 + p50;
    if (*row.launches > 1) {
      std::vector<LaunchMedian> launches;
      for (std::int64_t launch = 1; launch <= *row.launches; ++launch)
        launches.push_back({launch, p50 * std::exp(0.03 * normal_(random_))});
      row.launch_p50_ms = launches;
    }
    const bool wrong = row.model_id == "zoo:bert-1" && row.hardware == "openvino" && one_in(3);
    if (wrong) {
      row.status = CellStatus::kWrong;
      row.verification = Verification::kWrong;
      row.reason_code = Reason::kMismatch;
    } else if (one_in(15)) {
      row.flags.add(Flag::kUnsteady);
    } else if (row.hardware == "webgpu" && one_in(6)) {
      row.flags.add(Flag::kSoftware);
    }
  }

  Dataset data_;
  std::set<std::string> seen_;
  std::mt19937 random_{5};  // NOLINT(bugprone-random-generator-seed): the same pages each time
  std::normal_distribution<double> normal_;
};

Json json_of(const CellComparison& found) {
  return {{"ratio", found.ratio},
          {"low", found.interval ? Json(found.interval->low) : Json()},
          {"high", found.interval ? Json(found.interval->high) : Json()},
          {"difference", to_string(found.difference)},
          {"words", no_claim_words(found)}};
}

// The rows that differ in what `change` makes equal, and in nothing else: the first of `a` with the first of `b`.
template <class Is, class Change, class Compare>
Json contrasted(const std::vector<Record>& rows, Is is, const std::string& a, const std::string& b, Change change,
                Compare compare) {
  const auto key = [&](Record row) {
    change(row);
    return cell_key(row) + target_key(row);
  };
  Json list = Json::array();
  for (const Record& row : rows) {
    if (is(row) != a) continue;
    const auto other =
        std::ranges::find_if(rows, [&](const Record& one) { return is(one) == b && key(one) == key(row); });
    if (other == rows.end()) continue;
    Json pair = json_of(compare(row, *other));
    pair["a"] = row.task_key;
    pair["b"] = other->task_key;
    list.push_back(std::move(pair));
  }
  return list;
}

}  // namespace

Dataset mixed_cells() { return Mixed().make(); }

Json answers_about(const Dataset& data) {
  const std::vector<Record> rows = with_distinct_names(data.cells);
  const std::vector<bool> is_usable = usable_rows(rows);
  std::vector<Record> usable;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (is_usable[i]) usable.push_back(rows[i]);
  Json answers;
  for (const Record& row : usable) answers["usable"].push_back(row.task_key);
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (comparable(rows[i], rows[j])) answers["comparable"].push_back({rows[j].task_key, rows[i].task_key});
  for (const std::string& a : targets_of(rows)) {
    for (const std::string& b : targets_of(rows)) {
      if (a == b) continue;
      Json pairs = Json::array();
      for (const CellPair& pair : pairs_of(usable, a, b)) {
        pairs.push_back(json_of(compare_cells(*pair.baseline, *pair.candidate)));
        pairs.back()["a"] = pair.baseline->task_key;
        pairs.back()["b"] = pair.candidate->task_key;
      }
      answers["pairs"].push_back({{"a", a}, {"b", b}, {"pairs", std::move(pairs)}});
    }
  }
  for (const Speedup& speedup : speedups_against_cpu(usable)) {
    Json found = json_of(speedup.comparison);
    found["target"] = speedup.target;
    found["cells"] = speedup.pairs;
    found["left_out"] = speedup.left_out;
    answers["speedups"].push_back(std::move(found));
  }
  answers["batches"] = contrasted(
      usable, [](const Record& row) { return fmt::format("{}", *row.batch_size); }, "1", "4",
      [](Record& row) { row.batch_size = 1; }, [](const Record& a, const Record& b) { return compare_per_item(a, b); });
  answers["precisions"] = contrasted(
      usable, [](const Record& row) { return row.precision; }, "float32", "float16",
      [](Record& row) { row.precision = row.effective_precision = "float32"; },
      [](const Record& a, const Record& b) { return compare_cells(a, b); });
  std::map<std::string, std::vector<const Record*>> cells;
  for (const Record& row : usable) cells[cell_key(row)].push_back(&row);
  for (const auto& [key, all] : cells) {
    const Record* best = *std::ranges::min_element(all, {}, [](const Record* row) { return *row->latency_p50_ms; });
    Json others = Json::array();
    for (const Record* row : all) {
      if (row == best) continue;
      others.push_back(json_of(compare_cells(*best, *row, all.size())));
      others.back()["cell"] = row->task_key;
    }
    answers["cells"].push_back({{"best", best->task_key}, {"others", std::move(others)}});
  }
  const Analysis analysis = analyse(data);
  for (const Opportunity& one : analysis.opportunities)
    if (one.kind == Opportunity::Kind::kRuntime)
      answers["opportunities"].push_back(
          {{"cell", one.cell->task_key}, {"better", one.better->task_key}, {"factor", one.factor}});
  return answers;
}

}  // namespace assay
