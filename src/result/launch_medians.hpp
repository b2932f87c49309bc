// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <assay/result.hpp>

#include "result/record.hpp"

namespace assay {

/// The median of one launch of a cell.
struct LaunchMedian {
  std::int64_t launch = 1;  ///< its number: that of its round, unique within the cell
  double p50_ms = 0;
};

/// The text of the field `launch_p50_ms`: "1:1.234 2:1.24", in the given order. Numbers are written in full, so that
/// parsing gives the same values.
[[nodiscard]] std::string launch_medians_text(std::span<const LaunchMedian> medians);

/// The opposite. "" has none. Errors: invalid_argument, which names the part that is not `NUMBER:MILLISECONDS`, or a
/// number that is there twice.
[[nodiscard]] Result<std::vector<LaunchMedian>> parse_launch_medians(std::string_view text);

/// The medians of the launches of a row, by number. A row without `launch_p50_ms` that has a median is one launch: its
/// `launch_number`, or 1. None if nothing was measured or the text is invalid.
[[nodiscard]] std::vector<LaunchMedian> launch_medians(const Record& row);

/// "2 of 3 launches: WHY": the part of a row's message that says why a cell has fewer launches than planned. The parts
/// of a message are separated by "; ".
[[nodiscard]] std::string launches_note(std::int64_t made, std::int64_t planned, std::string_view why);

/// Such a part of a message.
struct LaunchesNote {
  std::int64_t made = 0;
  std::string_view why;  ///< of the given text
};
/// nullopt: the part says something else.
[[nodiscard]] std::optional<LaunchesNote> parse_launches_note(std::string_view part);

/// Whether the row is of a cell that was measured in fewer launches than planned.
[[nodiscard]] bool has_fewer_launches(const Record& row);

}  // namespace assay
