// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "show/report/report.hpp"
#include "show/report/terminal.hpp"

/// The parts of summary_table(). Used within this module only.
namespace assay {

/// A line for each model: its fastest runtime, the time, by how much it is ahead, and the states of its cells. Then how
/// sure the answers are.
[[nodiscard]] std::string models_section(std::span<const Record> rows, const std::optional<MachineScore>& machine,
                                         const Colours& colours, std::size_t width);

/// What failed, and why: each cause once, with its cells, what to do and, where there is one, the log.
[[nodiscard]] std::string failures_section(std::span<const Record> rows, const ReportedFiles& files,
                                           const Colours& colours, std::size_t width);

/// A bar of at most `length` columns for the median of each row, on a logarithmic scale from the fastest to the slowest
/// row of its model; "" without a median, or for a model with fewer than two.
[[nodiscard]] std::vector<std::string> bars_of(std::span<const Record> rows, std::size_t length);

/// Notes with those that differ only in numbers and names in backquotes as one: "3 × …", the first of them.
[[nodiscard]] std::vector<std::string> folded_notes(const std::vector<std::string>& notes);

}  // namespace assay
