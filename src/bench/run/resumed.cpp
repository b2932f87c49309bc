// SPDX-License-Identifier: Apache-2.0
#include "bench/run/resumed.hpp"

#include <fmt/format.h>

#include "bench/run/rounds.hpp"
#include "core/result/keys.hpp"

namespace assay {

std::string resume_key(const Record& row) { return fmt::format("{}\n{}\n{}", row.task_key, row.model, row.model_id); }

const std::vector<Launch>* resumed_launches(const std::map<std::string, std::vector<Launch>>& resumed,
                                            const Task& task) {
  const std::string key = resume_key(task.row);
  if (const auto found = resumed.find(key); found != resumed.end()) return &found->second;
  if (task.artefact.converter.empty()) return nullptr;
  // The hash of a converted graph is known after the conversion. All that decides it is in the other fields.
  for (const auto& [ignored, launches] : resumed) {
    Record planned = launches.front().row;
    planned.graph_hash = task.row.graph_hash;
    planned.task_key = task_key(planned);
    if (resume_key(planned) == key) return &launches;
  }
  return nullptr;
}

void set_keys(LocalTask& local, const std::map<std::string, std::vector<Launch>>& resumed) {
  Record& row = local.task.row;
  row.task_key = task_key(row);
  row.series_key = series_key(row);
  local.launches.clear();
  if (const std::vector<Launch>* kept = resumed_launches(resumed, local.task)) local.launches = *kept;
  std::int64_t ended_badly = 0;
  for (const Launch& launch : local.launches) ended_badly += settled(launch.row) ? 0 : 1;
  row.attempt_number = 1 + ended_badly;
  local.complete = !local.launches.empty() && missing_launches(local) == 0;
}

}  // namespace assay
