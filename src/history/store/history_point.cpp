// SPDX-License-Identifier: Apache-2.0
#include "history/store/history_point.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <utility>

#include "core/result/newest.hpp"

namespace assay {
namespace {

/// Whether no older row is shown instead of it. `verified_at`: when a row of the series was verified last.
bool stands(const Record& row, const std::string& verified_at) {
  if (row.flags.has(Flag::kPartial)) return false;
  switch (row.status) {
    case CellStatus::kSkipped:
    case CellStatus::kUnavailable:
      return false;
    case CellStatus::kCompleted:
      return row.latency_p50_ms || row.latency_mean_ms;
    case CellStatus::kWrong:
    case CellStatus::kUnsupported:
      return verified_at.empty() || verified_at < row.timestamp;
    case CellStatus::kFailed:
      return true;
  }
  return true;
}

}  // namespace

const Record& cell_of_series(std::span<const Record* const> oldest_first) {
  std::array<std::string, 2> verified_at;  // of own and of imported rows
  for (const Record* row : oldest_first)
    if (row->status == CellStatus::kCompleted && row->verification == Verification::kVerified) {
      std::string& last = verified_at[is_imported(*row) ? 1 : 0];
      last = std::max(last, row->timestamp);
    }
  const auto age = [&](const Record& row) {
    return std::pair(stands(row, verified_at[is_imported(row) ? 1 : 0]), newness(row));
  };
  const Record* cell = oldest_first.front();
  for (const Record* row : oldest_first.subspan(1))
    if (age(*row) >= age(*cell)) cell = row;
  return *cell;
}

double seconds_since_1970(const std::string& timestamp) {
  constexpr double kHour = 3600, kMinute = 60;
  int year = 0;
  unsigned month = 0, day = 0;
  double hours = 0, minutes = 0, seconds = 0;
  if (std::sscanf(timestamp.c_str(), "%d-%u-%uT%lf:%lf:%lf", &year, &month, &day, &hours, &minutes, &seconds) < 3)
    return 0;
  constexpr int kLastYear = 9999;
  if (year < 0 || year > kLastYear) return 0;
  const std::chrono::year_month_day date{std::chrono::year{year} / std::chrono::month{month} / std::chrono::day{day}};
  if (!date.ok()) return 0;
  const std::chrono::seconds begin = std::chrono::sys_days(date).time_since_epoch();
  return static_cast<double>(begin.count()) + hours * kHour + minutes * kMinute + seconds;
}

HistoryPoint history_point(const Record& row) {
  HistoryPoint point;
  point.time_s = seconds_since_1970(row.timestamp);
  point.status = row.status;
  point.verification = row.verification;
  point.ranked = row.ranked();
  point.p50_ms = row.latency_p50_ms;
  point.p50_low_ms = row.latency_p50_low_ms;
  point.p50_high_ms = row.latency_p50_high_ms;
  point.throughput_ips = row.throughput_ips;
  point.memory_mb = row.memory_mb;
  point.mean_ms = row.latency_mean_ms;
  point.memory_source = row.memory_source;
  point.launches = row.launches.value_or(1);
  point.engine_version = row.engine_version;
  point.effective_precision = row.effective_precision;
  point.flags = row.flags;
  point.latency_p50_interval = row.latency_p50_interval;
  point.launch_p50_ms = row.launch_p50_ms;
  return point;
}

std::int32_t RefusalIndices::add(const Record& row) {
  if (row.status != CellStatus::kUnavailable && row.status != CellStatus::kSkipped) return -1;
  const auto [place, added] = places_.try_emplace({row.status, row.reason_code, row.message, row.hint},
                                                  static_cast<std::int32_t>(refusals_.size()));
  if (added) refusals_.push_back({row.status, row.reason_code, row.message, row.hint});
  return place->second;
}

}  // namespace assay
