// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <assay/result.hpp>

#include "prepare/cost.hpp"
#include "prepare/rate.hpp"
#include "prepare/settings.hpp"
#include "prepare/zoo_source.hpp"

namespace assay {

/// What a model of the zoo would need, told from its graph before a weight is made.
struct Estimate {
  std::uint64_t weight_bytes = 0;
  std::uint64_t activation_bytes = 0;  ///< that live at once at the smallest batch; 0 where the graph does not tell
  double run_s = 0;                    ///< an inference or a generation at that batch; 0: not told
  double cell_s = 0;  ///< all that a cell runs at least: its reference, its verification, warm-up and samples
  std::string told;   ///< the figures behind run_s, for people
};

/// `rate`: nullptr: weights alone are told, as of a model with more of them than memory is free. Of every run: no less
/// than its FLOPs take, no less than reading the weights once. Errors: those of zoo::build.
[[nodiscard]] Result<Estimate> estimate(const ZooSource& source, const RunSettings& settings, const MachineRate* rate);

/// What zoo::build is asked for.
[[nodiscard]] zoo::BuildRequest build_request(const ZooSource& source, const RunSettings& settings);

/// Why a model does not fit into the memory that is free, `available` bytes: it needs its weights twice, and what lives
/// beside them. nullopt: it fits.
[[nodiscard]] std::optional<std::string> lack_of_memory(std::uint64_t weight_bytes, std::uint64_t activation_bytes,
                                                        std::uint64_t available);

/// Why a cell would hardly end within its --timeout: the estimate is more than half of it, for runtimes differ in what
/// they make of a machine. nullopt: it would, or nothing tells.
[[nodiscard]] std::optional<std::string> lack_of_time(const Estimate& estimate, const RunSettings& settings);

}  // namespace assay
