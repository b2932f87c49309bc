// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/result/record.hpp"
#include "history/analyse/compare.hpp"

/// Used within this module, by charts, by the document of the dashboard, and by the compatibility matrix.
namespace assay {

/// Ranked and with a median.
[[nodiscard]] bool timed(const Record& row);

/// For each row whether it may be called the best of its cell, or be recommended: timed(), and its target computes
/// wrong numbers for the model at no shape on that machine.
[[nodiscard]] std::vector<bool> usable_rows(std::span<const Record> rows);

/// The cells that both targets have (comparable()), of the usable_rows().
[[nodiscard]] std::vector<CellPair> pairs_of(std::span<const Record> rows, const std::string& baseline,
                                             const std::string& candidate);

/// Those with two common rounds.
[[nodiscard]] std::vector<CellPair> with_rounds(std::vector<CellPair> pairs);

/// Whether a target computes wrong numbers for a model, at whatever shape: nobody should be sent to it.
[[nodiscard]] bool computes_wrong(std::span<const Record> rows, const std::string& model, const std::string& target);

/// Why a model's only row at its cell is compared with nothing: "the only verified choice here", "nothing to compare it
/// with: no other target was tried".
[[nodiscard]] std::string why_alone(std::span<const Record> rows, const Record& first);

/// What memory is compared of: a process, or a device. A warm worker's peak may be that of an earlier shape: "".
[[nodiscard]] std::string memory_kind(const Record& row);
/// The kind that most of the rows have: memory of different kinds is not compared.
[[nodiscard]] std::string most_common_memory_kind(std::span<const Record> rows);
[[nodiscard]] std::string most_common_memory_kind(std::span<const Record* const> rows);

/// The row with the time of one item in place of that of a run: its median and those of its launches.
[[nodiscard]] Record per_item(Record row);

/// How far the row is ahead of another one: "2.00× as fast as cpu (95 %: 1.95 to 2.05)", "no difference shown with cpu
/// (± 6 %)", "not compared with cpu: one process each". `ahead`: of the first (baseline) with the other.
[[nodiscard]] std::string ahead_words(const CellComparison& ahead, const std::string& other);

}  // namespace assay
