// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <string>
#include <utility>

#include "core/base/text.hpp"
#include "core/result/hardware_words.hpp"
#include "core/traits/engine_entry.hpp"
#include "history/exchange/readers.hpp"

/// benchmark_app: its Python form writes other keys than its C++ form, and all values as text (JsonStatisticsReport in
/// openvino/tools/benchmark/utils/statistics_report.py; samples/cpp/benchmark_app/main.cpp).
namespace assay::exchange {
namespace {

/// One value under the key of either form.
Number either(const Json& section, const char* cpp, const char* python) {
  const Number value = number_at(section, cpp);
  return value ? value : number_at(section, python);
}

/// "bert" for "models/bert/model.xml": the name of the folder if the file's name says nothing.
std::string model_name(const std::string& path, const std::string& topology) {
  const std::filesystem::path file(path);
  const std::string stem = file.stem().string();
  if (stem.empty()) return topology.empty() ? "model" : topology;
  const std::string folder = file.parent_path().filename().string();
  return is_any(stem, {"model", "openvino_model"}) && !folder.empty() ? folder : stem;
}

/// The number of streams is under a key that contains the device's name.
Count streams_of(const Json& setup) {
  for (const auto& [key, value] : setup.items())
    if (key.starts_with("number of ") && key.ends_with(" streams")) return count_at(setup, key);
  return count_at(setup, "nstreams");
}

}  // namespace

Result<ResultsFile> read_benchmark_app(const Source& source) {
  static const Json none = Json::object();
  const Json* results = member(source.json, "execution_results");
  if (results == nullptr || !results->is_object()) return bad_file(source, "it has no object \"execution_results\"");
  const auto section = [&](const char* name) -> const Json& {
    const Json* found = member(source.json, name);
    return found != nullptr && found->is_object() ? *found : none;
  };
  const Json& options = section("cmd_options");
  const Json& setup = section("configuration_setup");
  std::string path;
  for (const char* key : {"-m", "m", "--path_to_model", "-path_to_model"})
    if (path.empty()) path = text_at(options, key);
  Record row = foreign_row(model_name(path, text_at(setup, "topology")));
  if (!path.empty()) row.model_id = path;
  const std::vector<std::string> engines = engines_for(kOpenvinoWord, own_engines());
  row.engine = row.framework = engines.empty() ? std::string(kOpenvinoWord) : engines.front();
  row.hardware = kOpenvinoWord;
  row.device = text_at(setup, "target_device");
  if (row.device.empty()) row.device = text_at(setup, "target device");
  if (row.device.empty()) row.device = text_at(options, "-d");
  row.device_type = lower(row.device);
  row.batch_size = either(setup, "batch_size", "batch size")
                       ? static_cast<std::int64_t>(*either(setup, "batch_size", "batch size"))
                       : 1;
  row.streams = streams_of(setup);
  std::vector<std::string> words;
  for (const auto& [key, value] : options.items())
    if (!is_any(key, {"-m", "m", "-d", "d"})) words.push_back(fmt::format("{}={}", key, text_at(options, key)));
  row.engine_options = join(words, " ");
  row.first_inference_ms = either(*results, "first_inference_time", "first inference time (ms)");
  const Number read = either(*results, "read_model_time", "read model time (ms)");
  const Number compile = either(*results, "compile_model_time", "compile model time (ms)");
  const Number load = either(*results, "load_model_time", "load model time (ms)");
  if (read || compile || load) row.model_load_time = (read.value_or(0) + compile.value_or(0) + load.value_or(0)) / 1e3;
  row.iterations = count_at(*results, "iterations_num");
  if (!row.iterations) row.iterations = count_at(*results, "total number of iterations");
  row.latency_mean_ms = either(*results, "latency_avg", "avg latency");
  row.latency_min_ms = either(*results, "latency_min", "min latency");
  row.latency_max_ms = either(*results, "latency_max", "max latency");
  row.throughput_ips = number_at(*results, "throughput");
  const Number percentile = number_at(*results, "percentile_boundary");
  Number median = number_at(*results, "latency (ms)");
  if (!median && percentile.value_or(50) == 50) median = number_at(*results, "latency_median");
  row.latency_p50_ms = median;
  if (!row.latency_mean_ms && !row.throughput_ips)
    return bad_file(source, "\"execution_results\" has neither an average latency nor a throughput");
  ResultsFile file;
  file.run.command = "benchmark_app";
  for (const auto& [key, value] : options.items())
    file.run.command += fmt::format(" {}{}{}", key.starts_with('-') ? "" : "-", key,
                                    text_at(options, key).empty() ? "" : " " + text_at(options, key));
  // Times below 0.01 ms are lost in two decimals.
  constexpr double kCoarse = 0.1;
  if (median && *median < kCoarse)
    file.notes.emplace_back("benchmark_app rounds times to 0.01 ms, which is coarse for this model");
  file.rows.push_back({std::move(row)});
  return file;
}

}  // namespace assay::exchange
