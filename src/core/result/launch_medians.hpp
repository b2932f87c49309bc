// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <assay/result.hpp>

#include "core/result/record.hpp"

namespace assay {

/// The text of the field `launch_p50_ms`: "1:1.234 2:1.24", in the given order. Numbers are written in full, so that
/// parsing gives the same values.
[[nodiscard]] std::string launch_medians_text(std::span<const LaunchMedian> medians);

/// The opposite. "" has none. Errors: invalid_argument, which names the part that is not `NUMBER:MILLISECONDS`, or a
/// number that is there twice.
[[nodiscard]] Result<LaunchMedians> parse_launch_medians(std::string_view text);

/// The medians of the launches of a row, by number. A row without `launch_p50_ms` that has a median is one launch: its
/// `launch_number`, or 1. None if nothing was measured or the text is invalid.
[[nodiscard]] std::vector<LaunchMedian> launch_medians(const Record& row);

/// Whether the row is of a launch for which `--budget` left no time, though others of its cell had run.
[[nodiscard]] bool was_refused(const Record& launch);

/// Whether the row is of a cell that was measured in fewer launches than planned.
[[nodiscard]] bool has_fewer_launches(const Record& row);

/// Why, in words, by the flags limited_by_budget and limited_by_max_time. "": it has not, or no flag says why.
[[nodiscard]] std::string why_fewer_launches(const Record& row);

/// "2 of 3 launches: WHY", for the row's message. "": it has not fewer, or no flag says why.
[[nodiscard]] std::string launches_note(const Record& row);

}  // namespace assay
