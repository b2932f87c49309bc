// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include <assay/result.hpp>

#include "bench/engine/registry.hpp"
#include "bench/run/local_task.hpp"
#include "bench/worker/pool.hpp"
#include "core/base/cancel.hpp"
#include "core/base/files.hpp"

namespace assay {

/// Starts the workers of candidates, keeps warm ones, and knows where each of them writes its log.
/// Thread: one at a time.
class LocalWorkers {
 public:
  struct Settings {
    /// Memory limit of one worker; the same for all, so that a warm worker can be reused.
    std::uint64_t memory_limit_bytes = 0;
    bool keep = true;  ///< a worker waits for the next shape of its model
    Cancelled cancelled{};
  };
  /// `folder`: for logs. Lifetime: `registry` outlives the object.
  LocalWorkers(const EngineRegistry& registry, std::filesystem::path folder, Settings settings);

  /// A worker that has loaded the task's artefact in `precision`. Errors: those of EngineRegistry::locate and
  /// WorkerPool::acquire; not_found if the runtime has another version than the one that the task was planned for.
  [[nodiscard]] Result<WorkerPool::Lease> acquire(const LocalTask& local, const std::string& precision,
                                                  std::chrono::nanoseconds timeout);
  /// The log of a worker: a warm one keeps the one it started with.
  [[nodiscard]] std::filesystem::path log_of(const Worker& worker) const;
  /// The log of a worker that the next acquire() starts, even if it dies at once.
  [[nodiscard]] std::filesystem::path next_log() const;
  /// Ends the workers that wait.
  void clear() { pool_.clear(); }

 private:
  const EngineRegistry& registry_;
  std::filesystem::path folder_;
  Settings settings_;
  WorkerPool pool_;
  int started_ = 0;
  std::map<int, std::filesystem::path> logs_;                ///< the key is the worker's process id
  std::map<std::string, Result<EngineLocation>> locations_;  ///< the key is the engine
};

}  // namespace assay
