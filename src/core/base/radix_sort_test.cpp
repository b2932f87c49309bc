// SPDX-License-Identifier: Apache-2.0
#include "core/base/radix_sort.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace assay {
namespace {

struct Place {
  double value = 0;
  std::size_t index = 0;
};

/// Sorted by its values, each with the place that it had.
void expect_sorted(const std::vector<double>& values, const char* what) {
  std::vector<Place> places;
  for (std::size_t i = 0; i < values.size(); ++i) places.push_back({values[i], i});
  sort_by_key(places, [](const Place& place) { return sort_key(place.value); });
  std::vector<double> expected = values;
  std::ranges::sort(expected);
  ASSERT_EQ(places.size(), values.size()) << what;
  std::vector<bool> seen(values.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    ASSERT_EQ(places[i].value, expected[i]) << what << ' ' << i;
    ASSERT_EQ(values[places[i].index], expected[i]) << what << ' ' << i;
    ASSERT_FALSE(seen[places[i].index]) << what;
    seen[places[i].index] = true;
  }
}

TEST(RadixSort, SortsAsComparingDoesWhateverBitsDiffer) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const std::size_t count : {0U, 1U, 2U, 2047U, 2048U, 5000U}) {
    std::vector<double> times(count), all(count), few(count), same(count, 3.5);
    for (double& time : times) time = 1e6 + static_cast<double>(random() % 20'000'000);
    for (double& value : all) value = normal(random) * std::pow(10.0, static_cast<double>(random() % 600) - 300);
    for (double& value : few) value = static_cast<double>(random() % 3) - 1;
    expect_sorted(times, "times");
    expect_sorted(all, "of every size and sign");
    expect_sorted(few, "few values");
    expect_sorted(same, "one value");
    if (count < 3) continue;
    all[0] = kInfinity;
    all[1] = -kInfinity;
    all[2] = std::numeric_limits<double>::denorm_min();
    expect_sorted(all, "with the ends");
  }
}

TEST(RadixSort, SortsIntegersOfAllBits) {
  std::mt19937_64 random(2);
  for (const unsigned bits : {1U, 12U, 34U, 64U}) {
    std::vector<std::int64_t> values(3000);
    for (std::int64_t& value : values) value = static_cast<std::int64_t>(random() >> (64 - bits));
    values[5] = std::numeric_limits<std::int64_t>::min();
    std::vector<std::int64_t> expected = values;
    std::ranges::sort(expected);
    sort_by_key(values, [](std::int64_t value) { return sort_key(value); });
    EXPECT_EQ(values, expected) << bits;
  }
}

}  // namespace
}  // namespace assay
