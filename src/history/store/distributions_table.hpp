// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/json.hpp"
#include "history/store/dataset.hpp"

/// The table sample_distributions.
namespace assay::duckdb {

inline const std::array<std::string, 10> kDistributionColumns{"launch_id", "kind",    "samples",   "steady",
                                                              "low_ns",    "high_ns", "window_ns", "first_steady_bin",
                                                              "quantiles", "bins"};
/// A row, as cells of an appender with these columns.
[[nodiscard]] std::vector<Json> distribution_cells(std::int64_t launch_id, const SampleDistribution& distribution);

}  // namespace assay::duckdb
