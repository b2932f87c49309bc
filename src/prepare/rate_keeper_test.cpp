// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "base/files.hpp"
#include "prepare/rate.hpp"

namespace assay {
namespace {

/// A machine whose runtime cannot start: what is measured fails, what is kept is there.
class RateKeeperTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::filesystem::path root = folder_.path();
    for (const char* file : {"plugins/assay_engine_onnxruntime.so", "home/libonnxruntime.so.1.31.1"})
      ASSERT_TRUE(write_file_atomically(root / file, ""));
    EngineRegistry::Places places;
    places.plugins = root / "plugins";
    places.worker = root / "no worker";
    places.homes = {{"ASSAY_ONNXRUNTIME_HOME", root / "home"}};
    registry_.emplace(std::move(places));
  }
  [[nodiscard]] RateKeeper keeper(const std::string& machine, int threads, std::optional<MachineRate> known = {}) {
    return RateKeeper(
        {&*registry_, folder_.path(), machine, threads, {}, [this] { ++measured_; }, [this] { return now_; }},
        std::move(known));
  }
  /// A rate that is `age` old.
  void keep(const std::string& key, double flops_per_s, const std::string& version = "1.31.1",
            std::chrono::seconds age = {}) const {
    Json rate = to_json(MachineRate{flops_per_s, 1e9, "onnxruntime", version});
    rate["measured_unix_s"] = std::chrono::duration_cast<std::chrono::seconds>((now_ - age).time_since_epoch()).count();
    const Json rates{{key, rate}};
    ASSERT_TRUE(write_file_atomically(folder_.path() / "machine_rates.json", json_text(rates)));
  }

  TemporaryDirectory folder_ = TemporaryDirectory::create().value();
  std::optional<EngineRegistry> registry_;
  WallTime now_{std::chrono::hours(24 * 365 * 60)};
  int measured_ = 0;
};

TEST_F(RateKeeperTest, TakesWhatAnEarlierRunOfThisMachineMeasured) {
  keep("this machine threads=2", 5e9);
  RateKeeper rates = keeper("this machine", 2);
  EXPECT_FALSE(rates.known()) << "nobody asked";
  EXPECT_EQ(rates.get()->flops_per_s, 5e9);
  EXPECT_EQ(rates.known()->engine, "onnxruntime");
  EXPECT_EQ(measured_, 0);
}

TEST_F(RateKeeperTest, MeasuresForAnotherMachineAndAnotherNumberOfThreads) {
  keep("this machine threads=2", 5e9);
  EXPECT_FALSE(keeper("another machine", 2).get());
  EXPECT_FALSE(keeper("this machine", 1).get());
  EXPECT_EQ(measured_, 2);
}

TEST_F(RateKeeperTest, MeasuresAgainAfterThirtyDays) {
  keep("this machine threads=2", 5e9, "1.31.1", std::chrono::days(30));
  EXPECT_TRUE(keeper("this machine", 2).get());
  for (const std::chrono::seconds age : {std::chrono::seconds(std::chrono::days(30)) + std::chrono::seconds(1),
                                         std::chrono::seconds(-1)}) {  // or if the clock was wrong
    keep("this machine threads=2", 5e9, "1.31.1", age);
    EXPECT_FALSE(keeper("this machine", 2).get());
  }
  EXPECT_EQ(measured_, 2);
  const Json undated{{"this machine threads=2", to_json(MachineRate{5e9, 1e9, "onnxruntime", "1.31.1"})}};
  ASSERT_TRUE(write_file_atomically(folder_.path() / "machine_rates.json", json_text(undated)));
  EXPECT_FALSE(keeper("this machine", 2).get()) << "kept by an earlier version";
}

TEST_F(RateKeeperTest, MeasuresAgainWithAnotherVersionOfTheRuntime) {
  keep("this machine threads=2", 5e9, "1.30.0");
  EXPECT_FALSE(keeper("this machine", 2).get());
  EXPECT_EQ(measured_, 1);
}

TEST_F(RateKeeperTest, ADamagedFileIsMeasuredAnew) {
  ASSERT_TRUE(write_file_atomically(folder_.path() / "machine_rates.json",
                                    R"({"this machine threads=2": {"flops_per_s": 0}})"));
  EXPECT_FALSE(keeper("this machine", 2).get());
  EXPECT_EQ(measured_, 1);
}

TEST_F(RateKeeperTest, AnInterruptedRunsRateStands) {
  keep("this machine threads=2", 5e9);
  EXPECT_EQ(keeper("this machine", 2, MachineRate{7e9, 1e9, "openvino"}).get()->flops_per_s, 7e9);
}

}  // namespace
}  // namespace assay
