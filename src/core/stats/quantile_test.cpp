// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/stats/samples_for_tests.hpp"
#include "core/stats/stats.hpp"

namespace assay::stats {
namespace {

std::vector<double> one_to(std::size_t n) {
  std::vector<double> values(n);
  std::iota(values.begin(), values.end(), 1.0);
  return values;
}

TEST(Summary, MatchesHandComputedValues) {
  const std::vector<double> values{2, 4, 4, 4, 5, 5, 7, 9};
  EXPECT_EQ(mean(values), 5.0);
  EXPECT_DOUBLE_EQ(standard_deviation(values), std::sqrt(32.0 / 7));
  EXPECT_EQ(standard_deviation(std::vector<double>{3}), 0.0);
}

TEST(Quantile, IsTheNearestRank) {
  const std::vector<double> values{15, 20, 35, 40, 50};  // the usual textbook example
  EXPECT_EQ(quantile_sorted(values, 0.05), 15);
  EXPECT_EQ(quantile_sorted(values, 0.30), 20);
  EXPECT_EQ(quantile_sorted(values, 0.40), 20);
  EXPECT_EQ(quantile_sorted(values, 0.50), 35);
  EXPECT_EQ(quantile_sorted(values, 1.00), 50);
  EXPECT_EQ(quantile_sorted(std::vector<double>{7}, 0.99), 7);
}

TEST(Quantile, TreatsPercentagesAsDecimals) {
  for (std::size_t percent = 1; percent <= 100; ++percent)
    for (const std::size_t n : {100U, 200U, 5000U})
      ASSERT_EQ(quantile_sorted(one_to(n), static_cast<double>(percent) / 100), one_to(n)[percent * n / 100 - 1]);
  EXPECT_EQ(quantile_sorted(one_to(1001), 0.999), 1000);
}

TEST(Quantile, DoesNotDependOnOrder) {
  Source source(3);
  std::vector<double> values = source.autoregressive(99, 0.0);
  const double before = estimate_quantile(values, 0.9).value;
  std::reverse(values.begin(), values.end());
  EXPECT_EQ(estimate_quantile(values, 0.9).value, before);
}

TEST(MinimumSamples, AreThoseOfTheContract) {
  EXPECT_EQ(minimum_samples(0.5), 6U);
  EXPECT_EQ(minimum_samples(0.9), 36U);
  EXPECT_EQ(minimum_samples(0.95), 72U);
  EXPECT_EQ(minimum_samples(0.99), 368U);
  EXPECT_EQ(minimum_samples(0.999), 3688U);
  EXPECT_EQ(minimum_samples(1.0), std::numeric_limits<std::size_t>::max());
}

/// 0 … n - 1 so that large values are far apart: there is no positive correlation, tau is 1 and the ranks are exact.
std::vector<double> without_correlation(std::size_t n) {
  std::vector<double> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<double>(i % 2 == 0 ? i / 2 : n - 1 - i / 2);
  return values;
}

TEST(QuantileInterval, ExistsFromTheMinimumOnAndNotBefore) {
  for (const std::size_t n : {29U, 30U}) {
    const auto estimate = estimate_quantile(without_correlation(n), 0.5);
    EXPECT_EQ(estimate.interval.has_value(), n == 30) << "the correlation of fewer cannot be estimated";
    EXPECT_EQ(estimate.few_samples, n == 29);
  }
  for (const std::size_t n : {35U, 36U}) {
    std::vector<double> values(n, 1.0);
    for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<double>(13 * i % n);
    const auto estimate = estimate_quantile(values, 0.9);
    ASSERT_EQ(estimate.tau, 1.0);
    EXPECT_EQ(estimate.interval.has_value(), n == 36) << n;
    EXPECT_EQ(estimate.few_samples, n == 35) << n;
  }
}

TEST(QuantileInterval, HasTheTextbookRanksOfTheMedian) {
  // 95 % intervals of the median from order statistics (Conover, Practical Nonparametric Statistics, table A3).
  const auto ranks = [](std::size_t n) { return estimate_quantile(without_correlation(n), 0.5).interval; };
  EXPECT_EQ(ranks(30)->low + 1, 10);
  EXPECT_EQ(ranks(30)->high + 1, 21);
  EXPECT_EQ(ranks(40)->low + 1, 14);
  EXPECT_EQ(ranks(40)->high + 1, 27);
  EXPECT_EQ(ranks(50)->low + 1, 18);
  EXPECT_EQ(ranks(50)->high + 1, 33);
}

TEST(QuantileInterval, IsAbsentWhereTheCorrelationLeavesTooFewIndependentSamples) {
  EXPECT_FALSE(estimate_quantile(one_to(1000), 0.5).interval) << "a trend";
  Source source(21);
  for (const std::size_t n : {30U, 60U, 150U}) {
    int given = 0;
    for (int i = 0; i < 200; ++i) given += estimate_quantile(source.autoregressive(n, 0.97), 0.5).interval.has_value();
    EXPECT_LE(given, 10) << n;
  }
  int given = 0;
  for (int i = 0; i < 200; ++i) given += estimate_quantile(source.autoregressive(100, 0.5), 0.5).interval.has_value();
  EXPECT_GE(given, 188);
}

TEST(QuantileInterval, NeverExistsForTheMaximumOrOneSample) {
  EXPECT_FALSE(estimate_quantile(one_to(1000), 1.0).interval);
  EXPECT_FALSE(estimate_quantile(one_to(1), 0.5).interval);
  EXPECT_TRUE(estimate_quantile(one_to(1), 0.5).few_samples);
}

TEST(QuantileQuality, SaysHowManySamplesAreMissing) {
  QuantileEstimate estimate;
  EXPECT_EQ(quantile_quality(estimate, 50), "ok");
  estimate.few_samples = true;
  estimate.least = 368;
  EXPECT_EQ(quantile_quality(estimate, 50), "few_samples(n=50<368)");
  estimate.least = 36;
  estimate.time = 2.5;
  EXPECT_EQ(quantile_quality(estimate, 50), "few_samples(n=50<90=36x2.5)");
  for (const std::size_t n : {5U, 30U, 35U, 36U, 40U, 60U, 80U}) {
    Source source(n);
    for (const double p : {0.5, 0.9, 0.95}) {
      const auto found = estimate_quantile(source.autoregressive(n, 0.3), p);
      EXPECT_EQ(found.few_samples, !found.interval);
      EXPECT_EQ(found.few_samples, found.needed() > static_cast<double>(n)) << n << ' ' << p;
    }
  }
}

TEST(AutocorrelationTime, IsThatOfAnAutoregressiveSeries) {
  Source source(1);
  for (const double rho : {0.0, 0.5, 0.9}) {
    const double expected = (1 + rho) / (1 - rho);
    EXPECT_NEAR(autocorrelation_time(source.autoregressive(40'000, rho)), expected, 0.1 * expected) << rho;
  }
}

TEST(AutocorrelationTime, SurvivesTrendsConstantsAndTinySeries) {
  EXPECT_EQ(autocorrelation_time(std::vector<double>(100, 3.0)), 1.0);
  EXPECT_EQ(autocorrelation_time(std::vector<double>{}), 1.0);
  EXPECT_EQ(autocorrelation_time(std::vector<double>{1, 2}), 1.0);
  EXPECT_GT(autocorrelation_time(one_to(1000)), 100.0) << "long lags come from the transform";
}

// Sums of products at all distances, as they are defined.
std::vector<double> covariances(const std::vector<double>& series) {
  const double centre = mean(series);
  std::vector<double> sums(series.size());
  for (std::size_t lag = 0; lag < series.size(); ++lag)
    for (std::size_t i = 0; i + lag < series.size(); ++i)
      sums[lag] += (series[i] - centre) * (series[i + lag] - centre);
  return sums;
}

CorrelationTime by_definition(const std::vector<double>& covariance, std::size_t least_lags) {
  CorrelationTime expected;
  double sum = 0;
  std::size_t lag = 0;
  for (; lag + 1 < covariance.size() && covariance[lag] + covariance[lag + 1] > 0; lag += 2)
    sum += covariance[lag] + covariance[lag + 1];
  expected.tau = std::max(1.0, 2 * sum / covariance[0] - 1);
  for (; lag < std::min(least_lags, covariance.size()); ++lag) sum += covariance[lag];
  expected.tau = std::max(expected.tau, 2 * sum / covariance[0] - 1);
  expected.lags = std::max<std::size_t>(lag, 1);
  expected.neighbours = covariance[1] / covariance[0];
  return expected;
}

TEST(AutocorrelationTime, SumsAndTransformAgree) {
  // Lengths around powers of two; correlations that end within the summed lags, and far beyond a quarter of the series.
  std::size_t longest = 0;
  for (const std::size_t n : {70U, 255U, 256U, 257U, 1000U, 1365U, 3000U})
    for (const double rho : {0.0, 0.9, 0.99, 0.9999}) {
      Source source(n);
      const std::vector<double> series = source.autoregressive(n, rho), covariance = covariances(series);
      for (const std::size_t least : {std::size_t{0}, std::size_t{65}, n / 4 + 1, n / 2, n}) {
        const CorrelationTime expected = by_definition(covariance, least), found = correlation_time(series, least);
        EXPECT_NEAR(found.tau, expected.tau, 1e-9 * expected.tau) << n << ' ' << rho << ' ' << least;
        EXPECT_EQ(found.lags, expected.lags) << n << ' ' << rho << ' ' << least;
        EXPECT_NEAR(found.neighbours, expected.neighbours, 1e-12) << n << ' ' << rho << ' ' << least;
        if (least == 0) longest = std::max(longest, 100 * found.lags / n);
      }
    }
  EXPECT_GT(longest, 25U) << "percent of the series";
}

TEST(Outliers, AreCountedByTheFence) {
  std::vector<double> values(100, 1.0);
  for (std::size_t i = 0; i < 100; ++i) values[i] = 1.0 + 0.001 * static_cast<double>(i % 10);
  EXPECT_EQ(count_outliers(values), 0U);
  values[7] = 1.5;
  values[50] = 0.5;
  values[51] = 0.0;
  EXPECT_EQ(count_outliers(values), 3U);
  EXPECT_EQ(count_outliers({}), 0U);
}

TEST(Outliers, OfACoarseTimerAreNotItsTicks) {
  std::vector<double> values(200, 100.0);  // a tick is 1 % of a run; three of four samples are equal
  for (std::size_t i = 0; i < values.size(); i += 5) values[i] = i % 2 == 0 ? 101.0 : 99.0;
  EXPECT_EQ(count_outliers(values), 0U);
  values[3] = 112.0;
  values[4] = 250.0;
  EXPECT_EQ(count_outliers(values), 2U);
  std::vector<double> fine(200, 1e6);  // 1 ns of 1 ms
  for (std::size_t i = 0; i < fine.size(); i += 5) fine[i] += static_cast<double>(i);
  EXPECT_EQ(count_outliers(fine), 0U);
  std::vector<double> two(200, 5.0);
  two[7] = 900.0;
  EXPECT_EQ(count_outliers(two), 1U) << "the only difference is not a tick";
}

TEST(PairedRatio, MatchesAHandComputedExample) {
  const std::vector<double> baseline{1, 1, 1, 1}, candidate{std::exp(0.1), std::exp(0.2), std::exp(0.3), std::exp(0.4)};
  const RatioEstimate estimate = paired_ratio(baseline, candidate);
  EXPECT_NEAR(estimate.ratio, std::exp(0.25), 1e-12);
  const double half = 3.182446305284263 * std::sqrt(0.05 / 3) / 2;  // t of 3 degrees of freedom, sd of 0.1 … 0.4
  EXPECT_NEAR(estimate.interval.low, std::exp(0.25 - half), 1e-10);
  EXPECT_NEAR(estimate.interval.high, std::exp(0.25 + half), 1e-10);
  EXPECT_EQ(estimate.pairs, 4U);
}

TEST(PairedRatio, OfTheInverseIsTheInverseAndUnitsCancel) {
  Source source(4);
  std::vector<double> a, b, a_ms, b_ms;
  for (int i = 0; i < 12; ++i) {
    a.push_back(1e6 * std::exp(0.01 * source.normal()));
    b.push_back(1.1e6 * std::exp(0.01 * source.normal()));
    a_ms.push_back(a.back() / 1e6);
    b_ms.push_back(b.back() / 1e6);
  }
  const RatioEstimate forth = paired_ratio(a, b), back = paired_ratio(b, a), scaled = paired_ratio(a_ms, b_ms);
  EXPECT_NEAR(forth.ratio * back.ratio, 1.0, 1e-12);
  EXPECT_NEAR(forth.interval.low * back.interval.high, 1.0, 1e-12);
  EXPECT_NEAR(forth.ratio, scaled.ratio, 1e-12);
  EXPECT_TRUE(forth.interval.low < 1.1 && 1.1 < forth.interval.high);
}

TEST(PairedRatio, OfOnePairHasAnUnknownError) {
  const RatioEstimate estimate = paired_ratio(std::vector<double>{2}, std::vector<double>{3});
  EXPECT_DOUBLE_EQ(estimate.ratio, 1.5);
  EXPECT_EQ(estimate.interval.low, 0.0);
  EXPECT_EQ(estimate.interval.high, std::numeric_limits<double>::infinity());
}

// T1, quick version: the interval contains the true quantile as often as it promises (campaign_test.cpp repeats it more
// often).
double coverage(Source& source, double rho, std::size_t n, double p, int repetitions) {
  const double truth = normal_quantile(p);
  int held = 0, given = 0;
  for (int i = 0; i < repetitions; ++i) {
    const auto estimate = estimate_quantile(source.autoregressive(n, rho), p);
    given += estimate.interval.has_value();
    held += estimate.interval && estimate.interval->low <= truth && truth <= estimate.interval->high;
  }
  EXPECT_GE(given, 0.95 * repetitions);
  return static_cast<double>(held) / given;
}

TEST(QuantileInterval, ContainsTheTruthAsOftenAsItPromises) {
  Source source(11);
  for (const double rho : {0.0, 0.5}) {
    const double share = coverage(source, rho, 100, 0.5, 400);
    EXPECT_GE(share, 0.93) << rho;
    EXPECT_LE(share, 0.995) << rho;
  }
  EXPECT_GE(coverage(source, 0.9, 1000, 0.5, 150), 0.92);
}

}  // namespace
}  // namespace assay::stats
