// SPDX-License-Identifier: Apache-2.0
#include "history/exchange/dataset_of_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/text.hpp"
#include "core/result/newest.hpp"
#include "history/exchange/readers.hpp"
#include "history/store/history_point.hpp"

namespace assay::exchange {
namespace fs = std::filesystem;
namespace {

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

void add_machine(MachineFacts facts, Dataset& data) {
  const auto known = std::ranges::find(data.machines, facts.hardware_id, &MachineFacts::hardware_id);
  if (known == data.machines.end()) {
    data.machines.push_back(std::move(facts));
    return;
  }
  known->first_seen = std::min(known->first_seen, facts.first_seen);
  known->last_seen = std::max(known->last_seen, facts.last_seen);
}

void add_runs_of_files(const std::vector<ResultsFile>& files, Dataset& data) {
  for (const ResultsFile& file : files) {
    const RunInfo& run = file.run;
    const std::optional<MachineScore> machine = machine_score_of(run.doctor);
    if (std::ranges::find(data.runs, run.run_id, &RunFacts::run_id) == data.runs.end())
      data.runs.push_back({run.run_id, run.started, run.command, run.host, run.hardware_fingerprint, run.tool_version,
                           run.git_commit, run.doctor.is_null() ? Json() : Json{{"doctor", run.doctor}}, 0,
                           machine ? std::optional(machine->score) : std::nullopt});
    add_machine(
        {run.hardware_fingerprint, run.host, text_at(run.system, "processor"), run.system, run.started, run.started},
        data);
  }
}

/// A file may have rows of other runs and machines than its own: of CSV several, and of those that were collected
/// (app/suite/offline.hpp) all. Of these only what the rows themselves say is known.
void add_runs_of_rows(const std::vector<const Record*>& oldest_first, Dataset& data) {
  for (const Record* row : oldest_first) {
    const auto known = std::ranges::find(data.runs, row->run_id, &RunFacts::run_id);
    RunFacts& run = known != data.runs.end() ? *known
                                             : data.runs.emplace_back(RunFacts{row->run_id,
                                                                               row->timestamp,
                                                                               "",
                                                                               row->host,
                                                                               row->hardware_id,
                                                                               row->tool_version,
                                                                               row->git_commit,
                                                                               Json(),
                                                                               0,
                                                                               {}});
    ++run.cells;
    if (run.started.empty()) run.started = row->timestamp;  // what was skipped has no time
    const std::string& seen = row->timestamp.empty() ? run.started : row->timestamp;
    add_machine({row->hardware_id, row->host, "", Json(), seen, seen}, data);
  }
  std::erase_if(data.runs, [](const RunFacts& run) { return run.cells == 0; });
  std::erase_if(data.machines, [&](const MachineFacts& machine) {
    return std::ranges::none_of(oldest_first,
                                [&](const Record* row) { return row->hardware_id == machine.hardware_id; });
  });
  std::ranges::stable_sort(data.runs, std::greater{}, &RunFacts::started);
}

/// As ingesting them would.
void correct_times(ResultsFile& file) {
  const WallTime now = wall_now();
  file.run.started = credible_time(std::move(file.run.started), now);
  for (ReadRow& row : file.rows) correct_time(row.record, now);
}

}  // namespace

Dataset dataset_of(const std::vector<ResultsFile>& files) {
  Dataset data;
  std::vector<std::string> names;
  names.reserve(files.size());
  for (const ResultsFile& file : files) names.push_back(file.path.string());
  data.source = join(names, ", ");
  data.made_at = iso8601(wall_now());
  const std::vector<const Record*> rows = rows_in_order(files);
  add_runs_of_files(files, data);
  add_runs_of_rows(rows, data);
  std::map<std::string, std::vector<const Record*>> by_series;
  for (const Record* row : rows) by_series[row->series_key].push_back(row);
  std::set<const Record*> cells;
  for (const auto& [key, of_series] : by_series) cells.insert(&cell_of_series(of_series));
  // In the order of the files, which is that of execution.
  for (const ResultsFile& file : files)
    for (const ReadRow& row : file.rows)
      if (cells.contains(&row.record)) data.cells.push_back(row.record);
  std::ranges::stable_sort(data.cells, std::greater{}, newness);
  data.ids.assign(data.cells.size(), 0);
  std::map<std::string, std::uint32_t> series;
  for (const Record& cell : data.cells)
    if (series.try_emplace(cell.series_key, static_cast<std::uint32_t>(data.series.size())).second)
      data.series.push_back(cell.series_key);
  RefusalIndices refusals(data.refusals);
  for (const Record* row : rows) {
    HistoryPoint point = history_point(*row);
    point.series = series.at(row->series_key);
    point.refusal = refusals.add(*row);
    const std::string version = version_words(*row);
    const auto known = std::ranges::find(data.versions, version);
    point.version = static_cast<std::uint32_t>(known - data.versions.begin());
    if (known == data.versions.end()) data.versions.push_back(version);
    const auto run = std::ranges::find(data.runs, row->run_id, &RunFacts::run_id);
    point.run = static_cast<std::uint32_t>(run - data.runs.begin());
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
      correct_times(file);
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
