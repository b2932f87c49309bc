// SPDX-License-Identifier: Apache-2.0
#include "exchange/dataset_of_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <map>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "exchange/readers.hpp"

namespace assay::exchange {
namespace fs = std::filesystem;
namespace {

bool has_result(const Record& row) {
  if (row.has_flag(flag::kPartial)) return false;
  if (row.status == CellStatus::kCompleted) return row.latency_p50_ms || row.latency_mean_ms;
  return row.status != CellStatus::kSkipped && row.status != CellStatus::kUnavailable;
}

double seconds_since_1970(const std::string& timestamp) {
  std::tm time{};
  const char* rest = strptime(timestamp.c_str(), "%Y-%m-%dT%H:%M:%S", &time);
  if (rest == nullptr) return 0;
  const std::string_view after(rest);
  const std::size_t end = after.find_first_not_of(".0123456789");
  const double fraction =
      after.starts_with('.') ? parse_number<double>("0" + std::string(after.substr(0, end))).value_or(0) : 0;
  return static_cast<double>(timegm(&time)) + fraction;
}

/// The rows of all files in the order of time, each once.
std::vector<const Record*> rows_in_order(const std::vector<ResultsFile>& files) {
  std::vector<const Record*> rows;
  std::set<std::tuple<std::string, std::string, std::string>> known;
  for (const ResultsFile& file : files)
    for (const ReadRow& row : file.rows)
      if (known.emplace(row.record.run_id, row.record.attempt_id, row.record.task_key).second)
        rows.push_back(&row.record);
  std::ranges::stable_sort(rows, {}, &Record::timestamp);
  return rows;
}

void add_runs_and_machines(const std::vector<ResultsFile>& files, Dataset& data) {
  for (const ResultsFile& file : files) {
    const RunInfo& run = file.run;
    if (std::ranges::find(data.runs, run.run_id, &RunFacts::run_id) == data.runs.end())
      data.runs.push_back({run.run_id, run.started, run.command, run.host, run.hardware_fingerprint, run.tool_version,
                           run.git_commit, Json(), 0, file.machine_score});
    const auto machine = std::ranges::find(data.machines, run.hardware_fingerprint, &MachineFacts::hardware_id);
    if (machine == data.machines.end()) {
      data.machines.push_back(
          {run.hardware_fingerprint, run.host, text_at(run.system, "processor"), run.system, run.started, run.started});
    } else {
      machine->first_seen = std::min(machine->first_seen, run.started);
      machine->last_seen = std::max(machine->last_seen, run.started);
    }
  }
  std::ranges::stable_sort(data.runs, std::greater{}, &RunFacts::started);
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
  point.launches = row.launches.value_or(1);
  return point;
}

}  // namespace

Dataset dataset_of(const std::vector<ResultsFile>& files) {
  Dataset data;
  std::vector<std::string> names;
  for (const ResultsFile& file : files) names.push_back(file.path.string());
  data.source = join(names, ", ");
  data.made_at = iso8601(wall_now());
  add_runs_and_machines(files, data);
  const std::vector<const Record*> rows = rows_in_order(files);
  std::map<std::string, const Record*> newest;
  for (const Record* row : rows) {
    const Record*& best = newest[row->series_key];
    if (best == nullptr || has_result(*row) || !has_result(*best)) best = row;
  }
  // In the order of the files, which is that of execution.
  for (const ResultsFile& file : files)
    for (const ReadRow& row : file.rows)
      if (const auto found = newest.find(row.record.series_key); found != newest.end() && found->second == &row.record)
        data.cells.push_back(row.record);
  std::ranges::stable_sort(data.cells, std::greater{}, &Record::timestamp);
  data.ids.assign(data.cells.size(), 0);
  std::map<std::string, std::uint32_t> series;
  for (const Record& cell : data.cells)
    if (series.try_emplace(cell.series_key, static_cast<std::uint32_t>(data.series.size())).second)
      data.series.push_back(cell.series_key);
  for (const Record* row : rows) {
    HistoryPoint point = history_point(*row);
    point.series = series.at(row->series_key);
    const std::string version = version_words(*row);
    const auto known = std::ranges::find(data.versions, version);
    point.version = static_cast<std::uint32_t>(known - data.versions.begin());
    if (known == data.versions.end()) data.versions.push_back(version);
    const auto run = std::ranges::find(data.runs, row->run_id, &RunFacts::run_id);
    if (run != data.runs.end()) {
      point.run = static_cast<std::uint32_t>(run - data.runs.begin());
      ++run->cells;
    }
    data.history.push_back(point);
  }
  std::ranges::stable_sort(data.history, {},
                           [](const HistoryPoint& point) { return std::pair(point.series, point.time_s); });
  return data;
}

Result<std::vector<ResultsFile>> read_all(std::span<const fs::path> files_or_folders) {
  if (files_or_folders.empty())
    return fail(ErrorCode::kInvalidArgument, "no file and no folder with results was given");
  std::vector<ResultsFile> files;
  for (const fs::path& path : files_or_folders) {
    std::vector<fs::path> inside{path};
    if (std::error_code ignored; fs::is_directory(path, ignored)) {
      ASSAY_TRY(inside, result_files_in(path));
    }
    for (const fs::path& each : inside) {
      ASSAY_TRY(ResultsFile file, read_results(each));
      files.push_back(std::move(file));
    }
  }
  return files;
}

Result<Dataset> dataset_of(std::span<const fs::path> files_or_folders) {
  ASSAY_TRY(const std::vector<ResultsFile> files, read_all(files_or_folders));
  Dataset data = dataset_of(files);
  std::vector<std::string> names;
  for (const fs::path& path : files_or_folders) names.push_back(path.string());
  data.source = join(names, ", ");
  return data;
}

}  // namespace assay::exchange
