// SPDX-License-Identifier: Apache-2.0
#include "core/samples/launches.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

#include "core/base/text.hpp"
#include "core/result/launch_medians.hpp"
#include "core/result/newest.hpp"
#include "core/samples/summary.hpp"
#include "core/stats/launches.hpp"

namespace assay {
namespace {

constexpr double kNsPerMsOfLaunch = 1e6;

bool cut_short(const Record& row) { return row.flags.has(Flag::kPartial); }

bool did_not_run(const Record& row) {
  return row.status == CellStatus::kFailed || row.status == CellStatus::kUnavailable ||
         row.status == CellStatus::kSkipped;
}

/// Larger is worse.
int severity(CellStatus status) {
  constexpr std::array kOrder{CellStatus::kCompleted,   CellStatus::kSkipped, CellStatus::kUnavailable,
                              CellStatus::kUnsupported, CellStatus::kFailed,  CellStatus::kWrong};
  return static_cast<int>(std::ranges::find(kOrder, status) - kOrder.begin());
}
int severity(Verification verification) {
  constexpr std::array kOrder{Verification::kVerified, Verification::kIllConditioned, Verification::kDegenerate,
                              Verification::kUnverified, Verification::kWrong};
  return static_cast<int>(std::ranges::find(kOrder, verification) - kOrder.begin());
}
/// As the enumeration has them: the worst is the last.
int severity(const Word<stats::SteadyClass>& steady_class) {
  return steady_class ? static_cast<int>(*steady_class) : -1;
}

double error_over_limit(const Record& row) {
  if (row.rms_error && row.rms_limit.value_or(0) > 0) return *row.rms_error / *row.rms_limit;
  if (row.max_abs_error && row.error_limit.value_or(0) > 0) return *row.max_abs_error / *row.error_limit;
  return 0;
}

const Record& worst_launch(const std::vector<const Record*>& rows) {
  return **std::ranges::max_element(rows, {}, [](const Record* row) {
    return std::tuple(severity(row->status), severity(row->verification), error_over_limit(*row));
  });
}

void copy_verdict(const Record& from, Record& cell) {
  const auto copy = [&](auto... fields) { ((cell.*fields = from.*fields), ...); };
  copy(&Record::status, &Record::reason_code, &Record::hint, &Record::verification, &Record::reference,
       &Record::max_abs_error, &Record::max_rel_error, &Record::cosine_similarity, &Record::error_limit,
       &Record::worst_output, &Record::worst_element, &Record::rms_error, &Record::rms_limit, &Record::honest_error,
       &Record::top1_agreement);
}

/// Every witness of any launch: a later launch may be compared with more cells.
Text all_witnesses(const std::vector<const Record*>& rows) {
  constexpr std::string_view kSeparator = ", ";
  std::set<std::string> names;
  for (const Record* row : rows)
    for (std::string_view rest = row->agreed_by; !rest.empty();) {
      const std::size_t end = rest.find(kSeparator);
      names.emplace(rest.substr(0, end));
      rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + kSeparator.size());
    }
  return join({names.begin(), names.end()}, kSeparator);
}

/// The worst launch's message, then the parts of the others that it does not have.
Text common_message(const Record& worst, const std::vector<const Record*>& rows) {
  constexpr std::string_view kSeparator = "; ";
  std::vector<std::string> parts;
  const auto add = [&](std::string_view message) {
    while (!message.empty()) {
      const std::size_t end = message.find(kSeparator);
      const std::string part(message.substr(0, end));
      if (!part.empty() && std::ranges::find(parts, part) == parts.end()) parts.push_back(part);
      message = end == std::string_view::npos ? std::string_view() : message.substr(end + kSeparator.size());
    }
  };
  add(worst.message);
  for (const Record* row : rows) add(row->message);
  return join(parts, kSeparator);
}

Flags common_flags(const std::vector<const Record*>& rows) {
  constexpr Flags kOfTheCell{Flag::kLimitedByBudget, Flag::kLimitedByMaxTime};
  constexpr Flags kOfAny{Flag::kSeeded, Flag::kScaled, Flag::kSimulated, Flag::kSoftware};
  std::map<Flag, std::size_t> counts;
  for (const Record* row : rows) row->flags.each([&](Flag flag) { ++counts[flag]; });
  Flags common;
  for (const auto& [flag, count] : counts)
    if (!kOfTheCell.has(flag) && (kOfAny.has(flag) || 3 * count > rows.size())) common.add(flag);
  return common;
}

/// `rows` are those of `all` that count. A launch knows that its cell gets no more, and why; only the cell knows
/// whether it lacks any in the end.
void say_fewer_launches(const std::vector<const Record*>& all, const std::vector<const Record*>& rows, Record& cell) {
  if (!has_fewer_launches(cell)) return;
  const auto is_counted = [&](const Record* row) {
    return std::ranges::any_of(rows, [&](const Record* other) { return other->launch_number == row->launch_number; });
  };
  if (std::ranges::any_of(all, [&](const Record* row) { return was_refused(*row) && !is_counted(row); }))
    cell.flags.add(Flag::kLimitedByBudget);
  for (const Flag flag : {Flag::kLimitedByBudget, Flag::kLimitedByMaxTime})
    if (std::ranges::any_of(rows, [&](const Record* row) { return row->flags.has(flag); })) cell.flags.add(flag);
  const std::string note = launches_note(cell);
  if (!note.empty()) cell.message = cell.message.empty() ? note : cell.message + "; " + note;
}

/// The worst class such that more than a third of the launches have it or a worse one.
Word<stats::SteadyClass> common_steady_class(const std::vector<const Record*>& rows) {
  std::vector<const Record*> worst_first = rows;
  std::ranges::stable_sort(worst_first, std::greater(), [](const Record* row) { return severity(row->steady_class); });
  return worst_first[worst_first.size() / 3]->steady_class;
}

std::vector<double> present(const std::vector<const Record*>& rows, Number Record::*field) {
  std::vector<double> values;
  for (const Record* row : rows)
    if (row->*field) values.push_back(*(row->*field));
  return values;
}
Number middle(const std::vector<const Record*>& rows, Number Record::*field) {
  std::vector<double> values = present(rows, field);
  if (values.empty()) return std::nullopt;
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}
Number largest(const std::vector<const Record*>& rows, Number Record::*field) {
  const std::vector<double> values = present(rows, field);
  return values.empty() ? std::nullopt : Number(std::ranges::max(values));
}
Number geometric_mean(const std::vector<const Record*>& rows, Number Record::*field) {
  const std::vector<double> values = present(rows, field);
  const stats::LaunchEstimate estimate = stats::estimate_over_launches(values);
  return estimate.launches == 0 ? std::nullopt : Number(estimate.value);
}
template <class Value>
std::optional<Value> sum(const std::vector<const Record*>& rows, std::optional<Value> Record::*field) {
  std::optional<Value> total;
  for (const Record* row : rows)
    if (row->*field) total = total.value_or(0) + *(row->*field);
  return total;
}

Samples pooled_samples(std::span<const LaunchSamples> launches) {
  Samples pooled;
  const auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  for (const LaunchSamples& launch : launches) {
    if (launch.samples == nullptr) continue;
    append(pooled.kind, launch.samples->kind);
    append(pooled.stream, launch.samples->stream);
    append(pooled.duration_ns, launch.samples->duration_ns);
  }
  // Each launch has a window of its own: starts of different launches have nothing in common.
  pooled.start_ns.assign(pooled.size(), kUnknownStart);
  return pooled;
}

bool is_statistic(std::string_view name) {
  return name.starts_with("latency_") || name.starts_with("ttft_") || name.starts_with("tpot_") ||
         is_any(name, {"iterations", "tokens_per_second"});
}

void copy_statistics(const Record& from, Record& cell) {
  for (const Field& field : result_fields())
    if (is_statistic(field.name)) std::visit([&](auto member) { cell.*member = from.*member; }, field.member);
}

/// Items of all windows over the length of all windows.
Number rate_over_windows(const std::vector<const Record*>& rows) {
  double items = 0, seconds = 0;
  for (const Record* row : rows) {
    if (!row->throughput_ips || row->window_ns.value_or(0) <= 0) continue;
    const double length = static_cast<double>(*row->window_ns) / 1e9;
    items += *row->throughput_ips * length;
    seconds += length;
  }
  return seconds > 0 ? Number(items / seconds) : std::nullopt;
}

void set_median(const std::vector<const Record*>& measured, Record& cell) {
  // An imported row is already that of a cell.
  if (measured.size() == 1 && measured.front()->launches.value_or(1) > 1) return;
  std::vector<LaunchMedian> medians;
  std::vector<double> values;
  medians.reserve(measured.size());
  values.reserve(measured.size());
  for (const Record* row : measured) {
    medians.push_back({row->launch_number.value_or(1), *row->latency_p50_ms});
    values.push_back(*row->latency_p50_ms);
  }
  cell.launches = static_cast<std::int64_t>(measured.size());
  cell.launch_p50_ms = medians;
  cell.latency_p50_interval = measured.size() > 1 ? IntervalScope::kLaunches : IntervalScope::kOneProcess;
  if (measured.size() < 2) return;
  const stats::LaunchEstimate estimate = stats::estimate_over_launches(values);
  cell.latency_p50_ms = estimate.value;
  cell.latency_p50_ns = std::llround(estimate.value * kNsPerMsOfLaunch);
  cell.latency_p50_low_ms = estimate.interval ? Number(estimate.interval->low) : std::nullopt;
  cell.latency_p50_high_ms = estimate.interval ? Number(estimate.interval->high) : std::nullopt;
  cell.launch_spread = estimate.spread;
  cell.latency_window_p50_ms = geometric_mean(measured, &Record::latency_window_p50_ms);
}

/// The median of tokens, as that of runs: processes differ from each other.
void set_token_median(const std::vector<const Record*>& measured, Number Record::*median, Number Record::*low,
                      Number Record::*high, Record& cell) {
  std::vector<double> values;
  for (const Record* row : measured)
    if (row->*median) values.push_back(*(row->*median));
  if (values.size() < 2) return;
  const stats::LaunchEstimate estimate = stats::estimate_over_launches(values);
  cell.*median = estimate.value;
  cell.*low = estimate.interval ? Number(estimate.interval->low) : std::nullopt;
  cell.*high = estimate.interval ? Number(estimate.interval->high) : std::nullopt;
}

/// A rate that is inverse to `time`, of the same first launch, for the pooled time.
void rescale(Number Record::*rate, Number Record::*time, const Record& first, Record& cell) {
  cell.*rate = first.*rate && first.*time && cell.*time && *(cell.*time) > 0
                   ? Number(*(first.*rate) * *(first.*time) / *(cell.*time))
                   : std::nullopt;
}

void pool(std::span<const LaunchSamples> launches, const std::vector<const Record*>& measured, Record& cell) {
  const Record& first = *measured.front();
  Record pooled;
  summarise(Measurement{}, pooled_samples(launches), first.batch_size.value_or(1), pooled);
  if (pooled.iterations) copy_statistics(pooled, cell);
  cell.total_tokens_per_second.reset();
  if (first.total_tokens_per_second && cell.tokens_per_second)
    cell.total_tokens_per_second = *cell.tokens_per_second * static_cast<double>(first.batch_size.value_or(1));
  set_token_median(measured, &Record::ttft_p50_ms, &Record::ttft_p50_low_ms, &Record::ttft_p50_high_ms, cell);
  set_token_median(measured, &Record::tpot_p50_ms, &Record::tpot_p50_low_ms, &Record::tpot_p50_high_ms, cell);
  rescale(&Record::prompt_tokens_per_second, &Record::ttft_ms, first, cell);
  cell.throughput_ips = first.streams.value_or(1) > 1 ? rate_over_windows(measured) : pooled.throughput_ips;
  if (!cell.throughput_ips) cell.throughput_ips = middle(measured, &Record::throughput_ips);
  cell.window_ns = sum(measured, &Record::window_ns);
  cell.warmup_iterations = sum(measured, &Record::warmup_iterations);
  cell.warmup_time_ms = sum(measured, &Record::warmup_time_ms);
  cell.outliers = sum(measured, &Record::outliers);
  cell.autocorrelation_time = largest(measured, &Record::autocorrelation_time);
  cell.relative_half_width = largest(measured, &Record::relative_half_width);
  cell.wall_time_per_iteration_ns = middle(measured, &Record::wall_time_per_iteration_ns);
  cell.energy_j = middle(measured, &Record::energy_j);
  cell.stop_reason = {};
  for (const Record* row : measured) cell.stop_reason.add(row->stop_reason);
  cell.steady_class = common_steady_class(measured);
  cell.steady_from.reset();
}

void set_memory(const std::vector<const Record*>& rows, Record& cell) {
  const auto exact = [](const Record& row) { return row.memory_source != MemorySource::kWarmProcess; };
  const Record* most = nullptr;
  for (const Record* row : rows)
    if (row->memory_mb &&
        (most == nullptr || std::tuple(exact(*row), *row->memory_mb) > std::tuple(exact(*most), *most->memory_mb)))
      most = row;
  if (most == nullptr) return;
  cell.memory_mb = most->memory_mb;
  cell.memory_avg_mb = most->memory_avg_mb;
  cell.memory_model_mb = most->memory_model_mb;
  cell.memory_load_mb = most->memory_load_mb;
  cell.memory_source = most->memory_source;
  cell.process = most->process;
}

void set_load_times(const std::vector<const Record*>& rows, Record& cell) {
  for (Number Record::*time : {&Record::runtime_load_ms, &Record::model_load_time, &Record::first_inference_ms,
                               &Record::compilation_time_ms, &Record::load_cold_ms, &Record::load_warm_ms})
    cell.*time = middle(rows, time);
}

/// counted_launches() among the rows `of` alone.
std::vector<std::size_t> counted_among(std::span<const Record* const> rows, const std::vector<std::size_t>& of) {
  const auto attempt = [&](std::size_t i) { return rows[i]->attempt_number.value_or(1); };
  std::map<std::int64_t, std::size_t> newest;
  std::int64_t last_attempt = 0;
  bool any_whole = false;
  for (const std::size_t i : of) {
    if (!cut_short(*rows[i]) && !was_refused(*rows[i])) {
      any_whole = true;
      last_attempt = std::max(last_attempt, attempt(i));
    }
    const auto [found, fresh] = newest.try_emplace(rows[i]->launch_number.value_or(1), i);
    const auto age = [&](std::size_t j) {
      return std::tuple(!cut_short(*rows[j]), !was_refused(*rows[j]), attempt(j), std::string_view(rows[j]->timestamp),
                        std::string_view(rows[j]->attempt_id));
    };
    if (!fresh && age(i) > age(found->second)) found->second = i;
  }
  std::vector<std::size_t> counted;
  for (const auto& [launch, i] : newest) {
    if (any_whole && (cut_short(*rows[i]) || was_refused(*rows[i]))) continue;
    if (any_whole && did_not_run(*rows[i]) && attempt(i) < last_attempt) continue;
    counted.push_back(i);
  }
  return counted;
}

}  // namespace

Samples steady_part(Samples samples, std::size_t first) {
  const auto cut = [&](auto& column) {
    column.erase(column.begin(), column.begin() + static_cast<std::ptrdiff_t>(std::min(first, column.size())));
  };
  cut(samples.kind);
  cut(samples.stream);
  cut(samples.start_ns);
  cut(samples.duration_ns);
  return samples;
}

std::vector<std::size_t> counted_launches(std::span<const Record* const> rows) {
  std::vector<std::size_t> own, imported;
  for (std::size_t i = 0; i < rows.size(); ++i) (is_imported(*rows[i]) ? imported : own).push_back(i);
  return counted_among(rows, own.empty() ? imported : own);
}

Record combine_launches(std::span<const LaunchSamples> launches) {
  std::vector<const Record*> all;
  all.reserve(launches.size());
  for (const LaunchSamples& launch : launches) all.push_back(launch.row);
  std::vector<const Record*> rows, measured;
  std::vector<LaunchSamples> pooled;
  for (const std::size_t i : counted_launches(all)) {
    rows.push_back(all[i]);
    if (!all[i]->latency_p50_ms) continue;
    measured.push_back(all[i]);
    pooled.push_back(launches[i]);
  }
  if (rows.empty()) return {};
  // With one measured launch, its statistics; the others may have none.
  Record cell = measured.empty() ? *rows.front() : *measured.front();
  if (measured.size() > 1) pool(pooled, measured, cell);
  if (!measured.empty()) set_median(measured, cell);
  const Record& worst = worst_launch(rows);
  copy_verdict(worst, cell);
  cell.agreed_by = all_witnesses(rows);
  cell.message = common_message(worst, rows);
  cell.flags = common_flags(rows);
  cell.planned_launches = rows.back()->planned_launches;
  say_fewer_launches(all, rows, cell);
  if (rows.size() == 1) return cell;
  cell.attempt_id = rows.front()->attempt_id;
  cell.launch_number.reset();
  for (const Record* row : rows) {
    cell.timestamp = std::max(cell.timestamp, row->timestamp);
    cell.attempt_number = std::max(cell.attempt_number, row->attempt_number);
  }
  set_memory(rows, cell);
  set_load_times(rows, cell);
  return cell;
}

}  // namespace assay
