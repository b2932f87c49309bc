// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analyse/compare.hpp"
#include "result/record.hpp"

/// Used within this module only.
namespace assay {

/// Ranked and with a median.
[[nodiscard]] bool timed(const Record& row);

/// The cells that both targets have (comparable()) and that are timed().
[[nodiscard]] std::vector<CellPair> pairs_of(std::span<const Record> rows, const std::string& baseline,
                                             const std::string& candidate);

/// Those with two common rounds.
[[nodiscard]] std::vector<CellPair> with_rounds(std::vector<CellPair> pairs);

}  // namespace assay
