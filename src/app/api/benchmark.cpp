// SPDX-License-Identifier: Apache-2.0
#include <assay/benchmark.hpp>

#include <algorithm>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/api/program.hpp"
#include "core/base/files.hpp"
#include "core/result/record.hpp"
#include "history/exchange/results_file.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

std::vector<std::string> arguments_of(const BenchmarkConfig& config) {
  std::vector<std::string> words{"bench",
                                 "--batch-sizes",
                                 fmt::format("{}", fmt::join(config.batch_sizes, ",")),
                                 "--warmup",
                                 std::to_string(config.warmup_iterations),
                                 "--iterations",
                                 std::to_string(config.measurement_iterations),
                                 "--dtype",
                                 config.dtype,
                                 "--data-source",
                                 config.data_source,
                                 "--output-dir",
                                 config.csv_output_dir.string(),
                                 "--output-format",
                                 "json"};
  const auto add = [&words](const char* option, std::string value) {
    words.insert(words.end(), {option, std::move(value)});
  };
  if (!config.model_name.empty()) add("--model", config.model_name);
  if (!config.framework.empty()) add("--framework", config.framework);
  if (config.device_prefer) add("--device-prefer", *config.device_prefer);
  if (!config.input_shape.empty()) add("--input-shape", fmt::format("{}", fmt::join(config.input_shape, ",")));
  if (!config.verbose) words.emplace_back("--quiet");
  words.insert(words.end(), config.options.begin(), config.options.end());
  return words;
}

BenchmarkResult result_of(const Record& row) {
  BenchmarkResult result;
  result.latency_p50_ms = row.latency_p50_ms;
  result.latency_p95_ms = row.latency_p95_ms;
  result.latency_p99_ms = row.latency_p99_ms;
  result.latency_mean_ms = row.latency_mean_ms;
  result.latency_std_ms = row.latency_std_ms;
  result.latency_min_ms = row.latency_min_ms;
  result.latency_max_ms = row.latency_max_ms;
  result.throughput_ips = row.throughput_ips;
  result.memory_mb = row.memory_mb;
  result.compilation_time_ms = row.compilation_time_ms;
  result.framework = row.framework;
  result.model = row.model;
  result.engine = row.engine;
  result.device = row.device;
  result.device_type = row.device_type;
  result.batch_size = row.batch_size.value_or(0);
  result.input_shape = row.input_shape;
  result.dtype = row.dtype;
  result.timestamp = row.timestamp;
  result.git_commit = row.git_commit;
  result.status = to_string(row.status);
  result.verification = to_string(row.verification);
  result.message = row.message;
  result.json = json_text(to_json(row));
  return result;
}

Result<std::vector<BenchmarkResult>> read(const fs::path& file, exchange::Format format) {
  ASSAY_TRY(const exchange::ResultsFile read, exchange::read_results(file, format));
  std::vector<BenchmarkResult> results;
  results.reserve(read.rows.size());
  for (const exchange::ReadRow& row : read.rows) results.push_back(result_of(row.record));
  return results;
}

// Names have the time, and a number from the second file of one second on: …_20250101_120000_2.csv.
Result<std::string> newest_results(const fs::path& folder) {
  constexpr std::string_view kPrefix = "benchmark_results_", kStamp = "20250101_120000";
  const auto age = [&](const std::string& name) {
    return std::tuple(name.substr(0, kPrefix.size() + kStamp.size()), name.size(), name);
  };
  std::string newest;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(kPrefix) && name.ends_with(".csv"))
      newest = std::max(newest, name, [&](const auto& a, const auto& b) { return age(a) < age(b); });
  }
  if (error)
    return fail(ErrorCode::kNotFound, fmt::format("cannot read the folder '{}': {}", folder.string(), error.message()));
  if (!newest.empty()) return newest;
  return fail(ErrorCode::kNotFound, fmt::format("'{}' has no file benchmark_results_….csv", folder.string()));
}

}  // namespace

Result<std::vector<BenchmarkResult>> run_inference_benchmark(const BenchmarkConfig& config) {
  ASSAY_TRY(const fs::path program, api::find_program());
  ASSAY_TRY(const TemporaryDirectory folder, TemporaryDirectory::create("assay-benchmark-"));
  const fs::path output = folder.path() / "results.json";
  ASSAY_TRY(const api::ProgramEnd end, api::run_program(program, arguments_of(config), output, config.verbose));
  // Every status may come with results: cells that failed, are wrong, invalid, not available or interrupted.
  auto results = read(output, exchange::Format::kAssay);
  if (results) return results;
  const Result<std::string> text = read_file(output);
  const Json printed = text ? Json::parse(*text, nullptr, false) : Json();
  if (printed.is_object() && printed.contains("results")) return results;  // they cannot be read: it says why
  return tl::unexpected<Error>(api::error_of(end, printed));
}

Result<std::vector<BenchmarkResult>> run_benchmark_suite(const std::vector<std::string>& models,
                                                         const std::vector<std::string>& frameworks,
                                                         const std::vector<std::int64_t>& batch_sizes,
                                                         const BenchmarkConfig& common) {
  if (models.empty() || frameworks.empty())
    return fail(ErrorCode::kInvalidArgument,
                "a suite requires a model, such as resnet50, and a framework: pytorch, jax");
  BenchmarkConfig config = common;
  config.model_name = fmt::format("{}", fmt::join(models, ","));
  config.batch_sizes = batch_sizes;
  config.framework = frameworks.front();
  for (const std::string& name : frameworks) {
    if (name != "pytorch" && name != "jax" && name != "both")
      return fail(ErrorCode::kInvalidArgument, fmt::format("unknown framework '{}'; valid are pytorch and jax", name));
    if (name != frameworks.front()) config.framework = "both";
  }
  return run_inference_benchmark(config);
}

BenchmarkLogger::BenchmarkLogger(fs::path output_dir, std::string filename)
    : folder_(std::move(output_dir)), filename_(std::move(filename)) {}

Result<std::vector<BenchmarkResult>> BenchmarkLogger::read_results() const {
  std::string name = filename_;
  if (name.empty()) {
    ASSAY_TRY(name, newest_results(folder_));
  }
  return read(folder_ / name, exchange::Format::kAssayCsv);
}

}  // namespace assay
