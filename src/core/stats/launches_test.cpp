// SPDX-License-Identifier: Apache-2.0
#include "core/stats/launches.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/stats/samples_for_tests.hpp"

namespace assay::stats {
namespace {

using ::testing::Optional;
using Times = std::vector<double>;

// Log ratios -> the times of a candidate whose baseline is 2 in each round.
RoundComparison of_log_ratios(const std::vector<double>& logs, std::size_t comparisons = 1) {
  Times candidate;
  for (const double log : logs) candidate.push_back(2 * std::exp(log));
  return compare_rounds(Times(logs.size(), 2.0), candidate, comparisons);
}

TEST(EstimateOverLaunches, IsTheGeometricMeanWithStudentsIntervalOnLogarithms) {
  const LaunchEstimate estimate = estimate_over_launches(Times{1.0, 2.0, 4.0});
  EXPECT_NEAR(estimate.value, 2.0, 1e-12);
  EXPECT_NEAR(estimate.spread, std::log(2.0), 1e-12);
  EXPECT_EQ(estimate.launches, 3U);
  ASSERT_TRUE(estimate.interval);
  const double half = 4.302653 * std::log(2.0) / std::sqrt(3.0);  // t of 2 degrees of freedom, 0.975
  EXPECT_NEAR(std::log(estimate.interval->high / 2.0), half, 1e-6);
  EXPECT_NEAR(std::log(estimate.interval->low / 2.0), -half, 1e-6);
}

TEST(EstimateOverLaunches, HasNoIntervalForOneLaunch) {
  const LaunchEstimate estimate = estimate_over_launches(Times{3.0});
  EXPECT_NEAR(estimate.value, 3.0, 1e-12);
  EXPECT_FALSE(estimate.interval);
  EXPECT_EQ(estimate.launches, 1U);
}

TEST(EstimateOverLaunches, LeavesOutWhatIsNoTime) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(estimate_over_launches(Times{0.0, 2.0, nan, 2.0}).launches, 2U);
  EXPECT_EQ(estimate_over_launches(Times{}).launches, 0U);
}

TEST(CompareRounds, SaysNothingAboutOneProcessEach) {
  const RoundComparison one = compare_rounds(Times{1.0}, Times{2.0});
  EXPECT_EQ(one.difference, Difference::kNotCompared);
  EXPECT_NEAR(one.ratio, 2.0, 1e-12);
  EXPECT_FALSE(one.interval);
  EXPECT_FALSE(one.smallest_detectable);
  EXPECT_FALSE(undecided(one));
  EXPECT_FALSE(rounds_to_settle(one));
}

TEST(CompareRounds, ShowsTheIntervalOfThePairedLogRatios) {
  const RoundComparison pairs = compare_rounds(Times{1.0, 10.0, 100.0}, Times{1.02, 10.1, 102.0});
  const Times logs{std::log(1.02), std::log(1.01), std::log(1.02)};
  EXPECT_NEAR(std::log(pairs.ratio), mean(logs), 1e-12);  // the rounds' own factors of 10 cancel
  EXPECT_NEAR(pairs.spread, standard_deviation(logs), 1e-12);
  ASSERT_TRUE(pairs.interval);
  EXPECT_NEAR(std::log(pairs.interval->high / pairs.ratio), 4.302653 * standard_deviation(logs) / std::sqrt(3.0), 1e-6);
}

TEST(CompareRounds, ClaimsAFactorOfTwoAfterThreeRounds) {
  EXPECT_EQ(of_log_ratios({0.69, 0.70, 0.68}).difference, Difference::kSlower);
  EXPECT_EQ(of_log_ratios({-0.69, -0.70, -0.68}).difference, Difference::kFaster);
}

// The 99 % interval: t of 2 degrees of freedom at 0.995 is 9.925.
TEST(CompareRounds, ClaimsAtThreeRoundsWhatThe99PerCentIntervalShows) {
  const double half = 9.924843 * 0.1 / std::sqrt(3.0);
  EXPECT_NEAR(std::log1p(*of_log_ratios({0.4, 0.5, 0.6}).smallest_detectable), half, 1e-6);
  EXPECT_EQ(of_log_ratios({half - 0.101, half - 0.001, half + 0.099}).difference, Difference::kNotShown);
  EXPECT_EQ(of_log_ratios({half - 0.099, half + 0.001, half + 0.101}).difference, Difference::kSlower);
}

// Three rounds may have met the same two modes of processes by chance: no spread, and nothing shown.
TEST(CompareRounds, DoesNotTrustASmallSpreadOfFewRounds) {
  for (const std::size_t rounds : {2U, 3U, 4U, 5U}) {
    const RoundComparison alike = of_log_ratios(std::vector<double>(rounds, 0.10));
    EXPECT_EQ(alike.difference, Difference::kNotShown) << rounds;
    EXPECT_THAT(alike.smallest_detectable, Optional(::testing::DoubleNear(0.25, 1e-9))) << rounds;
    EXPECT_TRUE(undecided(alike)) << rounds;
    EXPECT_THAT(rounds_to_settle(alike), Optional(kEnoughRounds)) << rounds;
  }
  EXPECT_EQ(of_log_ratios(std::vector<double>(6, 0.10)).difference, Difference::kSlower);
}

TEST(CompareRounds, ClaimsNothingBelowThePrecisionOfALaunch) {
  EXPECT_EQ(of_log_ratios(std::vector<double>(10, 0.004)).difference, Difference::kNotShown);
  EXPECT_EQ(of_log_ratios(std::vector<double>(10, 0.006)).difference, Difference::kSlower);
}

TEST(CompareRounds, IsStricterThanTheIntervalItShows) {
  const RoundComparison ten = of_log_ratios({0.03, 0.0, 0.03, 0.0, 0.03, 0.0, 0.03, 0.0, 0.03, 0.0});
  ASSERT_TRUE(ten.interval);
  EXPECT_GT(ten.interval->low, 1.0);
  EXPECT_EQ(ten.difference, Difference::kNotShown);
  ASSERT_TRUE(ten.smallest_detectable);
  EXPECT_GT(1.0 + *ten.smallest_detectable, ten.ratio);
}

TEST(CompareRounds, DividesItsFalseClaimsAmongThePairsThatAResultWasChosenFrom) {
  const std::vector<double> logs{0.05, 0.06, 0.07, 0.05, 0.04, 0.05, 0.06};
  const RoundComparison alone = of_log_ratios(logs), of_ten = of_log_ratios(logs, 10);
  EXPECT_EQ(alone.interval->low, of_ten.interval->low);
  EXPECT_GT(*of_ten.smallest_detectable, 1.3 * *alone.smallest_detectable);
}

TEST(CompareRounds, IsSymmetric) {
  const Times a{1.0, 1.1, 1.05}, b{2.0, 2.2, 2.3};
  const RoundComparison forth = compare_rounds(a, b), back = compare_rounds(b, a);
  EXPECT_NEAR(forth.ratio * back.ratio, 1.0, 1e-12);
  EXPECT_NEAR(forth.interval->low * back.interval->high, 1.0, 1e-12);
  EXPECT_EQ(forth.difference, Difference::kSlower);
  EXPECT_EQ(back.difference, Difference::kFaster);
}

TEST(CompareRounds, LeavesOutRoundsWithoutTwoTimes) {
  const RoundComparison result = compare_rounds(Times{1.0, 0.0, 1.0}, Times{2.0, 2.0, 2.0});
  EXPECT_EQ(result.rounds, 2U);
  EXPECT_NEAR(result.ratio, 2.0, 1e-12);
}

TEST(Undecided, EndsAtTheLastRoundAndWithAClaim) {
  const std::vector<double> ten{0.01, -0.01, 0.02, 0.0, 0.01, 0.01, 0.03, 0.0, 0.02, -0.01};
  EXPECT_TRUE(undecided(of_log_ratios({0.01, -0.01, 0.02})));
  EXPECT_FALSE(undecided(of_log_ratios({0.01, -0.01, 0.02}), 3));
  EXPECT_FALSE(undecided(of_log_ratios(ten)));
  EXPECT_FALSE(undecided(of_log_ratios({0.69, 0.70, 0.68})));
}

TEST(Undecided, EndsIfNoRatioOfTheIntervalWouldBeClaimed) {
  const std::vector<double> within_half_a_per_cent{0.001, -0.001, 0.001, -0.001, 0.001, -0.001};
  EXPECT_FALSE(undecided(of_log_ratios(within_half_a_per_cent)));
  EXPECT_FALSE(undecided(of_log_ratios({0.05, -0.05, 0.05, -0.05, 0.05, -0.05, 0.05, -0.05})));
}

TEST(Undecided, DoesNotTrustASmallSpreadOfFewRounds) {
  EXPECT_TRUE(undecided(of_log_ratios({0.001, -0.001, 0.001, -0.001, 0.0})));
}

TEST(RoundsToSettle, IsTheLeastNumberWithWhichThePresentRatioAndSpreadAreClaimed) {
  const RoundComparison now = of_log_ratios({0.03, 0.0, 0.03, 0.0, 0.03, 0.0, 0.03, 0.0, 0.03, 0.0});
  const std::optional<std::size_t> settled = rounds_to_settle(now);
  ASSERT_TRUE(settled);
  EXPECT_GT(*settled, 10U);
  // The same ratio and spread in that many rounds is claimed, in one fewer it is not.
  const auto with = [&](std::size_t rounds) {
    std::vector<double> logs(rounds);
    Source source(3);
    for (double& log : logs) log = source.normal();
    const double centre = mean(logs), spread = standard_deviation(logs);
    for (double& log : logs) log = 0.015 + now.spread * (log - centre) / spread;
    return of_log_ratios(logs).difference;
  };
  EXPECT_EQ(with(*settled), Difference::kSlower);
  EXPECT_EQ(with(*settled - 1), Difference::kNotShown);
}

TEST(RoundsToSettle, IsAbsentIfAHundredRoundsWouldNotDo) {
  EXPECT_FALSE(rounds_to_settle(of_log_ratios({0.10, -0.10, 0.10, -0.101})));
  EXPECT_FALSE(rounds_to_settle(of_log_ratios({0.69, 0.70, 0.68})));  // claimed
}

}  // namespace
}  // namespace assay::stats
