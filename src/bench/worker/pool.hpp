// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <assay/result.hpp>

#include "bench/worker/worker.hpp"

namespace assay {

/// The warm workers that wait for the next shape of their model: at most `workers` of them, together below
/// `memory_bytes` resident; the least recently used one is ended first. Leased workers are not counted: the caller
/// limits them. Thread: any. Leases must not outlive the pool.
class WorkerPool {
 public:
  struct Limits {
    std::size_t workers = 4;
    std::uint64_t memory_bytes = std::uint64_t{4} << 30;
  };
  using Starter = std::function<Result<std::unique_ptr<Worker>>(const EngineLocation&, Worker::StartOptions)>;
  using Memory = std::function<std::uint64_t(const Worker&)>;  ///< resident bytes

  explicit WorkerPool(Limits limits);
  /// For tests.
  WorkerPool(Limits limits, Starter start, Memory memory);
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// A worker with its model loaded. Returned to the pool on destruction, if it is still alive.
  class Lease {
   public:
    Lease(Lease&&) noexcept = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease();
    [[nodiscard]] Worker& worker() const { return *worker_; }
    /// The reply to load; for a warm worker, that of its first load. `effective` and the signature are of the latest.
    [[nodiscard]] const LoadReply& loaded() const { return loaded_; }
    [[nodiscard]] bool warm() const { return warm_; }
    /// The time in which a warm worker loaded the model again, for another shape; nullopt: it did not.
    [[nodiscard]] std::optional<double> reload_ms() const { return reload_ms_; }
    /// Ends the worker instead of keeping it.
    void discard() { worker_.reset(); }

   private:
    friend class WorkerPool;
    Lease(WorkerPool& pool, std::string key, std::unique_ptr<Worker> worker, LoadReply loaded, bool warm);
    WorkerPool* pool_;
    std::string key_;
    std::unique_ptr<Worker> worker_;
    LoadReply loaded_;
    bool warm_;
    EngineOptions shape_options_{};
    std::optional<double> reload_ms_{};
  };

  /// A warm worker that has loaded exactly this (same engine files, model, device, precision, threads, streams,
  /// options, environment and memory limit) and still runs, else a fresh one that loads it. A warm worker keeps its
  /// first log. One with other `shape_options` loads the model again; if it cannot, it is ended.
  /// Errors: those of Worker::start and load.
  [[nodiscard]] Result<Lease> acquire(const EngineLocation& location, const LoadRequest& request,
                                      Worker::StartOptions options, std::chrono::nanoseconds load_timeout);

  [[nodiscard]] std::size_t idle() const;
  /// Ends all waiting workers.
  void clear();

 private:
  struct Idle {
    std::string key;
    std::unique_ptr<Worker> worker;
    LoadReply loaded;
    EngineOptions shape_options;
    std::uint64_t bytes;
  };
  void give_back(Idle idle);

  Limits limits_;
  Starter start_;
  Memory memory_;
  mutable std::mutex mutex_;
  std::list<Idle> idle_;  ///< least recently used first
};

}  // namespace assay
