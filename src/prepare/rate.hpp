// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include <assay/result.hpp>

#include "engine/registry.hpp"

namespace assay {

/// How fast a runtime multiplies matrices on this machine's processor, in float32: what estimates of
/// time stand on.
struct MachineRate {
  double flops_per_s = 0;  ///< [512, 2048] by [2048, 2048]: 2 × multiply-adds over time
  double bytes_per_s = 0;  ///< [1, 4096] by [4096, 16384]: 268 MB of weights, more than caches hold, over time
  std::string engine;      ///< by which it was measured
};

/// Takes about two seconds: a worker for each of the two, the median of five runs on `threads` (0: all that this
/// process may use). 268 MB lie in `folder` meanwhile. Errors: not_found, when no runtime that computes is here; of the
/// last runtime that was tried; cancelled.
[[nodiscard]] Result<MachineRate> measure_rate(const EngineRegistry& registry, int threads,
                                               const std::filesystem::path& folder,
                                               const std::function<bool()>& cancelled);

}  // namespace assay
