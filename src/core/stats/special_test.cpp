// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "core/stats/stats.hpp"

namespace assay::stats {
namespace {

TEST(IncompleteBeta, MatchesClosedForms) {
  for (const double x : {1e-12, 0.01, 0.3, 0.5, 0.9, 1 - 1e-9}) {
    for (const double a : {0.5, 1.0, 3.0, 250.0, 1e5}) {
      EXPECT_NEAR(incomplete_beta(a, 1, x), std::pow(x, a), 1e-11) << a << ' ' << x;
      EXPECT_NEAR(incomplete_beta(1, a, x), -std::expm1(a * std::log1p(-x)), 1e-11) << a << ' ' << x;
    }
    EXPECT_NEAR(incomplete_beta(0.5, 0.5, x), 2 / std::numbers::pi * std::asin(std::sqrt(x)), 1e-11);
  }
  EXPECT_NEAR(incomplete_beta(2, 3, 0.5), 0.6875, 1e-13);
  EXPECT_EQ(incomplete_beta(2, 3, 0.0), 0.0);
  EXPECT_EQ(incomplete_beta(2, 3, 1.0), 1.0);
}

TEST(IncompleteBeta, IsSymmetricAndStaysExactForLargeArguments) {
  for (const double a : {0.7, 12.0, 4e4, 1e6})
    for (const double x : {0.2, 0.5, 0.50001})
      EXPECT_NEAR(incomplete_beta(a, a + 3, x) + incomplete_beta(a + 3, a, 1 - x), 1.0, 1e-12) << a;
  EXPECT_NEAR(incomplete_beta(5e4, 5e4, 0.5), 0.5, 1e-12);
}

TEST(BinomialCdf, MatchesSumsOfTerms) {
  for (const int n : {1, 7, 40}) {
    for (const double p : {0.1, 0.5, 0.99}) {
      double sum = 0;
      for (int k = 0; k < n; ++k) {
        sum += std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) + k * std::log(p) +
                        (n - k) * std::log1p(-p));
        ASSERT_NEAR(binomial_cdf(k, n, p), sum, 1e-11) << k << " of " << n;
      }
    }
  }
  EXPECT_EQ(binomial_cdf(-1, 5, 0.5), 0.0);
  EXPECT_EQ(binomial_cdf(5, 5, 0.5), 1.0);
  // Half of the middle term, sqrt(2 / (pi n)) (1 - 1 / 4n + …), is beyond one half.
  EXPECT_NEAR(binomial_cdf(50'000, 100'000, 0.5), 0.5 + 0.5 * std::sqrt(2e-5 / std::numbers::pi) * (1 - 2.5e-6), 1e-12);
}

TEST(NormalQuantile, MatchesTables) {
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-12);
  EXPECT_NEAR(normal_quantile(0.995), 2.575829303548901, 1e-12);
  EXPECT_NEAR(normal_quantile(0.5), 0.0, 1e-12);
  EXPECT_NEAR(normal_quantile(1e-10), -6.361340902404056, 1e-10);
  EXPECT_NEAR(0.5 * std::erfc(-normal_quantile(1e-200) / std::numbers::sqrt2) / 1e-200, 1.0, 1e-10);
  EXPECT_EQ(normal_quantile(0.0), -std::numeric_limits<double>::infinity());
}

TEST(StudentQuantile, MatchesTables) {
  EXPECT_NEAR(student_quantile(0.975, 1), 12.706204736174698, 1e-10);
  EXPECT_NEAR(student_quantile(0.975, 2), 4.302652729696142, 1e-10);
  EXPECT_NEAR(student_quantile(0.975, 5), 2.570581835636314, 1e-10);
  EXPECT_NEAR(student_quantile(0.975, 10), 2.228138851986274, 1e-10);
  EXPECT_NEAR(student_quantile(0.975, 30), 2.042272456301238, 1e-10);
  EXPECT_NEAR(student_quantile(0.995, 9), 3.249835541592126, 1e-10);
  EXPECT_NEAR(student_quantile(0.025, 10), -2.228138851986274, 1e-10);
  EXPECT_NEAR(student_quantile(0.975, 1e7), 1.959964, 1e-5);
  EXPECT_EQ(student_quantile(0.5, 3), 0.0);
}

TEST(StudentQuantile, InvertsClosedFormsInTheMiddleAndFarOut) {
  for (const double p : {0.5 + 1e-9, 0.6, 0.9, 1 - 1e-7}) {  // one degree is Cauchy, two have a closed form
    const double cauchy = std::tan(std::numbers::pi * (p - 0.5));
    EXPECT_NEAR(student_quantile(p, 1) / cauchy, 1.0, 1e-7);
    EXPECT_NEAR(student_quantile(p, 2), (2 * p - 1) / std::sqrt(2 * p * (1 - p)), 1e-10 * std::max(1.0, cauchy));
  }
}

// MLPerf LoadGen's early stopping: the least number of queries below the percentile's latency, given t above it, so
// that I_p(h, t + 1) <= 1 - confidence; its documentation has 459, and its single-stream floors are 64 and 662.
TEST(IncompleteBeta, GivesLoadGensEarlyStoppingCounts) {
  const auto least = [](double percentile, int above) {
    int h = 1;
    while (incomplete_beta(h, above + 1.0, percentile) > 0.01) ++h;
    return h + above;
  };
  EXPECT_EQ(least(0.99, 0), 459);
  EXPECT_EQ(least(0.90, 1), 64);
  EXPECT_EQ(least(0.99, 1), 662);
}

}  // namespace
}  // namespace assay::stats
