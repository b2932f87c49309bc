// SPDX-License-Identifier: Apache-2.0
#include "core/samples/summary.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/clock.hpp"
#include "core/samples/token_summary.hpp"
#include "core/stats/stats.hpp"

namespace assay {
namespace {

constexpr double kNsPerMs = 1e6;
constexpr std::size_t kFewSamples = 30;
constexpr double kManyOutliers = 0.05;
constexpr std::size_t kLeastRunsOfAStream = 2;  // of a throughput: one run has no window of its own

struct Run {
  std::uint32_t stream;
  std::int64_t start_ns, duration_ns;
};

std::vector<Run> runs_from(const Samples& samples, std::size_t from) {
  std::vector<Run> runs;
  runs.reserve(samples.size() - std::min(from, samples.size()));
  for (std::size_t i = from; i < samples.size(); ++i) {
    if (samples.kind[i] == static_cast<std::uint8_t>(SampleKind::kRun))
      runs.push_back({samples.stream[i], samples.start_ns[i], samples.duration_ns[i]});
  }
  return runs;
}

struct Window {
  std::int64_t begin, end;
};

/// The window in which all streams ran; absent without starts, or if a stream has fewer runs than `least_runs`.
std::optional<Window> common_window(const std::vector<Run>& runs, std::size_t streams, std::size_t least_runs) {
  std::map<std::uint32_t, std::pair<Window, std::size_t>> found;
  for (const Run& run : runs) {
    if (run.start_ns == kUnknownStart) return std::nullopt;
    const std::int64_t end = run.start_ns + run.duration_ns;
    auto& [window, count] = found.try_emplace(run.stream, Window{run.start_ns, end}, 0).first->second;
    window.begin = std::min(window.begin, run.start_ns);
    window.end = std::max(window.end, end);
    ++count;
  }
  Window common{std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
  for (const auto& [stream, part] : found) {
    if (part.second < least_runs) return std::nullopt;
    common.begin = std::max(common.begin, part.first.begin);
    common.end = std::min(common.end, part.first.end);
  }
  return found.size() == streams && common.begin < common.end ? std::optional(common) : std::nullopt;
}

/// Runs completed in the window; a run across an edge counts by its share.
double runs_within(const std::vector<Run>& runs, const Window& window) {
  double count = 0;
  for (const Run& run : runs) {
    const std::int64_t begin = std::max(run.start_ns, window.begin);
    const std::int64_t end = std::min(run.start_ns + run.duration_ns, window.end);
    if (run.duration_ns == 0) {
      count += begin <= end ? 1 : 0;
    } else if (begin < end) {
      count += static_cast<double>(end - begin) / static_cast<double>(run.duration_ns);
    }
  }
  return count;
}

std::size_t count_streams(const std::vector<Run>& runs) {
  std::set<std::uint32_t> streams;
  for (const Run& run : runs) streams.insert(run.stream);
  return streams.size();
}

/// `all` runs of the measurement, of which the last ones are the `steady` runs.
void set_throughput(const Measurement& measurement, const std::vector<Run>& all, const std::vector<Run>& steady,
                    double items_per_run, Record& record) {
  const std::size_t streams = count_streams(all);
  if (streams == 1) {
    double time_ns = 0;
    for (const Run& run : steady) time_ns += static_cast<double>(run.duration_ns);
    const auto window = common_window(steady, 1, 1);
    if (window) record.window_ns = window->end - window->begin;
    if (!window && measurement.window_ns > 0) record.window_ns = measurement.window_ns;
    if (time_ns > 0)
      record.throughput_ips = items_per_run * static_cast<double>(steady.size()) / (time_ns / kNsPerSecond);
    return;
  }
  const std::vector<Run>* counted = &steady;
  auto window = common_window(steady, streams, kLeastRunsOfAStream);
  if (!window) {
    counted = &all;
    window = common_window(all, streams, 1);
  }
  double completed = static_cast<double>(all.size());
  if (window) {
    record.window_ns = window->end - window->begin;
    completed = runs_within(*counted, *window);
  } else if (measurement.window_ns > 0) {
    record.window_ns = measurement.window_ns;
  }
  const auto time_ns = static_cast<double>(record.window_ns.value_or(0));
  if (time_ns > 0) record.throughput_ips = items_per_run * completed / (time_ns / kNsPerSecond);
}

struct QuantileFields {
  Number Record::*value;
  Number Record::*low;
  Number Record::*high;
  Text Record::*quality;
};
constexpr double kQuantiles[] = {0.5, 0.9, 0.95, 0.99};
constexpr QuantileFields kQuantileFields[] = {
    {&Record::latency_p50_ms, &Record::latency_p50_low_ms, &Record::latency_p50_high_ms, &Record::latency_p50_quality},
    {&Record::latency_p90_ms, &Record::latency_p90_low_ms, &Record::latency_p90_high_ms, &Record::latency_p90_quality},
    {&Record::latency_p95_ms, &Record::latency_p95_low_ms, &Record::latency_p95_high_ms, &Record::latency_p95_quality},
    {&Record::latency_p99_ms, &Record::latency_p99_low_ms, &Record::latency_p99_high_ms, &Record::latency_p99_quality}};

void set_quantiles(const std::vector<double>& series, Record& record) {
  const std::vector<stats::QuantileEstimate> estimates = stats::estimate_quantiles(series, kQuantiles);
  for (std::size_t i = 0; i < estimates.size(); ++i) {
    const stats::QuantileEstimate& estimate = estimates[i];
    const QuantileFields& fields = kQuantileFields[i];
    record.*fields.value = estimate.value / kNsPerMs;
    record.*fields.quality = stats::quantile_quality(estimate, series.size());
    if (!estimate.interval) continue;
    record.*fields.low = estimate.interval->low / kNsPerMs;
    record.*fields.high = estimate.interval->high / kNsPerMs;
  }
  record.latency_p50_ns = static_cast<std::int64_t>(estimates.front().value);
  record.autocorrelation_time = estimates.front().tau;
}

double median_duration(const std::vector<Run>& runs) {
  std::vector<double> durations;
  durations.reserve(runs.size());
  for (const Run& run : runs) durations.push_back(static_cast<double>(run.duration_ns));
  std::ranges::sort(durations);
  return stats::quantile_sorted(durations, 0.5);
}

}  // namespace

void summarise(const Measurement& measurement, const Samples& samples, std::int64_t items_per_run, Record& record) {
  // A measurement that was lost with its worker has no window; its default values are not results.
  const bool known = measurement.window_ns > 0 || measurement.warmup_ns > 0 || measurement.failure.has_value();
  if (known) {
    record.warmup_iterations = measurement.warmup_iterations;
    record.warmup_time_ms = static_cast<double>(measurement.warmup_ns) / kNsPerMs;
    record.stop_reason = {measurement.stop_reason};
  }
  summarise_tokens(samples, measurement.steady_from, items_per_run, record);
  const std::vector<Run> runs = runs_from(samples, measurement.steady_from);
  if (runs.empty()) return;

  std::vector<double> series;  // integers below 2^53: exact
  series.reserve(runs.size());
  for (const Run& run : runs) series.push_back(static_cast<double>(run.duration_ns));
  const double mean = stats::mean(series);
  const auto [least, most] = std::ranges::minmax(series);
  record.iterations = static_cast<std::int64_t>(runs.size());
  record.steady_from = static_cast<std::int64_t>(measurement.steady_from);
  record.latency_mean_ms = mean / kNsPerMs;
  record.latency_std_ms = stats::standard_deviation(series) / kNsPerMs;
  record.latency_min_ms = least / kNsPerMs;
  record.latency_max_ms = most / kNsPerMs;
  set_quantiles(series, record);
  const std::size_t outliers = stats::count_outliers(series);
  record.outliers = static_cast<std::int64_t>(outliers);
  const std::vector<Run> all = runs_from(samples, 0);
  record.latency_window_p50_ms =
      all.size() == runs.size() ? record.latency_p50_ms : Number(median_duration(all) / kNsPerMs);
  set_throughput(measurement, all, runs, static_cast<double>(items_per_run), record);

  if (known) {
    record.steady_class = measurement.steady_class;
    record.relative_half_width = measurement.relative_half_width;
    if (measurement.steady_class == stats::SteadyClass::kUnsteady ||
        measurement.steady_class == stats::SteadyClass::kSlowdown)
      record.flags.add(Flag::kUnsteady);
    if (measurement.loop_ns > 0)
      record.wall_time_per_iteration_ns = static_cast<double>(measurement.loop_ns) / static_cast<double>(all.size());
  }
  if (runs.size() < kFewSamples || !record.latency_p50_low_ms) record.flags.add(Flag::kFewSamples);
  if (static_cast<double>(outliers) > kManyOutliers * static_cast<double>(runs.size())) record.flags.add(Flag::kNoisy);
}

void flag_noise(const Json& environment, Record& record) {
  const Json::json_pointer reasons("/noise/reasons");
  if (environment.contains(reasons) && environment.at(reasons).is_array() && !environment.at(reasons).empty())
    record.flags.add(Flag::kNoisy);
}

}  // namespace assay
