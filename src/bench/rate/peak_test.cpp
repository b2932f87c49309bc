// SPDX-License-Identifier: Apache-2.0
#include "bench/rate/peak.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "bench/measure/environment.hpp"
#include "bench/rate/places_for_test.hpp"
#include "core/base/files.hpp"

namespace assay {
namespace {
namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

class PeakTest : public ::testing::Test {
 protected:
  TemporaryDirectory folder_ = TemporaryDirectory::create("assay-peak-test-").value();
};

TEST_F(PeakTest, EveryRuntimeHasThoseOfThePrecisionsThatItComputes) {
  const EngineRegistry registry(testing::built_places());
  if (const auto found = registry.locate("onnxruntime"); !found) GTEST_SKIP() << to_string(found.error());
  std::size_t steps = 0;
  const auto measured = measure_peaks(
      registry, folder_.path(), [] { return false; }, [&](const std::string&) { ++steps; });
  ASSERT_TRUE(measured) << to_string(measured.error());
  EXPECT_GE(steps, 3U);
  std::set<std::pair<std::string, std::string>> of;
  for (const MeasuredPeak& peak : measured->peaks) {
    of.emplace(peak.hardware, peak.precision);
    // A processor of any age computes more than 100 MFLOP/s and less than 100 TFLOP/s, and reads 10 MB/s to 100 TB/s.
    EXPECT_GT(peak.flops_per_s, 1e8);
    EXPECT_LT(peak.flops_per_s, 1e14);
    EXPECT_GT(peak.bytes_per_s, 1e7);
    EXPECT_LT(peak.bytes_per_s, 1e14);
    EXPECT_EQ(peak.threads, usable_threads());
    EXPECT_THAT(peak.engine_version, Not(IsEmpty()));
    EXPECT_EQ(peak.measured_at.size(), 27U) << peak.measured_at;
    EXPECT_EQ(to_json(peak).at("device"), peak.device);
  }
  EXPECT_THAT(of, Contains(Pair("cpu", "float32")));
  // The processor under two words is measured once.
  if (registry.locate("openvino")) {
    EXPECT_THAT(of, Contains(Pair("openvino", "float32")));
  }
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(PeakTest, CanBeInterruptedAndSaysWhatIsNotInstalled) {
  const EngineRegistry registry(testing::built_places());
  const auto ignore = [](const std::string&) {};
  if (registry.locate("onnxruntime")) {
    const auto interrupted = measure_peaks(
        registry, folder_.path(), [] { return true; }, ignore);
    ASSERT_FALSE(interrupted);
    EXPECT_EQ(interrupted.error().code, ErrorCode::kCancelled);
  }
  EngineRegistry::Places nowhere = testing::built_places();
  nowhere.deps = folder_.path() / "none";
  nowhere.site_packages.clear();
  nowhere.system_libraries.clear();
  nowhere.homes.clear();
  const auto none = measure_peaks(
      EngineRegistry(nowhere), folder_.path(), [] { return false; }, ignore);
  ASSERT_TRUE(none) << to_string(none.error());
  EXPECT_THAT(none->peaks, IsEmpty());
  EXPECT_THAT(none->left_out, Contains(::testing::HasSubstr("is not installed")));
}

}  // namespace
}  // namespace assay
