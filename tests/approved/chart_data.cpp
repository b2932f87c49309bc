// SPDX-License-Identifier: Apache-2.0
#include "chart_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result/launch_medians.hpp"
#include "support/percentiles.hpp"

namespace assay {
namespace {

struct Model {
  const char *name, *family, *category, *architecture;
  double cost;  ///< ms of an item on the CPU
  std::int64_t parameters, sequence;
};
struct Place {
  const char *hardware, *engine;
  double speed;  ///< times as fast as the CPU
};
constexpr Place kPlaces[] = {{"cpu", "onnxruntime", 1},
                             {"openvino", "openvino", 1.6},
                             {"cpu", "openvino", 1.45},
                             {"qnn", "onnxruntime", 0.02},
                             {"cuda", "onnxruntime", 8}};
constexpr Model kNormal[] = {{"bert", "embedding", "text_encoders", "bert", 8, 4'416'698, 128},
                             {"vit", "vision", "vision", "vit", 21, 5'717'416, 0},
                             {"clip", "multimodal", "vision_language", "clip", 93, 151'277'313, 77},
                             {"gpt2", "text_generation", "text_decoders", "gpt2", 320, 124'439'808, 128},
                             {"whisper-tiny", "audio", "speech_text", "whisper", 410, 37'760'640, 0}};
// clang-format off
constexpr const char* kNames[] = {
    "albert-base-v2", "bart-base", "bert-base-uncased", "bloom-560m", "camembert-base", "convnext-tiny-224",
    "deberta-v3-base", "deit-tiny-patch16-224", "distilbert-base-uncased", "electra-small-discriminator",
    "falcon-rw-1b", "gemma-3-270m", "gpt2", "hubert-base-ls960",
    "layoutlmv3-base-finetuned-on-receipts-and-invoices-v2", "mobilebert-uncased", "mpnet-base", "opt-125m",
    "phi-1_5", "qwen2.5-0.5b", "regnet-y-040", "resnet-50", "roberta-base", "segformer-b0",
    "swin-tiny-patch4-window7-224", "t5-efficient-tiny", "vit-tiny-patch16-224", "wav2vec2-base", "whisper-tiny",
    "xlm-roberta-base"};
// clang-format on

// A number between -1 and 1 that depends on the words alone.
double noise(const std::string& words) {
  std::uint32_t hash = 2166136261U;
  for (const char c : words) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return static_cast<double>(hash % 20001) / 10000 - 1;
}

std::string times_of_day(int minute) {
  return fmt::format("2026-03-02T{:02}:{:02}:00.000000Z", 10 + minute / 60, minute % 60);
}

Record row_of(const Model& model, const Place& place, std::int64_t batch, int minute) {
  Record row;
  row.run_id = "run-2";
  row.model = model.name;
  row.model_id = std::string("example/") + model.name;
  row.family = model.family;
  row.category = model.category;
  row.architecture = model.architecture;
  row.config_hash = std::string("config-") + model.name;
  row.parameter_count = model.parameters;
  row.hardware = row.device_type = place.hardware;
  row.engine = row.framework = place.engine;
  row.engine_version = "1.31.1";
  row.tool_version = "0.1.0";
  row.device = place.hardware;
  row.host = "laboratory";
  row.hardware_id = "machine-1";
  row.precision = row.dtype = "float32";
  row.contract = Contract::kHost;
  row.timestamp = times_of_day(minute);
  row.batch_size = batch;
  row.streams = 1;
  if (model.sequence > 0) row.sequence_length = model.sequence;
  row.series_key = fmt::format("{}-{}-{}-{}", model.name, place.hardware, place.engine, batch);
  row.task_key = "task-" + row.series_key;
  return row;
}

Record measured(const Model& model, const Place& place, std::int64_t batch, int minute) {
  Record row = row_of(model, place, batch, minute);
  const double p50 = model.cost / place.speed * std::pow(static_cast<double>(batch), 0.82) *
                     (1 + 0.3 * noise(row.model + place.engine));
  row.status = CellStatus::kCompleted;
  row.verification = Verification::kVerified;
  row.effective_precision = "float32";
  set_percentiles(row, p50, p50 * 0.985, p50 * 1.02);
  row.launches = row.planned_launches = 3;
  row.iterations = 200;
  row.launch_p50_ms = {{1, p50 * 0.996}, {2, p50}, {3, p50 * 1.003}};
  row.launch_spread = 0.0035;
  row.stop_reason = StopReasons{StopReason::kPrecisionReached};
  row.throughput_ips = 1000.0 * static_cast<double>(batch) / (p50 * 1.01);
  row.memory_mb = 60 + 4.4e-6 * static_cast<double>(model.parameters) * (place.speed > 1.5 ? 2.2 : 1) +
                  (2 + model.cost / 20) * static_cast<double>(batch);
  row.memory_source = batch == 1 ? MemorySource::kProcess : MemorySource::kWarmProcess;
  row.runtime_load_ms = 31 + 6 * noise(row.engine);
  row.model_load_time = 4e-9 * static_cast<double>(model.parameters) + 0.02;
  if (std::string_view(place.engine) == "openvino") row.compilation_time_ms = 40 + model.cost / 2;
  row.first_inference_ms = p50 * 2.4;
  row.warmup_time_ms = 3 * p50 * 1.3 * 10;
  row.window_ns = static_cast<std::int64_t>(3 * p50 * 1.01e6 * 200);
  row.error_limit = 1e-4;
  row.max_abs_error = std::string_view(place.hardware) == "cpu" && std::string_view(place.engine) == "onnxruntime"
                          ? 0
                          : 1e-5 * std::exp(2 * noise(row.model + place.hardware));
  row.rms_limit = 1e-5;
  row.rms_error = *row.max_abs_error / 20;
  row.worst_output = "logits";
  row.flops = model.cost * 1e8 * static_cast<double>(batch);
  row.flops_counted = 1;
  if (std::string_view(model.name) == "gpt2") {
    row.output_tokens = 32;
    row.ttft_p50_ms = p50 / 9;
    row.ttft_p50_low_ms = p50 / 9.3;
    row.ttft_p50_high_ms = p50 / 8.8;
    row.tpot_p50_ms = p50 / 36;
    row.tpot_p50_low_ms = p50 / 36.4;
    row.tpot_p50_high_ms = p50 / 35.7;
  }
  if (std::string_view(place.hardware) == "qnn") row.flags.add(Flag::kSimulated);
  return row;
}

Record ended(Record row, CellStatus status, Word<Reason> reason, const char* message) {
  row.status = status;
  row.reason_code = reason;
  row.message = message;
  return row;
}

// Three launches: warm-up of a tenth of the window, then steady.
void add_shapes(Dataset& data, const Record& row, std::int64_t id) {
  constexpr double kCodes = 65535;
  for (std::int64_t launch = 1; launch <= 3; ++launch) {
    SampleDistribution distribution;
    distribution.result_id = id;
    distribution.launch_number = launch;
    distribution.samples = 220;
    distribution.steady = 200;
    distribution.low_ns = static_cast<std::int64_t>(*row.latency_p50_ms * 0.95e6);
    distribution.high_ns = static_cast<std::int64_t>(*row.latency_p50_ms * 2.4e6);
    distribution.window_ns = static_cast<std::int64_t>(*row.latency_p50_ms * 1.02e6 * 220);
    distribution.first_steady_bin = 9;
    // The percentiles of measured(), so that they lie on the curve.
    constexpr std::pair<double, double> kShares[] = {{0, 0.955},   {0.5, 1},    {0.9, 1.09},
                                                     {0.95, 1.16}, {0.99, 1.4}, {1, 2.35}};
    for (int i = 0; i < 64; ++i) {
      const double share = i / 63.0;
      std::size_t at = 1;
      while (share > kShares[at].first) ++at;
      const auto [p, x] = kShares[at - 1];
      const double time = (x + (share - p) / (kShares[at].first - p) * (kShares[at].second - x)) *
                          (1 + 0.002 * static_cast<double>(launch - 2));
      distribution.quantiles.push_back(
          static_cast<std::uint16_t>(kCodes * std::log(time / 0.95) / std::log(2.4 / 0.95)));
    }
    for (int bin = 0; bin < 100; ++bin) {
      const double level = bin < 9 ? 0.6 - 0.055 * bin : 0.07 + 0.02 * noise(fmt::format("{} {}", bin, launch));
      distribution.bins.push_back(static_cast<std::uint16_t>(kCodes * std::max(0.0, level - 0.03)));
      distribution.bins.push_back(static_cast<std::uint16_t>(kCodes * level));
      distribution.bins.push_back(static_cast<std::uint16_t>(kCodes * (level + 0.05 + (bin % 31 == 17 ? 0.3 : 0.0))));
    }
    data.distributions.push_back(std::move(distribution));
  }
}

void add_history(Dataset& data, const Record& row) {
  const auto series = static_cast<std::uint32_t>(data.series.size());
  data.series.push_back(row.series_key);
  constexpr double kDay = 86400, kFirst = 1771400000;
  for (int run = 0; run < 9; ++run) {
    HistoryPoint point;
    point.series = series;
    point.time_s = kFirst + kDay * 1.4 * run;
    point.version = run < 5 ? 0 : 1;
    point.launches = run == 0 ? 1 : 3;
    if (run == 6 || run == 7) point.flags = {Flag::kNoisy};
    if (run == 3) {
      point.status = CellStatus::kFailed;
    } else {
      point.status = CellStatus::kCompleted;
      point.verification = Verification::kVerified;
      const double p50 =
          *row.latency_p50_ms * (run < 5 ? 1.12 : 1.0) * (1 + 0.012 * noise(fmt::format("{} {}", run, row.model)));
      point.p50_ms = p50;
      point.ranked = true;
      if (run > 0) {
        point.p50_low_ms = p50 * 0.985;
        point.p50_high_ms = p50 * 1.02;
      }
    }
    data.history.push_back(point);
  }
}

// Runs of a machine, a day apart; the machine was looked at before all but one.
void add_runs(Dataset& data, const std::string& host, int count) {
  for (int run = 0; run < count; ++run) {
    RunFacts facts;
    facts.run_id = fmt::format("{} {}", host, run);
    facts.host = facts.machine = host;
    facts.started = fmt::format("2026-02-{:02}T09:30:00.000000Z", 10 + run);
    facts.command = "assay run --models-set small";
    if (run != 4) facts.score = static_cast<int>(74 + 22 * noise(facts.run_id));
    data.runs.push_back(facts);
  }
}

void add(Dataset& data, Record row) {
  data.ids.push_back(static_cast<std::int64_t>(data.cells.size()) + 1);
  data.cells.push_back(std::move(row));
}

Dataset empty_data() {
  Dataset data;
  data.source = "benchmark_db.duckdb";
  data.made_at = "2026-03-02T12:00:00Z";
  data.versions = {"onnxruntime 1.30.0, assay 0.1.0", "onnxruntime 1.31.1, assay 0.1.0"};
  return data;
}

Dataset one_cell() {
  Dataset data = empty_data();
  Record row = measured(kNormal[0], kPlaces[0], 1, 0);
  row.launches = row.planned_launches = 1;
  row.latency_p50_interval = IntervalScope::kOneProcess;
  row.launch_p50_ms.clear();
  add(data, row);
  add_shapes(data, row, 1);
  data.distributions.resize(1);
  add_runs(data, "laboratory", 1);
  return data;
}

Dataset normal() {
  Dataset data = empty_data();
  int minute = 0;
  for (const Model& model : kNormal)
    for (const Place& place : kPlaces) {
      const std::string target = std::string(place.hardware) + "@" + place.engine;
      if (target == "cuda@onnxruntime") {
        if (std::string_view(model.name) != "bert") continue;
        add(data, ended(row_of(model, place, 1, minute++), CellStatus::kUnavailable, Reason::kNoRuntime,
                        "no libonnxruntime_providers_cuda.so"));
        continue;
      }
      for (const std::int64_t batch : {1, 4, 8, 32}) {
        const Record row = measured(model, place, batch, minute++);
        if (target == "qnn@onnxruntime" && (std::string_view(model.name) != "bert" || batch > 1)) continue;
        if (std::string_view(model.name) == "clip" && target == "cpu@openvino") {
          add(data,
              ended(row, CellStatus::kUnsupported, Reason::kUnsupported, "openvino has no kernel for an operator"));
        } else if (std::string_view(model.name) == "vit" && target == "openvino@openvino" && batch == 8) {
          Record wrong =
              ended(row, CellStatus::kWrong, Reason::kMismatch, "logits: error 0.5 is over its limit 0.0001");
          wrong.max_abs_error = 0.5;
          wrong.verification = Verification::kWrong;
          add(data, wrong);
        } else if (std::string_view(model.name) == "whisper-tiny" && target == "cpu@openvino") {
          add(data, ended(row, CellStatus::kFailed, Reason::kWorkerDied, "the worker died of SIGSEGV"));
        } else if (std::string_view(model.name) == "gpt2" && batch == 32) {
          add(data, ended(row, CellStatus::kSkipped, Reason::kNoTime, "estimated at 14 s a run"));
        } else {
          add(data, row);
        }
      }
    }
  for (std::size_t i = 0; i < data.cells.size() && data.series.size() < 8; ++i) {
    const Record& row = data.cells[i];
    if (row.status != CellStatus::kCompleted || *row.batch_size > 4 || row.flags.has(Flag::kSimulated)) continue;
    add_shapes(data, row, data.ids[i]);
    add_history(data, row);
  }
  add_runs(data, "laboratory", 9);
  return data;
}

Dataset thirty_models() {
  constexpr const char* kFamilies[] = {"embedding", "text_generation", "vision", "audio", "multimodal"};
  constexpr const char* kCategories[] = {"text_encoders", "text_decoders", "vision", "audio", "vision_language"};
  Dataset data = empty_data();
  int minute = 0;
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    const double size = 6 + 3 * noise(kNames[i]);
    const Model model{kNames[i], kFamilies[i % 5],         kCategories[i % 5],
                      kNames[i], std::pow(10.0, size / 3), static_cast<std::int64_t>(std::pow(10.0, 6 + size / 4)),
                      128};
    for (std::size_t place = 0; place < 4; ++place) {
      if (place == 3 && i % 6 != 0) continue;
      for (const std::int64_t batch : {1, 8}) {
        const Record row = measured(model, kPlaces[place], batch, minute++);
        if ((i * 7 + place * 3 + static_cast<std::size_t>(batch)) % 23 == 0)
          add(data, ended(row, CellStatus::kFailed, Reason::kWorkerDied, "the worker died"));
        else if ((i + place) % 13 == 5 && place > 0)
          add(data, ended(row, CellStatus::kUnsupported, Reason::kUnsupported, "no kernel"));
        else
          add(data, row);
      }
    }
  }
  for (std::size_t i = 0; i < data.cells.size(); ++i)
    if (data.cells[i].status == CellStatus::kCompleted) {
      add_shapes(data, data.cells[i], data.ids[i]);
      if (data.series.size() < 14) add_history(data, data.cells[i]);
    }
  for (const char* host : {"laboratory", "build-server-with-a-long-name.example", "laptop"}) add_runs(data, host, 7);
  return data;
}

// As a first try on a busy machine: one process each, and too few samples.
Dataset unranked() {
  Dataset data = normal();
  data.history.clear();
  for (Record& row : data.cells) {
    if (row.status != CellStatus::kCompleted) continue;
    row.launches = row.planned_launches = 1;
    row.latency_p50_interval = IntervalScope::kOneProcess;
    row.launch_p50_ms.clear();
    row.latency_p50_quality = "few_samples(n=5<36)";
    row.latency_p50_low_ms = row.latency_p50_high_ms = {};
    row.flags.add(Flag::kNoisy);
    if (row.model == "gpt2") row.verification = Verification::kUnverified;
  }
  return data;
}

// What analyses give if peaks are known.
void add_efficiency(Analysis& analysis) {
  const std::string peak = "openvino 2026.4.1, 2 threads, 2026-03-02: 100 GFLOP/s";
  for (const char* category : {"text_encoders", "vision"})
    for (const char* target : {"cpu", "openvino"}) {
      Efficiency one;
      one.hardware_id = "machine-1";
      one.target = target;
      one.category = category;
      one.precision = "float32";
      one.share = 0.4 + 0.3 * noise(std::string(category) + target);
      one.cells = 3;
      one.counted_whole = std::string_view(category) == "vision";
      one.peak_of = peak;
      analysis.efficiency.push_back(one);
    }
}

}  // namespace

std::optional<Dataset> dataset_of(const std::string& name) {
  if (name == "one") return one_cell();
  if (name == "normal") return normal();
  if (name == "thirty") return thirty_models();
  if (name == "unranked") return unranked();
  if (name == "two_runs") return normal();
  if (name == "long") return long_names();
  if (name == "empty") return empty_data();
  return std::nullopt;
}

Dataset before_normal() {
  Dataset data = normal();
  data.source = "results/before";
  std::erase_if(data.cells, [](const Record& row) { return row.model == "whisper-tiny"; });
  for (Record& row : data.cells) {
    row.run_id = "run-1";
    row.timestamp = "2026-02-20T10:00:00.000000Z";
    const double factor = 1 + 0.12 * noise(row.series_key);
    for (Number Record::*time : {&Record::latency_p50_ms, &Record::latency_p50_low_ms, &Record::latency_p50_high_ms})
      if (row.*time) row.*time = *(row.*time) * factor;
  }
  return data;
}

Analysis analysis_of(const Dataset& data) {
  Analysis analysis = analyse(data);
  if (analysis.efficiency.empty() && data.cells.size() > 1) {
    add_efficiency(analysis);
    analysis.efficiency_missing.clear();
  }
  return analysis;
}

}  // namespace assay
