// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "base/files.hpp"
#include "prepare/rate.hpp"

namespace assay {
namespace {

/// A machine without runtimes: what is measured fails, what is kept is there.
class RateKeeperTest : public ::testing::Test {
 protected:
  [[nodiscard]] RateKeeper keeper(const std::string& machine, int threads, std::optional<MachineRate> known = {}) {
    return RateKeeper({&registry_, folder_.path(), machine, threads, {}, [this] { ++measured_; }}, std::move(known));
  }
  void keep(const std::string& key, double flops_per_s) const {
    const Json rates{{key, to_json(MachineRate{flops_per_s, 1e9, "onnxruntime"})}};
    ASSERT_TRUE(write_file_atomically(folder_.path() / "machine_rates.json", json_text(rates)));
  }

  TemporaryDirectory folder_ = TemporaryDirectory::create().value();
  EngineRegistry registry_{EngineRegistry::Places{}};
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
