// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include <assay/result.hpp>

#include "base/json.hpp"
#include "result/record.hpp"
#include "run/local_task.hpp"
#include "run/reference.hpp"
#include "worker/worker.hpp"

namespace assay {

/// Compares the outputs of a cell with those of its reference and writes the verdict into the row. Used by one attempt,
/// whose worker has the inputs bound. Lifetime: what is given outlives the object. Thread: one at a time.
class OutputChecks {
 public:
  /// `scratch`: a folder for outputs.
  OutputChecks(const LocalTask& local, Record& row, const Reference& reference, std::filesystem::path scratch)
      : task_(local.task), row_(row), reference_(reference), scratch_(std::move(scratch)) {}

  /// Runs each input set once and compares, if the task is verified; else it runs one set. Sets first_inference_ms.
  /// Errors: those of the worker and of judge().
  [[nodiscard]] Status before(Worker& worker, const Deadline& deadline);

  /// Identifies the outputs, for the bundle; null: there are none.
  [[nodiscard]] const Json& fingerprint() const { return fingerprint_; }

 private:
  [[nodiscard]] Status judge_outputs(const std::vector<std::filesystem::path>& computed);

  const Task& task_;
  Record& row_;
  const Reference& reference_;
  std::filesystem::path scratch_;
  Json fingerprint_;
};

}  // namespace assay
