// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/result/record.hpp"

namespace assay {

/// Two cells of one model on one target that differ only in the batch, of which the larger takes less time in all.
struct Inconsistency {
  std::size_t smaller = 0, larger = 0;  ///< indices of the rows
};
/// Completed and measured rows, each smaller batch with the nearest larger one: the median of the larger is below 0.95
/// of that of the smaller and their intervals are disjoint, or it is below 0.8 of it; by 2 µs at least. One of the two
/// was disturbed, or the runtime computes the two differently; measuring both again shows which.
[[nodiscard]] std::vector<Inconsistency> inconsistent_cells(std::span<const Record> rows);

/// Whether a row is one of those.
[[nodiscard]] std::vector<bool> inconsistent_rows(std::span<const Record> rows);

}  // namespace assay
