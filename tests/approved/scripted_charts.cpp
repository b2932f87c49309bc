// SPDX-License-Identifier: Apache-2.0

// scripted_charts NAME.DATA[.dark].svg: prints a chart of invented results, for comparison with the approved file of
// the same name in charts/ (tests/approve.py). DATA: one (a single cell), normal, thirty (models),
// unranked (times that nothing is claimed of), empty.
// scripted_charts --check: says where text is cut or overlaps in any page of any chart.
// scripted_charts --all FOLDER: writes every chart of every DATA there as SVG and PNG, and says what is wrong with
// their text.

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyse/analysis.hpp"
#include "base/files.hpp"
#include "chart/chart.hpp"
#include "chart/layout.hpp"
#include "chart/render.hpp"
#include "result/launch_medians.hpp"
#include "store/dataset.hpp"

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
constexpr const char* kNames[] = {"albert-base-v2",
                                  "bart-base",
                                  "bert-base-uncased",
                                  "bloom-560m",
                                  "camembert-base",
                                  "convnext-tiny-224",
                                  "deberta-v3-base",
                                  "deit-tiny-patch16-224",
                                  "distilbert-base-uncased",
                                  "electra-small-discriminator",
                                  "falcon-rw-1b",
                                  "gemma-3-270m",
                                  "gpt2",
                                  "hubert-base-ls960",
                                  "layoutlmv3-base-finetuned-on-receipts-and-invoices-v2",
                                  "mobilebert-uncased",
                                  "mpnet-base",
                                  "opt-125m",
                                  "phi-1_5",
                                  "qwen2.5-0.5b",
                                  "regnet-y-040",
                                  "resnet-50",
                                  "roberta-base",
                                  "segformer-b0",
                                  "swin-tiny-patch4-window7-224",
                                  "t5-efficient-tiny",
                                  "vit-tiny-patch16-224",
                                  "wav2vec2-base",
                                  "whisper-tiny",
                                  "xlm-roberta-base"};

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
  row.contract = "e2e_host";
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
  row.latency_p50_ms = p50;
  row.latency_p50_low_ms = p50 * 0.985;
  row.latency_p50_high_ms = p50 * 1.02;
  row.latency_p90_ms = p50 * 1.09;
  row.latency_p90_low_ms = p50 * 1.07;
  row.latency_p90_high_ms = p50 * 1.12;
  row.latency_p95_ms = p50 * 1.16;
  row.latency_p95_low_ms = p50 * 1.12;
  row.latency_p95_high_ms = p50 * 1.2;
  row.latency_p99_ms = p50 * 1.4;
  row.latency_p50_quality = row.latency_p90_quality = row.latency_p95_quality = "ok";
  row.latency_p99_quality = "few_samples(n=200<368)";
  row.latency_p50_interval = "launches";
  row.launches = row.planned_launches = 3;
  row.iterations = 200;
  row.launch_p50_ms = launch_medians_text(std::vector<LaunchMedian>{{1, p50 * 0.996}, {2, p50}, {3, p50 * 1.003}});
  row.launch_spread = 0.0035;
  row.stop_reason = "precision_reached";
  row.throughput_ips = 1000.0 * static_cast<double>(batch) / (p50 * 1.01);
  row.memory_mb = 60 + 4.4e-6 * static_cast<double>(model.parameters) * (place.speed > 1.5 ? 2.2 : 1) +
                  (2 + model.cost / 20) * static_cast<double>(batch);
  row.memory_source = batch == 1 ? "process" : "process_warm";
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
  if (std::string_view(place.hardware) == "qnn") row.add_flag(flag::kSimulated);
  return row;
}

Record ended(Record row, CellStatus status, std::string_view reason, const char* message) {
  row.status = status;
  row.reason_code = reason;
  row.message = message;
  return row;
}

// Three launches: warm-up of a tenth of the window, then steady.
void add_shapes(Dataset& data, const Record& row, std::int64_t id) {
  constexpr double kCodes = 65535;
  for (std::int64_t launch = 1; launch <= 3; ++launch) {
    LaunchShape shape;
    shape.result_id = id;
    shape.launch_number = launch;
    shape.samples = 220;
    shape.steady = 200;
    shape.low_ns = static_cast<std::int64_t>(*row.latency_p50_ms * 0.95e6);
    shape.high_ns = static_cast<std::int64_t>(*row.latency_p50_ms * 2.4e6);
    shape.window_ns = static_cast<std::int64_t>(*row.latency_p50_ms * 1.02e6 * 220);
    shape.first_steady_bin = 9;
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
      shape.quantiles.push_back(static_cast<std::uint16_t>(kCodes * std::log(time / 0.95) / std::log(2.4 / 0.95)));
    }
    for (int bin = 0; bin < 100; ++bin) {
      const double level = bin < 9 ? 0.6 - 0.055 * bin : 0.07 + 0.02 * noise(fmt::format("{} {}", bin, launch));
      shape.bins.push_back(static_cast<std::uint16_t>(kCodes * std::max(0.0, level - 0.03)));
      shape.bins.push_back(static_cast<std::uint16_t>(kCodes * level));
      shape.bins.push_back(static_cast<std::uint16_t>(kCodes * (level + 0.05 + (bin % 31 == 17 ? 0.3 : 0.0))));
    }
    data.shapes.push_back(std::move(shape));
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
  row.latency_p50_interval = "one_process";
  row.launch_p50_ms.clear();
  add(data, row);
  add_shapes(data, row, 1);
  data.shapes.resize(1);
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
        add(data, ended(row_of(model, place, 1, minute++), CellStatus::kUnavailable, reason::kNoRuntime,
                        "no libonnxruntime_providers_cuda.so"));
        continue;
      }
      for (const std::int64_t batch : {1, 4, 8, 32}) {
        const Record row = measured(model, place, batch, minute++);
        if (target == "qnn@onnxruntime" && (std::string_view(model.name) != "bert" || batch > 1)) continue;
        if (std::string_view(model.name) == "clip" && target == "cpu@openvino") {
          add(data, ended(row, CellStatus::kUnsupported, "unsupported", "openvino has no kernel for an operator"));
        } else if (std::string_view(model.name) == "vit" && target == "openvino@openvino" && batch == 8) {
          Record wrong = ended(row, CellStatus::kWrong, "mismatch", "logits: error 0.5 is over its limit 0.0001");
          wrong.max_abs_error = 0.5;
          wrong.verification = Verification::kWrong;
          add(data, wrong);
        } else if (std::string_view(model.name) == "whisper-tiny" && target == "cpu@openvino") {
          add(data, ended(row, CellStatus::kFailed, "worker_died", "the worker died of SIGSEGV"));
        } else if (std::string_view(model.name) == "gpt2" && batch == 32) {
          add(data, ended(row, CellStatus::kSkipped, reason::kNoTime, "estimated at 14 s a run"));
        } else {
          add(data, row);
        }
      }
    }
  for (std::size_t i = 0; i < data.cells.size() && data.series.size() < 8; ++i) {
    const Record& row = data.cells[i];
    if (row.status != CellStatus::kCompleted || *row.batch_size > 4 || row.has_flag(flag::kSimulated)) continue;
    add_shapes(data, row, data.ids[i]);
    add_history(data, row);
  }
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
          add(data, ended(row, CellStatus::kFailed, "worker_died", "the worker died"));
        else if ((i + place) % 13 == 5 && place > 0)
          add(data, ended(row, CellStatus::kUnsupported, "unsupported", "no kernel"));
        else
          add(data, row);
      }
    }
  }
  for (std::size_t i = 0; i < data.cells.size() && data.series.size() < 14; ++i)
    if (data.cells[i].status == CellStatus::kCompleted) {
      add_shapes(data, data.cells[i], data.ids[i]);
      add_history(data, data.cells[i]);
    }
  return data;
}

// As a first try on a busy machine: one process each, and too few samples.
Dataset unranked() {
  Dataset data = normal();
  data.history.clear();
  for (Record& row : data.cells) {
    if (row.status != CellStatus::kCompleted) continue;
    row.launches = row.planned_launches = 1;
    row.latency_p50_interval = "one_process";
    row.launch_p50_ms.clear();
    row.latency_p50_quality = "few_samples(n=5<36)";
    row.latency_p50_low_ms = row.latency_p50_high_ms = {};
    row.add_flag(flag::kNoisy);
    if (row.model == "gpt2") row.verification = Verification::kUnverified;
  }
  return data;
}

std::optional<Dataset> dataset_of(const std::string& name) {
  if (name == "one") return one_cell();
  if (name == "normal") return normal();
  if (name == "thirty") return thirty_models();
  if (name == "unranked") return unranked();
  if (name == "empty") return empty_data();
  return std::nullopt;
}

// What analyses give if peaks are known.
void add_efficiency(Analysis& analysis) {
  const std::string peak = "openvino 2026.4.1, 2 threads, 2026-03-02: 100 GFLOP/s";
  for (const char* category : {"text_encoders", "vision"})
    for (const char* target : {"cpu", "openvino"}) {
      Efficiency one;
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

Analysis analysis_of(const Dataset& data) {
  Analysis analysis = analyse(data);
  if (analysis.efficiency.empty() && data.cells.size() > 1) {
    add_efficiency(analysis);
    analysis.efficiency_missing.clear();
  }
  return analysis;
}

int print_one(std::string name) {
  if (name.ends_with(".svg")) name.resize(name.size() - 4);
  const bool dark = name.ends_with(".dark");
  if (dark) name.resize(name.size() - 5);
  const std::size_t dot = name.find('.');
  const std::optional<chart::Kind> kind = chart::find_kind(name.substr(0, dot));
  const std::optional<Dataset> data = dot == std::string::npos ? std::nullopt : dataset_of(name.substr(dot + 1));
  if (!kind || !data) {
    std::fputs("usage: scripted_charts NAME.one|normal|thirty|unranked[.dark].svg | without_data.txt | --all FOLDER\n",
               stderr);
    return 2;
  }
  const Analysis analysis = analysis_of(*data);
  const chart::Chart chart = chart::make_charts(*kind, {.data = &*data, .analysis = &analysis}).front();
  if (chart.option.is_null()) {
    std::fprintf(stderr, "%s has no data: without_data.txt\n", name.c_str());
    return 1;
  }
  Result<chart::Renderer> renderer = chart::Renderer::create();
  const Result<std::string> svg =
      renderer ? renderer->svg(chart, chart::theme(dark ? "dark" : "light")) : tl::unexpected<Error>(renderer.error());
  if (!svg) {
    std::fprintf(stderr, "%s\n", to_string(svg.error()).c_str());
    return 1;
  }
  std::fputs(svg->c_str(), stdout);
  return 0;
}

// What the charts say that cannot be drawn.
int print_missing() {
  for (const char* name : {"empty", "one"}) {
    const Dataset data = *dataset_of(name);
    const Analysis analysis = analysis_of(data);
    const chart::ChartMaker maker({.data = &data, .analysis = &analysis});
    for (const chart::Kind kind : chart::all_kinds())
      for (const chart::Chart& chart : maker.make(kind)) {
        if (!chart.option.is_null()) continue;
        std::printf("%s, %s\n  %s\n", chart.name.c_str(), name, chart.title.c_str());
        for (const std::string& note : chart.notes) std::printf("  %s\n", note.c_str());
      }
  }
  return 0;
}

// Without a folder only checked.
int write_all(const std::filesystem::path& folder) {
  Result<chart::Renderer> renderer = chart::Renderer::create();
  if (!renderer) return 1;
  int faults = 0;
  for (const char* name : {"one", "normal", "thirty", "unranked", "empty"}) {
    const Dataset data = *dataset_of(name);
    const Analysis analysis = analysis_of(data);
    const chart::ChartMaker maker({.data = &data, .analysis = &analysis});
    for (const chart::Kind kind : chart::all_kinds())
      for (const chart::Chart& chart : maker.make(kind)) {
        if (chart.option.is_null()) {
          continue;
        }
        for (const char* theme : {"light", "dark"}) {
          if (folder.empty() && std::string_view(theme) == "dark") continue;
          const Result<std::string> svg = renderer->svg(chart, chart::theme(theme));
          if (!svg) {
            std::printf("%s.%s: %s\n", chart.name.c_str(), name, to_string(svg.error()).c_str());
            ++faults;
            continue;
          }
          const std::string file = fmt::format("{}.{}.{}", chart.name, name, theme);
          for (const std::string& fault : chart::text_faults(*svg)) {
            if (std::string_view(theme) == "light") std::printf("%s: %s\n", file.c_str(), fault.c_str());
            ++faults;
          }
          if (folder.empty()) continue;
          static_cast<void>(write_file_atomically(folder / (file + ".svg"), *svg));
          if (const Result<std::string> bytes = chart::png(*svg, 1))
            static_cast<void>(write_file_atomically(folder / (file + ".png"), *bytes));
        }
      }
  }
  return faults == 0 ? 0 : 1;
}

}  // namespace
}  // namespace assay

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  if (words.size() == 2 && words[0] == "--all") return assay::write_all(words[1]);
  if (words.size() == 1 && words[0] == "--check") return assay::write_all({});
  if (words.size() == 1 && words[0] == "without_data.txt") return assay::print_missing();
  return assay::print_one(words.empty() ? "" : words[0]);
}
