// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/plan/targets.hpp"
#include "bench/plan/task.hpp"
#include "bench/prepare/prepare.hpp"
#include "bench/settings/settings.hpp"
#include "bench/worker/worker.hpp"
#include "core/result/record.hpp"
#include "core/result/run_info.hpp"

namespace assay {

/// The precision that cells are measured in: a model file keeps its own types unless the user gives another.
[[nodiscard]] std::string precision_of(const RunSettings& settings, const PreparedModel& model);

/// The row of a cell before it runs. With its shape and its inputs it has every field that the task key hashes.
[[nodiscard]] Record begin_row(const RunInfo& run, const RunSettings& settings, const PreparedModel& model,
                               const Target& target);
void set_shape(Record& row, const CellShape& shape, bool uses_sequence);
void set_inputs(Record& row, const std::vector<InputRecipe>& inputs, const std::string& input_hash);

/// Sets how the row ended: unsupported, or failed with the error's code as its reason.
void set_failure(Record& row, const Error& error);
void set_refusal(Record& row, const Refusal& refusal);
/// The same for a task, whose shapes may be the reason: the message then says how to give others (Task::shape_hint).
void set_failure(Record& row, const Task& task, const Error& error);

/// What the worker reports about loading, and about memory while it measured.
void set_load(Record& row, const LoadReply& loaded);
void set_effective(Record& row, const EngineOptions& effective);
void set_memory(Record& row, const MeasureReply& measured, const LoadReply& loaded, bool warm);

/// "(1, 3, 224, 224)"; several inputs: "input_ids=(1, 128), attention_mask=(1, 128)".
[[nodiscard]] std::string input_shape_text(const std::vector<InputRecipe>& recipes);

}  // namespace assay
