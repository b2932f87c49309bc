// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <assay/result.hpp>

#include "core/base/radix_sort.hpp"
#include "core/stats/stats.hpp"

namespace assay::stats {

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double standard_deviation(std::span<const double> values) {
  if (values.size() < 2) return 0.0;
  const double centre = mean(values);
  const double squares = std::accumulate(values.begin(), values.end(), 0.0,
                                         [&](double sum, double x) { return sum + (x - centre) * (x - centre); });
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

std::size_t count_outliers(std::span<const double> series) {
  constexpr double kLeastFence = 0.001;
  constexpr double kMostOfTimer = 0.1;
  if (series.empty()) return 0;
  std::vector<double> sorted(series.begin(), series.end());
  sort_by_key(sorted, [](double x) { return sort_key(x); });
  for (double& x : sorted) x = std::log(std::max(x, std::numeric_limits<double>::min()));
  const double median = quantile_sorted(sorted, 0.5);
  double tick = std::numeric_limits<double>::infinity();
  for (std::size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i] > sorted[i - 1]) tick = std::min(tick, sorted[i] - sorted[i - 1]);
  const double spread = 3.0 * (quantile_sorted(sorted, 0.75) - quantile_sorted(sorted, 0.25));
  const double fence = std::max({spread, std::min(3.0 * tick, kMostOfTimer), kLeastFence});
  return static_cast<std::size_t>(
      std::count_if(sorted.begin(), sorted.end(), [&](double x) { return std::abs(x - median) > fence; }));
}

RatioEstimate paired_ratio(std::span<const double> baseline, std::span<const double> candidate, double confidence) {
  ASSAY_CHECK(baseline.size() == candidate.size() && !baseline.empty(), "ratios need pairs");
  std::vector<double> logs(baseline.size());
  std::transform(candidate.begin(), candidate.end(), baseline.begin(), logs.begin(),
                 [](double c, double b) { return std::log(c / b); });
  const double centre = mean(logs);
  RatioEstimate estimate{std::exp(centre), {0.0, std::numeric_limits<double>::infinity()}, logs.size()};
  if (logs.size() < 2) return estimate;
  const auto n = static_cast<double>(logs.size());
  const double half = student_quantile(0.5 * (1.0 + confidence), n - 1.0) * standard_deviation(logs) / std::sqrt(n);
  estimate.interval = {std::exp(centre - half), std::exp(centre + half)};
  return estimate;
}

}  // namespace assay::stats
