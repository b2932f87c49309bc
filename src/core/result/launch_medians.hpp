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

/// Flags of launches that say why their cell gets fewer than planned. The row of a cell has them if it has fewer.
namespace flag {
inline constexpr std::string_view kLimitedByBudget = "limited_by_budget";
inline constexpr std::string_view kLimitedByMaxTime = "limited_by_max_time";
}  // namespace flag

/// Whether the row is of a launch for which `--budget` left no time, though others of its cell had run.
[[nodiscard]] bool was_refused(const Record& launch);

/// Whether the row is of a cell that was measured in fewer launches than planned.
[[nodiscard]] bool has_fewer_launches(const Record& row);

/// Why, in words, by the flags above. "": it has not, or no flag says why.
[[nodiscard]] std::string why_fewer_launches(const Record& row);

/// "2 of 3 launches: WHY", for the row's message. "": it has not fewer, or no flag says why.
[[nodiscard]] std::string launches_note(const Record& row);

}  // namespace assay
