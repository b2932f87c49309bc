// SPDX-License-Identifier: Apache-2.0
#include "measure/memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "base/files.hpp"

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
