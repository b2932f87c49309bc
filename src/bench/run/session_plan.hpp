// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "bench/engine/registry.hpp"
#include "bench/plan/task.hpp"
#include "bench/prepare/prepare.hpp"
#include "bench/rate/rate.hpp"
#include "bench/run/session.hpp"
#include "core/base/json.hpp"

namespace assay {

/// The tasks of a prepared model.
struct PlannedModel {
  PreparedModel model;
  std::vector<Task> tasks;
};

/// What a session will run. Nothing of it ran.
struct SessionPlan {
  std::unique_ptr<const EngineRegistry> registry;
  std::unique_ptr<RateKeeper> rates;
  std::vector<PlannedModel> models;  ///< their tasks are complete: inputs, their hash, costs
  Json sizes;                        ///< result of with_earlier_sizes() of bench/prepare/prepare.hpp
  SessionResult so_far;              ///< its run, targets and notes; whether a name is wrong
};

/// Finds the targets, prepares the models and plans their cells; those that `request.wanted` refuses are left out, and
/// models without any. Apart from the cache nothing is written. Errors: those of run_session() that happen before a
/// cell runs.
[[nodiscard]] Result<SessionPlan> plan_session(const SessionRequest& request);

/// A cell of a plan.
struct PlannedCell {
  Record row;                      ///< has the cell's keys; a refusal if the cell does not run
  std::int64_t launches = 0;       ///< 0: it does not run
  double seconds = 0;              ///< expected, of all its launches
  std::int64_t from_launches = 0;  ///< the database has so many launches of it, whose times are expected; 0: estimated
};

/// What --plan prints.
struct PlanList {
  RunInfo run;
  std::vector<PlannedCell> cells;
  std::size_t models = 0, targets = 0;
  double seconds = 0;              ///< time of the whole run, references and further rounds included
  std::vector<std::string> notes;  ///< notes of the plan, and what --budget gives up
};

/// The cells of the plan with the time that they probably take: as long as launches of the same series on this machine
/// did, of which the database says, else as estimated. A database that cannot be read is a note.
[[nodiscard]] PlanList list_plan(const SessionRequest& request, SessionPlan plan);

}  // namespace assay
