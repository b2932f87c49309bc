// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "plan/targets.hpp"
#include "prepare/prepare.hpp"
#include "prepare/settings.hpp"
#include "result/run_info.hpp"

namespace assay {

/// What the executor needs of the world.
struct ExecutorServices {
  const EngineRegistry* registry = nullptr;
  std::filesystem::path spool;  ///< bundles
  std::filesystem::path cache;  ///< references and built models
  std::function<bool()> cancelled = [] { return false; };
  /// Called after each cell, with its row; from one thread at a time.
  std::function<void(const Record&)> finished = [](const Record&) {};
  /// Called when something begins that takes time: "bert-tiny on cpu, batch 4: measuring".
  std::function<void(const std::string&)> doing = [](const std::string&) {};
  /// The latest stored result of a task key, for --benchmark-only; nullopt when there is none.
  std::function<std::optional<Record>(const std::string& task_key)> stored = [](const std::string&) {
    return std::nullopt;
  };
  /// Rows that --resume takes over instead of running them again, by task key.
  std::map<std::string, Record> resumed;
  /// How often this run tried a task before it was interrupted, by task key.
  std::map<std::string, std::int64_t> attempts;
};

/// Runs cells on this machine: verify, then measure, each attempt in a worker of its own or a warm one of the pool,
/// each leaving a bundle. An engine's failure is a row; only what makes the rest pointless (the spool cannot be
/// written) is an error. Thread: one at a time.
class LocalExecutor {
 public:
  [[nodiscard]] static Result<LocalExecutor> create(const RunInfo& run, const RunSettings& settings,
                                                    ExecutorServices services);
  LocalExecutor(LocalExecutor&&) noexcept;
  ~LocalExecutor();

  /// All cells of one model, targets in order, shapes ascending. Each has a row, which goes to services.finished, those
  /// included that never ran.
  [[nodiscard]] Status run(const PreparedModel& model, const std::vector<Target>& targets);

 private:
  struct State;
  explicit LocalExecutor(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace assay
