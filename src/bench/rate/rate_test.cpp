// SPDX-License-Identifier: Apache-2.0
#include "bench/rate/rate.hpp"

#include <gtest/gtest.h>

#include "bench/rate/places_for_test.hpp"
#include "core/base/files.hpp"

namespace assay {
namespace {
namespace fs = std::filesystem;

class RateTest : public ::testing::Test {
 protected:
  TemporaryDirectory folder_ = TemporaryDirectory::create("assay-rate-test-").value();
};

TEST_F(RateTest, IsMeasuredAndLeavesNothingBehind) {
  const EngineRegistry registry(testing::built_places());
  if (const auto found = registry.locate("onnxruntime"); !found) GTEST_SKIP() << to_string(found.error());
  const auto rate = measure_rate(registry, 1, folder_.path(), [] { return false; });
  ASSERT_TRUE(rate) << to_string(rate.error());
  EXPECT_EQ(rate->engine, "onnxruntime");
  // A processor of any age computes more than 100 MFLOP/s and less than 100 TFLOP/s, and reads 10 MB/s to 100 TB/s.
  EXPECT_GT(rate->flops_per_s, 1e8);
  EXPECT_LT(rate->flops_per_s, 1e14);
  EXPECT_GT(rate->bytes_per_s, 1e7);
  EXPECT_LT(rate->bytes_per_s, 1e14);
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(RateTest, CanBeInterruptedAndFailsWithoutARuntime) {
  const EngineRegistry registry(testing::built_places());
  if (const auto found = registry.locate("onnxruntime"); !found) GTEST_SKIP() << to_string(found.error());
  EXPECT_EQ(measure_rate(registry, 1, folder_.path(), [] { return true; }).error().code, ErrorCode::kCancelled);
  EngineRegistry::Places nowhere = testing::built_places();
  nowhere.plugins = folder_.path() / "none";
  const EngineRegistry empty(nowhere);
  EXPECT_EQ(measure_rate(empty, 1, folder_.path(), [] { return false; }).error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace assay
