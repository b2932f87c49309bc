// SPDX-License-Identifier: Apache-2.0
#include "core/result/launch_medians.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace assay {
namespace {

using ::testing::HasSubstr;

TEST(LaunchMedians, AreReadAsTheyWereWritten) {
  const std::array medians{LaunchMedian{1, 1.234}, LaunchMedian{2, 1.0 / 3}, LaunchMedian{11, 2e-5}};
  const std::string text = launch_medians_text(medians);
  EXPECT_EQ(text, "1:1.234 2:0.3333333333333333 11:2e-05");
  const auto read = parse_launch_medians(text);
  ASSERT_TRUE(read) << to_string(read.error());
  ASSERT_EQ(read->size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(read->at(i).launch, medians[i].launch);
    EXPECT_EQ(read->at(i).p50_ms, medians[i].p50_ms) << "every bit";
  }
  EXPECT_TRUE(parse_launch_medians("")->empty());
}

TEST(LaunchMedians, WhatIsNotAListOfThemIsNamed) {
  for (const char* wrong : {"1", "1:", ":2", "1:x", "a:1.5", "1:nan", "1:2:3", "1.5:2"}) {
    const auto read = parse_launch_medians(std::string("1:2.5 ") + wrong);
    ASSERT_FALSE(read) << wrong;
    EXPECT_EQ(read.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(read.error().message, HasSubstr(wrong));
  }
  EXPECT_THAT(parse_launch_medians("3:1 3:2").error().message, HasSubstr("launch 3 is there twice"));
}

TEST(LaunchMedians, ARowWithoutTheFieldIsOneLaunch) {
  Record row;
  EXPECT_TRUE(launch_medians(row).empty());
  row.latency_p50_ms = 2.5;
  ASSERT_EQ(launch_medians(row).size(), 1U);
  EXPECT_EQ(launch_medians(row)[0].launch, 1);
  row.launch_number = 4;
  EXPECT_EQ(launch_medians(row)[0].launch, 4);
  EXPECT_EQ(launch_medians(row)[0].p50_ms, 2.5);
  row.launch_p50_ms = *parse_launch_medians("7:2 1:3");
  ASSERT_EQ(launch_medians(row).size(), 2U);
  EXPECT_EQ(launch_medians(row)[0].launch, 1) << "by number";
}

TEST(LaunchesNote, IsMadeFromTheCountsAndFlags) {
  Record row;
  row.message = "1 of 3 launches: a sentence, not data";
  EXPECT_EQ(launches_note(row), "");
  EXPECT_EQ(why_fewer_launches(row), "");
  row.launches = 2;
  row.planned_launches = 3;
  EXPECT_TRUE(has_fewer_launches(row));
  EXPECT_EQ(launches_note(row), "") << "no flag says why";
  row.flags.add(Flag::kLimitedByBudget);
  EXPECT_EQ(why_fewer_launches(row), "--budget left no time for more");
  EXPECT_EQ(launches_note(row), "2 of 3 launches: --budget left no time for more");
  row.flags.add(Flag::kLimitedByMaxTime);
  EXPECT_EQ(why_fewer_launches(row),
            "a warm-up and three runs take all the time of a cell (--max-time), and --budget left no time for more");
  row.launches = 3;
  EXPECT_EQ(launches_note(row), "") << "it got them later";
}

}  // namespace
}  // namespace assay
