// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/random.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <vector>

namespace assay {
namespace {
using ::testing::ElementsAre;

// These bytes are the scheme (a second implementation, in Python, gave the same): when one changes, seed_scheme() has
// to change with it.
TEST(CounterRandom, BytesNeverChange) {
  EXPECT_EQ(seed_scheme(), "splitmix64-ih4-1");
  const CounterRandom random(42, "encoder.layer.0.weight");
  EXPECT_EQ(random.bits(0), 0x4BA8DC0E98466EACU);
  EXPECT_EQ(random.bits(1'000'000'000'000), 0xD7556439549CA435U);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(random.normal(7)), 0xBFABC70AU);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(random.uniform(7)), 0x3DB76330U);
  EXPECT_EQ(random.integer(7, -100, 30521), 2642);
}

TEST(CounterRandom, StreamsDifferBySeedAndName) {
  EXPECT_NE(CounterRandom(1, "a").bits(0), CounterRandom(2, "a").bits(0));
  EXPECT_NE(CounterRandom(1, "a").bits(0), CounterRandom(1, "b").bits(0));
}

TEST(CounterRandom, NormalHasTheMomentsOfFourUniforms) {
  const CounterRandom random(3, "weights");
  constexpr int kCount = 200'000;
  double sum = 0, square = 0, fourth = 0, largest = 0;
  for (int i = 0; i < kCount; ++i) {
    const double x = static_cast<double>(random.normal(static_cast<std::uint64_t>(i)));
    sum += x;
    square += x * x;
    fourth += x * x * x * x;
    largest = std::max(largest, std::abs(x));
  }
  EXPECT_NEAR(sum / kCount, 0.0, 0.01);
  EXPECT_NEAR(square / kCount, 1.0, 0.01);
  EXPECT_NEAR(fourth / kCount, 3.0 - 1.2 / 4, 0.05);  // kurtosis of Irwin-Hall: 3 - 6 / (5 n)
  EXPECT_LE(largest, 3.4642);
}

TEST(CounterRandom, UniformAndIntegerFillTheirRanges) {
  const CounterRandom random(5, "ids");
  std::array<int, 10> counts{};
  double sum = 0;
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    const float u = random.uniform(i);
    ASSERT_GE(u, 0.0F);
    ASSERT_LT(u, 1.0F);
    sum += static_cast<double>(u);
    ++counts[static_cast<std::size_t>(random.integer(i, -3, 6) + 3)];
  }
  EXPECT_NEAR(sum / 100'000, 0.5, 0.01);
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 400);
  EXPECT_EQ(random.integer(0, 4, 4), 4);
}

TEST(CounterRandom, FillsAnyPieceOfAStream) {
  const CounterRandom random(1, "w");
  std::vector<float> all(10), tail(4);
  fill_normal(random, 1.0F, 0.5F, all);
  fill_normal(random, 1.0F, 0.5F, tail, 6);
  EXPECT_THAT(tail, ElementsAre(all[6], all[7], all[8], all[9]));
}

}  // namespace
}  // namespace assay
