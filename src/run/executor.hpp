// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include <assay/result.hpp>

#include "plan/task.hpp"
#include "result/record.hpp"

namespace assay {

/// Runs tasks, on this machine or another. What happens to a cell is in its row; only what stops all cells is an error.
class Executor {
 public:
  virtual ~Executor() = default;
  /// Calls `finished` with the row of each task, in order, as soon as it is complete; from one thread at a time. Tasks
  /// that do not run have rows, too; after an interruption the other tasks have none. Tasks of one model share files,
  /// workers and references if they are in one call.
  [[nodiscard]] virtual Status run(std::vector<Task> tasks, const std::function<void(const Record&)>& finished) = 0;
};

}  // namespace assay
