// SPDX-License-Identifier: Apache-2.0
#include "suite/collected.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "analyse/analyse.hpp"
#include "base/files.hpp"
#include "store/history_point.hpp"

namespace assay::suite {
namespace {

std::string machine_of(const Record& row) { return row.hardware_id.empty() ? row.host : row.hardware_id; }

/// A member that is an object; else an empty one. Lifetime: that of `json`.
const Json& object_at(const Json& json, const char* name) {
  static const Json empty = Json::object();
  const auto found = json.is_object() ? json.find(name) : json.end();
  return found != json.end() && found->is_object() ? *found : empty;
}

std::string entry_name(const std::string& model, const std::string& family, const std::string& hardware) {
  // The guide's word for it, in this file (report/matrix.cpp).
  const bool guide = hardware.starts_with("qualcomm");
  return fmt::format("{} of {} on {}", model, family, guide ? "qnn" + hardware.substr(8) : hardware);
}

std::set<std::string> entries_of(const Json& matrix) {
  std::set<std::string> entries;
  for (const auto& [family, content] : object_at(matrix, "model_families").items())
    for (const auto& [hardware, entry] : object_at(content, "hardware_compatibility").items()) {
      if (!entry.is_object()) continue;
      const Json results = entry.value("benchmark_results", Json::array());
      for (const Json& result : results)
        if (result.is_object() && result.contains("model_name") && result["model_name"].is_string())
          entries.insert(entry_name(result["model_name"].get<std::string>(), family, hardware));
    }
  return entries;
}

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
      if (newest == nullptr || newest->timestamp <= row.record.timestamp) newest = &row.record;
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

Status check_nothing_lost(const std::filesystem::path& file, const Json& matrix, std::span<const Record> rows) {
  const Result<Json> before = read_json(file);
  if (!before) return {};
  std::set<std::string> now = entries_of(matrix);
  for (const Record& row : rows) now.insert(entry_name(row.model, row.family, target_key(row)));
  std::vector<std::string> lost;
  std::ranges::set_difference(entries_of(*before), now, std::back_inserter(lost));
  if (lost.empty()) return {};
  return fail(
      ErrorCode::kInvalidArgument,
      fmt::format("{} stays as it is: it has {} that neither these results nor the history has{}", shown_path(file),
                  lost.front(), lost.size() == 1 ? "" : fmt::format(", and {} others", lost.size() - 1)),
      "name the database that has them with --db-path; or remove the file, to write it without them");
}

}  // namespace assay::suite
