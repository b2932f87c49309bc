// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "bench/plan/targets.hpp"
#include "bench/plan/task.hpp"
#include "bench/prepare/prepare.hpp"
#include "bench/settings/settings.hpp"
#include "core/result/run_info.hpp"

namespace assay {

/// The tasks of one model on all targets: targets in order, then threads, streams, batches, sequence lengths and output
/// tokens, each in the requested order. A model or a target that cannot run is one task with its refusal. The number of
/// cells of a run is the number of tasks.
///
/// It reads no file and starts no process: everything it needs is in its arguments.
[[nodiscard]] std::vector<Task> plan_tasks(const PreparedModel& model, const std::vector<Target>& targets,
                                           const RunSettings& settings, const RunInfo& run);

}  // namespace assay
