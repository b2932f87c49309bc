// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "core/result/record.hpp"
#include "core/samples/measurement.hpp"

/// The row of a cell, from the rows and samples of its launches. The session and the database call the same function,
/// so that a report and a query show the same numbers. Out of scope: which launches there are
/// (bench/plan/schedule.hpp), and whether two cells differ (core/stats/launches.hpp).
namespace assay {

/// One launch of a cell. Lifetime: both outlive the call.
struct LaunchSamples {
  const Record* row = nullptr;
  const Samples* samples = nullptr;  ///< the steady samples; null if there are none
};

/// The samples from index `first` on: the steady ones of a launch.
[[nodiscard]] Samples steady_part(Samples samples, std::size_t first);

/// The launches that count, as indices, by launch number. A row without a launch number is launch 1. Left out are:
///
///   - of several attempts of one launch, all but the newest that was not cut short (flag `partial`);
///   - launches that were cut short, if there is another that was not;
///   - launches for which there was no time (was_refused()), if there is another that was not cut short;
///   - launches that failed, or did not run, if an attempt with a higher `attempt_number` was not cut short: --resume
///     ran the cell again;
///   - rows with the flag `imported`, each of a cell of its file, if there is a launch of that cell that was measured
///     here: an imported result never replaces an own one (core/result/newest.hpp).
[[nodiscard]] std::vector<std::size_t> counted_launches(std::span<const Record* const> rows);

/// The row of a cell. `launches`: all of one cell in one run, at least one, in any order; those that do not count are
/// left out. With one measured launch its statistics are copied; so is what it says of its launches if it is of several
/// itself (a row that was imported from a file). With several:
///
/// Median:     latency_p50_ms is the geometric mean of the launches' medians, its interval is Student's over them
///             (core/stats/launches.hpp); latency_p50_interval, launch_p50_ms, launch_spread and launches describe it.
///             The medians of the times of tokens, and their intervals, likewise.
/// Statistics: summarise() over the samples of all launches, one after the other. With several streams the throughput
///             is the items of all windows over the length of all windows.
/// Verdict:    status, verification and the errors are those of the worst launch; `message` has every part of the
///             launches' messages once.
/// Flags:      a flag holds if more than a third of the launches have it; seeded, scaled, simulated and software hold
///             if any launch has it. The same limit decides for steady_class. limited_by_budget and limited_by_max_time
///             hold if any launch has them and fewer were measured than planned; the end of `message` says it in words.
/// Memory:     of the launch with the most, among those in a fresh process if there are any.
/// Load times: the median of the launches that have the time.
/// Others:     of the first launch; `timestamp` and `attempt_number` of the newest.
[[nodiscard]] Record combine_launches(std::span<const LaunchSamples> launches);

}  // namespace assay
