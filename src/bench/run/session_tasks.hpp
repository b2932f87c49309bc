// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <assay/result.hpp>

#include "bench/run/local_executor.hpp"
#include "bench/run/session.hpp"
#include "bench/run/session_plan.hpp"
#include "bench/run/time_plan.hpp"

namespace assay {

/// Runs all tasks, which are complete, model by model, and appends a row for each of them to `out.rows`: those that an
/// interruption left out are `skipped` with the reason `cancelled`. Calls `request.finished` for each row that is not
/// left out. `time`: new, of the run's --budget; what does not fit into it is given up, and out.notes say what; if the
/// rest does not fit either, a warning says so before it runs. An error of one model's tasks is in their rows. Errors:
/// there is no folder for scratch files.
[[nodiscard]] Status run_planned(std::vector<PlannedModel> planned, const SessionRequest& request, TimePlan time,
                                 ExecutorServices services, SessionResult& out);

}  // namespace assay
