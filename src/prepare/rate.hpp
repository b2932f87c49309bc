// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "base/cancel.hpp"
#include "base/clock.hpp"
#include "base/json.hpp"
#include "engine/registry.hpp"

namespace assay {

/// How fast a runtime multiplies matrices on this machine's processor, in float32. Estimates of time use it.
struct MachineRate {
  double flops_per_s = 0;        ///< [512, 2048] by [2048, 2048]: 2 × multiply-adds over time
  double bytes_per_s = 0;        ///< [1, 4096] by [4096, 16384]: 268 MB of weights, more than fits in caches, over time
  std::string engine{};          ///< that it was measured with
  std::string engine_version{};  ///< of its runtime; may be empty
};
[[nodiscard]] Json to_json(const MachineRate& rate);
/// nullopt: the JSON is not a rate.
[[nodiscard]] std::optional<MachineRate> rate_from_json(const Json& json);

/// The runtimes that measure_rate() tries, in this order.
[[nodiscard]] std::vector<EngineLocation> rate_runtimes(const EngineRegistry& registry);

/// Takes about two seconds: a worker for each of the two, the median of five runs on `threads` (0: all that this
/// process may use). Meanwhile 268 MB are in `folder`. Errors: not_found, if no runtime that computes is installed;
/// that of the last runtime that was tried; cancelled.
[[nodiscard]] Result<MachineRate> measure_rate(const EngineRegistry& registry, int threads,
                                               const std::filesystem::path& folder, const Cancelled& cancelled);

/// The rate of this machine. It is measured when it is first needed, and kept in the cache for later runs: for 30 days,
/// on the same hardware and number of threads, while the version of the runtime that measured it is installed.
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
  };
  /// `known`: the rate that an interrupted run used; its other cells must use the same.
  RateKeeper(Services services, std::optional<MachineRate> known)
      : services_(std::move(services)), known_(std::move(known)) {}

  /// Errors: those of measure_rate, each time it is called.
  [[nodiscard]] Result<MachineRate> get();
  /// What get() returned, without measuring.
  [[nodiscard]] const std::optional<MachineRate>& known() const { return known_; }

 private:
  Services services_;
  std::optional<MachineRate> known_;
};

}  // namespace assay
