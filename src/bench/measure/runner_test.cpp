// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/runner.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <numeric>

#include "bench/measure/fake_source.hpp"
#include "bench/measure/stop_rule.hpp"
#include "core/base/fake_clock.hpp"

namespace assay {
namespace {
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;

Measurement measured(std::vector<BurstSource*> streams, const Clock& clock, const MeasurePlan& plan,
                     const MeasureHooks& hooks = {}) {
  auto result = measure(streams, clock, plan, hooks);
  EXPECT_TRUE(result.has_value());
  return result.value_or(Measurement{});
}

TEST(Runner, TakesExactlyTheRequestedIterationsAfterTheWarmup) {
  FakeClock clock;
  // The cold run takes 90 ms, the others 5 ms.
  FakeSource source(clock, [](std::size_t run) { return run == 0 ? 90 * kMs : 5 * kMs; });
  const auto m = measured({&source}, clock, {.warmup_iterations = 1, .iterations = 7});
  EXPECT_EQ(m.stop_reason, StopReason::kIterations);
  EXPECT_EQ(m.warmup_iterations, 1);
  EXPECT_EQ(m.warmup_ns, 90 * kMs);
  EXPECT_EQ(m.samples.size(), 7U);
  EXPECT_THAT(m.samples.duration_ns, Each(5 * kMs));
  EXPECT_EQ(m.window_ns, 35 * kMs);
  EXPECT_EQ(m.loop_ns, 35 * kMs);
  EXPECT_EQ(m.samples.start_ns.front(), 0);
  EXPECT_EQ(m.samples.start_ns.back(), 30 * kMs);
  EXPECT_EQ(source.runs, 8U);
}

TEST(Runner, AllRequestedSamplesCountAndTheClassDescribesThem) {
  const auto slow_at_first = [](std::size_t run) {
    return (run < 15 ? 90 : 5) * kMs + static_cast<std::int64_t>(run % 3);
  };
  FakeClock clock;
  FakeSource source(clock, slow_at_first);
  const auto asked = measured({&source}, clock, {.warmup_iterations = 0, .iterations = 60});
  EXPECT_EQ(asked.samples.size(), 60U);
  EXPECT_EQ(asked.steady_from, 0U);
  EXPECT_EQ(asked.steady_class, stats::SteadyClass::kWarmup);
  FakeSource other(clock, slow_at_first);
  const auto adaptive = measured({&other}, clock, {.warmup_iterations = 0});
  EXPECT_GT(adaptive.steady_from, 0U);
}

TEST(Runner, MeasuresWithoutWarmupIfZeroIsRequested) {
  FakeClock clock;
  FakeSource source(clock, 5 * kMs);
  const auto m = measured({&source}, clock, {.warmup_iterations = 0, .iterations = 1});
  EXPECT_EQ(source.runs, 1U);
  EXPECT_EQ(m.samples.size(), 1U);
  EXPECT_EQ(m.relative_half_width, std::nullopt) << "one sample has no interval";
}

TEST(Runner, StopsWhenPrecisionIsReachedButNotBeforeOneSecond) {
  FakeClock clock;
  FakeSource source(clock, 2 * kMs);
  const auto m = measured({&source}, clock, {});
  EXPECT_EQ(m.stop_reason, StopReason::kPrecisionReached);
  EXPECT_GE(m.window_ns, kSecond);
  EXPECT_LE(m.window_ns, kSecond + 100 * kMs);
  EXPECT_EQ(m.relative_half_width, 0.0);
}

TEST(Runner, TakesThirtySamplesEvenIfTheyNeedMoreThanOneSecond) {
  FakeClock clock;
  FakeSource source(clock, 100 * kMs);
  const auto m = measured({&source}, clock, {});
  EXPECT_EQ(m.stop_reason, StopReason::kPrecisionReached);
  EXPECT_EQ(m.samples.size(), 33U) << "checkpoints at 30 and 33";
}

TEST(Runner, StopsAfterThirtySecondsWithoutPrecision) {
  FakeClock clock;
  FakeSource source(clock, [](std::size_t run) { return run * 7919 % 97 * kMs + kMs; });
  const auto m = measured({&source}, clock, {});
  EXPECT_EQ(m.stop_reason, StopReason::kMaxTime);
  EXPECT_GE(m.window_ns, 30 * kSecond);
  EXPECT_LE(m.window_ns, 31 * kSecond);
  ASSERT_TRUE(m.relative_half_width);
  EXPECT_GT(*m.relative_half_width, 0.005);
}

TEST(Runner, TheTimeLimitHasPriorityOverThirtySamplesButNotOverThree) {
  FakeClock clock;
  FakeSource slow(clock, 2 * kSecond);
  const auto fifteen = measured({&slow}, clock, {});
  EXPECT_EQ(fifteen.stop_reason, StopReason::kMaxTime);
  EXPECT_EQ(fifteen.samples.size(), 15U);

  FakeSource very_slow(clock, 40 * kSecond);
  const auto three = measured({&very_slow}, clock, {});
  EXPECT_EQ(three.stop_reason, StopReason::kMaxTime);
  EXPECT_EQ(three.samples.size(), 3U);
  EXPECT_EQ(three.warmup_iterations, 1);
}

TEST(Runner, TheTimeEndsAFixedNumberOfRunsOnlyIfThePlanSaysSo) {
  MeasurePlan plan;
  plan.warmup_iterations = 10;
  plan.iterations = 20;
  plan.max_time_ns = 5 * kSecond;
  plan.max_warmup_ns = 2 * kSecond;
  FakeClock clock;
  FakeSource patient(clock, kSecond);
  const auto all = measured({&patient}, clock, plan);
  EXPECT_EQ(all.samples.size(), 20U);
  EXPECT_EQ(all.warmup_iterations, 10);
  plan.time_limits_iterations = true;
  FakeSource limited(clock, kSecond);
  const auto some = measured({&limited}, clock, plan);
  EXPECT_EQ(some.stop_reason, StopReason::kMaxTime);
  EXPECT_EQ(some.samples.size(), 5U);
  EXPECT_EQ(some.warmup_iterations, 2);
}

TEST(Runner, StopsAtAHundredThousandSamples) {
  FakeClock clock;
  FakeSource source(clock, 1'000);
  const auto m = measured({&source}, clock, {});
  EXPECT_EQ(m.stop_reason, StopReason::kMaxSamples);
  EXPECT_EQ(m.samples.size(), 100'000U);
}

TEST(Runner, KeepsTheSamplesTakenBeforeTheDeviceWasLost) {
  FakeClock clock;
  FakeSource source(clock, 5 * kMs);
  source.fail_at(6, Error{ErrorCode::kDeviceLost, "CUDA error 700"});
  const auto m = measured({&source}, clock, {.warmup_iterations = 2, .iterations = 100});
  EXPECT_EQ(m.stop_reason, StopReason::kFailure);
  EXPECT_EQ(m.samples.size(), 4U);
  ASSERT_TRUE(m.failure);
  EXPECT_EQ(m.failure->code, ErrorCode::kDeviceLost);
  EXPECT_THAT(m.failure->message, HasSubstr("700"));
}

TEST(Runner, ReportsAFailureInTheWarmupWithoutSamples) {
  FakeClock clock;
  FakeSource source(clock, 5 * kMs);
  source.fail_at(1, Error{ErrorCode::kOutOfMemory, "no memory"});
  const auto m = measured({&source}, clock, {.iterations = 10});
  EXPECT_EQ(m.stop_reason, StopReason::kFailure);
  EXPECT_EQ(m.samples.size(), 0U);
  EXPECT_EQ(m.warmup_ns, 5 * kMs);
  EXPECT_EQ(m.failure->code, ErrorCode::kOutOfMemory);
}

TEST(Runner, KeepsTheSamplesWhenInterrupted) {
  FakeClock clock;
  std::atomic<bool> interrupted{false};
  FakeSource source(clock, [&](std::size_t run) {
    if (run == 40) interrupted = true;
    return 20 * kMs;
  });
  const auto m =
      measured({&source}, clock, {.warmup_iterations = 0, .iterations = 1'000}, {.interrupted = &interrupted});
  EXPECT_EQ(m.stop_reason, StopReason::kInterrupted);
  EXPECT_GE(m.samples.size(), 41U);
  EXPECT_LE(m.samples.size(), 44U) << "at most the running burst";
  EXPECT_FALSE(m.failure);
}

TEST(Runner, RotatesTheInputSetsThroughWarmupAndBursts) {
  FakeClock clock;
  FakeSource source(
      clock, [](std::size_t) { return 5 * kMs; }, 3);
  (void)measured({&source}, clock, {.warmup_iterations = 4, .iterations = 21});
  ASSERT_EQ(source.visited_sets.size(), 25U);
  for (std::size_t i = 0; i < source.visited_sets.size(); ++i) EXPECT_EQ(source.visited_sets[i], i % 3);
}

TEST(Runner, SizesBurstsByTimeAndStartsWithOneRun) {
  FakeClock clock;
  FakeSource source(clock, kMs);
  (void)measured({&source}, clock, {.warmup_iterations = 0, .iterations = 400});
  EXPECT_EQ(source.bursts.front(), 1U);
  EXPECT_THAT(source.bursts, Each(Le(50U)));
  EXPECT_LE(source.bursts.size(), 12U);

  FakeSource slow(clock, 3 * kSecond);
  (void)measured({&slow}, clock, {.warmup_iterations = 0, .iterations = 5});
  EXPECT_THAT(slow.bursts, ElementsAre(1, 1, 1, 1, 1));
}

TEST(Runner, WarmsUpUntilTheRunsAreNoLongerGettingFaster) {
  FakeClock clock;
  // Falls from 20 ms to 10 ms over 60 runs.
  FakeSource source(clock, [](std::size_t run) {
    return 10 * kMs + std::max<std::int64_t>(0, 60 - static_cast<std::int64_t>(run)) * kMs / 6;
  });
  const auto m = measured({&source}, clock, {.iterations = 50});
  EXPECT_GE(m.warmup_iterations, 55);
  EXPECT_LE(m.warmup_iterations, 75);
}

TEST(Runner, EndsAWarmupThatNeverSettles) {
  FakeClock clock;
  FakeSource source(clock, [](std::size_t run) {
    return std::max<std::int64_t>(kMs, (1'000 - static_cast<std::int64_t>(run)) * kMs);
  });
  const auto m = measured({&source}, clock, {.iterations = 3});
  EXPECT_GE(m.warmup_ns, 5 * kSecond);
  EXPECT_LE(m.warmup_ns, 6 * kSecond);
}

TEST(Runner, FlushesNewSamplesAboutEverySecondAndAtTheEnd) {
  FakeClock clock;
  FakeSource source(clock, 10 * kMs);
  std::vector<std::size_t> flushed;
  std::size_t next = 0;
  MeasureHooks hooks;
  hooks.flush = [&](const Samples& samples, std::size_t first) -> Status {
    EXPECT_EQ(first, next);
    flushed.push_back(samples.size() - first);
    next = samples.size();
    return {};
  };
  (void)measured({&source}, clock, {.warmup_iterations = 0, .iterations = 350}, hooks);
  EXPECT_EQ(next, 350U);
  EXPECT_EQ(flushed.size(), 4U);
}

TEST(Runner, AFullDiskEndsTheMeasurementAndKeepsItsSamples) {
  FakeClock clock;
  FakeSource source(clock, 10 * kMs);
  int calls = 0;
  MeasureHooks hooks;
  hooks.flush = [&](const Samples&, std::size_t) -> Status {
    ++calls;
    return fail(ErrorCode::kInternal, "no space left");
  };
  const auto m = measured({&source}, clock, {.warmup_iterations = 0, .iterations = 1'000}, hooks);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(m.stop_reason, StopReason::kFailure);
  EXPECT_EQ(m.failure->message, "no space left");
  EXPECT_GE(m.samples.size(), 99U);
  EXPECT_LE(m.samples.size(), 110U);
}

TEST(Runner, CallsBackWhenTheWindowBeginsAndBetweenBursts) {
  FakeClock clock;
  FakeSource source(clock, 10 * kMs);
  std::size_t runs_at_begin = 0;
  int between = 0;
  MeasureHooks hooks;
  hooks.window_begins = [&] { runs_at_begin = source.runs; };
  hooks.between_bursts = [&] { ++between; };
  (void)measured({&source}, clock, {.warmup_iterations = 20, .iterations = 100}, hooks);
  EXPECT_EQ(runs_at_begin, 20U);
  EXPECT_GE(between, 10);
  EXPECT_LE(between, 20);
}

class LyingSource final : public BurstSource {
 public:
  explicit LyingSource(std::function<void(SampleColumns&)> lie) : lie_(std::move(lie)) {}
  Status run_timed(std::size_t, std::size_t, SampleColumns& out) override {
    lie_(out);
    return {};
  }

 private:
  std::function<void(SampleColumns&)> lie_;
};

TEST(Runner, RefusesImpossibleSamples) {
  FakeClock clock;
  LyingSource nothing([](SampleColumns&) {});
  EXPECT_THAT(measured({&nothing}, clock, {}).failure->message,
              HasSubstr("1 runs were requested, the engine reported 0"));
  LyingSource negative([](SampleColumns& out) {
    out.duration_ns[0] = -5;
    out.count = 1;
  });
  EXPECT_THAT(measured({&negative}, clock, {}).failure->message, HasSubstr("a duration of -5 ns"));
  LyingSource too_many([](SampleColumns& out) { out.count = out.capacity + 1; });
  EXPECT_THAT(measured({&too_many}, clock, {}).failure->message, HasSubstr("there is space for"));
}

TEST(Runner, KeepsAnUnknownStartUnknown) {
  FakeClock clock;
  LyingSource source([](SampleColumns& out) {
    out.kind[0] = 0;
    out.start_ns[0] = std::numeric_limits<std::int64_t>::min();
    out.duration_ns[0] = 1'000'000'000;
    out.count = 1;
  });
  clock.set_read_cost(500 * kMs);
  const auto m = measured({&source}, clock, {.warmup_iterations = 0, .iterations = 1});
  EXPECT_THAT(m.samples.start_ns, ElementsAre(std::numeric_limits<std::int64_t>::min()));
}

/// Each run has one sample and one for each of its tokens.
class FakeGenerator final : public BurstSource {
 public:
  FakeGenerator(FakeClock& clock, std::size_t tokens) : clock_(clock), tokens_(tokens) {}
  Status run_timed(std::size_t n, std::size_t, SampleColumns& out) override {
    largest_burst = std::max(largest_burst, n * samples_per_run());
    for (std::size_t i = 0; i < n; ++i) {
      const std::int64_t start = clock_.now_ns();
      for (std::size_t token = 0; token <= tokens_; ++token, ++out.count) {
        const SampleKind kind = token == 0   ? SampleKind::kRun
                                : token == 1 ? SampleKind::kFirstToken
                                             : SampleKind::kToken;
        out.kind[out.count] = static_cast<std::uint8_t>(kind);
        out.start_ns[out.count] = start;
        out.duration_ns[out.count] = token == 0 ? static_cast<std::int64_t>(tokens_) : 1;
      }
      clock_.advance(static_cast<std::int64_t>(tokens_));
    }
    return {};
  }
  [[nodiscard]] std::size_t samples_per_run() const override { return tokens_ + 1; }
  std::size_t largest_burst = 0;

 private:
  FakeClock& clock_;
  std::size_t tokens_;
};

TEST(Runner, HasSpaceForEveryTokenOfARunAndCountsRuns) {
  FakeClock clock;
  FakeGenerator source(clock, 99);  // 99 ns: bursts would have about 500,000 runs
  BurstSource* streams[] = {&source};
  MeasurePlan plan;
  plan.warmup_iterations = 3;
  plan.iterations = 1000;
  const auto measured = measure(streams, clock, plan);
  ASSERT_TRUE(measured) << to_string(measured.error());
  EXPECT_EQ(measured->samples.size(), 100'000U);
  EXPECT_LE(source.largest_burst, kBurstCapacity);
  EXPECT_EQ(measured->steady_from % 100, 0U) << "a steady series begins with a run";

  FakeGenerator endless(clock, kBurstCapacity);
  BurstSource* one[] = {&endless};
  EXPECT_EQ(measure(one, clock, plan).error().code, ErrorCode::kInvalidArgument);
}

TEST(Runner, RefusesAnInvalidPlan) {
  FakeClock clock;
  FakeSource source(clock, 1);
  std::array<BurstSource*, 1> one{&source};
  EXPECT_EQ(measure({}, clock, {}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(measure(one, clock, {.iterations = 0}).error().message, HasSubstr("iterations = 0"));
  EXPECT_THAT(measure(one, clock, {.warmup_iterations = -1}).error().message, HasSubstr("warmup_iterations = -1"));
  EXPECT_THAT(measure(one, clock, {.max_samples = 0}).error().message, HasSubstr("max_samples = 0"));
}

TEST(Runner, SeveralStreamsShareTheIterationsAndEachWarmsUp) {
  FakeClock clock;
  std::vector<std::unique_ptr<FakeSource>> sources;
  std::vector<BurstSource*> streams;
  for (int i = 0; i < 4; ++i) {
    sources.push_back(std::make_unique<FakeSource>(clock, kMs));
    streams.push_back(sources.back().get());
  }
  const auto m = measured(streams, clock, {.warmup_iterations = 3, .iterations = 1'000});
  EXPECT_EQ(m.stop_reason, StopReason::kIterations);
  EXPECT_EQ(m.samples.size(), 1'000U);
  EXPECT_GE(m.warmup_iterations, 12);
  for (const auto& source : sources) EXPECT_GE(source->runs, 3U);
  EXPECT_THAT(m.samples.stream, Each(Le(3U)));
  const auto total = std::accumulate(sources.begin(), sources.end(), std::size_t{0},
                                     [](std::size_t sum, const auto& source) { return sum + source->runs; });
  EXPECT_EQ(total, 1'000U + static_cast<std::size_t>(m.warmup_iterations));
}

TEST(Runner, SeveralStreamsStopByThePlanAndOneFailureEndsAll) {
  FakeClock clock;
  FakeSource first(clock, kMs);
  FakeSource second(clock, kMs);
  const auto adaptive = measured({&first, &second}, clock, {.max_samples = 5'000});
  EXPECT_LE(adaptive.samples.size(), 5'000U);
  EXPECT_THAT(adaptive.samples.duration_ns, Each(Ge(kMs)));
  EXPECT_FALSE(adaptive.failure);

  FakeSource lost(clock, kMs);
  lost.fail_at(20, Error{ErrorCode::kDeviceLost, "gone"});
  const auto failed = measured({&first, &lost}, clock, {.warmup_iterations = 1, .iterations = 1'000'000'000});
  EXPECT_EQ(failed.stop_reason, StopReason::kFailure);
  EXPECT_EQ(failed.failure->code, ErrorCode::kDeviceLost);
}

TEST(TimedLoop, StopsAtTheFirstFailureWithTheSamplesBefore) {
  FakeClock clock;
  std::array<std::uint8_t, 4> kind{};
  std::array<std::int64_t, 4> start{}, duration{};
  SampleColumns out{4, 0, kind.data(), start.data(), duration.data()};
  int runs = 0;
  EXPECT_FALSE(timed_loop(clock, 4, 5, 2, out, [&](std::size_t set) {
    EXPECT_EQ(set, runs == 1 ? 0U : 1U);
    clock.advance(10);
    return ++runs < 3;
  }));
  EXPECT_EQ(out.count, 2U);
  EXPECT_THAT(start, ElementsAre(0, 10, 0, 0));
}

}  // namespace
}  // namespace assay
