// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "stats/stats.hpp"

namespace assay::stats {
namespace {

// Ranks of an interval, counted from 1. Outside of [1, n] the bound does not exist.
struct Ranks {
  std::int64_t low, high;
};

// The exact ranks for independent samples: P(fewer than `low` lie below the quantile) and P(at least `high` do) are
// each at most (1 - confidence) / 2.
Ranks binomial_ranks(std::int64_t n, double p, double confidence) {
  const double tail = 0.5 * (1.0 - confidence);
  // The least k in [0, n] with binomial_cdf(k) above (or not below) a bound.
  const auto least = [&](auto&& reached) {
    std::int64_t low = -1, high = n;
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (reached(binomial_cdf(middle, n, p)) ? high : low) = middle;
    }
    return high;
  };
  const std::int64_t low = least([&](double cdf) { return cdf > tail; });
  const std::int64_t high = least([&](double cdf) { return cdf >= 1.0 - tail; }) + 1;
  return {low, high};
}

Ranks inflated_ranks(std::int64_t n, double p, double confidence, double tau) {
  const auto count = static_cast<double>(n);
  const double half = normal_quantile(0.5 * (1.0 + confidence)) * std::sqrt(count * tau * p * (1.0 - p));
  return {static_cast<std::int64_t>(std::floor(count * p - half)),
          static_cast<std::int64_t>(std::ceil(count * p + half))};
}

// ceil(p n), with p as the decimal number that it prints as: 0.07 * 100 is 7, although the double is slightly larger.
std::size_t nearest_rank(std::size_t n, double p) {
  const double exact = p * static_cast<double>(n);
  const double whole = std::round(exact);
  const double rank = std::abs(exact - whole) <= 1e-12 * std::max(1.0, exact) ? whole : std::ceil(exact);
  return std::clamp<std::size_t>(static_cast<std::size_t>(std::max(rank, 1.0)), 1, n);
}

}  // namespace

double quantile_sorted(std::span<const double> sorted, double p) { return sorted[nearest_rank(sorted.size(), p) - 1]; }

std::size_t minimum_samples(double p, double confidence) {
  const double rarer = std::max(p, 1.0 - p);
  if (!(rarer < 1.0)) return std::numeric_limits<std::size_t>::max();
  return static_cast<std::size_t>(std::ceil(std::log(0.5 * (1.0 - confidence)) / std::log(rarer)));
}

QuantileEstimate estimate_quantile(std::span<const double> series, double p, double confidence) {
  constexpr std::size_t kExactBelow = 30;
  const std::size_t n = series.size();
  std::vector<double> sorted(series.begin(), series.end());
  std::sort(sorted.begin(), sorted.end());
  QuantileEstimate estimate;
  estimate.value = quantile_sorted(sorted, p);

  std::vector<double> indicator(n);
  std::transform(series.begin(), series.end(), indicator.begin(),
                 [&](double x) { return x <= estimate.value ? 1.0 : 0.0; });
  estimate.tau = autocorrelation_time(indicator);
  estimate.few_samples = static_cast<double>(n) < static_cast<double>(minimum_samples(p, confidence)) * estimate.tau;

  const auto count = static_cast<std::int64_t>(n);
  const bool exact = n < kExactBelow || estimate.tau == 1.0;
  const Ranks ranks = exact ? binomial_ranks(count, p, confidence) : inflated_ranks(count, p, confidence, estimate.tau);
  if (ranks.low >= 1 && ranks.high <= count)
    estimate.interval =
        Interval{sorted[static_cast<std::size_t>(ranks.low) - 1], sorted[static_cast<std::size_t>(ranks.high) - 1]};
  return estimate;
}

std::string quantile_quality(const QuantileEstimate& estimate, std::size_t n, double p, double confidence) {
  if (!estimate.few_samples) return "ok";
  const std::size_t minimum = minimum_samples(p, confidence);
  const double needed = std::ceil(static_cast<double>(minimum) * estimate.tau);
  const std::string product = estimate.tau > 1.0 ? fmt::format("={}x{:.3g}", minimum, estimate.tau) : std::string();
  return fmt::format("few_samples(n={}<{:.0f}{})", n, needed, product);
}

}  // namespace assay::stats
