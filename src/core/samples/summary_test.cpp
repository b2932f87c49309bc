// SPDX-License-Identifier: Apache-2.0
#include "core/samples/summary.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/base/fake_clock.hpp"

namespace assay {
namespace {

void add(Samples& samples, std::uint32_t stream, std::int64_t start, std::int64_t duration,
         SampleKind kind = SampleKind::kRun) {
  samples.kind.push_back(static_cast<std::uint8_t>(kind));
  samples.stream.push_back(stream);
  samples.start_ns.push_back(start);
  samples.duration_ns.push_back(duration);
}

/// One stream without gaps, durations 1, 2, … n ms in a shuffled order.
Samples one_stream(int n) {
  Samples samples;
  std::int64_t now = 0;
  for (int i = 0; i < n; ++i) {
    const std::int64_t duration = (i * 37 % n + 1) * kMs;
    add(samples, 0, now, duration);
    now += duration;
  }
  return samples;
}

Measurement sampled(std::int64_t window_ns) {
  Measurement measurement;
  measurement.window_ns = window_ns;
  measurement.loop_ns = window_ns;
  measurement.warmup_iterations = 10;
  measurement.warmup_ns = 25 * kMs;
  return measurement;
}

TEST(Summary, SummarisesTokensFromTheSteadyRunOn) {
  Samples samples;
  std::int64_t now = 0;
  for (int run = 0; run < 4; ++run) {
    // The first generation is slow; then 10 ms to the first token and 2, 3 and 4 ms for the others.
    const std::int64_t slow = run == 0 ? 10 : 1;
    add(samples, 0, now, slow * 19 * kMs);
    add(samples, 0, now, slow * 10 * kMs, SampleKind::kFirstToken);
    for (const int ms : {2, 3, 4}) add(samples, 0, now, slow * ms * kMs, SampleKind::kToken);
    now += slow * 19 * kMs;
  }
  Measurement measurement = sampled(now);
  measurement.steady_from = 5;
  Record record;
  summarise(measurement, samples, 2, record);
  EXPECT_EQ(record.iterations, 3) << "a run is a generation";
  EXPECT_EQ(record.latency_mean_ms, 19.0);
  EXPECT_NEAR(*record.throughput_ips, 2 / 0.019, 1e-9) << "sequences";
  EXPECT_EQ(record.ttft_ms, 10.0);
  EXPECT_EQ(record.tpot_ms, 3.0);
  EXPECT_EQ(record.tpot_p50_ms, 3.0);
  EXPECT_EQ(record.tpot_p99_ms, 4.0);
  EXPECT_NEAR(*record.tokens_per_second, 1000.0 / 3, 1e-9);

  Record plain;
  summarise(sampled(5'050 * kMs), one_stream(100), 8, plain);
  EXPECT_FALSE(plain.ttft_ms || plain.tpot_ms || plain.tokens_per_second);
}

TEST(Summary, ComputesNearestRanksExactly) {
  Record record;
  summarise(sampled(5'050 * kMs), one_stream(100), 8, record);
  EXPECT_EQ(record.iterations, 100);
  EXPECT_EQ(record.latency_p50_ns, 50 * kMs);
  EXPECT_EQ(record.latency_p50_ms, 50.0);
  EXPECT_EQ(record.latency_p90_ms, 90.0);
  EXPECT_EQ(record.latency_p95_ms, 95.0);
  EXPECT_EQ(record.latency_p99_ms, 99.0);
  EXPECT_EQ(record.latency_min_ms, 1.0);
  EXPECT_EQ(record.latency_max_ms, 100.0);
  EXPECT_EQ(record.latency_mean_ms, 50.5);
  EXPECT_NEAR(*record.latency_std_ms, 29.011491975882016, 1e-9) << "with n - 1";
  EXPECT_NEAR(*record.throughput_ips, 8 / 0.0505, 1e-9);
  EXPECT_EQ(record.window_ns, 5'050 * kMs);
  EXPECT_EQ(record.wall_time_per_iteration_ns, 50.5 * kMs);
  EXPECT_EQ(record.warmup_iterations, 10);
  EXPECT_EQ(record.warmup_time_ms, 25.0);
  EXPECT_EQ(record.stop_reason, StopReasons{StopReason::kIterations});
  EXPECT_EQ(record.flags, Flags());
}

TEST(Summary, SaysWhichQuantilesHaveTooFewSamples) {
  Record record;
  summarise(sampled(1), one_stream(50), 1, record);
  EXPECT_EQ(record.latency_p50_quality, "ok");
  EXPECT_THAT(record.latency_p99_quality, ::testing::StartsWith("few_samples(n=50<"));
  EXPECT_TRUE(record.latency_p50_low_ms);
  EXPECT_FALSE(record.latency_p99_high_ms) << "the bound does not exist";
}

TEST(Summary, WithoutAnIntervalOfTheMedianTheSamplesAreTooFew) {
  Samples samples;
  std::int64_t now = 0;
  for (int i = 0; i < 100; ++i, now += 10 * kMs) add(samples, 0, now, (1'000 + i / 10 * 10) * kMs / 100);
  Record record;
  summarise(sampled(now), samples, 1, record);
  EXPECT_FALSE(record.latency_p50_low_ms || record.latency_p50_high_ms);
  EXPECT_TRUE(record.flags.has(Flag::kFewSamples)) << "100 samples of a drift are few independent ones";
  EXPECT_THAT(record.latency_p50_quality, ::testing::MatchesRegex("few_samples\\(n=100<[0-9]+=1[05]x[0-9.e+]+\\)"));

  Record few;
  summarise(sampled(94 * kMs), one_stream(15), 1, few);
  EXPECT_EQ(few.latency_p50_quality, "few_samples(n=15<30)");
  EXPECT_FALSE(few.latency_p50_low_ms);
}

TEST(Summary, ReportsTheMedianOfTheWholeWindowToo) {
  Samples samples;
  for (int i = 0; i < 100; ++i) add(samples, 0, i * 5 * kMs, i < 60 ? 9 * kMs : 5 * kMs);
  Measurement measurement = sampled(500 * kMs);
  measurement.steady_from = 60;
  Record record;
  summarise(measurement, samples, 1, record);
  EXPECT_EQ(record.latency_p50_ms, 5.0);
  EXPECT_EQ(record.latency_window_p50_ms, 9.0);
}

TEST(Summary, KeepsNanosecondsThatADoubleOfMillisecondsWouldRound) {
  Samples samples;
  for (int i = 0; i < 3; ++i) add(samples, 0, i, 1'234'567'891'234'567);
  Record record;
  summarise(sampled(1), samples, 1, record);
  EXPECT_EQ(record.latency_p50_ns, 1'234'567'891'234'567);
}

TEST(Summary, UsesRunsOfTheSteadySuffixOnly) {
  Samples samples;
  for (int i = 0; i < 40; ++i) {
    add(samples, 0, 0, i < 10 ? 900 * kMs : 5 * kMs);
    add(samples, 0, 0, kMs, SampleKind::kToken);
  }
  Measurement measurement = sampled(kMs);
  measurement.steady_from = 20;
  measurement.steady_class = stats::SteadyClass::kWarmup;
  Record record;
  summarise(measurement, samples, 1, record);
  EXPECT_EQ(record.iterations, 30);
  EXPECT_EQ(record.latency_max_ms, 5.0);
  EXPECT_EQ(record.steady_from, 20);
  EXPECT_EQ(record.steady_class, stats::SteadyClass::kWarmup);
  EXPECT_EQ(record.flags, Flags());
}

TEST(Summary, FlagsFewUnsteadyAndNoisy) {
  Measurement measurement = sampled(kMs);
  measurement.steady_class = stats::SteadyClass::kSlowdown;
  Samples samples;
  for (int i = 0; i < 29; ++i) add(samples, 0, 0, i % 10 == 0 ? 900 * kMs : (100 + i) * kMs / 20);
  Record record;
  summarise(measurement, samples, 1, record);
  EXPECT_EQ(record.flags, Flags({Flag::kFewSamples, Flag::kNoisy, Flag::kUnsteady}));
  EXPECT_EQ(record.outliers, 3);
}

TEST(Summary, CountsItemsOfSeveralStreamsInTheWindowOfAll) {
  // Two streams of 10 ms runs, the second half a run later and one run longer: 200 runs per second, whatever the edges.
  Samples samples;
  for (std::int64_t i = 0; i < 50; ++i) add(samples, 0, i * 10 * kMs, 10 * kMs);
  for (std::int64_t i = 0; i < 51; ++i) add(samples, 1, i * 10 * kMs + 5 * kMs, 10 * kMs);
  Record record;
  summarise(sampled(515 * kMs), samples, 4, record);
  EXPECT_EQ(record.window_ns, 495 * kMs);
  EXPECT_NEAR(*record.throughput_ips, 800, 1e-9);
  EXPECT_EQ(record.latency_p50_ms, 10.0);
}

TEST(Summary, ThroughputOfSeveralStreamsDoesNotComeFromOneRunOfEach) {
  // Two streams of 10 ms runs, the second half a run later: 200 runs per second.
  Samples samples;
  for (std::int64_t i = 0; i < 50; ++i) add(samples, 0, i * 10 * kMs, 10 * kMs);
  for (std::int64_t i = 0; i < 50; ++i) add(samples, 1, i * 10 * kMs + 5 * kMs, 10 * kMs);
  const auto throughput = [&](std::size_t steady_from) {
    Measurement measurement = sampled(505 * kMs);
    measurement.steady_from = steady_from;
    Record record;
    summarise(measurement, samples, 1, record);
    return record.throughput_ips.value_or(0);
  };
  EXPECT_NEAR(throughput(0), 200, 1e-9);
  EXPECT_NEAR(throughput(60), 200, 1e-9) << "only the second stream has steady runs";
  EXPECT_NEAR(throughput(99), 200, 1e-9) << "one run in all";
  EXPECT_NEAR(throughput(49), 200, 1e-9) << "one run of the first stream";
}

TEST(Summary, WithoutStartsTheMeasurementsWindowCounts) {
  Samples samples;
  for (int i = 0; i < 100; ++i)
    add(samples, static_cast<std::uint32_t>(i % 2), std::numeric_limits<std::int64_t>::min(), 10 * kMs);
  Record record;
  summarise(sampled(500 * kMs), samples, 1, record);
  EXPECT_NEAR(*record.throughput_ips, 200, 1e-9);
  EXPECT_EQ(record.window_ns, 500 * kMs);

  Measurement late = sampled(500 * kMs);
  late.steady_from = 50;
  Record half;
  summarise(late, samples, 1, half);
  EXPECT_NEAR(*half.throughput_ips, 200, 1e-9) << "all runs of that window";
}

TEST(Summary, OneSampleHasNoIntervalAndNoSpread) {
  Samples samples;
  add(samples, 0, 0, 7 * kMs);
  Record record;
  summarise(sampled(7 * kMs), samples, 1, record);
  EXPECT_EQ(record.latency_p99_ms, 7.0);
  EXPECT_EQ(record.latency_std_ms, 0.0);
  EXPECT_EQ(record.latency_p50_low_ms, std::nullopt);
  EXPECT_TRUE(record.flags.has(Flag::kFewSamples));
}

TEST(Summary, DurationsOfZeroDoNotGiveInfiniteThroughput) {
  Samples samples;
  for (int i = 0; i < 40; ++i) add(samples, 0, 0, 0);
  Record record;
  summarise(sampled(0), samples, 1, record);
  EXPECT_EQ(record.latency_p50_ns, 0);
  EXPECT_EQ(record.throughput_ips, std::nullopt);
}

TEST(Summary, KeepsTheSamplesOfALostWorker) {
  Record record;
  summarise(Measurement{}, one_stream(40), 1, record);
  EXPECT_EQ(record.iterations, 40);
  EXPECT_EQ(record.latency_p50_ms, 20.0);
  EXPECT_TRUE(record.stop_reason.empty());
  EXPECT_EQ(record.steady_class, std::nullopt);
  EXPECT_EQ(record.warmup_iterations, std::nullopt);
}

TEST(Summary, WithoutSamplesOnlyTheEndIsSet) {
  Measurement measurement;
  measurement.stop_reason = StopReason::kFailure;
  measurement.failure = Error{ErrorCode::kDeviceLost, "gone"};
  Record record;
  summarise(measurement, {}, 1, record);
  EXPECT_EQ(record.stop_reason, StopReasons{StopReason::kFailure});
  EXPECT_EQ(record.iterations, std::nullopt);
  EXPECT_EQ(record.latency_mean_ms, std::nullopt);
}

TEST(Summary, FlagsAnEnvironmentWithReasons) {
  Record record;
  flag_noise(Json::object(), record);
  flag_noise({{"noise", {{"reasons", Json::array()}}}}, record);
  EXPECT_EQ(record.flags, Flags());
  flag_noise({{"noise", {{"reasons", {"steal_share"}}}}}, record);
  EXPECT_EQ(record.flags, Flags({Flag::kNoisy}));
}

}  // namespace
}  // namespace assay
