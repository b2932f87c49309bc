// SPDX-License-Identifier: Apache-2.0

// scripted_reports FORMAT: prints one of the documents that assay writes, made of a scripted run, for comparison with
// the approved file of the same name (tests/approve.py). Nothing in it depends on the machine or the time.

#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/result/launch_medians.hpp"
#include "history/analyse/analysis.hpp"
#include "history/store/dataset.hpp"
#include "show/report/document.hpp"
#include "show/report/report.hpp"

namespace assay {
namespace {

struct Model {
  const char *name, *id, *family, *category, *architecture, *model_class;
  std::int64_t parameters, sequence;  ///< 0: no sequence axis
  const char* weights;
};
constexpr Model kBert{
    "bert", "prajjwal1/bert-tiny", "embedding", "text_encoders", "bert", "BertForMaskedLM", 4'416'698, 128, "seeded"};
constexpr Model kVit{"vit",   "WinKawaks/vit-tiny-patch16-224", "vision",  "vision",
                     "vit",   "ViTForImageClassification",      5'717'416, 0,
                     "seeded"};
constexpr Model kLight{
    "light_bvlc_alexnet.onnx", "light_bvlc_alexnet.onnx", "other", "", "", "", 60'965'224, 0, "given"};
constexpr Model kGpt2{"gpt2",      "openai-community/gpt2", "text_generation", "decoders",
                      "gpt2",      "GPT2LMHeadModel",       124'439'808,       128,
                      "checkpoint"};
constexpr Model kT5{"t5", "google/t5-efficient-tiny", "text_generation", "encoder_decoders", "t5", "", 0, 0, ""};

struct Place {
  const char *hardware, *engine, *version, *device, *device_name;
};
constexpr Place kCpu{"cpu", "onnxruntime", "1.30.0", "CPU", "Test CPU @ 2.00GHz"};
constexpr Place kOpenvino{"openvino", "openvino", "2026.4.1", "CPU", "Test CPU @ 2.00GHz"};
constexpr Place kSimulator{"qnn", "onnxruntime", "1.30.0", "HTP", "Hexagon simulator"};
constexpr Place kCuda{"cuda", "onnxruntime", "", "cuda", ""};

/// A row of the run before anything is known of how it ended.
Record row_of(const Model& model, const Place& place, std::int64_t batch) {
  Record row;
  row.run_id = "run-1";
  row.attempt_id = "attempt-1";
  row.task_key = "task-1";
  row.series_key = "series-1";
  row.timestamp = "2026-03-02T12:34:58.250000Z";
  row.host = "laboratory";
  row.tool_version = "0.1.0";
  row.git_commit = "0123abc";
  row.hardware_id = "machine-1";
  row.attempt_number = row.launch_number = 1;
  row.model = model.name;
  row.model_id = model.id;
  row.family = model.family;
  row.category = model.category;
  row.architecture = model.architecture;
  row.model_class = model.model_class;
  row.weights = from_word<Weights>(model.weights);
  row.size = row.weights == Weights::kSeeded ? "tiny" : row.weights == Weights::kGiven ? "as_is" : "";
  if (model.parameters > 0) row.parameter_count = model.parameters;
  row.framework = row.engine = place.engine;
  row.engine_version = place.version;
  row.hardware = row.device_type = place.hardware;
  row.device = place.device;
  row.device_name = place.device_name;
  row.precision = row.dtype = row.weights == Weights::kGiven ? "as_is" : "float32";
  row.contract = Contract::kHost;
  row.seed = 0;
  row.data_source = "synthetic";
  row.measure_plan = "adaptive";
  row.reference = "none";
  if (row.weights == Weights::kSeeded) row.flags.add(Flag::kSeeded);
  if (batch > 0) {
    row.batch_size = batch;
    row.streams = 1;
    row.input_shape = "(" + std::to_string(batch) + ", 3, 224, 224)";
    if (model.sequence > 0) {
      row.sequence_length = model.sequence;
      const std::string tokens = "(" + std::to_string(batch) + ", " + std::to_string(model.sequence) + ")";
      row.input_shape = "input_ids=" + tokens + ", attention_mask=" + tokens + ", token_type_ids=" + tokens;
    }
  }
  return row;
}

/// The same, completed and verified, with a median of `p50` ms over 400 samples of each of three launches.
Record measured(const Model& model, const Place& place, std::int64_t batch, double p50) {
  Record row = row_of(model, place, batch);
  row.status = CellStatus::kCompleted;
  row.verification = Verification::kVerified;
  row.reference = "onnxruntime-noopt";
  row.process = Process::kFresh;
  row.effective_precision = "float32";
  row.max_abs_error = 1.25e-6;
  row.max_rel_error = 2.5e-5;
  row.cosine_similarity = 1.0;
  row.error_limit = 1e-5;
  row.worst_output = "logits";
  row.runtime_load_ms = 16;
  row.model_load_time = 0.25;
  row.first_inference_ms = 2 * p50;
  row.warmup_iterations = 12;
  row.warmup_time_ms = 16 * p50;
  row.iterations = 400;
  row.steady_from = 0;
  row.steady_class = stats::SteadyClass::kFlat;
  row.stop_reason = StopReasons{StopReason::kPrecisionReached};
  row.relative_half_width = 1.0 / 256;
  row.latency_mean_ms = p50 * 1.0625;
  row.latency_std_ms = p50 / 16;
  row.latency_min_ms = p50 * 0.9375;
  row.latency_max_ms = p50 * 2;
  row.latency_p50_ms = p50;
  row.latency_p90_ms = p50 * 1.125;
  row.latency_p95_ms = p50 * 1.25;
  row.latency_p99_ms = p50 * 1.5;
  row.latency_p50_ns = static_cast<std::int64_t>(p50 * 1e6);
  row.latency_p50_low_ms = p50 * (1 - 1.0 / 256);
  row.latency_p50_high_ms = p50 * (1 + 1.0 / 256);
  row.latency_p50_quality = row.latency_p90_quality = row.latency_p95_quality = row.latency_p99_quality = "ok";
  row.latency_p50_interval = IntervalScope::kLaunches;
  row.launches = row.planned_launches = 3;
  const double step = row.engine == "openvino" ? 1.0 / 512 : 1.0 / 1024;
  row.launch_p50_ms = {{1, p50 * (1 - step)}, {2, p50}, {3, p50 * (1 + step)}};
  row.launch_spread = step;
  row.autocorrelation_time = 1;
  row.outliers = 0;
  row.window_ns = static_cast<std::int64_t>(p50 * 1.0625 * 400 * 1e6);
  row.wall_time_per_iteration_ns = p50 * 1.0625 * 1e6;
  row.throughput_ips = 1000.0 * static_cast<double>(batch) / (p50 * 1.0625);
  row.memory_mb = 96.0 + 8.0 * static_cast<double>(batch);
  row.memory_avg_mb = 96;
  row.memory_model_mb = 64;
  row.memory_load_mb = 80;
  row.memory_source = MemorySource::kProcess;
  return row;
}

Record ended(Record row, CellStatus status, Word<Reason> reason, std::string message, std::string hint = {}) {
  row.status = status;
  row.reason_code = reason;
  row.message = std::move(message);
  row.hint = std::move(hint);
  return row;
}

Record few_samples(Record row) {
  row.launches = row.planned_launches = 1;
  row.latency_p50_interval = IntervalScope::kOneProcess;
  row.launch_p50_ms.clear();
  row.launch_spread = std::nullopt;
  row.iterations = 50;
  row.latency_p99_quality = "few_samples(n=50<368)";
  row.latency_p95_quality = "few_samples(n=50<72)";
  row.latency_p99_high_ms = row.latency_p95_high_ms = std::nullopt;
  row.stop_reason = StopReasons{StopReason::kMaxTime};
  row.flags.add(Flag::kFewSamples);
  return row;
}

/// A generation of 32 tokens with a median of `p50` ms.
Record generated(const Place& place, std::int64_t batch, double p50) {
  Record row = measured(kGpt2, place, batch, p50);
  row.output_tokens = 32;
  row.kv_cache = KvCache::kGrowing;
  row.ttft_ms = p50 / 8;
  row.ttft_p50_ms = p50 / 10;
  row.ttft_p50_low_ms = p50 / 10.5;
  row.ttft_p50_high_ms = p50 / 9.5;
  row.ttft_p90_ms = row.ttft_p95_ms = row.ttft_p99_ms = p50 / 5;
  row.ttft_samples = 48;
  row.tpot_ms = p50 / 32;
  row.tpot_p50_ms = p50 / 33;
  row.tpot_p50_low_ms = p50 / 33.5;
  row.tpot_p50_high_ms = p50 / 32.5;
  row.tpot_p90_ms = row.tpot_p95_ms = row.tpot_p99_ms = p50 / 20;
  row.tpot_samples = 1488;
  row.tokens_per_second = 32'000 / p50;
  row.total_tokens_per_second = 32'000 / p50 * static_cast<double>(batch);
  row.prompt_tokens_per_second = 128'000 / p50;
  return row;
}

/// Other programs used the machine: the interval is wide on one side.
Record noisy(Record row) {
  row.flags.add(Flag::kNoisy);
  row.latency_p50_low_ms = *row.latency_p50_ms * 0.875;
  row.latency_p50_high_ms = *row.latency_p50_ms * 8;
  row.latency_mean_ms = *row.latency_p50_ms * 4;
  row.throughput_ips = *row.throughput_ips / 4;
  row.stop_reason = StopReasons{StopReason::kMaxTime};
  return row;
}

RunInfo scripted_run() {
  RunInfo run;
  run.run_id = "run-1";
  run.command = "assay run --models-set small --hardware all";
  run.started = "2026-03-02T12:34:56.789012Z";
  run.host = "laboratory";
  run.tool_version = "0.1.0";
  run.git_commit = "0123abc";
  run.hardware_fingerprint = "machine-1";
  run.system = {
      {"platform", "Linux-6.1.0-x86_64-with-glibc2.36"},
      {"os", "Debian GNU/Linux 12 (bookworm)"},
      {"processor", "Test CPU @ 2.00GHz"},
      {"python_version", "3.11.2"},
      {"cuda_available", true},
      {"cuda_version", "12.8"},
      {"gpu_count", 1},
      {"gpus", {{{"name", "Test GPU"}, {"memory_gb", 24.0}, {"compute_capability", "8.6"}, {"driver", "570.86"}}}},
      {"cpu_cores", 4},
      {"cpu_threads", 8},
      {"memory_gb", 32.0}};
  const auto missing = [](const char* why) {
    return Json{{"available", false}, {"why", why}, {"devices", Json::array()}};
  };
  run.hardware = {{"cpu", {{"available", true}, {"devices", {"Test CPU @ 2.00GHz"}}}},
                  {"cuda", {{"available", true}, {"devices", {"Test GPU"}}}},
                  {"mps", missing("macOS only")},
                  {"openvino", {{"available", true}, {"devices", {"Test CPU @ 2.00GHz"}}}},
                  {"qnn", {{"available", true}, {"devices", {"Hexagon simulator"}}}}};
  return run;
}

/// A possible result of a run of a small set: everything that a report must distinguish.
ReportInput whole_run() {
  ReportInput input{scripted_run(), {}, {"--batch-sizes replaces what 'my_config.json' says"}};
  input.files.matrix = "./benchmark_results/hardware_compatibility_matrix.json";
  input.files.logs["attempt-2"] = "benchmark_db.duckdb.spool/task-2/attempt-2/worker.log";
  auto& rows = input.rows;
  rows = {measured(kBert, kCpu, 1, 8), measured(kBert, kCpu, 4, 16), few_samples(measured(kBert, kCpu, 8, 40)),
          measured(kBert, kOpenvino, 1, 4), measured(kBert, kOpenvino, 4, 12)};
  Record wrong = measured(kBert, kOpenvino, 8, 20);
  wrong.verification = Verification::kWrong;
  wrong.max_abs_error = 0.5;
  rows.push_back(ended(wrong, CellStatus::kWrong, Reason::kMismatch, "logits: error 0.5 is over its limit 1e-05"));
  Record simulated = measured(kBert, kSimulator, 1, 500);
  simulated.flags.add(Flag::kSimulated);
  rows.push_back(simulated);
  rows.push_back(ended(row_of(kBert, kCuda, 0), CellStatus::kUnavailable, Reason::kNoRuntime,
                       "no libonnxruntime_providers_cuda.so beside libonnxruntime.so.1.30.0",
                       "run `./assay run --hardware cuda` in a checkout"));

  rows.push_back(measured(kVit, kCpu, 1, 2));
  rows.push_back(
      ended(row_of(kVit, kCpu, 4), CellStatus::kSkipped, Reason::kNoTime,
            "one inference of this default batch is estimated at 42 s, extrapolated from the reference's run",
            "--batch-sizes 4 measures it"));
  Record unsteady = measured(kVit, kOpenvino, 1, 2.0078125);
  unsteady.flags.add(Flag::kUnsteady);
  rows.push_back(unsteady);
  rows.push_back(ended(row_of(kVit, kOpenvino, 4), CellStatus::kFailed, Reason::kWorkerDied,
                       "the openvino worker died of SIGSEGV (segmentation fault); its log ends with: | pool |"));
  rows.back().attempt_id = "attempt-2";

  Record degenerate = measured(kLight, kCpu, 1, 32);
  degenerate.verification = Verification::kDegenerate;
  degenerate.message = "the reference's output prob_1 is the same for two different inputs";
  rows.push_back(degenerate);
  rows.push_back(ended(row_of(kLight, kCpu, 4), CellStatus::kUnsupported, Reason::kFixedShape, "the file's batch is 1",
                       "--batch-sizes 1"));

  for (const Place& place : {kCpu, kOpenvino, kSimulator})
    rows.push_back(ended(row_of(kT5, place, 0), CellStatus::kSkipped, Reason::kNotBuilt,
                         "architecture t5 is not built in this version of assay"));

  rows.push_back(generated(kCpu, 1, 320));
  rows.push_back(generated(kOpenvino, 1, 256));
  rows.push_back(noisy(generated(kOpenvino, 4, 400)));
  // A larger batch that takes less time than a smaller one, and one that got slower while it was measured.
  rows.push_back(measured(kVit, kCpu, 8, 1));
  rows.back().steady_class = stats::SteadyClass::kSlowdown;
  input.run.doctor = {{"score", 75}, {"findings", {{{"item", "turbo"}, {"verdict", "warn"}}}}};
  return input;
}

/// The same, interrupted while a model was measured; some cells are of the run that it resumed.
ReportInput interrupted_run() {
  ReportInput input = whole_run();
  input.run.command = "assay run --models-set small --hardware cpu openvino";
  input.interrupted = true;
  input.resume_command = input.run.command + " --resume";
  Record kept = measured(kBert, kCpu, 1, 8), cut_short = measured(kVit, kCpu, 1, 2);
  kept.attempt_id = "kept-1";
  kept.timestamp = "2026-03-02T09:14:55.250000Z";
  input.kept = {kept.attempt_id};
  cut_short.flags.add(Flag::kPartial);
  cut_short.stop_reason = StopReasons{StopReason::kInterrupted};
  Record partly = measured(kBert, kOpenvino, 1, 4);
  partly.attempt_id = "partly-1";
  partly.launches = 2;
  partly.launch_p50_ms = {{1, 4}, {2, 4.0625}};
  input.partly = {partly.attempt_id};
  input.rows = {kept, measured(kBert, kCpu, 4, 16), partly, cut_short};
  for (const Record& row : {row_of(kVit, kCpu, 4), row_of(kVit, kOpenvino, 1), row_of(kVit, kOpenvino, 4)})
    input.rows.push_back(ended(row, CellStatus::kSkipped, Reason::kCancelled, "interrupted before it ran",
                               "run the same command with --resume"));
  return input;
}

/// Few rows for the formats that print all fields of each.
ReportInput two_rows() {
  ReportInput input = whole_run();
  input.run.command = "assay bench --model-id prajjwal1/bert-tiny --batch-sizes 8";
  input.notes.clear();
  std::vector<Record> rows{input.rows[2], input.rows[5]};
  input.rows = std::move(rows);
  return input;
}

ReportInput some_rows() {
  ReportInput input = whole_run();
  input.rows = {input.rows[0], input.rows[1], input.rows[3], input.rows[7]};
  return input;
}

std::vector<Record> history() {
  std::vector<Record> rows = whole_run().rows;
  // An older failure of a cell that works now, and text that a spreadsheet would run.
  Record older =
      ended(rows[0], CellStatus::kFailed, Reason::kTimeout, "the onnxruntime worker did not answer within 600 s");
  older.timestamp = "2026-03-01T00:00:00.000000Z";
  rows.insert(rows.begin(), older);
  return rows;
}

std::vector<Record> awkward_rows() {
  std::vector<Record> rows = two_rows().rows;
  rows[0].message = "a \"quoted\", text\nover two lines";
  rows[0].model_id = "=cmd()";
  rows[0].latency_p50_low_ms = -0.5;  // a number, though it begins as a formula does
  return rows;
}

/// The same run as the newest of a history: one cell works again, one became wrong, one moved.
Dataset a_history() {
  constexpr double kDay = 86400, kStarted = 1772454898;  // 2026-03-02 12:34:58 UTC
  Dataset data;
  data.source = "benchmark_db.duckdb";
  data.made_at = "2026-03-02T12:40:00.000000Z";
  data.versions = {"onnxruntime 1.29.0, assay 0.1.0", "onnxruntime 1.30.0, assay 0.1.0"};
  data.cells = whole_run().rows;
  const double moved[] = {7, 7.02, 6.98, 7.01, 7, 8};
  for (std::size_t i = 0; i < data.cells.size(); ++i) {
    Record& row = data.cells[i];
    row.series_key = "series-" + std::to_string(i);
    data.ids.push_back(static_cast<std::int64_t>(i) + 1);
    data.series.push_back(row.series_key);
    for (std::uint32_t run = 0; run < 6; ++run) {
      HistoryPoint point;
      point.series = static_cast<std::uint32_t>(i);
      point.run = run;
      point.version = run == 5 ? 1 : 0;
      point.time_s = kStarted - (5 - run) * 2 * kDay;
      point.status = row.status;
      point.verification = row.verification;
      point.p50_ms = row.latency_p50_ms;
      if (i == 0) point.p50_ms = moved[run];
      if (run < 5 && row.status == CellStatus::kWrong) {
        point.status = CellStatus::kCompleted;
        point.verification = Verification::kVerified;
      }
      if (run < 5 && i == 4) point.status = CellStatus::kFailed;
      data.history.push_back(point);
    }
  }
  return data;
}

Document a_report(std::string_view name, Goal goal = Goal::kLatency) {
  static const Dataset data = a_history();
  return *make_report(name, data, analyse(data, goal));
}

const std::map<std::string, std::function<std::string()>>& formats() {
  static const std::map<std::string, std::function<std::string()>> all{
      {"hardware_guide.json", [] { return guide_json(some_rows()).dump(2) + "\n"; }},
      {"bench.json", [] { return results_json(two_rows()).dump(2) + "\n"; }},
      {"bench.csv", [] { return csv_table(awkward_rows()); }},
      {"report.md", [] { return markdown_report(whole_run()); }},
      {"report_of_nothing.md",
       [] {
         return markdown_report({scripted_run(), {}, {}});
       }},
      {"matrix.json",
       [] { return compatibility_matrix(history(), scripted_run(), "2026-03-02T12:35:00.123456Z").dump(2) + "\n"; }},
      {"summary.txt", [] { return summary_table(whole_run(), false, 120); }},
      {"summary_wide.txt", [] { return summary_table(whole_run(), false, 170); }},
      {"summary_narrow.txt", [] { return summary_table(whole_run(), false, 80); }},
      {"report_overview.md", [] { return to_markdown(a_report("overview")); }},
      {"report_overview.txt", [] { return to_text(a_report("overview"), false, 120); }},
      {"report_overview.json", [] { return to_json(a_report("overview")).dump(2) + "\n"; }},
      {"report_overview.html", [] { return to_html(a_report("overview")); }},
      {"report_comprehensive.csv", [] { return to_csv(a_report("comprehensive-benchmarks")); }},
      {"report_architectures.md", [] { return to_markdown(a_report("architecture-performance-comparison")); }},
      {"report_optimal_hardware.md", [] { return to_markdown(a_report("optimal-hardware", Goal::kThroughput)); }},
      {"report_optimization.md", [] { return to_markdown(a_report("optimization")); }},
      {"report_comparative.md", [] { return to_markdown(a_report("comparative")); }},
      {"report_coverage.md", [] { return to_markdown(a_report("coverage")); }},
      {"report_changes.md", [] { return to_markdown(a_report("changes")); }},
      {"interrupted.txt", [] { return summary_table(interrupted_run(), false, 120); }},
      {"interrupted.md", [] { return markdown_report(interrupted_run()); }},
      {"verification.txt", [] { return verification_table(whole_run(), false, 160); }},
      {"bench.txt",
       [] { return bench_console(whole_run(), {"results/raw/benchmark_results_20260302_123456.csv"}, 120); }},
  };
  return all;
}

}  // namespace
}  // namespace assay

int main(int count, char** arguments) {
  const auto& all = assay::formats();
  const auto found = count == 2 ? all.find(arguments[1]) : all.end();
  if (found == all.end()) {
    std::fputs("usage: scripted_reports FORMAT; formats:\n", stderr);
    for (const auto& [name, make] : all) std::fprintf(stderr, "  %s\n", name.c_str());
    return 2;
  }
  std::fputs(found->second().c_str(), stdout);
  return 0;
}
