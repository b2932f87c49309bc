// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "bench/prepare/cost.hpp"
#include "bench/prepare/description.hpp"
#include "bench/rate/rate.hpp"
#include "bench/settings/settings.hpp"
#include "core/traits/engine_entry.hpp"
#include "models/onnx/model_info.hpp"

namespace assay {

/// What a model needs for its smallest cell, computed from its graph before any weight is written.
struct Estimate {
  std::uint64_t weight_bytes = 0;
  std::uint64_t activation_bytes = 0;   ///< largest amount in use at once; 0: unknown
  std::optional<RunCost> cost{};        ///< cost of one run; nullopt: unknown
  std::uint64_t step_weight_bytes = 0;  ///< read for each further token
};
/// Errors: internal (disk full).
[[nodiscard]] Result<Estimate> estimate(const ZooDescription& model, const RunSettings& settings);

/// How long the smallest cell takes at least. A run takes no less than its FLOPs, and no less than reading the weights.
struct CellTime {
  double run_s = 0;     ///< an inference or a generation; 0: unknown
  double cell_s = 0;    ///< all runs of the cell: its reference, its verification, warm-up and samples
  std::string figures;  ///< behind run_s, for people
};
[[nodiscard]] CellTime time_of(const Estimate& estimate, const RunSettings& settings, const MachineRate& rate);

/// Why a model does not fit into the free memory, `available` bytes: it needs its weights twice and its activations.
/// nullopt: it fits.
[[nodiscard]] std::optional<std::string> memory_shortfall(std::uint64_t weight_bytes, std::uint64_t activation_bytes,
                                                          std::uint64_t available);

/// The files of a zoo model that are on the disk at the same time while its cells run.
struct DiskUse {
  std::uint64_t bytes = 0;
  std::string files{};  ///< the files and their sizes, in words for people
};
/// `engines` may run the model; `generates`: it generates tokens, so that settings.kv_cache counts. The reference and
/// its perturbed copy count even if an earlier run left its outputs in the cache.
[[nodiscard]] DiskUse disk_use(std::uint64_t weight_bytes, const RunSettings& settings,
                               const std::vector<EngineEntry>& engines, bool generates);

/// Why the files do not fit on the disk of `folder`, which need not exist. nullopt: they fit, or it is unknown.
[[nodiscard]] std::optional<std::string> disk_shortfall(const DiskUse& use, const std::filesystem::path& folder);

/// Why a cell would probably not end within its --timeout: it takes more than half of it, and runtimes differ in how
/// much of a machine they use. nullopt: it would end, or it is unknown.
[[nodiscard]] std::optional<std::string> time_shortfall(const CellTime& time, const RunSettings& settings);

}  // namespace assay
