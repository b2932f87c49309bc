// SPDX-License-Identifier: Apache-2.0
#include "bench/run/plan_within_budget.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <tuple>
#include <utility>

#include "bench/run/time_plan.hpp"
#include "core/base/time_words.hpp"
#include "core/traits/cell.hpp"
#include "core/traits/engine_entry.hpp"

namespace assay {
namespace {

// Whether the runtime gets static shapes, although it accepts others.
bool may_be_dynamic(const Task& task) { return !task.static_shapes && task.row.shapes == ShapesForm::kStatic; }

// The loads of all launches of the tasks.
double static_loads_s(const std::vector<Task>& tasks) {
  double seconds = 0;
  for (const Task& task : tasks)
    if (task.runs() && may_be_dynamic(task))
      seconds += static_cast<double>(task.launches) * expected_load_s(task_cost(task));
  return seconds;
}

std::vector<std::vector<Task>> plan_all(std::span<const PreparedModel> models, const Target& target,
                                        const RunSettings& settings, const RunInfo& run) {
  std::vector<std::vector<Task>> tasks;
  tasks.reserve(models.size());
  for (const PreparedModel& model : models) tasks.push_back(plan_tasks(model, {target}, settings, run));
  return tasks;
}

// Cells that differ by their shapes' being static or dynamic only.
bool same_cell(const Task& a, const Task& b) {
  const auto key = [](const Task& task) {
    const CellShape& shape = task.shape;
    return std::tuple(shape.batch, shape.sequence, shape.output_tokens, shape.streams, shape.threads,
                      std::string(task.row.precision), std::string(to_string(task.row.kv_cache)));
  };
  return key(a) == key(b);
}

}  // namespace

void take_dynamic_shapes(std::vector<Task>& tasks, std::span<const Task> dynamic, const std::string& why) {
  for (Task& task : tasks) {
    if (!may_be_dynamic(task)) continue;
    const auto other = std::ranges::find_if(dynamic, [&](const Task& each) { return same_cell(each, task); });
    if (other == dynamic.end()) continue;
    task = *other;
    task.notes.push_back(why);
  }
}

std::vector<std::vector<Task>> plan_within_budget(std::span<const PreparedModel> models,
                                                  const std::vector<Target>& targets, const RunSettings& settings,
                                                  const RunInfo& run, std::vector<std::string>& notes) {
  std::vector<std::vector<Task>> all(models.size());
  for (const Target& target : targets) {
    std::vector<std::vector<Task>> planned = plan_all(models, target, settings, run);
    double loads_s = 0;
    for (const std::vector<Task>& tasks : planned) loads_s += static_loads_s(tasks);
    if (settings.budget && !settings.static_shapes &&
        loads_s > kStaticLoadShare * std::chrono::duration<double>(*settings.budget).count()) {
      RunSettings dynamic = settings;
      dynamic.dynamic_shapes = true;
      const std::vector<std::vector<Task>> without = plan_all(models, target, dynamic, run);
      const std::string why = fmt::format("dynamic shapes: loading for each static one takes about {}, too much of {}",
                                          time_words(loads_s), budget_text(*settings.budget));
      for (std::size_t model = 0; model < planned.size(); ++model)
        take_dynamic_shapes(planned[model], without[model], why);
      notes.push_back(fmt::format("{}: {}", target_key(target.hardware, target.engine), why));
    }
    for (std::size_t model = 0; model < models.size(); ++model)
      std::ranges::move(planned[model], std::back_inserter(all[model]));
  }
  return all;
}

}  // namespace assay
