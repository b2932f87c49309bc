// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "bench/run/local_executor.hpp"
#include "bench/run/local_task.hpp"
#include "bench/run/local_workers.hpp"
#include "bench/run/reference.hpp"
#include "bench/run/timed_ids.hpp"
#include "core/base/files.hpp"

namespace assay {

/// The references of the tasks of one call. All are made before the first candidate runs: the two are never in memory
/// at the same time. Thread: one at a time.
class ReferenceSet {
 public:
  /// Lifetime: everything that is given outlives the object.
  ReferenceSet(const ExecutorServices& services, ReferenceMaker& maker, LocalWorkers& workers)
      : services_(services), maker_(maker), workers_(workers) {}

  /// Makes a reference for each task that runs and is verified; equal ones once. A task whose precision the runtime
  /// chooses gets its arithmetic from a worker that loads its artefact. A task may become one that does not run: its
  /// runtime fails, or its batch is slow. References of earlier calls are forgotten.
  void make(std::vector<LocalTask>& tasks);

  /// The task's reference; one with the name "none" if there is none.
  [[nodiscard]] Reference& of(const LocalTask& local) { return made_[local.reference_key(*services_.registry)]; }

  /// What other engines say that the task should compute (ReferenceMaker::ask). Each reference is asked about once, or
  /// again if an engine lacked time or memory and now has clearly more time. Warm workers end first. Errors: cancelled.
  [[nodiscard]] Result<std::vector<Opinion>> ask(const LocalTask& local, const Deadline& deadline);

  /// Forces token ids of the task's timed generations through its reference, once for equal ids. Warm workers end
  /// first. Errors: those of ReferenceMaker::force, all generations together until the deadline.
  [[nodiscard]] Result<std::vector<std::filesystem::path>> force(const LocalTask& local,
                                                                 std::span<const TimedIds> generations,
                                                                 const Deadline& deadline);

  /// Why the task's model file is invalid. A file that contradicts itself has no right numbers, although some runtimes
  /// run it. If ONNX Runtime could compute the reference, the file does not contradict itself.
  [[nodiscard]] std::optional<Error> invalid_file(const LocalTask& local) const;

 private:
  /// Opinions that may be others if the engines get more time than `limit`.
  struct Unanswered {
    std::vector<Opinion> opinions;
    std::chrono::nanoseconds limit{};
  };
  struct Slowest {
    double ms = 0;
    std::int64_t batch = 1;
  };
  [[nodiscard]] Status choose_arithmetic(LocalTask& local);
  [[nodiscard]] Status make_for(LocalTask& local, Slowest& slowest);

  const ExecutorServices& services_;
  ReferenceMaker& maker_;
  LocalWorkers& workers_;
  std::map<std::string, Reference> made_;                ///< the key is LocalTask::reference_key()
  std::map<std::string, Unanswered> unanswered_;         ///< the key is LocalTask::reference_key()
  std::map<std::string, std::filesystem::path> forced_;  ///< the key contains reference_key(), set and ids
  std::optional<TemporaryDirectory> forced_folder_;
  std::map<std::string, DType> chosen_;  ///< the precision that a runtime chose, by model_key() and target_key()
};

}  // namespace assay
