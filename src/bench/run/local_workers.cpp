// SPDX-License-Identifier: Apache-2.0
#include "bench/run/local_workers.hpp"

#include <fmt/format.h>

#include <utility>

#include "bench/measure/environment.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

WorkerPool::Limits pool_limits(bool keep) {
  WorkerPool::Limits limits;
  if (!keep) limits.workers = 0;
  return limits;
}

}  // namespace

LocalWorkers::LocalWorkers(const EngineRegistry& registry, fs::path folder, Settings settings)
    : registry_(registry),
      folder_(std::move(folder)),
      settings_(std::move(settings)),
      pool_(pool_limits(settings_.keep)) {}

Result<WorkerPool::Lease> LocalWorkers::acquire(const LocalTask& local, const std::string& precision,
                                                std::chrono::nanoseconds timeout) {
  const Task& task = local.task;
  LoadRequest load = task.load;
  load.precision = precision;
  if (load.threads == 0) load.threads = usable_threads();
  if (local.artefact) {
    load.model = local.artefact->model;
    load.step_model = local.artefact->step_model;
  }
  auto location = locations_.find(task.engine);
  if (location == locations_.end()) location = locations_.emplace(task.engine, registry_.locate(task.engine)).first;
  if (!location->second) return tl::unexpected<Error>(location->second.error());
  const fs::path log = next_log();
  ++started_;
  Worker::StartOptions start;
  start.memory_limit_bytes = settings_.memory_limit_bytes;
  start.executable = registry_.places().worker;
  start.log = log;
  start.cancelled = settings_.cancelled;
  ASSAY_TRY(WorkerPool::Lease leased, pool_.acquire(*location->second, load, std::move(start), timeout));
  if (!leased.warm()) logs_[leased.worker().pid()] = log;
  const std::string& here = leased.loaded().engine_version;
  const std::string& planned = task.row.engine_version;
  if (!planned.empty() && here != planned) {
    leased.discard();
    return fail(ErrorCode::kNotFound,
                fmt::format("the task needs {} {}; this machine has {}", task.engine, planned, here),
                "install that version, or plan the run again");
  }
  return leased;
}

fs::path LocalWorkers::log_of(const Worker& worker) const {
  const auto log = logs_.find(worker.pid());
  return log == logs_.end() ? fs::path() : log->second;
}

fs::path LocalWorkers::next_log() const { return folder_ / fmt::format("worker-{}.log", started_ + 1); }

}  // namespace assay
