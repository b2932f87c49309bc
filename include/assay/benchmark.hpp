// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <assay/result.hpp>

/// Benchmarks from a C++ program, with the names of the guide of bench/runner. find_package(assay) has the library:
/// assay::benchmark (libassay.so, built by the same compiler).
///
/// Each call starts the program `assay bench`, which measures in processes of its own, and waits for it. The program is
/// $ASSAY_PROGRAM, else bin/assay beside the folder of the library. Calls from several threads are safe, but
/// measurements at the same time disturb each other.
namespace assay {

// What libassay.so shows.
#ifndef ASSAY_API
#define ASSAY_API __attribute__((visibility("default")))
#endif

/// What to measure. Values are checked by the program: an invalid one is the error invalid_argument, which names it.
struct BenchmarkConfig {
  std::string framework;  ///< "pytorch", "jax" or "both"; "": assay chooses an engine
  std::string
      model_name;  ///< "resnet50", "vit_b_16", "both", or any model of `assay bench`; "" for engines without one
  std::optional<std::string> device_prefer{};  ///< "cuda", "mps", "cpu", "tpu"; another one is used if it is missing
  std::vector<std::int64_t> batch_sizes{1, 8, 32, 128};
  int warmup_iterations = 10;
  int measurement_iterations = 50;
  std::vector<std::int64_t> input_shape{};  ///< {3, 224, 224}; empty: that of the model
  std::string dtype = "float32";            ///< float32, float16, bfloat16
  std::string data_source = "synthetic";    ///< "synthetic", or a folder of images or .npy files
  std::filesystem::path csv_output_dir = "results/raw";
  bool verbose = true;                 ///< the program's progress and messages go to standard error
  std::vector<std::string> options{};  ///< further options of `assay bench`: {"--launches", "3"}
};

/// One cell: a model with one batch size on one engine and device. Numbers that were not measured are absent: a cell
/// that failed has a status and a message, and no latency.
struct BenchmarkResult {
  std::optional<double> latency_p50_ms, latency_p95_ms, latency_p99_ms, latency_mean_ms, latency_std_ms, latency_min_ms,
      latency_max_ms;
  std::optional<double> throughput_ips;       ///< items per second
  std::optional<double> memory_mb;            ///< peak
  std::optional<double> compilation_time_ms;  ///< time to compile a shape; only for engines that do so, such as jax
  std::string framework, model, engine, device, device_type;
  std::int64_t batch_size = 0;
  std::string input_shape;   ///< "(8, 3, 224, 224)"
  std::string dtype;         ///< requested element type
  std::string timestamp;     ///< UTC, ISO 8601
  std::string git_commit;    ///< commit of assay's source; "" if it is not known
  std::string status;        ///< completed, wrong, unsupported, failed, unavailable, skipped
  std::string verification;  ///< verified, and others: docs/metrics.md
  std::string message;       ///< why there are no numbers, or what to know of them
  std::string json;          ///< all fields of docs/metrics.md as one JSON object
};

/// Measures one model. The results are saved as CSV and JSON in csv_output_dir, too (if that fails, a message says so,
/// and they are still returned); nothing is written to a database unless `options` has --save.
/// Cells that fail, are wrong, not supported or not available are results; an interrupted run returns those that are
/// done. Errors: invalid_argument (a value of `config`: what is valid), not_found (no program `assay`), cancelled
/// (interrupted before the first result), and what the program reports when it has no results.
[[nodiscard]] ASSAY_API Result<std::vector<BenchmarkResult>> run_inference_benchmark(const BenchmarkConfig& config);

/// Measures all models on all frameworks, whose cells take turns. `common` has everything else; its framework and
/// model_name are not used. Errors: those of run_inference_benchmark(); invalid_argument: no model, no framework.
[[nodiscard]] ASSAY_API Result<std::vector<BenchmarkResult>> run_benchmark_suite(
    const std::vector<std::string>& models, const std::vector<std::string>& frameworks,
    const std::vector<std::int64_t>& batch_sizes, const BenchmarkConfig& common = {});

/// Reads files of results again.
class ASSAY_API BenchmarkLogger {
 public:
  /// A file `benchmark_results_….csv` of a folder. An empty name: the newest one there.
  explicit BenchmarkLogger(std::filesystem::path output_dir = "results/raw", std::string filename = {});
  /// Errors: not_found (no such file, or none in the folder), invalid_argument (it is not a file of results: names the
  /// line).
  [[nodiscard]] Result<std::vector<BenchmarkResult>> read_results() const;

 private:
  std::filesystem::path folder_;
  std::string filename_;
};

}  // namespace assay
