// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "history/exchange/readers.hpp"

/// Google Benchmark: docs/user_guide.md and docs/tools.md of its repository. An entry of type `iteration` is one
/// repetition; its `real_time` is the mean over its iterations. Aggregates are computed from repetitions and left out.
namespace assay::exchange {
namespace {

constexpr double kMsPerSecond = 1e3;

std::optional<double> ms_of_unit(const std::string& unit) {
  if (unit == "ns" || unit.empty()) return 1e-6;
  if (unit == "us") return 1e-3;
  if (unit == "ms") return 1.0;
  if (unit == "s") return kMsPerSecond;
  return std::nullopt;
}

/// The repetitions of one benchmark.
struct Repetitions {
  double total_ms = 0, iterations = 0, items_per_second = 0, least_ms = 0, most_ms = 0;
  std::int64_t count = 0, with_items = 0;
  std::int64_t threads = 1;
  std::string label, error;
  bool failed = false;
};

Status add_repetition(const Source& source, const std::string& name, const Json& entry, Repetitions& all) {
  ++all.count;
  all.threads = count_at(entry, "threads").value_or(1);
  all.label = text_at(entry, "label");
  for (const char* key : {"error_occurred", "skipped"})
    if (const Json* failed = member(entry, key); failed != nullptr && *failed != Json(false)) all.failed = true;
  for (const char* key : {"error_message", "skip_message"})
    if (const std::string message = text_at(entry, key); !message.empty()) all.error = message;
  if (all.failed) return {};
  const Number time = number_at(entry, "real_time");
  const auto unit = ms_of_unit(text_at(entry, "time_unit"));
  if (!time) return bad_file(source, fmt::format("the benchmark \"{}\" has no number \"real_time\"", name));
  if (!unit)
    return bad_file(source, fmt::format("the benchmark \"{}\" has the time unit \"{}\"; valid are ns, us, ms, s", name,
                                        text_at(entry, "time_unit")));
  const double iterations = number_at(entry, "iterations").value_or(1);
  all.total_ms += *time * *unit * iterations;
  all.iterations += iterations;
  if (const Number rate = number_at(entry, "items_per_second")) {
    all.items_per_second += *rate;
    ++all.with_items;
  }
  return {};
}

Record benchmark_row(const std::string& name, const Repetitions& all) {
  Record row = foreign_row(name);
  row.engine = row.framework = "google_benchmark";
  row.hardware = row.device = row.device_type = "cpu";
  row.threads = row.effective_threads = all.threads;
  row.message = all.label;
  if (all.failed || all.iterations <= 0) {
    row.status = CellStatus::kFailed;
    row.reason_code = Reason::kInternal;
    row.message = all.error.empty() ? "the benchmark reported an error" : all.error;
    return row;
  }
  row.iterations = std::llround(all.iterations);
  row.latency_mean_ms = all.total_ms / all.iterations;
  if (all.with_items > 0)
    row.throughput_ips = all.items_per_second / static_cast<double>(all.with_items);
  else if (*row.latency_mean_ms > 0)
    row.throughput_ips = kMsPerSecond / *row.latency_mean_ms;
  return row;
}

}  // namespace

Result<ResultsFile> read_google_benchmark(const Source& source) {
  ResultsFile file;
  const Json* context = member(source.json, "context");
  const Json* benchmarks = member(source.json, "benchmarks");
  if (context == nullptr || benchmarks == nullptr || !benchmarks->is_array())
    return bad_file(source, "it has no \"context\" or no list \"benchmarks\"");
  file.run.started = iso_time(text_at(*context, "date"));
  file.run.command = text_at(*context, "executable");
  file.run.host = text_at(*context, "host_name");
  file.run.tool_version = text_at(*context, "library_version");
  file.run.system = *context;
  std::vector<std::string> order;
  std::map<std::string, Repetitions> found;
  for (const Json& entry : *benchmarks) {
    if (text_at(entry, "run_type") == "aggregate") continue;
    std::string name = text_at(entry, "run_name");
    if (name.empty()) name = text_at(entry, "name");
    if (name.empty()) return bad_file(source, "a benchmark has no \"name\"");
    const auto [each, fresh] = found.try_emplace(name);
    if (fresh) order.push_back(name);
    ASSAY_CHECK_OK(add_repetition(source, name, entry, each->second));
  }
  for (const std::string& name : order) file.rows.push_back({benchmark_row(name, found.at(name))});
  if (file.rows.empty())
    return bad_file(source,
                    "it has no repetitions, only aggregates; run it without --benchmark_report_aggregates_only");
  if (const Json* busy = member(*context, "library_build_type"); busy != nullptr && *busy == "debug")
    file.notes.emplace_back("the library of Google Benchmark was built for debugging, which may affect its times");
  return file;
}

}  // namespace assay::exchange
