// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <vector>

#include "bench/measure/simulated_cell.hpp"
#include "core/base/fake_clock.hpp"
#include "core/base/files.hpp"

namespace assay {
namespace {
using ::testing::HasSubstr;

TEST(Memory, ReadsWhatThisProcessHas) {
  const auto memory = resident_memory();
  ASSERT_TRUE(memory);
  EXPECT_GT(memory->now, 1'000'000U);
  EXPECT_GE(memory->peak, memory->now);
}

TEST(Memory, AResetForgetsThePeak) {
  constexpr std::size_t kBytes = 64 << 20;
  {
    const std::vector<char> big(kBytes, 'x');
    ASSERT_GE(resident_memory()->peak, kBytes) << big.back();
  }
  if (const Status reset = reset_peak_memory(); !reset) GTEST_SKIP() << to_string(reset.error());
  const auto after = resident_memory();
  EXPECT_LT(after->peak, after->now + kBytes / 2);
}

// The memory of a hundred thousand samples, of their copies and of the statistics over them is assay's, not the
// engine's.
TEST(Memory, OfSamplesAndStatisticsIsNotInThePeak) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitiser's own memory is in the peak";
#endif
  if (const Status reset = reset_peak_memory(); !reset) GTEST_SKIP() << to_string(reset.error());
  FakeClock clock;
  SimulatedSource source(clock, {.run_ns = 20e3, .correlation = 0.99, .deviation = 0.1}, 1);
  std::array<BurstSource*, 1> streams{&source};
  PeakMemory peak;
  std::uint64_t before = 0, counted = 0, all = 0;
  std::size_t bytes = 0;
  MeasureHooks hooks;
  hooks.window_begins = [&] {
    peak.begin();
    before = resident_memory()->now;
  };
  hooks.statistics = [&](bool begins) {
    if (!begins) all = std::max(all, resident_memory()->peak);
    begins ? peak.pause() : peak.resume();
  };
  hooks.window_ends = [&](std::size_t samples_bytes) {
    bytes = samples_bytes;
    counted = peak.end(samples_bytes);
  };
  MeasurePlan plan;
  plan.relative_precision = 0.0;
  const auto measured = measure(streams, clock, plan, hooks);
  ASSERT_TRUE(measured);
  ASSERT_EQ(measured->samples.size(), 100'000U);
  EXPECT_EQ(bytes, 100'000U * (21 + 8));
  EXPECT_GE(all, before + 4'000'000) << "what the test is about";
  EXPECT_LE(counted, before + 1'500'000);
}

TEST(Memory, SaysWhichProcessIsMissing) {
  EXPECT_EQ(resident_memory("/nowhere").error().code, ErrorCode::kNotFound);
  EXPECT_THAT(reset_peak_memory("/nowhere").error().message, HasSubstr("/nowhere/clear_refs"));
}

TEST(Memory, AveragesWhatItSampled) {
  const auto folder = TemporaryDirectory::create().value();
  const auto set = [&](int pages) { std::ofstream(folder.path() / "statm") << "500 " << pages << " 30 1 0 90 0\n"; };
  set(100);
  MeanMemory memory(folder.path());
  EXPECT_EQ(memory.mean_bytes(), 0U);
  memory.sample();
  set(300);
  memory.sample();
  EXPECT_EQ(memory.mean_bytes(), 200U * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(MeanMemory(folder.path() / "nowhere").mean_bytes(), 0U);
}

}  // namespace
}  // namespace assay
