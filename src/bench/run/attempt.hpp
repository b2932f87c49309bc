// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "bench/run/local_task.hpp"
#include "bench/run/local_workers.hpp"
#include "bench/run/output_checks.hpp"
#include "bench/run/reference.hpp"
#include "core/base/json.hpp"
#include "core/base/time_spent.hpp"
#include "core/result/record.hpp"

namespace assay {

/// One execution of a cell in a worker: load, bind, verify, measure. Out of scope: the bundle, the final status.
/// Thread: one at a time. Used once.
class Attempt {
 public:
  struct Services {
    LocalWorkers& workers;
    Reference& reference;                                  ///< the cell's reference
    std::filesystem::path scratch;                         ///< a folder for outputs
    std::filesystem::path samples;                         ///< the file to write
    const std::function<void(const std::string&)>& doing;  ///< called before a step that takes time
    LaunchLimits limits{};
    std::optional<bool> cold = false;  ///< the model's files are not in the page cache; nullopt: a part of them may be
    WorkTimer* timer = nullptr;
  };
  /// Lifetime: `local` and `row`, which may be a part of it, outlive the object.
  Attempt(const LocalTask& local, Record& row, Services services);

  /// Sets what is verified and measured in the row; after an error, the fields that were set before it stay. Errors:
  /// those of the worker; unsupported if the runtime computes in fewer bits than requested; timeout.
  [[nodiscard]] Status run();

  /// After run(): compares the token ids that need the reference, now that the worker of the candidate may end.
  /// Errors: those of OutputChecks::check_forced.
  [[nodiscard]] Status check_forced(const ForceIds& force) {
    return checks_.expects_forced() ? checks_.check_forced(force) : Status();
  }
  /// After run(): outputs that may be right although the reference computed others are judged by what `ask` returns.
  /// Errors: those of `ask` and of OutputChecks::decide.
  [[nodiscard]] Status decide(const std::function<Result<std::vector<Opinion>>()>& ask) {
    if (!checks_.is_disputed()) return {};
    ASSAY_TRY(const std::vector<Opinion> opinions, ask());
    return checks_.decide(opinions);
  }
  /// The end of the time that run(), decide() and check_forced() have together.
  [[nodiscard]] const Deadline& deadline() const { return deadline_; }

  /// What the bundle gets beside the row.
  [[nodiscard]] const Json& environment() const { return environment_; }
  [[nodiscard]] const Json& outputs() const { return checks_.fingerprint(); }  ///< fingerprint; null: no outputs
  [[nodiscard]] const OutputsOfSets& compared() const { return checks_.compared(); }
  [[nodiscard]] const std::filesystem::path& log() const { return log_; }  ///< the worker's log file; may not exist
  [[nodiscard]] Samples take_samples() { return std::move(samples_); }     ///< the steady ones

 private:
  [[nodiscard]] Status use(WorkerPool::Lease& leased, const Deadline& deadline);
  [[nodiscard]] Status bind(Worker& worker, const Deadline& deadline);
  [[nodiscard]] Status measure(WorkerPool::Lease& leased, const Deadline& deadline);
  void set_whole_load();

  const LocalTask& local_;
  const Task& task_;
  Record& row_;
  Services services_;
  OutputChecks checks_;
  Deadline deadline_;
  std::string name_;  ///< the cell's name for people
  Json environment_ = Json::object();
  std::filesystem::path log_;
  Samples samples_;
};

}  // namespace assay
