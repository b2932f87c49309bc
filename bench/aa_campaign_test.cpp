// SPDX-License-Identifier: Apache-2.0
// The goals of `bench/aa` in full: 10,000 pairs or groups of five cells in each scenario.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "aa_simulation.hpp"

namespace assay::bench {
namespace {

constexpr std::size_t kPairs = 10'000;

class Scenarios : public ::testing::TestWithParam<Scenario> {};

TEST_P(Scenarios, HaveFewFalseClaims) {
  const double claims = claims_at_any_look(GetParam(), kPairs, 11);
  std::printf("sd %.3f %s: %.4f\n", GetParam().sd, std::string(to_string(GetParam().processes)).c_str(), claims);
  EXPECT_LE(claims, 0.01);
}

TEST_P(Scenarios, HaveFewFalseClaimsOfABest) {
  constexpr std::size_t kCells = 5;
  const double any_look = best_of(GetParam(), kCells, stats::pairs_among(kCells), kPairs, 11);
  const double as_run_does = best_of_run(GetParam(), kCells, kPairs, 18);
  std::printf("sd %.3f %s: %.4f %.4f\n", GetParam().sd, std::string(to_string(GetParam().processes)).c_str(), any_look,
              as_run_does);
  EXPECT_LE(any_look, 0.01);
  EXPECT_LE(as_run_does, 0.01);
}

TEST_P(Scenarios, HaveIntervalsThatHoldTheRatio) {
  if (GetParam().processes != Processes::kNormal) GTEST_SKIP() << "only normal processes have Student's coverage";
  for (const std::size_t launches : {2U, 3U, 5U, 10U}) {
    const Coverage held = coverage(GetParam(), launches, kPairs, 13);
    EXPECT_GE(held.ratio, 0.93) << launches;
    EXPECT_LE(held.ratio, 0.97) << launches;
  }
}

TEST_P(Scenarios, HaveTheirFivePerCentFound) {
  if (GetParam().sd > 0.01) GTEST_SKIP() << "5 % cannot be found at this spread";
  Scenario planted = GetParam();
  planted.ratio = 1.05;
  EXPECT_GE(judge_in_rounds(planted, kPairs, 14).different, 0.95);
}

INSTANTIATE_TEST_SUITE_P(All, Scenarios,
                         ::testing::Values(Scenario{0.005, Processes::kNormal}, Scenario{0.01, Processes::kNormal},
                                           Scenario{0.05, Processes::kNormal}, Scenario{0.005, Processes::kTwoModes},
                                           Scenario{0.01, Processes::kTwoModes}, Scenario{0.05, Processes::kTwoModes},
                                           Scenario{0.005, Processes::kRareMode}, Scenario{0.01, Processes::kRareMode},
                                           Scenario{0.05, Processes::kRareMode},
                                           Scenario{0.005, Processes::kHeavyTails},
                                           Scenario{0.01, Processes::kHeavyTails},
                                           Scenario{0.05, Processes::kHeavyTails}));

}  // namespace
}  // namespace assay::bench
