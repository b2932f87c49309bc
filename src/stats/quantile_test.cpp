// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "stats/samples_for_tests.hpp"
#include "stats/stats.hpp"

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

TEST(QuantileInterval, ExistsFromTheMinimumOnAndNotBefore) {
  for (const std::size_t n : {5U, 6U}) {
    const auto estimate = estimate_quantile(one_to(n), 0.5);
    EXPECT_EQ(estimate.interval.has_value(), n == 6) << n;
  }
  // The largest values are far apart, so there is no positive correlation: tau is 1 and the ranks are exact.
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
  const auto ranks = [](std::size_t n) { return estimate_quantile(one_to(n), 0.5).interval; };
  EXPECT_EQ(ranks(10)->low, 2);
  EXPECT_EQ(ranks(10)->high, 9);
  EXPECT_EQ(ranks(20)->low, 6);
  EXPECT_EQ(ranks(20)->high, 15);
  EXPECT_EQ(ranks(25)->low, 8);
  EXPECT_EQ(ranks(25)->high, 18);
}

TEST(QuantileInterval, NeverExistsForTheMaximumOrOneSample) {
  EXPECT_FALSE(estimate_quantile(one_to(1000), 1.0).interval);
  EXPECT_FALSE(estimate_quantile(one_to(1), 0.5).interval);
  EXPECT_TRUE(estimate_quantile(one_to(1), 0.5).few_samples);
}

TEST(QuantileQuality, SaysHowManySamplesAreMissing) {
  EXPECT_EQ(quantile_quality({.value = 1, .interval = {}, .tau = 1.0, .few_samples = true}, 50, 0.99),
            "few_samples(n=50<368)");
  EXPECT_EQ(quantile_quality({.value = 1, .interval = {}, .tau = 2.5, .few_samples = true}, 50, 0.9),
            "few_samples(n=50<90=36x2.5)");
  EXPECT_EQ(quantile_quality({}, 50, 0.5), "ok");
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

TEST(AutocorrelationTime, SumsAndTransformAgree) {
  // The definition, summed directly, on a series whose first non-positive pair is far beyond the summed lags.
  Source source(2);
  std::vector<double> series = source.autoregressive(3000, 0.99);
  const double centre = mean(series);
  const auto covariance = [&](std::size_t lag) {
    double sum = 0;
    for (std::size_t i = 0; i + lag < series.size(); ++i) sum += (series[i] - centre) * (series[i + lag] - centre);
    return sum;
  };
  double sum = 0;
  std::size_t lag = 0;
  for (; lag + 1 < series.size(); lag += 2) {
    const double pair = covariance(lag) + covariance(lag + 1);
    if (pair <= 0) break;
    sum += pair;
  }
  ASSERT_GT(lag, 64U);
  EXPECT_NEAR(autocorrelation_time(series), 2 * sum / covariance(0) - 1, 1e-9);
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
  int held = 0;
  for (int i = 0; i < repetitions; ++i) {
    const auto estimate = estimate_quantile(source.autoregressive(n, rho), p);
    held += estimate.interval && estimate.interval->low <= truth && truth <= estimate.interval->high;
  }
  return static_cast<double>(held) / repetitions;
}

TEST(QuantileInterval, ContainsTheTruthAsOftenAsItPromises) {
  Source source(11);
  for (const double rho : {0.0, 0.5}) {
    const double share = coverage(source, rho, 100, 0.5, 400);
    EXPECT_GE(share, 0.92) << rho;
    EXPECT_LE(share, 0.99) << rho;
  }
  EXPECT_GE(coverage(source, 0.9, 1000, 0.5, 150), 0.88);
}

}  // namespace
}  // namespace assay::stats
