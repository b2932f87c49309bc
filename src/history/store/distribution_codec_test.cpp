// SPDX-License-Identifier: Apache-2.0
#include "history/store/distribution_codec.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "history/store/fake_bundles.hpp"

namespace assay {
namespace {
using ::testing::ElementsAre;
using ::testing::SizeIs;

Samples runs(const std::vector<std::int64_t>& durations, bool starts = true) {
  Samples samples;
  std::int64_t start = 0;
  for (const std::int64_t duration : durations) {
    samples.kind.push_back(0);
    samples.stream.push_back(0);
    samples.start_ns.push_back(starts ? start : kUnknownStart);
    samples.duration_ns.push_back(duration);
    start += duration;
  }
  return samples;
}

TEST(ShapeCodec, CodesGrowWithTimesAndTheEndsAreExact) {
  for (const std::int64_t high : {101, 5'000, 90'000'000}) {
    std::uint16_t before = 0;
    for (std::int64_t ns = 100; ns <= high; ns += std::max<std::int64_t>(1, high / 1000)) {
      const std::uint16_t code = encode_time(ns, 100, high);
      EXPECT_GE(code, before);
      before = code;
      // Half a step of the scale.
      const double error = std::abs(std::log(decode_ms(code, 100, high) * 1e6 / static_cast<double>(ns)));
      EXPECT_LE(error, 0.5001 * std::log(static_cast<double>(high) / 100) / 65535 + 1e-12);
    }
    EXPECT_EQ(encode_time(100, 100, high), 0);
    EXPECT_EQ(encode_time(high, 100, high), 65535);
    EXPECT_EQ(decode_ms(0, 100, high), 1e-4);
    EXPECT_EQ(decode_ms(65535, 100, high), static_cast<double>(high) / 1e6);
  }
  EXPECT_EQ(encode_time(7, 7, 7), 0);
  EXPECT_EQ(decode_ms(0, 7, 7), 7e-6);
}

TEST(ShapeCodec, FewSamplesAreTheirOwnQuantiles) {
  const auto distributions = distributions_of(runs({400, 100, 300, 200}), 0);
  ASSERT_THAT(distributions, SizeIs(1));
  std::vector<double> times;
  for (const std::uint16_t code : distributions[0].quantiles)
    times.push_back(std::round(decode_ms(code, distributions[0].low_ns, distributions[0].high_ns) * 1e8) / 100);
  EXPECT_THAT(times, ElementsAre(100, 200, 300, 400));
  EXPECT_EQ(distributions[0].samples, 4);
  EXPECT_EQ(distributions[0].window_ns, 1000);
}

TEST(ShapeCodec, ManySamplesHaveTheNearestRanksBothWithShortAndWithWideRanges) {
  for (const int shift : {44, 24}) {  // differences of 20 and of 40 bits
    std::vector<std::int64_t> durations;
    std::uint64_t seed = 7;
    for (int i = 0; i < 10'000; ++i) {
      seed = seed * 6364136223846793005U + 1442695040888963407U;
      durations.push_back(1'000'000 + static_cast<std::int64_t>(seed >> shift));
    }
    const SampleDistribution distribution = distributions_of(runs(durations), 0).at(0);
    std::ranges::sort(durations);
    ASSERT_THAT(distribution.quantiles, SizeIs(kMostQuantiles));
    for (std::size_t i = 0; i < kMostQuantiles; ++i) {
      const double p = static_cast<double>(i) / (kMostQuantiles - 1);
      const auto rank = static_cast<std::size_t>(std::max(std::ceil(p * 10'000 - 1e-9) - 1, 0.0));
      EXPECT_EQ(distribution.quantiles[i], encode_time(durations[rank], distribution.low_ns, distribution.high_ns))
          << i;
    }
  }
}

TEST(ShapeCodec, BinsShowTheWholeWindowAndWhereItBecomesSteady) {
  std::vector<std::int64_t> durations(200, 2'000);
  std::fill_n(durations.begin(), 100, 6'000);  // three quarters of the time
  const SampleDistribution distribution = distributions_of(runs(durations), 100).at(0);
  EXPECT_EQ(distribution.steady, 100);
  ASSERT_THAT(distribution.bins, SizeIs(3 * kMostBins));
  EXPECT_EQ(distribution.first_steady_bin, 75);
  EXPECT_EQ(distribution.bins[3 * 10], 65535) << "the least of a slow bin";
  EXPECT_EQ(distribution.bins[3 * 90 + 2], 0) << "the greatest of a fast bin";
  EXPECT_THAT(distribution.quantiles, ::testing::Each(0)) << "of the steady samples only";
}

TEST(ShapeCodec, WithoutStartsBinsHaveEqualNumbersOfSamplesAndEmptyOnesAreMarked) {
  std::vector<std::int64_t> durations(200, 2'000);
  std::fill_n(durations.begin(), 100, 6'000);
  const SampleDistribution distribution = distributions_of(runs(durations, false), 100).at(0);
  EXPECT_EQ(distribution.first_steady_bin, 50);
  EXPECT_EQ(distribution.window_ns, 800'000);

  Samples gap = runs({1'000, 1'000});
  gap.start_ns = {0, 9'000};
  const SampleDistribution two = distributions_of(gap, 0).at(0);
  EXPECT_THAT(two.bins, ElementsAre(0, 0, 0, 0, 0, 0));
  gap = runs(std::vector<std::int64_t>(100, 1'000));
  gap.start_ns.back() = 900'000;
  EXPECT_EQ(distributions_of(gap, 0).at(0).bins[3 * 50], 65535) << "nothing started there";
}

TEST(ShapeCodec, EveryKindOfSampleHasItsOwnShape) {
  Samples samples = runs({1'000, 10, 20, 30});
  samples.kind = {0, 1, 2, 2};
  const auto distributions = distributions_of(samples, 0);
  ASSERT_THAT(distributions, SizeIs(3));
  EXPECT_EQ(distributions[2].kind, SampleKind::kToken);
  EXPECT_EQ(distributions[2].samples, 2);
  EXPECT_EQ(distributions[2].low_ns, 20);
  EXPECT_TRUE(distributions_of({}, 0).empty());
}

TEST(ShapeCodec, BytesAndDigitsAreReadBack) {
  const std::vector<std::uint16_t> codes{0, 1, 255, 256, 65535, 0xABCD};
  const std::string bytes = code_bytes(codes);
  std::string hex;
  for (const char byte : bytes) hex += fmt::format("{:02X}", static_cast<unsigned char>(byte));
  EXPECT_EQ(hex.substr(hex.size() - 4), "CDAB");
  EXPECT_EQ(codes_of_hex(hex), codes);
}

}  // namespace
}  // namespace assay
