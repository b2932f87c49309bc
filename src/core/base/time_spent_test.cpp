// SPDX-License-Identifier: Apache-2.0
#include "core/base/time_spent.hpp"

#include <gtest/gtest.h>

#include "core/base/fake_clock.hpp"

namespace assay {
namespace {

TEST(TimeSpent, EachSecondCountsForTheInnermostScope) {
  FakeClock clock;
  WorkTimer timer(clock);
  clock.advance(2 * kSecond);
  {
    const WorkTimer::Scope references(&timer, Work::kReferences);
    clock.advance(10 * kSecond);
    {
      const WorkTimer::Scope files(&timer, Work::kModelFiles);
      clock.advance(3 * kSecond);
    }
    clock.advance(20 * kSecond);
    EXPECT_EQ(timer.spent().on(Work::kReferences), 30) << "the present scope counts, too";
  }
  clock.advance(kSecond / 4);
  const TimeSpent spent = timer.spent();
  EXPECT_EQ(spent.on(Work::kPreparation), 2.25);
  EXPECT_EQ(spent.on(Work::kModelFiles), 3);
  EXPECT_EQ(spent.on(Work::kReferences), 30);
  EXPECT_EQ(spent.total(), 35.25);
  EXPECT_EQ(time_text(spent), "35 s: preparation 2 s, model files 3 s, references 30 s");
  EXPECT_EQ(to_json(spent)["model_files"], 3);
  EXPECT_EQ(to_json(spent)["total"], 35.25);
}

TEST(TimeSpent, ShortPartsAreLeftOutOfTheText) {
  TimeSpent spent;
  spent.seconds[static_cast<std::size_t>(Work::kSampling)] = 0.4;
  EXPECT_EQ(time_text(spent), "0 s");
  const WorkTimer::Scope nothing(nullptr, Work::kLoading);
}

}  // namespace
}  // namespace assay
