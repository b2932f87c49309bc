// SPDX-License-Identifier: Apache-2.0
#include "prepare/rate.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/files.hpp"

namespace assay {
namespace {
namespace fs = std::filesystem;

class RateTest : public ::testing::Test {
 protected:
  static EngineRegistry::Places places() {
    EngineRegistry::Places all = EngineRegistry::default_places();
    all.plugins = fs::path(ASSAY_BINARY_DIR) / "lib/assay/engines";
    all.worker = fs::path(ASSAY_BINARY_DIR) / "bin/assay-worker";
    if (std::getenv("ASSAY_DEPS_DIR") == nullptr) all.deps = ASSAY_TEST_DEPS_DIR;
    return all;
  }
  TemporaryDirectory folder_ = TemporaryDirectory::create("assay-rate-test-").value();
};

TEST_F(RateTest, IsMeasuredAndLeavesNothingBehind) {
  const EngineRegistry registry(places());
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
  const EngineRegistry registry(places());
  if (const auto found = registry.locate("onnxruntime"); !found) GTEST_SKIP() << to_string(found.error());
  EXPECT_EQ(measure_rate(registry, 1, folder_.path(), [] { return true; }).error().code, ErrorCode::kCancelled);
  EngineRegistry::Places nowhere = places();
  nowhere.plugins = folder_.path() / "none";
  const EngineRegistry empty(nowhere);
  EXPECT_EQ(measure_rate(empty, 1, folder_.path(), [] { return false; }).error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace assay
