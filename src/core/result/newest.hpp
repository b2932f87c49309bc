// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/clock.hpp"
#include "core/result/record.hpp"

/// Which of several results is the newest (docs/metrics.md, "The newest result"): the one definition for everything
/// that shows or uses one result of several. In SQL it is `$newest_first` (history/store/queries.hpp), and the view
/// latest_results has it too.
namespace assay {

/// Whether a result was read from a file instead of measured with this database.
[[nodiscard]] inline bool is_imported(const Record& row) { return row.flags.has(Flag::kImported); }

/// Greater is newer: every own result before every imported one, then by time.
[[nodiscard]] inline std::pair<bool, std::string_view> newness(const Record& row) {
  return {!is_imported(row), row.timestamp};
}

/// How far the clocks of two machines may differ. Clocks that are set by a network differ by less than a second; but
/// files of other tools have local times without a zone, which are read as UTC and may be 14 hours ahead.
inline constexpr std::chrono::hours kClockAllowance{24};
/// A clock that lost its battery begins at 1970, 1980 or 2000, and no runtime that assay measures is older than this.
inline constexpr std::chrono::sys_days kEarliestTime{std::chrono::year{2010} / std::chrono::January / 1};

/// Whether a result or a run can have this time at `now`: one that parse_iso8601() reads, not before kEarliestTime, and
/// at most kClockAllowance in the future.
[[nodiscard]] bool is_credible_time(std::string_view time, WallTime now);

/// `time`, or `now` if it is not credible. No time ("") stays.
[[nodiscard]] std::string credible_time(std::string time, WallTime now);

/// The same for the time of a result, which gets the flag `doubtful_time` if it changes: a time in the future would
/// make it the newest for ever.
void correct_time(Record& row, WallTime now);

}  // namespace assay
