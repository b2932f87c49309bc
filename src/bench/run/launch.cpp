// SPDX-License-Identifier: Apache-2.0
#include "bench/run/launch.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/samples/launches.hpp"
#include "core/stats/launches.hpp"

namespace assay {
namespace {

constexpr int kWarmupShare = 4;     ///< the warm-up has this part of a launch's time
constexpr double kSpreadShare = 3;  ///< a half-width of this part of the spread is precise enough

}  // namespace

void LaunchLimits::apply_to(MeasurePlan& plan, std::chrono::nanoseconds run) const {
  if (spread) plan.relative_precision = std::max(plan.relative_precision, *spread / kSpreadShare);
  if (!share) return;
  const std::int64_t time = (kRunsAtLeast * run > *share ? *whole : *share).count();
  plan.max_warmup_ns = std::min(plan.max_warmup_ns, time / kWarmupShare);
  plan.max_time_ns = std::min(plan.max_time_ns, time - plan.max_warmup_ns);
  plan.min_time_ns = std::min(plan.min_time_ns, plan.max_time_ns);
  plan.time_limits_iterations = true;
}

LaunchLimits next_limits(const SharedTime& cell, std::span<const Launch> before) {
  LaunchLimits limits;
  if (cell.max_time) {
    limits.whole = cell.max_time;
    limits.share = *cell.max_time / std::max<std::int64_t>(1, cell.launches);
  }
  std::vector<double> medians;
  for (const Launch& launch : before)
    if (settled(launch.row) && launch.row.latency_p50_ms) medians.push_back(*launch.row.latency_p50_ms);
  if (medians.size() > 1) limits.spread = stats::estimate_over_launches(medians).spread;
  return limits;
}

std::chrono::nanoseconds run_time(const Record& launch) {
  return std::chrono::nanoseconds(std::llround(launch.latency_p50_ms.value_or(0) * 1e6));
}

bool fills_its_time(const SharedTime& cell, std::chrono::nanoseconds run) {
  return cell.launches > 1 && cell.max_time && kRunsAtLeast * run > *cell.max_time / cell.launches;
}

bool settled(const Record& launch) { return launch.settled(false); }

Record cell_row(std::span<const Launch> launches, const Launch* refused) {
  std::vector<LaunchSamples> samples;
  samples.reserve(launches.size());
  for (const Launch& launch : launches) samples.push_back({&launch.row, &launch.samples});
  if (refused != nullptr) samples.push_back({&refused->row, nullptr});
  return combine_launches(samples);
}

}  // namespace assay
