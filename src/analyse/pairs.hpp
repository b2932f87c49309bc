// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analyse/compare.hpp"
#include "result/record.hpp"

/// Used within this module, and by charts of ratios.
namespace assay {

/// Equal for the rows that are comparable(), and for no others.
[[nodiscard]] std::string cell_key(const Record& row);

/// Ranked and with a median.
[[nodiscard]] bool timed(const Record& row);

/// The cells that both targets have (comparable()) and that are timed().
[[nodiscard]] std::vector<CellPair> pairs_of(std::span<const Record> rows, const std::string& baseline,
                                             const std::string& candidate);

/// Those with two common rounds.
[[nodiscard]] std::vector<CellPair> with_rounds(std::vector<CellPair> pairs);

/// Whether a target computes wrong numbers for a model, at whatever shape: nobody should be sent to it.
[[nodiscard]] bool computes_wrong(std::span<const Record> rows, const std::string& model, const std::string& target);

/// Why a model's only row at its cell is compared with nothing: "the only verified choice here", "nothing to compare it
/// with: no other target was tried".
[[nodiscard]] std::string why_alone(std::span<const Record> rows, const Record& first);

/// The row with the time of one item in place of that of a run: its median and those of its launches.
[[nodiscard]] Record per_item(Record row);

/// How far the row is ahead of another one: "2.00× as fast as cpu (95 %: 1.95 to 2.05)", "no difference shown with cpu
/// (± 6 %)", "not compared with cpu: one process each". `ahead`: of the first (baseline) with the other.
[[nodiscard]] std::string ahead_words(const CellComparison& ahead, const std::string& other);

}  // namespace assay
