// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "bench/engine/registry.hpp"
#include "bench/measure/machine_mark.hpp"
#include "bench/run/executor.hpp"
#include "core/base/cancel.hpp"
#include "core/base/json.hpp"
#include "core/base/time_spent.hpp"
#include "core/result/run_info.hpp"

namespace assay {

/// The usual ExecutorServices::kept_bytes_limit.
inline constexpr std::uint64_t kKeptBytes = std::uint64_t{4} << 30;

/// What the local executor requires from its caller.
struct ExecutorServices {
  const EngineRegistry* registry = nullptr;
  std::filesystem::path spool;  ///< bundles
  std::filesystem::path cache;  ///< references and built models
  /// Memory limit of one worker; absent: nine tenths of the free memory.
  std::optional<std::uint64_t> memory_limit_bytes{};
  bool keep_workers = true;  ///< a worker waits for the next shape of its model; else each cell has its own worker
  std::chrono::nanoseconds artefact_timeout = std::chrono::minutes(10);
  Cancelled cancelled = [] { return false; };
  /// The other processes that measure on this machine now: rows say that there were some while they were measured.
  std::function<std::vector<MeasuringProcess>()> others = [] { return std::vector<MeasuringProcess>(); };
  /// Called before a step that takes time: "bert-tiny on cpu, batch 4: measuring".
  std::function<void(const std::string&)> doing = [](const std::string&) {};
  /// Called before model files are written: "building bert-tiny".
  std::function<void(const std::string&)> making = [](const std::string&) {};
  /// The latest stored result of a task key, for --benchmark-only; nullopt when there is none.
  std::function<std::optional<Record>(const std::string& task_key)> stored = [](const std::string&) {
    return std::nullopt;
  };
  WorkTimer* timer = nullptr;  ///< counts what the time is spent on; nullptr: nothing does
  /// Launches of this run before it was interrupted, by resume_key() (bench/run/resumed.hpp). Those that ended well
  /// count.
  std::map<std::string, std::vector<Launch>> resumed;
  /// What a round that is not necessary is for: launches that were planned (any but the first of a model), pairs that
  /// are undecided, cells that contradict each other.
  enum class Round { kPlanned, kFurther, kRepeated };
  /// Whether there is time for such a round. `seconds`: its estimate.
  std::function<bool(double seconds, Round round)> has_time = [](double, Round) { return true; };
  /// has_time() alone limits further rounds; else they take at most a quarter of the time of the model's planned
  /// rounds, or 15 s.
  bool has_budget = false;
  Json peaks = Json::array();  ///< peaks of this machine that this run knows, for the row of the run
  /// Files of fixed shapes that stay on the disk between the launches of their cells, all together.
  std::uint64_t kept_bytes_limit = kKeptBytes;
};

/// Runs tasks on this machine in rounds, one launch after another: verify, then measure, each leaving a bundle. In each
/// round a target has a fresh worker, which stays warm for its next shapes. A task with several launches is compared
/// with the others of its model: pairs that are undecided get further rounds (bench/run/rounds.hpp), at most 10 in all,
/// and cells that contradict each other one more.
///
/// Whatever happens to a task, an exception included, is in its row and bundle. If the bundle cannot be written, the
/// row is `failed`, says so, and keeps its numbers.
///
/// Files that only one cell loads (fixed shapes) stay on the disk until its last launch, if all that stay together are
/// below a limit; else they are made again for each launch.
///
/// Rows name the machine that ran them: this one, from `run`. A task that was planned on another machine gets this
/// machine's facts and keys; it does not run if its device, or its version of the runtime, is not here.
/// Thread: one at a time.
class LocalExecutor final : public Executor {
 public:
  [[nodiscard]] static Result<std::unique_ptr<LocalExecutor>> create(const RunInfo& run, ExecutorServices services);
  ~LocalExecutor() override;

  [[nodiscard]] Status run(std::vector<Task> tasks, const ExecutorEvents& events) override;

 private:
  struct State;
  explicit LocalExecutor(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace assay
