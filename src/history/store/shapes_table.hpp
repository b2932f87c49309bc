// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/json.hpp"
#include "history/store/dataset.hpp"

/// The table launch_shapes.
namespace assay::duckdb {

inline const std::array<std::string, 11> kShapeColumns{"launch_id",    "kind",      "samples",   "steady",
                                                       "low_ns",       "high_ns",   "window_ns", "first_steady_bin",
                                                       "whole_window", "quantiles", "bins"};
/// A row, as cells of an appender with these columns.
[[nodiscard]] std::vector<Json> shape_cells(std::int64_t launch_id, const LaunchShape& shape);

}  // namespace assay::duckdb
