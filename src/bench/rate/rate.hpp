// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "bench/engine/registry.hpp"
#include "bench/rate/multiplication.hpp"
#include "bench/rate/peak.hpp"
#include "core/base/cancel.hpp"
#include "core/base/clock.hpp"
#include "core/base/json.hpp"
#include "core/result/record.hpp"

namespace assay {

/// How fast a runtime multiplies matrices on this machine's processor, in float32. Estimates of time use it.
struct MachineRate {
  double flops_per_s = 0;        ///< rate of kWideProduct: 2 × multiply-adds over time
  double bytes_per_s = 0;        ///< rate of kThinProduct: its weights over time
  std::string engine{};          ///< the engine that it was measured with
  std::string engine_version{};  ///< version of the engine's runtime; may be empty
  bool disturbed = false;        ///< something else used the machine meanwhile: it may be too low
};
[[nodiscard]] Json to_json(const MachineRate& rate);
/// nullopt: the JSON is not a rate.
[[nodiscard]] std::optional<MachineRate> rate_from_json(const Json& json);

/// The runtimes that measure_rate() tries, in this order.
[[nodiscard]] std::vector<EngineLocation> rate_runtimes(const EngineRegistry& registry);

/// Takes about two seconds, four if something else uses the machine: a worker for each of the two, the best of several
/// short measurements on `threads` (0: all that this process may use). Meanwhile 268 MB are in `folder`. Errors:
/// not_found, if no runtime that computes is installed; that of the last runtime that was tried; cancelled.
[[nodiscard]] Result<MachineRate> measure_rate(const EngineRegistry& registry, int threads,
                                               const std::filesystem::path& folder, const Cancelled& cancelled);

/// The rate of this machine. It is measured when it is first needed, and kept in the cache for later runs: for 30 days
/// (a disturbed one for an hour), on the same hardware and number of threads, while the version of the runtime that
/// measured it is installed, and until a run computes much faster.
class RateKeeper {
 public:
  struct Services {
    const EngineRegistry* registry = nullptr;
    std::filesystem::path cache;
    std::string machine;  ///< identifies the processor and the other hardware (machine_fingerprint)
    int threads = 0;      ///< 0: all that this process may use
    Cancelled cancelled{};
    std::function<void()> measuring = [] {};  ///< called before it is measured
    std::function<WallTime()> now = [] { return wall_now(); };
    /// measure_rate() with these services and this number of threads.
    std::function<Result<MachineRate>(const Services&, int threads)> measure = [](const Services& with, int number) {
      return measure_rate(*with.registry, number, with.cache, with.cancelled);
    };
  };
  /// `known`: the rate that an interrupted run used; its other cells must use the same.
  RateKeeper(Services services, std::optional<MachineRate> known)
      : services_(std::move(services)), known_(std::move(known)) {}

  /// Errors: those of measure_rate, each time it is called.
  [[nodiscard]] Result<MachineRate> get();
  /// What get() returned, without measuring.
  [[nodiscard]] const std::optional<MachineRate>& known() const { return known_; }

  /// The rate as a peak of the processor: nullopt if get() has not returned it, if it was disturbed, or if it is of
  /// fewer threads than this process may use.
  [[nodiscard]] std::optional<MeasuredPeak> peak() const;

  /// Compares the kept rate with rows of this machine. If the runtimes that it is measured with computed, in float32
  /// and with as many threads, more than twice as fast, it was measured on a disturbed machine, because nothing is
  /// faster than multiplying large matrices. Then the next run measures it again. If that one is calm and agrees, more
  /// operations are counted for the model than are computed, and the rate stays whatever rows show.
  void compare_with(std::span<const Record> rows);

 private:
  [[nodiscard]] int threads() const;
  [[nodiscard]] std::string key() const;
  [[nodiscard]] std::filesystem::path file() const;
  [[nodiscard]] Json kept_rates() const;
  void keep(const Json& rates) const;

  Services services_;
  std::optional<MachineRate> known_;
  std::optional<WallTime> measured_;  ///< time of the measurement; absent: the rate is that of an interrupted run
};

}  // namespace assay
