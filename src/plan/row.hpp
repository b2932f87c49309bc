// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/targets.hpp"
#include "prepare/prepare.hpp"
#include "prepare/settings.hpp"
#include "result/record.hpp"
#include "result/run_info.hpp"
#include "worker/worker.hpp"

namespace assay {

/// One point of the matrix, before it runs.
struct CellShape {
  std::int64_t batch = 1;
  std::int64_t sequence = 128;     ///< counts only for models with a sequence axis
  std::int64_t output_tokens = 0;  ///< likewise for models that generate
  std::int64_t streams = 1;
  std::int64_t threads = 0;  ///< 0: all that this process may use
};

/// The row of a cell before it runs: every field that the task key hashes is set when `inputs` are given.
[[nodiscard]] Record begin_row(const RunInfo& run, const RunSettings& settings, const PreparedModel& model,
                               const Target& target);
void set_shape(Record& row, const CellShape& shape, const ModelInputs& inputs, const std::string& input_hash);

/// Ends a row with an error's verdict: unsupported, or failed with the error's code as its reason.
void set_failure(Record& row, const Error& error);
void set_verdict(Record& row, const Refusal& verdict);

/// What the worker said about loading and about the machine while measuring.
void set_load(Record& row, const LoadReply& loaded);
void set_effective(Record& row, const EngineOptions& effective);
void set_memory(Record& row, const MeasureReply& measured, const LoadReply& loaded, bool warm);

/// "(1, 3, 224, 224)"; several inputs: "input_ids=(1, 128), attention_mask=(1, 128)".
[[nodiscard]] std::string input_shape_text(const std::vector<InputRecipe>& recipes);

}  // namespace assay
