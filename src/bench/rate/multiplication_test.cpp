// SPDX-License-Identifier: Apache-2.0
#include "bench/rate/multiplication.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace assay {
namespace {

/// Measurements of a multiplication that takes 10 ms.
class BestRunTest : public ::testing::Test {
 protected:
  [[nodiscard]] BestRun best(const std::vector<RunBurst>& bursts) {
    bursts_ = 0;
    return best_run([&] { return Result<RunBurst>(bursts.at(bursts_++)); }).value();
  }
  std::size_t bursts_ = 0;
};

TEST_F(BestRunTest, IsTheFastestOfTheFirstCalmBurst) {
  const BestRun run = best({{{0.0105, 0.010, 0.0101, 0.2, 0.3}}});
  EXPECT_EQ(run.seconds, 0.010);
  EXPECT_FALSE(run.disturbed);
  EXPECT_EQ(bursts_, 1U);
}

TEST_F(BestRunTest, IsMeasuredAgainAfterADisturbance) {
  const BestRun scattered = best({{{0.2, 0.1, 0.3, 0.4}}, {{0.010, 0.010, 0.010}}});
  EXPECT_EQ(scattered.seconds, 0.010);
  EXPECT_FALSE(scattered.disturbed);
  const BestRun shared = best({{{0.02, 0.02, 0.02}, true}, {{0.010, 0.010, 0.011}}});
  EXPECT_EQ(shared.seconds, 0.010) << "runs of a busy machine may be equal";
  EXPECT_FALSE(shared.disturbed);
  const BestRun slower = best({{{0.010, 0.2, 0.2}}, {{0.2, 0.2, 0.2}}, {{0.011, 0.010, 0.010}}});
  EXPECT_EQ(bursts_, 3U) << "the second one is far from the best";
  EXPECT_EQ(slower.seconds, 0.010);
}

TEST_F(BestRunTest, IsTheFastestOfAllWhereNoneIsCalm) {
  const BestRun run = best({{{0.2, 0.2, 0.2}, true}, {{0.3}}, {{0.1, 0.2, 0.4}}, {{0.5, 0.5, 0.5}}});
  EXPECT_EQ(run.seconds, 0.1);
  EXPECT_TRUE(run.disturbed);
  EXPECT_EQ(bursts_, 4U);
}

TEST_F(BestRunTest, FailsWithTheMeasurement) {
  const auto failed = best_run([]() -> Result<RunBurst> { return fail(ErrorCode::kTimeout, "no answer"); });
  EXPECT_EQ(failed.error().code, ErrorCode::kTimeout);
}

}  // namespace
}  // namespace assay
