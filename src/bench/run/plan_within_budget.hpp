// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "bench/plan/plan.hpp"
#include "bench/plan/targets.hpp"
#include "bench/settings/settings.hpp"
#include "core/result/run_info.hpp"

namespace assay {

/// The loads of static shapes may take this share of --budget.
inline constexpr double kStaticLoadShare = 0.25;

/// The tasks of each model on all targets (plan_tasks()). A runtime that gets static shapes loads or compiles the model
/// for each of them, in each launch. If all these loads of a target would take more than kStaticLoadShare of --budget,
/// its tasks with static shapes have dynamic ones instead, as with --dynamic-shapes; their notes, and a line in
/// `notes`, say so, except with --static-shapes. Its other tasks stay as they are, targets that accept static shapes
/// only keep them, and so does everything without a budget.
[[nodiscard]] std::vector<std::vector<Task>> plan_within_budget(std::span<const PreparedModel> models,
                                                                const std::vector<Target>& targets,
                                                                const RunSettings& settings, const RunInfo& run,
                                                                std::vector<std::string>& notes);

/// Replaces each task whose shapes are static, although its target accepts others, by that of the same cell in
/// `dynamic`, with the note `why`. A cell that `dynamic` lacks keeps its shapes.
void take_dynamic_shapes(std::vector<Task>& tasks, std::span<const Task> dynamic, const std::string& why);

}  // namespace assay
