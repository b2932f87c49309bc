// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "bench/engine/registry.hpp"
#include "bench/plan/task.hpp"
#include "bench/worker/probe.hpp"
#include "core/base/json.hpp"
#include "core/result/run_info.hpp"
#include "history/store/bundle.hpp"

namespace assay {

/// What bundles say about the run and its machine. `peaks`: of this machine.
[[nodiscard]] RunContext context_of(const RunInfo& run, const Json& peaks);

/// Gives tasks the facts of the machine that runs them, wherever they were planned. Thread: one at a time.
class ThisMachine {
 public:
  /// Lifetime: both outlive the object.
  ThisMachine(const RunInfo& run, const EngineRegistry& registry) : run_(run), registry_(registry) {}

  /// Sets host, hardware and versions of the task's row. A task of another machine is refused if its engine or device
  /// is not here.
  void set_facts(Task& task);

 private:
  const RunInfo& run_;
  const EngineRegistry& registry_;
  std::map<std::string, FoundEngine> probed_;  ///< engines for tasks of another machine; the key is the engine's name
};

}  // namespace assay
