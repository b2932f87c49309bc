// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/samples/measurement.hpp"

namespace assay {

/// Decides when there are enough samples; it does not depend on a clock or an engine.
///
/// At checkpoints (the 30th sample, then each time there are a tenth more) it searches the steady part and checks
/// whether the 95 % interval of its median, which is what will be reported, is within plan.relative_precision. Two
/// consecutive successes end the sampling, but not before plan.min_time_ns. Geometric checkpoints preserve the coverage
/// of the interval (infra.md A.2).
class StopRule {
 public:
  explicit StopRule(const MeasurePlan& plan) : plan_(plan), next_checkpoint_(plan.min_samples) {}

  /// `runs`: durations of all runs of the window so far, ns, in order of completion.
  [[nodiscard]] std::optional<StopReason> decide(std::span<const double> runs, std::int64_t elapsed_ns);
  /// Whether decide() computes statistics with so many runs.
  [[nodiscard]] bool due(std::size_t runs) const {
    return !plan_.iterations && static_cast<std::int64_t>(runs) >= next_checkpoint_;
  }

 private:
  [[nodiscard]] bool precise(std::span<const double> runs) const;

  MeasurePlan plan_;
  std::int64_t next_checkpoint_;
  int held_ = 0;  ///< consecutive checkpoints with the precision
};

/// Half the width of the median's 95 % interval divided by the median; absent if there is no interval.
[[nodiscard]] std::optional<double> median_half_width(std::span<const double> runs);

/// Decides when a warm-up may end: see measure().
class WarmupRule {
 public:
  WarmupRule(const MeasurePlan& plan, std::size_t streams) : plan_(plan), window_(5 * streams) {}
  /// The median run of one burst, in order of completion.
  void add(double burst_median) { medians_.push_back(burst_median); }
  [[nodiscard]] bool done(std::int64_t elapsed_ns) const;

 private:
  MeasurePlan plan_;
  std::size_t window_;
  std::vector<double> medians_;
};

}  // namespace assay
