// SPDX-License-Identifier: Apache-2.0
#include "core/base/significant.hpp"

#include <gtest/gtest.h>

#include <string>

namespace assay {
namespace {

TEST(Significant, NoMeasuredTimeIsShownAsZero) {
  for (double ms = 1e-6; ms < 1; ms *= 1.3) {
    for (const std::string& text : {significant(ms), significant(ms, 2), significant(ms, 4), fixed_milliseconds(ms)}) {
      EXPECT_NEAR(std::stod(text), ms, ms * 0.05) << text;
      EXPECT_EQ(text.find('e'), std::string::npos) << text;
    }
  }
}

TEST(Significant, DigitsAreCountedFromTheFirstThatIsNotZero) {
  EXPECT_EQ(significant(0.000231), "0.000231");
  EXPECT_EQ(significant(0.00003), "0.00003");
  EXPECT_EQ(significant(0.00009999), "0.0001");
  EXPECT_EQ(significant(-0.0000456), "-0.0000456");
  EXPECT_EQ(significant(0.012345), "0.0123");
  EXPECT_EQ(significant(12.345, 4), "12.35");
  EXPECT_EQ(significant(10415.4), "10415");
  EXPECT_EQ(significant(0), "0");
  EXPECT_EQ(significant(1e-9), "1e-09");  // an error, not a time
}

TEST(Significant, MillisecondsHaveThreeDecimalsUnlessTheyAreSmall) {
  EXPECT_EQ(fixed_milliseconds(1234.5), "1234.500");
  EXPECT_EQ(fixed_milliseconds(12.3456), "12.346");
  EXPECT_EQ(fixed_milliseconds(0.5), "0.500");
  EXPECT_EQ(fixed_milliseconds(0.01234), "0.0123");
  EXPECT_EQ(fixed_milliseconds(0.00017), "0.000170");
  EXPECT_EQ(fixed_milliseconds(0.000001), "0.00000100");
  EXPECT_EQ(fixed_milliseconds(0), "0.000");
}

}  // namespace
}  // namespace assay
