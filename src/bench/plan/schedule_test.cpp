// SPDX-License-Identifier: Apache-2.0
#include "bench/plan/schedule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace assay {
namespace {
using ::testing::ElementsAre;

using Order = std::vector<std::size_t>;

Order order_of(const std::vector<std::string>& groups, std::int64_t round, std::uint64_t seed = 0) {
  Order order;
  for (const ScheduledLaunch& launch : schedule_round(groups, std::vector<bool>(groups.size(), true), round, seed)) {
    EXPECT_EQ(launch.round, round);
    order.push_back(launch.task);
  }
  return order;
}

TEST(Schedule, EachShapeIsOnceTheFirstOfAFreshProcess) {
  const std::vector<std::string> groups{"a", "a", "a"};
  EXPECT_THAT(order_of(groups, 1), ElementsAre(0, 1, 2));
  EXPECT_THAT(order_of(groups, 2), ElementsAre(1, 2, 0));
  EXPECT_THAT(order_of(groups, 3), ElementsAre(2, 0, 1));
  EXPECT_THAT(order_of(groups, 4), ElementsAre(0, 1, 2));
}

TEST(Schedule, TasksOfOneWorkerStayTogether) {
  const std::vector<std::string> groups{"a", "b", "a", "b", "c"};
  for (std::int64_t round = 1; round <= 20; ++round) {
    std::vector<std::string> runs;
    for (const std::size_t task : order_of(groups, round))
      if (runs.empty() || runs.back() != groups[task]) runs.push_back(groups[task]);
    EXPECT_EQ(runs.size(), 3U) << "round " << round;
  }
}

TEST(Schedule, TargetsComeInEveryOrderAndEverySecondRoundIsTheReverseOfTheOneBefore) {
  const std::vector<std::string> groups{"a", "b", "c"};
  std::set<Order> odd;
  for (std::int64_t round = 1; round <= 99; round += 2) {
    Order order = order_of(groups, round);
    odd.insert(order);
    std::ranges::reverse(order);
    EXPECT_EQ(order_of(groups, round + 1), order) << "round " << round;
  }
  EXPECT_EQ(odd.size(), 6U);
}

TEST(Schedule, TheSeedDecidesTheOrder) {
  const std::vector<std::string> groups{"a", "b", "c", "d"};
  std::set<Order> orders;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    EXPECT_EQ(order_of(groups, 1, seed), order_of(groups, 1, seed));
    orders.insert(order_of(groups, 1, seed));
  }
  EXPECT_GT(orders.size(), 12U);
}

TEST(Schedule, TasksThatAreNotLaunchedChangeNothingForTheOthers) {
  const auto launches = schedule_round({"a", "a", "a"}, {true, false, true}, 2, 0);
  EXPECT_THAT(launches, ElementsAre(ScheduledLaunch{2, 2}, ScheduledLaunch{2, 0}));
}

TEST(Schedule, OtherThreadsAreAnotherWorker) {
  Task one, two;
  EXPECT_EQ(worker_group(one), worker_group(two));
  two.shape.batch = 8;
  EXPECT_EQ(worker_group(one), worker_group(two));
  two.shape.threads = 2;
  EXPECT_NE(worker_group(one), worker_group(two));
}

}  // namespace
}  // namespace assay
