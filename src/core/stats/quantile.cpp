// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "core/base/radix_sort.hpp"
#include "core/stats/stats.hpp"

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

namespace {

constexpr double kLeastSamples = 30.0;       // of an interval: the correlation of fewer cannot be estimated
constexpr double kLeastIndependent = 10.0;   // n / tau
constexpr double kLeastByNeighbours = 15.0;  // n / (autocorrelation time by the correlation of neighbours)
constexpr double kLeastFreedom = 2.0;
constexpr double kMostCorrelation = 0.9999;

struct Ranked {
  std::vector<double> sorted;
  /// The rank of each value of the series; the lowest rank is 0.5. Equal values have the middle of their ranks.
  std::vector<double> ranks;
};

// One sort for both.
Ranked ranked(std::span<const double> series) {
  const std::size_t n = series.size();
  struct Place {
    double value = 0.0;
    std::size_t index = 0;
  };
  std::vector<Place> order(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = {series[i], i};
  sort_by_key(order, [](const Place& place) { return sort_key(place.value); });
  Ranked result{std::vector<double>(n), std::vector<double>(n)};
  for (std::size_t first = 0, last = 0; first < n; first = last) {
    last = first + 1;
    while (last < n && order[last].value == order[first].value) ++last;
    for (std::size_t i = first; i < last; ++i) {
      result.sorted[i] = order[i].value;
      result.ranks[order[i].index] = 0.5 * static_cast<double>(first + last);
    }
  }
  return result;
}

// An autoregressive series with the rank correlation of neighbours that was found in n values. What is found is too
// small by (1 + 4 r) / n (Kendall, "Note on bias in the estimation of autocorrelation", Biometrika 1954).
struct Autoregressive {
  double r, error;
  Autoregressive(double found, double n)
      : r(std::clamp(found + (1.0 + 4.0 * found) / n, 0.0, kMostCorrelation)), error(std::sqrt((1.0 - r * r) / n)) {}
  [[nodiscard]] double time() const { return (1.0 + r) / (1.0 - r); }
  // Autocorrelation time of [x <= median] of a normal series: neighbours at a distance k have the correlation
  // 2 / pi * asin(r^k) (Sheppard 1899). With a correlation that is one standard error larger.
  [[nodiscard]] double median_time() const {
    const double most = std::min(r + error, kMostCorrelation);
    double sum = 0.0;
    for (double power = most; power > 1e-4; power *= most) sum += std::asin(power);
    return 1.0 + 4.0 / std::numbers::pi * sum;
  }
};

// Samples that an interval needs: so many, each of which counts for `time` others.
void set_needed(double least, double time, QuantileEstimate& estimate) {
  if (least * time <= estimate.needed()) return;
  estimate.least = least;
  estimate.time = time;
}

}  // namespace

std::vector<QuantileEstimate> estimate_quantiles(std::span<const double> series, std::span<const double> quantiles,
                                                 double confidence) {
  const std::size_t n = series.size();
  const auto count = static_cast<double>(n);
  const auto [sorted, ranks_of_series] = ranked(series);
  const CorrelationTime all = correlation_time(ranks_of_series);
  const Autoregressive model(all.neighbours, count);

  std::vector<QuantileEstimate> estimates;
  std::vector<double> indicator(n);
  for (const double p : quantiles) {
    QuantileEstimate& estimate = estimates.emplace_back();
    estimate.value = quantile_sorted(sorted, p);
    std::transform(series.begin(), series.end(), indicator.begin(),
                   [&](double x) { return x <= estimate.value ? 1.0 : 0.0; });
    const CorrelationTime found = correlation_time(indicator, all.lags);
    // A sum of K = 2 lags - 1 covariances around the sample's own mean is too small by its K / n-th part, and as
    // uncertain as a variance of n / K degrees of freedom.
    const double window = (2.0 * static_cast<double>(found.lags) - 1.0) / count;
    const bool independent = found.tau == 1.0;
    if (!independent) estimate.tau = found.tau / (1.0 - std::min(window, 0.9));
    set_needed(kLeastSamples, 1.0, estimate);
    set_needed(std::max(static_cast<double>(minimum_samples(p, confidence)), kLeastIndependent), estimate.tau,
               estimate);
    set_needed(kLeastByNeighbours, model.time(), estimate);
    estimate.few_samples = true;
    if (count < estimate.needed()) continue;

    Ranks ranks = binomial_ranks(static_cast<std::int64_t>(n), p, confidence);
    if (!independent) {
      const double two_sided = 0.5 * (1.0 + confidence);
      const double errors = student_quantile(two_sided, 1.0 / window) * std::sqrt(estimate.tau);
      const double by_model = p == 0.5 ? normal_quantile(two_sided) * std::sqrt(model.median_time()) : 0.0;
      const double half = std::max(errors, by_model) * std::sqrt(count * p * (1.0 - p));
      ranks.low = std::min(ranks.low, static_cast<std::int64_t>(std::floor(count * p - half)));
      ranks.high = std::max(ranks.high, static_cast<std::int64_t>(std::ceil(count * p + half)));
    }
    const bool uncertain = !independent && kLeastFreedom * window > 1.0;
    if (uncertain || ranks.low < 1 || ranks.high > static_cast<std::int64_t>(n)) {
      set_needed(estimate.least, (count + 1.0) / estimate.least, estimate);  // more than there are
      continue;
    }
    estimate.few_samples = false;
    estimate.interval =
        Interval{sorted[static_cast<std::size_t>(ranks.low) - 1], sorted[static_cast<std::size_t>(ranks.high) - 1]};
  }
  return estimates;
}

QuantileEstimate estimate_quantile(std::span<const double> series, double p, double confidence) {
  return estimate_quantiles(series, std::span(&p, 1), confidence).front();
}

namespace {
constexpr std::string_view kFewSamples = "few_samples";
}  // namespace

std::string quantile_quality(const QuantileEstimate& estimate, std::size_t n) {
  if (!estimate.few_samples) return "ok";
  const std::string product =
      estimate.time > 1.0 ? fmt::format("={:.0f}x{:.3g}", estimate.least, estimate.time) : std::string();
  return fmt::format("{}(n={}<{:.0f}{})", kFewSamples, n, estimate.needed(), product);
}

bool has_few_samples(std::string_view quality) { return quality.starts_with(kFewSamples); }

}  // namespace assay::stats
