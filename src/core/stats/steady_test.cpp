// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "core/stats/samples_for_tests.hpp"
#include "core/stats/stats.hpp"

namespace assay::stats {
namespace {

TEST(SteadyState, OfConstantOrNoSamplesIsFlat) {
  EXPECT_EQ(detect_steady_state({}).kind, SteadyClass::kFlat);
  for (const std::size_t n : {1U, 9U, 59U, 60U, 500U, 501U, 3000U}) {
    const SteadyState state = detect_steady_state(std::vector<double>(n, 5e6));
    EXPECT_EQ(state.kind, SteadyClass::kFlat) << n;
    EXPECT_EQ(state.steady_from, 0U) << n;
  }
}

TEST(SteadyState, SurvivesZeroAndNegativeDurations) {
  std::vector<double> series(200, 0.0);
  EXPECT_EQ(detect_steady_state(series).kind, SteadyClass::kFlat);
  series[3] = -1.0;
  series[100] = 40.0;
  EXPECT_EQ(detect_steady_state(series).kind, SteadyClass::kFlat);
}

TEST(SteadyState, IgnoresSingleOutliers) {
  Source source(1);
  std::vector<double> series = latencies(source, Shape::kIid, 500);
  for (const std::size_t i : {0U, 100U, 101U, 499U}) series[i] *= 20;
  EXPECT_EQ(detect_steady_state(series).kind, SteadyClass::kFlat);
}

TEST(SteadyState, CutsAStepWhereItIs) {
  Source source(2);
  const SteadyState state = detect_steady_state(latencies(source, Shape::kStep, 500));
  EXPECT_EQ(state.kind, SteadyClass::kWarmup);
  EXPECT_NEAR(static_cast<double>(state.steady_from), 60, 3);
}

TEST(SteadyState, DistinguishesASlowdownFromAWarmup) {
  Source source(3);
  const SteadyState state = detect_steady_state(latencies(source, Shape::kSlowdown, 500));
  EXPECT_EQ(state.kind, SteadyClass::kSlowdown);
  EXPECT_EQ(state.steady_from, 0U) << "the slow part covers less than half: it is not the result";
}

TEST(SteadyState, NeverCutsTowardsALevelOfLessThanHalf) {
  Source source(4);
  for (const double size : {1.05, 0.95}) {
    for (const std::size_t length : {40U, 100U, 180U}) {
      for (const std::size_t from : {0U, 100U, 200U, 400U}) {
        std::vector<double> series = latencies(source, Shape::kIid, 400);
        const std::size_t first = std::min(from, 400 - length);
        for (std::size_t i = first; i < first + length; ++i) series[i] *= size;
        const SteadyState state = detect_steady_state(series);
        EXPECT_LE(state.steady_from, first == 0 ? length + 5 : 0) << size << ' ' << length << ' ' << first;
        if (first == 0) {
          EXPECT_GE(state.steady_from + 5, length) << "a front of another level is cut off";
          EXPECT_EQ(state.kind, size > 1 ? SteadyClass::kWarmup : SteadyClass::kSlowdown);
        } else {
          EXPECT_TRUE(state.kind == SteadyClass::kUnsteady || state.kind == SteadyClass::kSlowdown)
              << size << ' ' << length << ' ' << first;
        }
      }
    }
  }
}

TEST(SteadyState, CallsALateChangeASlowdownAndBothDirectionsUnsteady) {
  Source source(4);
  std::vector<double> series = latencies(source, Shape::kIid, 400);
  for (std::size_t i = 350; i < 400; ++i) series[i] *= 1.2;
  EXPECT_EQ(detect_steady_state(series).kind, SteadyClass::kSlowdown);
  for (std::size_t i = 100; i < 150; ++i) series[i] *= 0.8;
  EXPECT_EQ(detect_steady_state(series).kind, SteadyClass::kUnsteady);
}

// Correlated noise wanders: PELT alone cuts two of three such series.
TEST(SteadyState, DoesNotCutCorrelatedNoise) {
  Source source(8);
  int flat = 0;
  for (int trial = 0; trial < 60; ++trial) {
    std::vector<double> series = source.autoregressive(400, 0.97);
    for (double& x : series) x = 1e6 * std::exp(0.02 * x);
    const SteadyState state = detect_steady_state(series);
    flat += state.kind == SteadyClass::kFlat && state.steady_from == 0;
  }
  EXPECT_GE(flat, 54);
}

TEST(SteadyState, OfFewSamplesCutsOnlyClearDifferences) {
  Source source(5);
  int flat = 0;
  for (int i = 0; i < 200; ++i)
    flat += detect_steady_state(latencies(source, Shape::kIid, 50)).kind == SteadyClass::kFlat;
  EXPECT_GE(flat, 196) << "50 iterations of bench must not lose samples to chance";
  std::vector<double> series = latencies(source, Shape::kIid, 50);
  for (std::size_t i = 0; i < 10; ++i) series[i] *= 1.5;
  const SteadyState state = detect_steady_state(series);
  EXPECT_EQ(state.kind, SteadyClass::kWarmup);
  EXPECT_EQ(state.steady_from, 10U);
}

TEST(SteadyState, OfManySamplesIsFoundOnBlocks) {
  Source source(6);
  std::vector<double> series = latencies(source, Shape::kIid, 20'000);
  for (std::size_t i = 0; i < 2'000; ++i) series[i] *= 1.3;
  const SteadyState state = detect_steady_state(series);
  EXPECT_EQ(state.kind, SteadyClass::kWarmup);
  EXPECT_EQ(state.steady_from % 40, 0U);
  EXPECT_NEAR(static_cast<double>(state.steady_from), 2'000, 40);
}

// T5, quick version: the confusion matrix of the warm-up corpus (campaign_test.cpp repeats it more often).
TEST(SteadyState, ClassifiesTheCorpus) {
  constexpr int kTrials = 8;
  Source source(7);
  const auto count = [&](Shape shape, auto&& right) {
    int n = 0;
    for (int i = 0; i < kTrials; ++i) n += right(detect_steady_state(latencies(source, shape, 500)).kind);
    return n;
  };
  const auto is = [](SteadyClass kind) { return [kind](SteadyClass found) { return found == kind; }; };
  EXPECT_EQ(count(Shape::kIid, is(SteadyClass::kFlat)), kTrials);
  EXPECT_GE(count(Shape::kMildlyCorrelated, is(SteadyClass::kFlat)), kTrials - 1);
  EXPECT_EQ(count(Shape::kWarmup, is(SteadyClass::kWarmup)), kTrials);
  EXPECT_EQ(count(Shape::kStep, is(SteadyClass::kWarmup)), kTrials);
  EXPECT_EQ(count(Shape::kSlowdown, is(SteadyClass::kSlowdown)), kTrials);
  EXPECT_LE(count(Shape::kDrift, is(SteadyClass::kFlat)), 1);
  EXPECT_LE(count(Shape::kBimodal, is(SteadyClass::kFlat)), 1);
}

}  // namespace
}  // namespace assay::stats
