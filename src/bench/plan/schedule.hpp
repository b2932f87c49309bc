// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/plan/task.hpp"

namespace assay {

/// One launch of a cell: a task in a round.
struct ScheduledLaunch {
  std::int64_t round = 1;
  std::size_t task = 0;  ///< index
  bool operator==(const ScheduledLaunch&) const = default;
};

/// Tasks with the same key have one worker in a round: the same model, target, streams and threads.
[[nodiscard]] std::string worker_group(const Task& task);

/// The order of the launches of one round. The groups (`groups[i]`: that of task i) are in an order that `seed` and
/// `round` alone decide: in odd rounds random, in even ones the reverse of the round before, so that what the machine
/// does meanwhile, it does to all. Within a group the tasks keep their order, and the
/// round r starts with the task (r - 1) modulo their number: with as many rounds as tasks, each task is once the first
/// of a fresh process. Only tasks with `launched[i]` are in the result.
[[nodiscard]] std::vector<ScheduledLaunch> schedule_round(const std::vector<std::string>& groups,
                                                          const std::vector<bool>& launched, std::int64_t round,
                                                          std::uint64_t seed);

}  // namespace assay
