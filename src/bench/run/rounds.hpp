// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "bench/plan/schedule.hpp"
#include "bench/run/local_task.hpp"

// Which cells are launched in the next round. Nothing runs here.
namespace assay {

/// How many launches the cell still needs. None after one that did not end well: the row of the cell says so already,
/// and --resume tries again.
[[nodiscard]] std::int64_t missing_launches(const LocalTask& cell);

/// Whether --resume would launch the cell again, because it has fewer launches than planned or one was interrupted. A
/// cell of which a launch failed, computed wrong numbers or fills the time of all is as complete as it gets.
[[nodiscard]] bool lacks_launches(const LocalTask& cell);

/// The next of the rounds that were planned: the cells that still need launches, in the order of schedule_round().
/// Empty: all have theirs. `round`: its number. If every cell has one launch only, the order is that of the plan.
[[nodiscard]] std::vector<ScheduledLaunch> next_round(std::span<const LocalTask> cells, std::int64_t round);

/// A further round for pairs that are still undecided: of each group of comparable cells (core/traits/cell.hpp) the
/// fastest and the second fastest, if another round may still decide which is faster (core/stats/launches.hpp). Only
/// cells with at least two rounds in common, all launches of which ended well, and only within three times their
/// --max-time. `seconds`: what there is for this round; pairs whose launches take least come first.
[[nodiscard]] std::vector<ScheduledLaunch> further_round(std::span<const LocalTask> cells, std::int64_t round,
                                                         double seconds = std::numeric_limits<double>::infinity());

/// One more round of the cells that contradict each other (core/traits/inconsistency.hpp): one of the two
/// was disturbed, or the runtime computes them differently. Only cells with several planned launches, all of which
/// ended well, and only within three times their --max-time. To be used once.
[[nodiscard]] std::vector<ScheduledLaunch> repeated_round(std::span<const LocalTask> cells, std::int64_t round);

}  // namespace assay
