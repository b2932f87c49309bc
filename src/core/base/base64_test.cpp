// SPDX-License-Identifier: Apache-2.0
#include "core/base/base64.hpp"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(Base64, EncodesAsTheStandardsExamples) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
}

TEST(Base64, HashesForAContentSecurityPolicy) {
  EXPECT_EQ(policy_hash(""), "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
}

}  // namespace
}  // namespace assay
