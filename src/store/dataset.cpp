// SPDX-License-Identifier: Apache-2.0
#include "store/dataset.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <utility>

#include "store/store.hpp"

namespace assay {
namespace {

bool selects(const std::vector<std::string>& words, const std::string& value) {
  return words.empty() || std::ranges::find(words, value) != words.end();
}

bool selects(const Selection& selection, const Record& row) {
  const auto& s = selection;
  return (selects(s.models, row.model) || selects(s.models, row.model_id)) && selects(s.families, row.family) &&
         selects(s.categories, row.category) && selects(s.architectures, row.architecture) &&
         selects(s.hardware, row.hardware) && selects(s.engines, row.engine) && selects(s.precisions, row.precision) &&
         selects(s.runs, row.run_id) && selects(s.machines, row.hardware_id) &&
         (!s.batch_size || row.batch_size == s.batch_size) &&
         (!s.sequence_length || row.sequence_length == s.sequence_length) &&
         (!s.since || row.timestamp >= iso8601(*s.since)) && (!s.until || row.timestamp <= iso8601(*s.until));
}

/// Whether a row answers what its cell was measured for.
bool answers(const Record& row) {
  if (row.has_flag(flag::kPartial)) return false;
  if (row.status == CellStatus::kCompleted) return row.latency_p50_ms.has_value();
  return row.status != CellStatus::kSkipped && row.status != CellStatus::kUnavailable;
}

double seconds_since_1970(const std::string& timestamp) {
  int year = 0;
  unsigned month = 0, day = 0;
  double hours = 0, minutes = 0, seconds = 0;
  if (std::sscanf(timestamp.c_str(), "%d-%u-%uT%lf:%lf:%lf", &year, &month, &day, &hours, &minutes, &seconds) < 3)
    return 0;
  const std::chrono::sys_days date{std::chrono::year{year} / std::chrono::month{month} / std::chrono::day{day}};
  return static_cast<double>(date.time_since_epoch().count()) * 86400 + hours * 3600 + minutes * 60 + seconds;
}

/// The index of `value` in `values`, to whose end it is added if it is new.
std::uint32_t index_of(std::vector<std::string>& values, std::map<std::string, std::uint32_t>& known,
                       const std::string& value) {
  const auto [found, added] = known.try_emplace(value, static_cast<std::uint32_t>(values.size()));
  if (added) values.push_back(value);
  return found->second;
}

HistoryPoint point_of(const Record& row) {
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
  point.launches = row.launches.value_or(1);
  return point;
}

}  // namespace

std::string version_words(const Record& record) {
  return fmt::format("{} {}, assay {}", record.engine, record.engine_version.empty() ? "?" : record.engine_version,
                     record.tool_version.empty() ? "?" : record.tool_version);
}

Result<Dataset> read_dataset(Store& store, const Selection& selection) {
  Dataset data;
  data.source = store.path().filename().string();
  data.made_at = iso8601(wall_now());
  ASSAY_TRY(const std::vector<Record> rows, store.results());
  std::map<std::string, const Record*> newest;
  for (const Record& row : rows) {
    if (!selects(selection, row)) continue;
    const Record*& best = newest[row.series_key];
    if (best == nullptr || answers(row) || !answers(*best)) best = &row;
  }
  std::vector<const Record*> cells;
  for (const auto& [key, row] : newest) cells.push_back(row);
  std::ranges::stable_sort(cells, std::greater{}, &Record::timestamp);
  if (cells.size() > selection.most_cells) {
    data.left_out = cells.size() - selection.most_cells;
    cells.resize(selection.most_cells);
  }
  std::map<std::string, std::uint32_t> series, versions, runs;
  for (const Record* cell : cells) {
    data.cells.push_back(*cell);
    index_of(data.series, series, cell->series_key);
  }
  data.ids.assign(cells.size(), 0);
  std::vector<std::string> run_ids;
  for (const Record& row : rows) {
    const auto found = series.find(row.series_key);
    if (found == series.end()) continue;
    if (!row.run_id.empty() && index_of(run_ids, runs, row.run_id) == data.runs.size())
      data.runs.push_back(
          {row.run_id, row.timestamp, {}, row.host, row.hardware_id, row.tool_version, row.git_commit, {}, 0, {}});
    if (!row.run_id.empty()) ++data.runs[runs.at(row.run_id)].cells;
    if (std::ranges::find(data.machines, row.hardware_id, &MachineFacts::hardware_id) == data.machines.end())
      data.machines.push_back({row.hardware_id, row.host, {}, {}, row.timestamp, row.timestamp});
    std::ranges::find(data.machines, row.hardware_id, &MachineFacts::hardware_id)->last_seen = row.timestamp;
    if (!selection.history) continue;
    HistoryPoint point = point_of(row);
    point.series = found->second;
    point.version = index_of(data.versions, versions, version_words(row));
    point.run = row.run_id.empty() ? 0 : runs.at(row.run_id);
    data.history.push_back(point);
  }
  std::ranges::reverse(data.runs);
  for (HistoryPoint& point : data.history)
    if (!data.runs.empty()) point.run = static_cast<std::uint32_t>(data.runs.size()) - 1 - point.run;
  std::ranges::stable_sort(data.history, {}, [](const HistoryPoint& p) { return std::pair(p.series, p.time_s); });
  return data;
}

}  // namespace assay
