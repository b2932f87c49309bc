// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include <assay/result.hpp>

#include "plan/task.hpp"
#include "result/record.hpp"

namespace assay {

/// Runs tasks, here or elsewhere. What happens to a cell is its row; only what makes the rest pointless is an error.
class Executor {
 public:
  virtual ~Executor() = default;
  /// Calls `finished` with the row of each task, in order, as soon as there is one; from one thread at a time. Tasks
  /// that do not run have rows, too; those after an interruption have none. Tasks of one model share files, workers and
  /// references when they come in one call.
  [[nodiscard]] virtual Status run(std::vector<Task> tasks, const std::function<void(const Record&)>& finished) = 0;
};

}  // namespace assay
