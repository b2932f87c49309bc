// SPDX-License-Identifier: Apache-2.0
#include "run/reference_set.hpp"

#include <fmt/format.h>

#include "analyse/analyse.hpp"
#include "base/guard.hpp"
#include "plan/row.hpp"
#include "run/batch_times.hpp"

namespace assay {

// The worker ends before the reference starts.
Status ReferenceSet::choose_arithmetic(LocalTask& local) {
  const Record& row = local.task.row;
  if (row.precision != "runtime") return {};
  const std::string target = target_key(row), key = local.model_key() + " " + target;
  if (!chosen_.contains(key)) {
    services_.doing(fmt::format("{} on {}: which precision it chooses", row.model, target));
    ASSAY_TRY(WorkerPool::Lease leased, workers_.acquire(local, "runtime", local.task.timeout));
    Record loaded;
    set_load(loaded, leased.loaded());
    leased.discard();
    chosen_[key] = dtype_from(loaded.effective_precision).value_or(DType::kFloat32);
  }
  local.task.arithmetic = chosen_[key];
  return {};
}

Status ReferenceSet::make_for(LocalTask& local, Slowest& slowest) {
  Task& task = local.task;
  ASSAY_CHECK_OK(choose_arithmetic(local));
  const double estimate = slowest.ms * static_cast<double>(task.shape.batch) / static_cast<double>(slowest.batch);
  if (task.default_batch && task.shape.batch > slowest.batch && estimate > kSlowDefaultMs) {
    set_refusal(task.row, slow_batch(task.shape.batch, estimate, "the reference's run"));
    return {};
  }
  const std::string key = local.reference_key(*services_.registry);
  if (made_.contains(key)) return {};
  services_.doing(fmt::format("{}, {}: reference", task.row.model, shape_key(task.row)));
  Reference& reference = made_[key];
  if (task.inputs.empty()) return {};
  if (task.reference.given_outputs.empty()) {
    reference = maker_.make(task);
  } else {
    reference.name = "given";
    reference.outputs = {task.reference.given_outputs};
  }
  if (reference.run_ms > 0 && !task.generation)  // for a generation it is the time of the prompt only
    slowest = {reference.run_ms, task.shape.batch};
  return {};
}

void ReferenceSet::make(std::vector<LocalTask>& tasks) {
  made_.clear();
  chosen_.clear();
  std::map<std::string, Slowest> slowest;  // by model_key()
  for (LocalTask& local : tasks) {
    if (!local.runs() || !local.task.verify || services_.cancelled()) continue;
    const Status done =
        guarded("while making the reference", [&] { return make_for(local, slowest[local.model_key()]); });
    if (!done) set_failure(local.task.row, done.error());
  }
  maker_.release();
}

std::optional<Error> ReferenceSet::invalid_file(const LocalTask& local) const {
  const auto reference = made_.find(local.reference_key(*services_.registry));
  const std::optional<Error>& contradiction = local.task.contradiction;
  if (reference != made_.end() && reference->second.invalid_file)
    return contradiction ? contradiction : reference->second.invalid_file;  // ours names the node better
  if (reference != made_.end() && reference->second.name != "none") return std::nullopt;
  return contradiction;
}

}  // namespace assay
