// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "core/base/text.hpp"
#include "core/result/hardware_words.hpp"
#include "core/samples/summary.hpp"
#include "history/exchange/readers.hpp"

/// optimum-benchmark: benchmark_report.json has the measurements of each target, benchmark.json these as `report` and
/// its configuration as `config` (optimum_benchmark/benchmark/report.py, trackers/latency.py). Latencies are in s.
namespace assay::exchange {
namespace {

constexpr double kMsPerS = 1e3;

/// The first of several names: they changed from version to version.
const Json* target_of(const Json& report, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    if (const Json* found = member(report, name); found != nullptr && found->is_object()) return found;
  return nullptr;
}

std::vector<double> latencies(const Json* target) {
  if (target == nullptr) return {};
  const Json* latency = member(*target, "latency");
  return latency == nullptr ? std::vector<double>{} : numbers_at(*latency, "values");
}

Number mean_of(const Json* target) {
  if (target == nullptr) return std::nullopt;
  const Json* latency = member(*target, "latency");
  if (latency == nullptr) return std::nullopt;
  if (const Number mean = number_at(*latency, "mean")) return mean;
  const std::vector<double> values = numbers_at(*latency, "values");
  if (values.empty()) return std::nullopt;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

void set_configuration(const Json& config, Record& row, RunInfo& run) {
  static const Json none = Json::object();
  const auto part = [&](std::initializer_list<std::string_view> names) -> const Json& {
    for (const std::string_view name : names)
      if (const Json* found = member(config, name); found != nullptr && found->is_object()) return *found;
    return none;
  };
  const Json& backend = part({"backend"});
  const Json& scenario = part({"scenario", "benchmark"});
  const Json& environment = part({"environment"});
  const std::string model = text_at(backend, "model");
  if (!model.empty()) {
    const Record named = foreign_row(model);
    row.model = row.model_id = model;
    row.weights_hash = named.weights_hash;
  }
  row.engine = row.framework = text_at(backend, "name");
  row.engine_version = text_at(backend, "version");
  row.device = row.device_type = lower(text_at(backend, "device"));
  const auto& words = hardware_words();
  const bool own_hardware = std::ranges::find(words, row.engine) != words.end();
  row.hardware = own_hardware ? row.engine : row.device;
  row.precision = text_at(backend, "torch_dtype");
  if (row.precision.empty()) row.precision = text_at(backend, "dtype");
  row.threads = count_at(backend, "intra_op_num_threads");
  if (const Json* shapes = member(scenario, "input_shapes")) {
    row.batch_size = count_at(*shapes, "batch_size").value_or(1);
    row.sequence_length = count_at(*shapes, "sequence_length");
  }
  if (const Json* kwargs = member(scenario, "generate_kwargs")) row.output_tokens = count_at(*kwargs, "max_new_tokens");
  if (!row.output_tokens) row.output_tokens = count_at(scenario, "new_tokens");
  row.warmup_iterations = count_at(scenario, "warmup_runs");
  run.tool_version = text_at(environment, "optimum_benchmark_version");
  run.system = environment;
  if (environment.contains("cpu")) run.system["processor"] = std::string(trim(text_at(environment, "cpu")));
  run.command = "optimum-benchmark " + text_at(config, "name");
}

void set_memory(const Json& report, Record& row) {
  for (const char* name : {"forward", "call", "decode", "generate", "prefill"}) {
    const Json* memory = member(report, {name, "memory"});
    if (memory == nullptr) continue;
    const bool host = row.device_type.empty() || row.device_type == "cpu";
    Number most = number_at(*memory, host ? "max_ram" : "max_process_vram");
    if (!most && !host) most = number_at(*memory, "max_vram");
    if (!most || (row.memory_mb && *row.memory_mb >= *most)) continue;
    row.memory_mb = most;
    row.memory_source = host ? MemorySource::kProcess : MemorySource::kDevice;
  }
}

/// Prefill, and decode of all further tokens: a run is both.
void add_generation(const Json& report, ReadRow& row) {
  const Json* prefill = target_of(report, {"prefill"});
  const Json* decode = target_of(report, {"decode"});
  const std::vector<double> first = latencies(prefill), rest = latencies(decode);
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (first.size() == rest.size()) add_sample(row.samples, SampleKind::kRun, first[i] + rest[i]);
    add_sample(row.samples, SampleKind::kFirstToken, first[i]);
  }
  for (const double value : latencies(target_of(report, {"per_token"})))
    add_sample(row.samples, SampleKind::kToken, value);
  if (const Number seconds = mean_of(prefill)) row.record.ttft_ms = *seconds * kMsPerS;
  if (mean_of(prefill) && mean_of(decode))
    row.record.latency_mean_ms = (*mean_of(prefill) + *mean_of(decode)) * kMsPerS;
}

/// The configuration: inside benchmark.json, or benchmark_config.json beside benchmark_report.json.
Json configuration_of(const Source& source) {
  if (const Json* config = member(source.json, "config")) return *config;
  const auto beside = read_json(source.path.parent_path() / "benchmark_config.json");
  return beside && member(*beside, "backend") != nullptr ? *beside : Json::object();
}

}  // namespace

Result<ResultsFile> read_optimum_benchmark(const Source& source) {
  const Json* inside = member(source.json, "report");
  const Json& report = inside != nullptr ? *inside : source.json;
  ResultsFile file;
  const std::string folder = source.path.parent_path().filename().string();
  ReadRow row{foreign_row(folder.empty() ? source.path.stem().string() : folder)};
  const Json config = configuration_of(source);
  if (config.empty())
    file.notes.emplace_back(fmt::format(
        "it does not say which model and runtime were measured: the row is named '{}' after the folder; put "
        "benchmark_config.json beside it, or import benchmark.json",
        row.record.model));
  set_configuration(config, row.record, file.run);
  if (row.record.engine.empty()) row.record.engine = row.record.framework = "optimum_benchmark";
  const Json* forward = target_of(report, {"forward", "call"});
  for (const double value : latencies(forward)) add_sample(row.samples, SampleKind::kRun, value);
  if (const Number seconds = mean_of(forward)) row.record.latency_mean_ms = *seconds * kMsPerS;
  if (forward == nullptr) add_generation(report, row);
  summarise(Measurement{}, row.samples, row.record.batch_size.value_or(1), row.record);
  if (const Json* load = target_of(report, {"load_model", "load"})) row.record.model_load_time = mean_of(load);
  if (const Json* first = target_of(report, {"first_forward", "first_call"}))
    if (const Number seconds = mean_of(first)) row.record.first_inference_ms = *seconds * kMsPerS;
  set_memory(report, row.record);
  if (!row.record.latency_mean_ms && !row.record.ttft_ms)
    return bad_file(source,
                    "no target of \"report\" has latencies: forward, call, or prefill and decode were expected");
  file.rows.push_back(std::move(row));
  return file;
}

}  // namespace assay::exchange
