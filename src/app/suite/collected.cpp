// SPDX-License-Identifier: Apache-2.0
#include "app/suite/collected.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/result/newest.hpp"
#include "history/store/history_point.hpp"

namespace assay::suite {
namespace {

std::string machine_of(const Record& row) { return row.hardware_id.empty() ? row.host : row.hardware_id; }

}  // namespace

std::vector<std::vector<exchange::ResultsFile>> by_machine(std::vector<exchange::ResultsFile> files) {
  std::map<std::string, std::vector<exchange::ResultsFile>> machines;
  for (exchange::ResultsFile& file : files) {
    std::vector<exchange::ReadRow> rows = std::exchange(file.rows, {});
    std::map<std::string, exchange::ResultsFile> parts;
    for (exchange::ReadRow& row : rows)
      parts.try_emplace(machine_of(row.record), file).first->second.rows.push_back(std::move(row));
    for (auto& [machine, part] : parts) machines[machine].push_back(std::move(part));
  }
  std::vector<std::vector<exchange::ResultsFile>> groups;
  groups.reserve(machines.size());
  for (auto& [machine, group] : machines) groups.push_back(std::move(group));
  return groups;
}

RunInfo run_of(const std::vector<exchange::ResultsFile>& files) {
  RunInfo run;
  const Record* newest = nullptr;
  for (const exchange::ResultsFile& file : files)
    for (const exchange::ReadRow& row : file.rows) {
      if (newest == nullptr || newness(*newest) <= newness(row.record)) newest = &row.record;
      const bool same_machine = file.run.hardware_fingerprint == row.record.hardware_id;
      if (same_machine && run.started <= file.run.started) run = file.run;
    }
  if (newest == nullptr || !run.started.empty()) return run;
  run.started = newest->timestamp;
  run.host = newest->host;
  run.hardware_fingerprint = newest->hardware_id;
  run.tool_version = newest->tool_version;
  run.git_commit = newest->git_commit;
  return run;
}

std::vector<Record> cells_of(const std::vector<exchange::ResultsFile>& files) {
  std::vector<const Record*> rows;
  for (const exchange::ResultsFile& file : files)
    for (const exchange::ReadRow& row : file.rows) rows.push_back(&row.record);
  std::ranges::stable_sort(rows, {}, &Record::timestamp);
  std::map<std::string, std::vector<const Record*>> series;
  for (const Record* row : rows) series[row->series_key + "\n" + row->model + "\n" + row->model_id].push_back(row);
  std::set<const Record*> shown;
  for (const auto& [key, of_series] : series) shown.insert(&cell_of_series(of_series));
  std::vector<Record> cells;
  for (const Record* row : rows)
    if (shown.contains(row)) cells.push_back(*row);
  return cells;
}

}  // namespace assay::suite
