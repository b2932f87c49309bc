// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include <assay/result.hpp>

#include "bench/plan/task.hpp"
#include "bench/run/launch.hpp"
#include "core/result/record.hpp"

namespace assay {

/// What an executor reports while it runs. Called from one thread at a time.
struct ExecutorEvents {
  /// References and files are made: launches begin.
  std::function<void()> prepared = [] {};
  /// A launch of the task with this index is over, or --resume kept it.
  std::function<void(std::size_t task, const Launch& launch)> launched = [](std::size_t, const Launch&) {};
  /// The task with this index has launches, but fewer than --resume would give it (lacks_launches()). Called before
  /// finished(), when there are no more launches.
  std::function<void(std::size_t task)> lacks_launches = [](std::size_t) {};
  /// The row of a cell, from all its launches. In the order of the tasks; those that have no launch after an
  /// interruption are left out.
  std::function<void(std::size_t task, const Record& row)> finished = [](std::size_t, const Record&) {};
};

/// Runs tasks, on this machine or another. What happens to a cell is in its row; only what stops all cells is an error.
class Executor {
 public:
  virtual ~Executor() = default;
  /// Launches each task as often as it says, in rounds (bench/plan/schedule.hpp). Tasks that do not run have rows, too.
  /// Tasks of one model share files, workers and references if they are in one call, and only they are compared.
  [[nodiscard]] virtual Status run(std::vector<Task> tasks, const ExecutorEvents& events) = 0;
};

}  // namespace assay
