// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <system_error>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/files.hpp"
#include "core/base/hash.hpp"
#include "core/base/text.hpp"
#include "core/result/file_names.hpp"
#include "core/result/keys.hpp"
#include "core/result/newest.hpp"
#include "history/exchange/readers.hpp"

namespace assay::exchange {
namespace fs = std::filesystem;
namespace {

constexpr std::array kFormats{Format::kAssay,           Format::kAssayCsv,     Format::kGuide,
                              Format::kGoogleBenchmark, Format::kBenchmarkApp, Format::kLlamaBench,
                              Format::kOptimumBenchmark};

std::string format_names() {
  std::vector<std::string> names;
  names.reserve(kFormats.size());
  for (const Format format : kFormats) names.emplace_back(name_of(format));
  return join(names, ", ");
}

/// The first member of a list, or null.
const Json* first_of(const Json& list) { return list.is_array() && !list.empty() ? &list.front() : nullptr; }

bool has_measurements(const Json& report) {
  if (!report.is_object()) return false;
  return std::ranges::any_of(report, [](const Json& target) {
    return member(target, "latency") != nullptr || member(target, "memory") != nullptr;
  });
}

std::optional<Format> format_of_json(const Json& json) {
  const Json* benchmarks = member(json, "benchmarks");
  if (benchmarks != nullptr && benchmarks->is_array() && member(json, "context") != nullptr)
    return Format::kGoogleBenchmark;
  if (member(json, "schema_version") != nullptr && (benchmarks != nullptr || member(json, "results") != nullptr))
    return Format::kAssay;
  if (benchmarks != nullptr && benchmarks->is_object()) return Format::kGuide;
  if (member(json, "execution_results") != nullptr) return Format::kBenchmarkApp;
  if (const Json* first = first_of(json); first != nullptr && member(*first, "build_commit") != nullptr)
    return Format::kLlamaBench;
  const Json* report = member(json, "report");
  if (has_measurements(report != nullptr ? *report : json)) return Format::kOptimumBenchmark;
  return std::nullopt;
}

/// JSON, or one object on each line, which becomes a list.
Result<Json> parse_any_json(const Source& source, const Cancelled& cancelled) {
  if (source.path.extension() != ".jsonl") return parse_json(source.text, source.path.string(), cancelled);
  Json list = Json::array();
  int number = 0;
  for (const std::string& line : split(source.text, '\n')) {
    ++number;
    if (trim(line).empty()) continue;
    ASSAY_CHECK_OK(check_cancelled(cancelled));
    ASSAY_TRY(Json value, parse_json(line, fmt::format("{}, line {}", source.path.string(), number)));
    list.push_back(std::move(value));
  }
  return list;
}

bool looks_like_csv(std::string_view text) {
  const std::string_view heading = text.substr(0, text.find('\n'));
  if (heading.starts_with('{') || heading.starts_with('[')) return false;  // JSON on one line
  return heading.find("latency_p50_ms") != std::string_view::npos &&
         heading.find("batch_size") != std::string_view::npos;
}

std::string modified_at(const fs::path& path) {
  std::error_code error;
  const auto time = fs::last_write_time(path, error);
  if (error) return iso8601(wall_now());
  return iso8601(std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::file_clock::to_sys(time)));
}

/// What every row has, whatever its file says.
void complete(ResultsFile& file) {
  const std::string modified = modified_at(file.path);
  if (file.run.run_id.empty()) file.run.run_id = uuid_from(file.sha256);
  if (file.run.hardware_fingerprint.empty())
    file.run.hardware_fingerprint =
        sha256_hex(json_text(Json{{"host", file.run.host}, {"system", file.run.system}})).substr(0, 16);
  for (std::size_t i = 0; i < file.rows.size(); ++i) {
    Record& row = file.rows[i].record;
    const auto default_to = [](std::string& field, const std::string& value) {
      if (field.empty()) field = value;
    };
    if (!parse_iso8601(row.timestamp)) row.timestamp = iso_time(row.timestamp);
    default_to(row.run_id, file.run.run_id);
    default_to(row.attempt_id, uuid_of_row(file.sha256, i));
    default_to(row.host, file.run.host);
    default_to(row.hardware_id, file.run.hardware_fingerprint);
    default_to(row.timestamp, file.run.started.empty() ? modified : file.run.started);
    row.task_key = task_key(row);
    row.series_key = series_key(row);
  }
  if (file.run.started.empty() && !file.rows.empty()) {
    file.run.started = file.rows.front().record.timestamp;
    for (const ReadRow& row : file.rows) file.run.started = std::min(file.run.started, row.record.timestamp);
  }
}

/// They stay as they are: ingesting corrects and flags them (core/result/newest.hpp).
void note_doubtful_times(ResultsFile& file) {
  const WallTime now = wall_now();
  std::size_t doubtful = 0;
  std::string example;
  for (const ReadRow& row : file.rows) {
    if (is_credible_time(row.record.timestamp, now)) continue;
    if (doubtful++ == 0) example = row.record.timestamp;
  }
  if (doubtful > 0)
    file.notes.push_back(
        fmt::format("{} at a time that cannot be true, such as {}: they get the flag doubtful_time and are sorted by "
                    "the time of the import",
                    counted(doubtful, "result is", "results are"), shown(example)));
}

}  // namespace

std::span<const Format> all_formats() { return kFormats; }

std::string_view name_of(Format format) {
  switch (format) {
    case Format::kAssay:
      return "assay";
    case Format::kAssayCsv:
      return "csv";
    case Format::kGuide:
      return "guide";
    case Format::kGoogleBenchmark:
      return "google-benchmark";
    case Format::kBenchmarkApp:
      return "benchmark-app";
    case Format::kLlamaBench:
      return "llama-bench";
    case Format::kOptimumBenchmark:
      return "optimum-benchmark";
  }
  return "";
}

std::optional<Format> find_format(std::string_view name) {
  const auto found = std::ranges::find(kFormats, name, name_of);
  return found == kFormats.end() ? std::nullopt : std::optional(*found);
}

Result<ResultsFile> read_results(const fs::path& path, std::optional<Format> as, const Cancelled& cancelled) {
  Source source{path, {}, {}};
  ASSAY_TRY(source.text, read_file(path));
  const bool csv = as ? *as == Format::kAssayCsv : looks_like_csv(source.text);
  std::optional<Format> format = csv ? Format::kAssayCsv : as;
  if (!csv) {
    Result<Json> json = parse_any_json(source, cancelled);
    if (!json && !as && path.extension() != ".json" && path.extension() != ".jsonl")
      return bad_file(source, "it is neither JSON nor a CSV with the columns latency_p50_ms and batch_size");
    if (!json) return tl::unexpected<Error>(std::move(json).error());
    source.json = std::move(*json);
    if (!format) format = format_of_json(source.json);
  }
  if (!format)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} has none of the formats that can be read: {}", shown_path(path), format_names()),
                "`assay db import` reads them all; its option --as names the format of a file that does not show it");
  Result<ResultsFile> file = [&]() -> Result<ResultsFile> {
    switch (*format) {
      case Format::kAssay:
      case Format::kGuide:
        return read_assay(source);
      case Format::kAssayCsv:
        return read_csv(source);
      case Format::kGoogleBenchmark:
        return read_google_benchmark(source);
      case Format::kBenchmarkApp:
        return read_benchmark_app(source);
      case Format::kLlamaBench:
        return read_llama_bench(source);
      case Format::kOptimumBenchmark:
        return read_optimum_benchmark(source);
    }
    return bad_file(source, "its format is not known");
  }();
  if (!file) return file;
  ASSAY_CHECK_OK(check_values(source, *file));
  file->path = path;
  file->format = *format;
  file->sha256 = sha256_hex(source.text);
  complete(*file);
  note_doubtful_times(*file);
  return file;
}

Result<std::vector<fs::path>> result_files_in(const fs::path& folder) {
  std::vector<fs::path> json, csv, inner;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const fs::path& path = entry->path();
    if (path.filename().string().starts_with('.') || path.filename() == kMatrixFile) continue;
    if (std::error_code ignored; entry->is_directory(ignored))
      inner.push_back(path);
    else if (path.extension() == ".json")
      json.push_back(path);
    else if (path.extension() == ".csv")
      csv.push_back(path);
  }
  if (error)
    return fail(error == std::errc::no_such_file_or_directory ? ErrorCode::kNotFound : ErrorCode::kInvalidArgument,
                fmt::format("cannot read the folder {}: {}", shown_path(folder), error.message()));
  std::vector<fs::path> files;
  for (const fs::path& path : json) {
    const auto content = read_json(path);
    if (!content) return tl::unexpected<Error>(content.error());
    const auto format = format_of_json(*content);
    if (format == Format::kAssay || format == Format::kGuide) files.push_back(path);
  }
  if (files.empty())
    for (const fs::path& path : csv)
      if (const auto text = read_file(path); text && looks_like_csv(*text)) files.push_back(path);
  std::sort(files.begin(), files.end());
  if (!files.empty()) return files;
  std::vector<std::string> better;
  std::sort(inner.begin(), inner.end());
  for (const fs::path& path : inner)
    if (std::error_code ignored; fs::exists(path / "benchmark_results.json", ignored)) better.push_back(path.string());
  return fail(
      ErrorCode::kNotFound,
      fmt::format("the folder {} has no results: no JSON or CSV file that `assay run`, `suite` or `bench` writes",
                  shown_path(folder)),
      better.empty() ? "" : "these folders have some: " + join(better, ", "));
}

}  // namespace assay::exchange
