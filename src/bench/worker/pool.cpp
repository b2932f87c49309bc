// SPDX-License-Identifier: Apache-2.0
#include "bench/worker/pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bench/measure/memory.hpp"
#include "bench/worker/protocol.hpp"
#include "core/base/log.hpp"
#include "core/base/timed_step.hpp"

namespace assay {
namespace {

std::string key_of(const EngineLocation& location, const LoadRequest& request, const Worker::StartOptions& options) {
  Json key = worker_protocol::encode(request);
  key.erase("shape_options");
  key["plugin"] = location.plugin.string();
  key["home"] = location.home.string();
  key["limit"] = options.memory_limit_bytes.value_or(0);
  key["environment"] = options.environment;
  return json_text(key);
}

std::uint64_t resident_bytes(const Worker& worker) {
  const auto memory = resident_memory(fmt::format("/proc/{}", worker.pid()));
  return memory ? memory->now : 0;
}

}  // namespace

WorkerPool::WorkerPool(Limits limits) : WorkerPool(limits, &Worker::start, &resident_bytes) {}

WorkerPool::WorkerPool(Limits limits, Starter start, Memory memory)
    : limits_(limits), start_(std::move(start)), memory_(std::move(memory)) {}

WorkerPool::Lease::Lease(WorkerPool& pool, std::string key, std::unique_ptr<Worker> worker, LoadReply loaded, bool warm)
    : pool_(&pool), key_(std::move(key)), worker_(std::move(worker)), loaded_(std::move(loaded)), warm_(warm) {}

WorkerPool::Lease::~Lease() {
  if (worker_ && worker_->alive())
    pool_->give_back({std::move(key_), std::move(worker_), std::move(loaded_), std::move(shape_options_), 0});
}

Result<WorkerPool::Lease> WorkerPool::acquire(const EngineLocation& location, const LoadRequest& request,
                                              Worker::StartOptions options, std::chrono::nanoseconds load_timeout) {
  std::string key = key_of(location, request, options);
  std::optional<Idle> warm;
  {
    const std::lock_guard lock(mutex_);
    while (true) {
      const auto found = std::ranges::find(idle_, key, &Idle::key);
      if (found == idle_.end()) break;
      Idle idle = std::move(*found);
      idle_.erase(found);
      // The kernel kills a waiting worker first when memory runs out.
      if (!idle.worker->alive()) {
        log_debug("worker {}: ended while it waited", idle.worker->pid());
        continue;
      }
      log_debug("worker {}: reused, it has loaded {}", idle.worker->pid(), request.model.string());
      warm = std::move(idle);
      break;
    }
  }
  if (warm) {
    Lease lease(*this, std::move(key), std::move(warm->worker), std::move(warm->loaded), true);
    lease.shape_options_ = request.shape_options;
    if (warm->shape_options == request.shape_options) return lease;
    Result<LoadReply> again = lease.worker().load(request, load_timeout);
    if (!again) {
      lease.discard();
      return tl::unexpected<Error>(again.error());
    }
    lease.reload_ms_ = again->model_load_s * 1e3;
    lease.loaded_.inputs = std::move(again->inputs);
    lease.loaded_.outputs = std::move(again->outputs);
    lease.loaded_.effective = std::move(again->effective);
    return lease;
  }
  ASSAY_TRY(std::unique_ptr<Worker> worker, start_(location, std::move(options)));
  const TimedStep loading(fmt::format("worker {}: loaded {}", worker->pid(), request.model.string()), LogLevel::kDebug);
  ASSAY_TRY(LoadReply loaded, worker->load(request, load_timeout));
  Lease lease(*this, std::move(key), std::move(worker), std::move(loaded), false);
  lease.shape_options_ = request.shape_options;
  return lease;
}

void WorkerPool::give_back(Idle idle) {
  idle.bytes = memory_(*idle.worker);
  std::list<Idle> ended;  // destroyed after the lock, because ending a process takes time
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(idle));
  std::uint64_t total = 0;
  for (const Idle& one : idle_) total += one.bytes;
  while (idle_.size() > limits_.workers || (total > limits_.memory_bytes && !idle_.empty())) {
    total -= idle_.front().bytes;
    ended.splice(ended.end(), idle_, idle_.begin());
  }
}

std::size_t WorkerPool::idle() const {
  const std::lock_guard lock(mutex_);
  return idle_.size();
}

void WorkerPool::clear() {
  std::list<Idle> ended;
  const std::lock_guard lock(mutex_);
  ended.swap(idle_);
}

}  // namespace assay
