// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <assay/result.hpp>

#include "core/base/cancel.hpp"
#include "core/result/record.hpp"
#include "core/result/run_info.hpp"
#include "core/samples/measurement.hpp"

/// Files of results, our own and those of other tools, as rows. Out of scope: the database (import.hpp writes bundles).
namespace assay::exchange {

enum class Format {
  kAssay,             ///< JSON of `run`, `suite` and `bench`: has a `schema_version`
  kAssayCsv,          ///< CSV of `run` and `bench`; also with the bench-runner guide's columns only
  kGuide,             ///< the hardware guide's JSON, as its own scripts write it
  kGoogleBenchmark,   ///< --benchmark_format=json
  kBenchmarkApp,      ///< OpenVINO's benchmark_app: -report_type no_counters -json_stats
  kLlamaBench,        ///< llama-bench -o json, or jsonl
  kOptimumBenchmark,  ///< benchmark_report.json or benchmark.json of optimum-benchmark
};
[[nodiscard]] std::span<const Format> all_formats();
/// "assay", "csv", "guide", "google-benchmark", "benchmark-app", "llama-bench", "optimum-benchmark".
[[nodiscard]] std::string_view name_of(Format format);
[[nodiscard]] std::optional<Format> find_format(std::string_view name);

struct ReadRow {
  Record record;
  Samples samples{};    ///< empty if the file has none
  std::string place{};  ///< place in the file, for messages: "line 3"; "" if only its number is known
};

struct ResultsFile {
  std::filesystem::path path;
  Format format = Format::kAssay;
  std::string sha256;  ///< hash of the file's content
  RunInfo run{};       ///< facts about the run that the file states; empty fields are not known
  /// Each has keys, a run id and an attempt id, which are made from the file if they are missing.
  std::vector<ReadRow> rows{};
  std::vector<std::string> notes{};
};

/// Reads one file. Without `as` its content says which format it has.
///
/// Times: those that the file states. A statistic that the file does not have is absent: of a mean no median is made.
/// Errors: not_found, invalid_argument (no known format: names those that are; a value that is missing or has the wrong
///         type, or that cannot be one, such as a latency of 0: names the file, the place and the column), unsupported
///         (a newer schema).
[[nodiscard]] Result<ResultsFile> read_results(const std::filesystem::path& path,
                                               std::optional<Format> as = std::nullopt,
                                               const Cancelled& cancelled = {});

/// The result files of a folder that `run`, `suite` or `bench` wrote: its JSON files with results; the CSV files if
/// there are none. Errors: not_found (it has no results; names folders inside that have), invalid_argument.
[[nodiscard]] Result<std::vector<std::filesystem::path>> result_files_in(const std::filesystem::path& folder);

}  // namespace assay::exchange
