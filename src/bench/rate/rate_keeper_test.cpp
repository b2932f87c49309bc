// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bench/measure/environment.hpp"
#include "bench/rate/rate.hpp"
#include "core/base/files.hpp"

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
    RateKeeper::Services services{
        &*registry_, folder_.path(), machine, threads, {}, [this] { ++measured_; }, [this] { return now_; }};
    if (measures_) services.measure = [this](const auto&, int) { return *measures_; };
    return RateKeeper(std::move(services), std::move(known));
  }
  /// A cell with one run of 1 GFLOP in this time, on two threads.
  [[nodiscard]] static Record row(double ms) {
    Record row;
    row.model = "model";
    row.engine = "onnxruntime";
    row.hardware = "cpu";
    row.effective_precision = "float32";
    row.effective_threads = 2;
    row.flops = 1e9;
    row.latency_p50_ms = ms;
    row.status = CellStatus::kCompleted;
    return row;
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
  std::optional<MachineRate> measures_;  ///< the result of a measurement; nullopt: it fails
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

TEST_F(RateKeeperTest, IsAPeakIfAllThreadsWereUsedUndisturbed) {
  const int all = usable_threads();
  const std::string key = "this machine threads=" + std::to_string(all);
  keep(key, 5e9, "1.31.1", std::chrono::days(1));
  RateKeeper rates = keeper("this machine", 0);
  EXPECT_FALSE(rates.peak()) << "get() was not called";
  ASSERT_TRUE(rates.get());
  const auto peak = rates.peak();
  ASSERT_TRUE(peak);
  EXPECT_EQ(peak->flops_per_s, 5e9);
  EXPECT_EQ(std::tuple(peak->hardware, peak->device, peak->precision), std::tuple("cpu", "cpu", "float32"));
  EXPECT_EQ(std::tuple(peak->engine, peak->engine_version, peak->threads), std::tuple("onnxruntime", "1.31.1", all));
  EXPECT_EQ(peak->measured_at, iso8601(now_ - std::chrono::days(1))) << "not when it was read";
  if (all > 1) {
    keep("this machine threads=1", 5e9);
    RateKeeper fewer = keeper("this machine", 1);
    ASSERT_TRUE(fewer.get());
    EXPECT_FALSE(fewer.peak());
  }
  measures_ = MachineRate{5e9, 1e9, "onnxruntime", "1.31.1", true};
  RateKeeper disturbed = keeper("another machine", 0);
  ASSERT_TRUE(disturbed.get());
  EXPECT_FALSE(disturbed.peak());
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
  EXPECT_FALSE(keeper("this machine", 2).get()) << "its age is not known";
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

TEST_F(RateKeeperTest, KeepsADisturbedRateForAnHour) {
  measures_ = MachineRate{5e9, 1e9, "onnxruntime", "1.31.1", true};
  EXPECT_TRUE(keeper("this machine", 2).get());
  measures_ = MachineRate{100e9, 20e9, "onnxruntime", "1.31.1"};
  EXPECT_EQ(keeper("this machine", 2).get()->flops_per_s, 5e9);
  now_ += std::chrono::minutes(61);
  EXPECT_EQ(keeper("this machine", 2).get()->flops_per_s, 100e9);
  now_ += std::chrono::days(29);
  measures_.reset();
  EXPECT_EQ(keeper("this machine", 2).get()->flops_per_s, 100e9) << "a calm one stays";
  EXPECT_EQ(measured_, 2);
}

TEST_F(RateKeeperTest, MeasuresAgainWhatRowsContradict) {
  keep("this machine threads=2", 5e9);  // 1 GFLOP in 200 ms
  RateKeeper rates = keeper("this machine", 2);
  EXPECT_TRUE(rates.get());
  std::vector<Record> others(6, row(10));
  others[0].engine = "null";
  others[1].effective_precision = "bfloat16";
  others[2].effective_threads = 4;
  others[3].hardware = "cuda";
  others[4].status = CellStatus::kWrong;
  others[5].flops.reset();
  others.push_back(row(101));
  others.push_back(row(1000));
  rates.compare_with(others);
  EXPECT_EQ(keeper("this machine", 2).get()->flops_per_s, 5e9) << "they show nothing";
  rates.compare_with(std::vector{row(1000), row(99)});
  EXPECT_EQ(rates.known()->flops_per_s, 5e9) << "of this run";
  measures_ = MachineRate{100e9, 20e9, "onnxruntime", "1.31.1"};
  EXPECT_EQ(keeper("this machine", 2).get()->flops_per_s, 100e9);
  EXPECT_EQ(measured_, 1);
}

TEST_F(RateKeeperTest, MeasuresAgainOnceIfACalmMeasurementAgrees) {
  keep("this machine threads=2", 5e9);
  const std::vector<Record> faster{row(99)};  // more operations are counted than are computed
  ::testing::internal::CaptureStderr();
  keeper("this machine", 2).compare_with(faster);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("the next run measures it again"), said.npos) << "without --verbose: " << said;
  measures_ = MachineRate{4e9, 1e9, "onnxruntime", "1.31.1", true};
  EXPECT_EQ(keeper("this machine", 2).get()->flops_per_s, 4e9) << "disturbed: it confirms nothing";
  keeper("this machine", 2).compare_with(faster);
  measures_ = MachineRate{5.5e9, 1e9, "onnxruntime", "1.31.1"};
  EXPECT_EQ(keeper("this machine", 2).get()->flops_per_s, 5.5e9);
  EXPECT_EQ(measured_, 2);
  measures_.reset();
  keeper("this machine", 2).compare_with(faster);
  EXPECT_EQ(keeper("this machine", 2).get()->flops_per_s, 5.5e9) << "two measurements agree";
  now_ += std::chrono::days(31);
  EXPECT_FALSE(keeper("this machine", 2).get());
  EXPECT_EQ(measured_, 3);
}

TEST_F(RateKeeperTest, AnInterruptedRunsRateStands) {
  keep("this machine threads=2", 5e9);
  EXPECT_EQ(keeper("this machine", 2, MachineRate{7e9, 1e9, "openvino"}).get()->flops_per_s, 7e9);
}

}  // namespace
}  // namespace assay
