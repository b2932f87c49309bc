// SPDX-License-Identifier: Apache-2.0
// Self-tests T1 and T5 of docs/statistics.md in full: generated data with known answers; the results are printed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "core/stats/samples_for_tests.hpp"
#include "core/stats/stats.hpp"

namespace assay::stats {
namespace {

struct Coverage {
  double rho;
  std::size_t n;
  double p;
  double least, most;
};

class IntervalCoverage : public ::testing::TestWithParam<Coverage> {};

TEST_P(IntervalCoverage, IsWhatIsPromised) {
  constexpr int kRepetitions = 2000;
  const Coverage& c = GetParam();
  const double truth = normal_quantile(c.p);
  Source source(17);
  int held = 0, none = 0;
  for (int i = 0; i < kRepetitions; ++i) {
    const auto estimate = estimate_quantile(source.autoregressive(c.n, c.rho), c.p);
    none += !estimate.interval;
    held += estimate.interval && estimate.interval->low <= truth && truth <= estimate.interval->high;
  }
  const int given = kRepetitions - none;
  const double share = static_cast<double>(held) / std::max(given, 1);
  std::printf("rho %.2f n %zu p %.2f: coverage %.3f, of %.3f that have an interval\n", c.rho, c.n, c.p, share,
              static_cast<double>(given) / kRepetitions);
  EXPECT_LE(given - held, (1 - c.least) * kRepetitions) << "wrong intervals";
  if (given < kRepetitions / 10) return;
  EXPECT_GE(share, c.least);
  EXPECT_LE(share, c.most);
}

INSTANTIATE_TEST_SUITE_P(T1, IntervalCoverage,
                         ::testing::Values(Coverage{0.0, 100, 0.5, 0.93, 0.99}, Coverage{0.0, 1000, 0.5, 0.93, 0.98},
                                           Coverage{0.5, 100, 0.5, 0.93, 0.99}, Coverage{0.5, 1000, 0.5, 0.93, 0.98},
                                           Coverage{0.9, 100, 0.5, 0.95, 1.0}, Coverage{0.9, 300, 0.5, 0.93, 1.0},
                                           Coverage{0.9, 1000, 0.5, 0.93, 0.99}, Coverage{0.97, 100, 0.5, 0.95, 1.0},
                                           Coverage{0.97, 1500, 0.5, 0.92, 0.99}, Coverage{0.0, 1000, 0.9, 0.93, 0.98},
                                           Coverage{0.5, 1000, 0.9, 0.92, 0.98},
                                           Coverage{0.0, 1000, 0.99, 0.93, 0.99}));

struct Confusion {
  Shape shape;
  const char* name;
  std::array<double, 4> share;  ///< flat, warmup, slowdown, unsteady
};

class WarmupCorpus : public ::testing::TestWithParam<Confusion> {};

TEST_P(WarmupCorpus, KeepsItsConfusionMatrix) {
  constexpr int kTrials = 200;
  Source source(23);
  std::array<int, 4> counts{};
  double cut = 0;
  for (int i = 0; i < kTrials; ++i) {
    const SteadyState state = detect_steady_state(latencies(source, GetParam().shape, 500));
    ++counts[static_cast<std::size_t>(state.kind)];
    cut += static_cast<double>(state.steady_from) / kTrials;
  }
  std::printf("%-24s", GetParam().name);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double share = static_cast<double>(counts[i]) / kTrials;
    std::printf(" %s %.3f", std::string(to_string(static_cast<SteadyClass>(i))).c_str(), share);
    EXPECT_NEAR(share, GetParam().share[i], 0.05);
  }
  std::printf(" cut %.0f\n", cut);
}

INSTANTIATE_TEST_SUITE_P(T5, WarmupCorpus,
                         ::testing::Values(Confusion{Shape::kIid, "flat, independent", {1, 0, 0, 0}},
                                           Confusion{Shape::kMildlyCorrelated, "flat, rho 0.7", {1, 0, 0, 0}},
                                           Confusion{Shape::kCorrelated, "flat, rho 0.9", {0.94, 0.02, 0.01, 0.03}},
                                           Confusion{Shape::kWarmup, "exponential warm-up", {0, 1, 0, 0}},
                                           Confusion{Shape::kStep, "step of 30 %", {0, 1, 0, 0}},
                                           Confusion{Shape::kDrift, "drift of 5 %", {0, 0, 0.92, 0.08}},
                                           Confusion{Shape::kSlowdown, "slowdown of 10 %", {0, 0, 1, 0}},
                                           Confusion{
                                               Shape::kBimodal, "two modes, 8 % apart", {0.015, 0.01, 0.03, 0.945}}));

}  // namespace
}  // namespace assay::stats
