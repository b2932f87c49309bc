// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "bench/plan/task.hpp"
#include "core/result/record.hpp"
#include "core/samples/measurement.hpp"

namespace assay {

/// A launch of a cell that is over.
struct Launch {
  Record row;
  Samples samples{};            ///< the steady ones
  std::string outputs{};        ///< identifies the outputs; "": there are none
  std::filesystem::path log{};  ///< the worker's log file; empty: it has no log
  bool beside_others = false;   ///< another process measured on this machine meanwhile
  bool resumed = false;         ///< an earlier invocation made the launch: --resume kept it
  std::string unsaved{};        ///< why it has no bundle, so that the database will not have it; "": it has one
};

/// How long one launch may warm up and sample, and how precise it has to be.
struct LaunchLimits {
  /// The launch's share of --max-time; nullopt: no limit.
  std::optional<std::chrono::nanoseconds> share{};
  /// The time of all launches: one launch may use it if kRunsAtLeast runs exceed `share`.
  std::optional<std::chrono::nanoseconds> whole{};
  std::optional<double> spread{};  ///< spread between the earlier launches; nullopt: fewer than two

  /// Lowers the limits of the plan. A quarter of the time is for the warm-up. Half-widths below a third of the spread
  /// add little to the interval over launches. `run`: the time of one run.
  void apply_to(MeasurePlan& plan, std::chrono::nanoseconds run) const;
};

/// What the launches of a cell share.
struct SharedTime {
  std::int64_t launches = 1;
  std::optional<std::chrono::nanoseconds> max_time{};
};
[[nodiscard]] inline SharedTime shared_time(const Task& task) { return {task.launches, task.max_time}; }

inline constexpr int kRunsAtLeast = 4;  ///< minimum number of runs in a launch: one to warm up, three samples

/// For the next launch after these of one cell.
[[nodiscard]] LaunchLimits next_limits(const SharedTime& cell, std::span<const Launch> before);

/// The median time of one run; 0: unknown.
[[nodiscard]] std::chrono::nanoseconds run_time(const Record& launch);

/// Whether one launch needs the time that --max-time gives to all launches of the cell: a warm-up and three runs take
/// more than its share of it. `run`: the time of one run.
[[nodiscard]] bool fills_its_time(const SharedTime& cell, std::chrono::nanoseconds run);

/// Whether the launch is of use for the cell: it ended, and was not cut short. After another one --resume tries the
/// cell again.
[[nodiscard]] bool settled(const Record& launch);

/// The row of the cell: combine_launches(). At least one launch. `refused`: one that was_refused(), or null.
[[nodiscard]] Record cell_row(std::span<const Launch> launches, const Launch* refused = nullptr);

}  // namespace assay
