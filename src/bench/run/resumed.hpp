// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/plan/task.hpp"
#include "bench/run/launch.hpp"
#include "bench/run/local_task.hpp"
#include "core/result/record.hpp"

// Which launches of an interrupted run a task continues.
namespace assay {

/// Identifies a task within a run: its task key and the model's names, because one model may be in a run under two
/// names.
[[nodiscard]] std::string resume_key(const Record& row);

/// Those of ExecutorServices::resumed that are of the task; none: nullptr. `task.row.task_key` is set.
[[nodiscard]] const std::vector<Launch>* resumed_launches(const std::map<std::string, std::vector<Launch>>& resumed,
                                                          const Task& task);

/// Sets the keys of the task's row, whose hashed fields are all set, and its launches that --resume knows.
void set_keys(LocalTask& local, const std::map<std::string, std::vector<Launch>>& resumed);

}  // namespace assay
