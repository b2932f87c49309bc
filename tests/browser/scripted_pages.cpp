// SPDX-License-Identifier: Apache-2.0
// scripted_pages OUT: writes what the tests of the dashboard read into the folder OUT: pages of invented results
// (normal.html, thousand.html, one.html, empty.html), pages of one chart (chart.html, chart_mixed.html,
// chart_thousand.html), the document of normal.html with the charts that C++ makes of its
// cells (document.bin, charts.json), the option of its chart `comparison` (comparison.json), comparisons with their
// results (comparisons.json), and mixed_cells() as a page, as a document, and with what C++ says of them (mixed.html,
// mixed.bin, mixed.json).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "core/base/files.hpp"
#include "core/base/json.hpp"
#include "core/result/launch_medians.hpp"
#include "history/analyse/analyse.hpp"
#include "history/analyse/compare.hpp"
#include "history/store/dataset.hpp"
#include "scripted_mixed.hpp"
#include "show/chart/chart.hpp"
#include "show/chart/render.hpp"
#include "show/dashboard/chart_page.hpp"
#include "show/dashboard/page.hpp"
#include "support/percentiles.hpp"

namespace assay {
namespace {

struct Family {
  const char *family, *category;
  std::vector<const char*> names;
  std::int64_t sequence;
};
const std::vector<Family>& families() {
  static const std::vector<Family> all{
      {"embedding",
       "text_encoders",
       {"bert", "distilbert", "roberta", "albert", "electra", "mpnet", "deberta-v2"},
       128},
      {"text_generation", "text_decoders", {"gpt2", "llama", "qwen2", "opt", "bloom", "phi", "gemma", "mistral"}, 128},
      {"text_generation", "encoder_decoders", {"t5", "bart", "marian", "pegasus"}, 64},
      {"vision", "vision", {"vit", "resnet", "deit", "swin", "convnext", "beit", "segformer", "detr"}, 0},
      {"audio", "audio", {"whisper", "wav2vec2", "hubert", "clap"}, 0},
      {"multimodal", "vision_language", {"clip", "blip", "siglip", "llava"}, 77}};
  return all;
}

struct Place {
  const char *hardware, *engine, *device_name;
  double speed;  ///< times as fast as the first; 0: not on this machine
};
constexpr Place kPlaces[] = {{"cpu", "onnxruntime", "AMD EPYC 7B13", 1},
                             {"openvino", "openvino", "AMD EPYC 7B13", 1.25},
                             {"webgpu", "onnxruntime", "SwiftShader", 0.2},
                             {"cuda", "onnxruntime", "", 0}};

constexpr int kDays = 7;
constexpr std::int64_t kSecondsPerDay = 86400;
constexpr double kFirstDay = 1771840800;  // 2026-02-23T10:00:00Z

class Script {
 public:
  explicit Script(unsigned seed) : random_(seed) {}

  Dataset make(std::size_t models, const std::vector<std::int64_t>& batches) {
    data_.source = "benchmark_db.duckdb";
    data_.made_at = "2026-03-02T12:30:00Z";
    data_.versions = {"1.30.0, assay 0.1.0", "1.31.1, assay 0.1.0"};
    add_runs(models);
    std::vector<std::pair<const Family*, const char*>> names;
    for (std::size_t i = 0; names.size() < 35; ++i)
      for (const Family& family : families())
        if (i < family.names.size()) names.emplace_back(&family, family.names[i]);
    for (std::size_t m = 0; m < models; ++m) {
      const auto& [family, name] = names[m % names.size()];
      const std::string full = m < names.size() ? name : fmt::format("{}-{}", name, m / names.size() + 1);
      const double cost = std::exp(1.6 + 1.1 * normal_(random_));
      for (const Place& place : kPlaces) {
        const double speed = place.speed * std::exp(0.22 * normal_(random_));
        for (const std::int64_t batch : batches) add_cell(*family, full, place, speed, cost, batch, m);
      }
    }
    return std::move(data_);
  }

 private:
  // As to_json() of bench/measure/doctor.hpp writes it.
  static Json doctor() {
    const auto finding = [](const char* item, const char* value, const char* verdict, Json remedy) {
      return Json{{"item", item}, {"value", value}, {"verdict", verdict}, {"remedy", std::move(remedy)}};
    };
    return {{"schema_version", "1.0"},
            {"score", 74},
            {"findings",
             {finding("swap", "12 of 512 MiB used", "warn", "free some memory, then `swapoff -a && swapon -a` as root"),
              finding("memory_free", "0.9 of 15.6 GiB", "bad", "end programs that use memory"),
              finding("clock_source", "tsc", "ok", nullptr)}}};
  }

  void add_runs(std::size_t models) {
    for (int i = 0; i < 2; ++i) {
      RunFacts run;
      run.run_id = i == 0 ? "run-new" : "run-old";
      run.started = i == 0 ? "2026-03-02T10:00:00Z" : "2026-02-27T10:00:00Z";
      run.command = "assay suite --config benchmark_config.json";
      run.host = "laboratory";
      run.machine = "machine-1";
      run.tool_version = "0.1.0";
      run.environment = {{"governor", "performance"}, {"threads", 2}, {"load", 0.12}};
      if (i == 0) run.environment["doctor"] = doctor();
      run.cells = static_cast<std::int64_t>(models * std::size(kPlaces));
      run.score = i == 0 ? 74 : 71;
      data_.runs.push_back(std::move(run));
    }
    MachineFacts machine;
    machine.hardware_id = "machine-1";
    machine.host = "laboratory";
    machine.processor = "AMD EPYC 7B13, 2 cores";
    machine.info = {{"os", "Debian 12"},      {"processor", "AMD EPYC 7B13"},
                    {"gpu_count", 0},         {"gpus", Json::array()},
                    {"cpu_cores", 2},         {"cpu_threads", 4},
                    {"memory_gb", 15.6},      {"memory_mb", 15600},
                    {"cuda_available", false}};
    machine.first_seen = "2026-02-23T10:00:00Z";
    machine.last_seen = "2026-03-02T10:00:00Z";
    data_.machines.push_back(std::move(machine));
  }

  void add_cell(const Family& family, const std::string& name, const Place& place, double speed, double cost,
                std::int64_t batch, std::size_t number) {
    Record row;
    row.run_id = "run-new";
    row.model = name;
    row.model_id = "zoo:" + name;
    row.config_hash = "config-" + name;
    row.family = family.family;
    row.category = family.category;
    row.architecture = name.substr(0, name.find('-'));
    row.parameter_count = static_cast<std::int64_t>(cost * 9e6);
    row.weights = Weights::kSeeded;
    row.size = "small";
    row.hardware = row.device_type = place.hardware;
    row.engine = row.framework = place.engine;
    row.engine_version = "1.31.1";
    row.tool_version = "0.1.0";
    row.device = place.hardware;
    row.device_name = place.device_name;
    row.host = "laboratory";
    row.hardware_id = "machine-1";
    row.precision = row.dtype = row.effective_precision = "float32";
    row.contract = Contract::kHost;
    row.timestamp = "2026-03-02T10:20:00.000000Z";
    row.batch_size = batch;
    row.streams = 1;
    row.seed = 0;
    row.data_source = "synthetic";
    row.measure_plan = "adaptive";
    row.planned_launches = 3;
    if (family.sequence > 0) row.sequence_length = family.sequence;
    row.series_key = fmt::format("series-{}-{}-{}", name, place.hardware, batch);
    row.task_key = "task-" + row.series_key;
    const auto id = static_cast<std::int64_t>(data_.cells.size()) + 1000;
    if (place.speed == 0) {
      ended(row, CellStatus::kUnavailable, Reason::kNoHardware, "no NVIDIA GPU was found on this machine",
            "use a machine with such a GPU");
    } else if (number == 4 && batch > 1 && std::string_view(place.hardware) == "openvino") {
      ended(row, CellStatus::kFailed, Reason::kWorkerDied, "the worker ended with signal 9 (killed)",
            "the kernel's log says whether memory was short");
    } else {
      measured(row, cost / speed * std::pow(static_cast<double>(batch), 0.82));
      if (std::string_view(place.hardware) == "webgpu") row.flags.add(Flag::kSoftware);
      if (number == 2 && batch == 1 && std::string_view(place.hardware) == "openvino") {
        row.status = CellStatus::kWrong;
        row.verification = Verification::kWrong;
        row.reason_code = Reason::kMismatch;
        row.message = "output last_hidden_state: rms error 0.31, limit 0.0008";
        row.hint = "report it to the runtime's authors with the command of the cell";
        row.rms_error = 0.31;
      }
      add_shapes(row, id);
    }
    add_history(row);
    data_.ids.push_back(id);
    data_.series.push_back(row.series_key);
    data_.cells.push_back(std::move(row));
  }

  static void ended(Record& row, CellStatus status, Word<Reason> reason, std::string message, std::string hint) {
    row.status = status;
    row.reason_code = reason;
    row.message = std::move(message);
    row.hint = std::move(hint);
  }

  void measured(Record& row, double p50) {
    row.status = CellStatus::kCompleted;
    row.verification = Verification::kVerified;
    const double spread = 0.002 + 0.02 * uniform_(random_);
    set_percentiles(row, p50, p50 * (1 - spread), p50 * (1 + spread));
    row.launches = 3;
    row.iterations = 600;
    row.launch_p50_ms = {
        {1, p50 * (1 + spread * normal_(random_) / 3)}, {2, p50}, {3, p50 * (1 + spread * normal_(random_) / 3)}};
    row.stop_reason = StopReasons{StopReason::kPrecisionReached};
    row.steady_class = stats::SteadyClass::kFlat;
    row.throughput_ips = 1000.0 * static_cast<double>(*row.batch_size) / (p50 * 1.01);
    row.memory_mb = 60 + p50 * 3 + 4 * static_cast<double>(*row.batch_size);
    row.memory_source = MemorySource::kProcess;
    row.model_load_time = 0.3 + p50 / 100;
    row.compilation_time_ms = 40 + p50;
    row.first_inference_ms = p50 * 3;
    row.warmup_time_ms = p50 * 12;
    row.window_ns = static_cast<std::int64_t>(p50 * 1.02e6 * 220);
    row.rms_error = 2e-7;
    row.rms_limit = 8e-4;
    row.max_abs_error = 4e-6;
    row.error_limit = 5e-3;
    row.honest_error = 3e-7;
    row.reference = "onnxruntime, without optimisation";
    row.worst_output = "last_hidden_state";
    row.outliers = 2;
  }

  void add_shapes(const Record& row, std::int64_t id) {
    constexpr double kCodes = 65535, kWidest = 2.4;
    for (std::int64_t launch = 1; launch <= 3; ++launch) {
      SampleDistribution distribution;
      distribution.result_id = id;
      distribution.launch_number = launch;
      distribution.samples = 220;
      distribution.steady = 200;
      distribution.low_ns = static_cast<std::int64_t>(*row.latency_p50_ms * 0.95e6);
      distribution.high_ns = static_cast<std::int64_t>(*row.latency_p50_ms * kWidest * 1e6);
      distribution.window_ns = *row.window_ns;
      distribution.first_steady_bin = 9;
      const auto code = [&](double times) {
        return static_cast<std::uint16_t>(kCodes *
                                          std::clamp(std::log(times / 0.95) / std::log(kWidest / 0.95), 0.0, 1.0));
      };
      std::vector<double> times;
      times.reserve(64);
      for (int i = 0; i < 64; ++i) times.push_back(0.95 + 0.06 * std::abs(normal_(random_)) + (i == 0 ? 1.1 : 0.0));
      std::ranges::sort(times);
      for (const double one : times) distribution.quantiles.push_back(code(one));
      for (int bin = 0; bin < 100; ++bin) {
        const double median = (bin < 9 ? 1.6 - 0.06 * bin : 1.0) + 0.01 * normal_(random_);
        for (const double one : {median - 0.03, median, median + 0.05 + 0.04 * std::abs(normal_(random_))})
          distribution.bins.push_back(code(one));
      }
      data_.distributions.push_back(std::move(distribution));
    }
  }

  void add_history(const Record& row) {
    for (int day = 0; day <= kDays; ++day) {
      HistoryPoint point;
      point.series = static_cast<std::uint32_t>(data_.series.size());
      point.result_id = static_cast<std::int64_t>(data_.cells.size()) + 1000 - std::int64_t{kDays - day} * 100'000;
      point.time_s = kFirstDay + day * kSecondsPerDay;
      point.run = day == kDays ? 0 : 1;
      point.version = day < 4 ? 0 : 1;
      point.status = row.status;
      point.verification = row.verification;
      point.launches = row.launches.value_or(0);
      point.engine_version = day < 4 ? "1.30.0" : "1.31.1";
      point.effective_precision = row.effective_precision;
      point.flags = row.flags;
      if (day == 1 || day == 5) point.flags = {Flag::kNoisy};
      if (day == 2 && row.latency_p50_ms) {
        point.status = CellStatus::kFailed;
        point.verification = Verification::kUnverified;
      } else if (row.latency_p50_ms) {
        const double p50 =
            *row.latency_p50_ms * (day == kDays ? 1 : (day < 4 ? 1.1 : 1) * (1 + 0.008 * normal_(random_)));
        point.p50_ms = p50;
        point.p50_low_ms = p50 * 0.985;
        point.p50_high_ms = p50 * 1.02;
        point.throughput_ips = row.throughput_ips;
        point.memory_mb = row.memory_mb;
        point.ranked = row.ranked();
        point.latency_p50_interval = row.latency_p50_interval;
        point.launch_p50_ms = {{1, p50 * 0.99}, {2, p50}, {3, p50 * 1.01}};
      }
      data_.history.push_back(point);
    }
  }

  std::mt19937 random_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
  Dataset data_;
};

// What the page says of a pair or of several must be what C++ says.
Json comparisons(std::size_t count) {
  std::mt19937 random(7);  // NOLINT(bugprone-random-generator-seed): the same pages each time
  std::normal_distribution<double> normal;
  const auto below = [&](std::size_t n) { return random() % n; };
  Json list = Json::array();
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t pairs = below(4) == 0 ? 1 + below(6) : 1;
    const double ratio = std::exp(0.2 * normal(random)),
                 spread = std::pow(10.0, -1 - 2.5 * static_cast<double>(below(1000)) / 1000);
    std::vector<Record> rows;
    const bool other_runs = below(20) == 0;
    const std::size_t most = below(8) == 0 ? 1 : 2 + below(11);
    for (std::size_t row = 0; row < 2 * pairs; ++row) {
      Record made;
      made.run_id = other_runs && row == 1 ? "b"
                    : below(60) == 0       ? "c"
                                           : fmt::format("run-{}", below(8) == 0 ? row / 2 : 0);
      const double p50 = std::exp(normal(random)) * (row % 2 == 0 ? 1 : ratio);
      made.latency_p50_ms = p50;
      std::vector<LaunchMedian> launches;
      for (std::size_t launch = 1; launch <= most; ++launch)
        if (below(25) != 0)
          launches.push_back({static_cast<std::int64_t>(launch), p50 * std::exp(spread * normal(random))});
      if (launches.size() > 1) made.launch_p50_ms = launches;
      if (below(5) == 0) made.launch_number = static_cast<std::int64_t>(1 + below(3));
      rows.push_back(std::move(made));
    }
    std::vector<CellPair> together;
    Json input = Json::array();
    const auto json_of = [](const Record& row) {
      return Json{{"run", row.run_id},
                  {"launches", launch_medians_text(row.launch_p50_ms)},
                  {"launchNumber", row.launch_number ? Json(*row.launch_number) : Json()},
                  {"p50", *row.latency_p50_ms}};
    };
    for (std::size_t pair = 0; pair < pairs; ++pair) {
      together.push_back({&rows[2 * pair], &rows[2 * pair + 1]});
      input.push_back({{"baseline", json_of(rows[2 * pair])}, {"candidate", json_of(rows[2 * pair + 1])}});
    }
    const std::size_t among = 2 + (below(3) == 0 ? below(9) : 0);
    const CellComparison found = compare_together(together, among);
    list.push_back({{"pairs", input},
                    {"among", among},
                    {"ratio", found.ratio},
                    {"low", found.interval ? Json(found.interval->low) : Json()},
                    {"high", found.interval ? Json(found.interval->high) : Json()},
                    {"difference", to_string(found.difference)},
                    {"rounds", found.rounds},
                    {"smallestDetectable", found.smallest_detectable ? Json(*found.smallest_detectable) : Json()},
                    {"words", no_claim_words(found)}});
  }
  return list;
}

// The charts of some cells with their rows, as C++ makes them.
Json charts_of_cells(const Dataset& data) {
  Json list = Json::array();
  const auto add = [&](chart::Kind kind, const chart::Input& input, const std::string& of) {
    for (const chart::Chart& made : chart::make_charts(kind, input))
      if (!made.option.is_null())
        list.push_back({{"name", made.name},
                        {"of", of},
                        {"rows", made.option["dataset"]["source"]},
                        {"table", rows_json(made.table)},
                        {"title", made.title},
                        {"subtitle", made.subtitle},
                        {"notes", made.notes}});
  };
  for (std::size_t i = 0; i < data.cells.size(); i += 11) {
    const Record& cell = data.cells[i];
    if (!cell.latency_p50_ms) continue;
    for (const chart::Kind kind :
         {chart::Kind::kLatencyDistribution, chart::Kind::kSamplesOverTime, chart::Kind::kPhases})
      add(kind, {.data = &data, .cell = cell.task_key}, std::to_string(data.ids[i]));
    add(chart::Kind::kHistory, {.data = &data, .series = cell.series_key}, std::to_string(data.ids[i]));
  }
  return list;
}

Status write_all(const std::filesystem::path& folder) {
  const auto page_of = [&](const char* name, const Dataset& data) -> Status {
    const Analysis analysis = analyse(data);
    ASSAY_TRY(const auto made, dashboard::write_dashboard(data, analysis, folder / name));
    std::filesystem::rename(made, folder / (std::string(name) + ".html"));
    std::filesystem::remove(folder / name);
    return {};
  };
  ASSAY_TRY(chart::Renderer renderer, chart::Renderer::create());
  const auto chart_of = [&](const char* name, const Dataset& data) -> Status {
    const Analysis analysis = analyse(data);
    const std::vector<chart::Chart> pages =
        chart::make_charts(chart::Kind::kHardwareComparison, {.data = &data, .analysis = &analysis});
    ASSAY_TRY(const std::string page, dashboard::chart_page(renderer, pages, data));
    return write_file_atomically(folder / (std::string(name) + ".html"), page);
  };
  const Dataset normal = Script(1).make(12, {1, 4, 8}), thousand = Script(2).make(84, {1, 4, 8});
  ASSAY_CHECK_OK(page_of("normal", normal));
  ASSAY_CHECK_OK(page_of("thousand", thousand));
  ASSAY_CHECK_OK(chart_of("chart", normal));
  ASSAY_CHECK_OK(chart_of("chart_thousand", thousand));
  ASSAY_CHECK_OK(page_of("one", Script(3).make(1, {1})));
  Dataset nothing;
  nothing.source = "benchmark_db.duckdb";
  nothing.made_at = "2026-03-02T12:30:00Z";
  ASSAY_CHECK_OK(page_of("empty", nothing));
  const Analysis analysis = analyse(normal);
  ASSAY_CHECK_OK(write_file_atomically(
      folder / "document.bin", dashboard::document(normal, analysis, dashboard::page_charts(normal, analysis))));
  ASSAY_CHECK_OK(write_file_atomically(folder / "charts.json", json_text(charts_of_cells(normal))));
  const std::vector<chart::Chart> sides =
      chart::make_charts(chart::Kind::kComparison, {.data = &normal, .analysis = &analysis});
  ASSAY_CHECK_OK(write_file_atomically(folder / "comparison.json", json_text(sides.front().option)));
  const Dataset mixed = mixed_cells();
  ASSAY_CHECK_OK(page_of("mixed", mixed));
  ASSAY_CHECK_OK(chart_of("chart_mixed", mixed));
  ASSAY_CHECK_OK(write_file_atomically(folder / "mixed.bin", dashboard::document(mixed, analyse(mixed), {})));
  ASSAY_CHECK_OK(write_file_atomically(folder / "mixed.json", json_text(answers_about(mixed))));
  constexpr std::size_t kComparisons = 2000;
  return write_file_atomically(folder / "comparisons.json", json_text(comparisons(kComparisons)));
}

}  // namespace
}  // namespace assay

int main(int count, char** arguments) {
  if (count != 2) {
    std::fputs("usage: scripted_pages OUT\n", stderr);
    return 2;
  }
  const auto written = assay::write_all(arguments[1]);
  if (written) return 0;
  std::fprintf(stderr, "%s\n", written.error().message.c_str());
  return 1;
}
