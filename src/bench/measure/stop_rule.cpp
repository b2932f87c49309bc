// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/stop_rule.hpp"

#include <algorithm>
#include <cmath>

#include "core/stats/stats.hpp"

namespace assay {
namespace {

constexpr double kCheckpointGrowth = 1.1;
constexpr double kWarmupAgreement = 0.02;
constexpr std::int64_t kMinWarmupNs = 100'000'000;

bool within(std::optional<double> half_width, double limit) { return half_width && *half_width <= limit; }

double median(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return stats::quantile_sorted(sorted, 0.5);
}

}  // namespace

std::optional<double> median_half_width(std::span<const double> runs) {
  if (runs.empty()) return std::nullopt;
  const auto estimate = stats::estimate_quantile(runs, 0.5);
  if (!estimate.interval || !(estimate.value > 0)) return std::nullopt;
  return (estimate.interval->high - estimate.interval->low) / 2 / estimate.value;
}

bool StopRule::precise(std::span<const double> runs) const {
  // The search for the steady part costs more than the interval, and what it cuts off is less than half.
  if (const auto all = median_half_width(runs); all && *all > 2 * plan_.relative_precision) return false;
  const auto steady = runs.subspan(stats::detect_steady_state(runs).steady_from);
  return static_cast<std::int64_t>(steady.size()) >= plan_.min_samples &&
         within(median_half_width(steady), plan_.relative_precision);
}

std::optional<StopReason> StopRule::decide(std::span<const double> runs, std::int64_t elapsed_ns) {
  const auto n = static_cast<std::int64_t>(runs.size());
  const bool late = elapsed_ns >= plan_.max_time_ns && n >= plan_.min_samples_at_time_limit;
  if (plan_.iterations) {
    if (n >= *plan_.iterations) return StopReason::kIterations;
    return late && plan_.time_limits_iterations ? std::optional(StopReason::kMaxTime) : std::nullopt;
  }
  if (n >= next_checkpoint_) {
    next_checkpoint_ = static_cast<std::int64_t>(std::ceil(static_cast<double>(n) * kCheckpointGrowth));
    held_ = precise(runs) ? held_ + 1 : 0;
  }
  if (held_ >= 2 && elapsed_ns >= plan_.min_time_ns) return StopReason::kPrecisionReached;
  if (n >= plan_.max_samples) return StopReason::kMaxSamples;
  if (late) return StopReason::kMaxTime;
  return std::nullopt;
}

bool WarmupRule::done(std::int64_t elapsed_ns) const {
  if (elapsed_ns >= plan_.max_warmup_ns) return true;
  if (elapsed_ns < kMinWarmupNs || medians_.size() < 2 * window_) return false;
  const std::span<const double> all = medians_;
  const double recent = median(all.last(window_));
  const double before = median(all.subspan(all.size() - 2 * window_, window_));
  return recent >= before * (1 - kWarmupAgreement);
}

}  // namespace assay
