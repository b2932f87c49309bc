// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Pure functions over samples. Formulas cite their source; each is tested against published values and on generated
/// data with known answers. Out of scope: time, devices, storage.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/words.hpp"

namespace assay::stats {

struct Interval {
  double low = 0.0;
  double high = 0.0;
};

/// Mean and standard deviation (n - 1; 0 for n = 1). Not for empty data.
[[nodiscard]] double mean(std::span<const double> values);
[[nodiscard]] double standard_deviation(std::span<const double> values);

/// Nearest rank: the element of index ceil(p * n), counted from 1, of sorted data. p in (0, 1]. DuckDB's
/// quantile_disc has the same definition, so SQL and C++ agree. Not for empty data.
[[nodiscard]] double quantile_sorted(std::span<const double> sorted, double p);

/// A quantile with the distribution-free interval of order statistics, its rank half-width inflated by the integrated
/// autocorrelation time of the indicator series and by the uncertainty of that time (docs/statistics.md, "Intervals").
struct QuantileEstimate {
  double value = 0.0;
  std::optional<Interval> interval;  ///< nullopt: too few samples, or too few independent ones
  double tau = 1.0;                  ///< autocorrelation time of [x <= q], corrected for the length of the series, >= 1
  double least = 0.0;                ///< samples that an interval needs if they were independent
  double time = 1.0;                 ///< number of correlated samples that count as one independent sample
  bool few_samples = false;          ///< n < needed(), or a bound outside of the samples: no interval
  [[nodiscard]] double needed() const { return std::ceil(least * time); }
};
/// `series` in the order of measuring, not empty; confidence e.g. 0.95. A series whose tau is 1 has the exact binomial
/// ranks.
[[nodiscard]] QuantileEstimate estimate_quantile(std::span<const double> series, double p, double confidence = 0.95);
/// The same for several quantiles, at the cost of one sort.
[[nodiscard]] std::vector<QuantileEstimate> estimate_quantiles(std::span<const double> series,
                                                               std::span<const double> quantiles,
                                                               double confidence = 0.95);
/// "ok" or "few_samples(n=50<368)", as stored in latency_pXX_quality; n is the length of the estimated series. Where
/// the correlation counts, the product follows: "few_samples(n=50<90=36x2.5)".
[[nodiscard]] std::string quantile_quality(const QuantileEstimate& estimate, std::size_t n);
/// Whether a text of quantile_quality() says so.
[[nodiscard]] bool has_few_samples(std::string_view quality);
/// 6 for p50, 36 for p90, 72 for p95, 368 for p99, 3688 for p99.9 at 95 %: the least n of independent samples for which
/// both bounds exist.
[[nodiscard]] std::size_t minimum_samples(double p, double confidence = 0.95);

/// Integrated autocorrelation time by Geyer's initial positive sequence ("Practical Markov chain Monte Carlo",
/// Statistical Science 1992), at least 1. Cost: n per lag for the first 64, then n log n once.
[[nodiscard]] double autocorrelation_time(std::span<const double> series);
struct CorrelationTime {
  double tau = 1.0;
  std::size_t lags = 1;     ///< number of lags in the sum, lag 0 included
  double neighbours = 0.0;  ///< correlation of neighbours
};
/// The sum has `least_lags` at least, then the larger of both sums counts.
[[nodiscard]] CorrelationTime correlation_time(std::span<const double> series, std::size_t least_lags = 0);

/// Steady-state detection: a winsorised copy of the log values is cut into segments of one mean and variance (PELT,
/// penalty 15 ln n, at least 10 samples each). Neighbouring segments are joined unless their levels differ by more than
/// 1.5 % and by more than correlated noise explains. The level that covers most samples is the steady one; segments of
/// another level are cut off at the front only, and never more than half (docs/statistics.md, "Steady state"). MSER-5
/// handles fewer than 60 samples; more than 500 are aggregated to medians of equal blocks, so that steady_from is a
/// multiple of the block. Cost: below 20 ms for 100,000 samples.
enum class SteadyClass {
  kFlat,      ///< steady from the first sample
  kWarmup,    ///< the samples before the steady part are slower
  kSlowdown,  ///< the samples before the steady part are faster, or the last ones are slower: throttling?
  kUnsteady,  ///< more than 5 % of the samples have another level
};
struct SteadyState {
  std::size_t steady_from = 0;  ///< index of the first steady sample
  SteadyClass kind = SteadyClass::kFlat;
};
[[nodiscard]] SteadyState detect_steady_state(std::span<const double> series);

/// Samples with |log x - median log| > 3 * IQR of the logs: counted, never removed. The fence is three times the
/// smallest difference of two samples at least (a coarse timer has equal quartiles), but not 10 % for that, and 0.1 %.
[[nodiscard]] std::size_t count_outliers(std::span<const double> series);

/// Special functions, |error| < 1e-10.
[[nodiscard]] double normal_quantile(double p);
[[nodiscard]] double incomplete_beta(double a, double b, double x);  ///< regularised I_x(a, b)
[[nodiscard]] double student_quantile(double p, double degrees_of_freedom);
[[nodiscard]] double binomial_cdf(std::int64_t k, std::int64_t n, double p);

/// Interval of the mean of log ratios of pairs, by Student's t: exp of it is the interval of the ratio of geometric
/// means. As many baselines as candidates, at least one, all positive; one pair has the interval [0, infinity].
struct RatioEstimate {
  double ratio = 1.0;
  Interval interval;
  std::size_t pairs = 0;
};
[[nodiscard]] RatioEstimate paired_ratio(std::span<const double> baseline, std::span<const double> candidate,
                                         double confidence = 0.95);

}  // namespace assay::stats

namespace assay {
template <>
struct WordsOf<stats::SteadyClass> {
  static constexpr std::array<std::string_view, 4> kAll{"flat", "warmup", "slowdown", "unsteady"};
};
}  // namespace assay
