// SPDX-License-Identifier: Apache-2.0
#include "history/store/peaks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "history/store/dataset.hpp"
#include "history/store/store_for_test.hpp"

namespace assay {
namespace {
namespace fs = std::filesystem;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class PeaksTest : public StoreTest {
 protected:
  void write(const std::string& run_id, double flops_per_s, const std::string& measured_at, bool disturbed = false) {
    RunInfo run;
    run.run_id = run_id;
    run.command = "assay doctor --peak";
    run.started = measured_at;
    run.hardware_fingerprint = "machine-1";
    const Json peak{{"hardware", "cpu"},      {"device", "cpu"},
                    {"precision", "float32"}, {"engine", "null"},
                    {"threads", 2},           {"flops_per_s", flops_per_s},
                    {"disturbed", disturbed}, {"measured_at", measured_at}};
    ASSERT_TRUE(write_peaks(spool_, run, Json::array({peak})));
  }
  [[nodiscard]] Dataset data() const {
    Store store = open(Store::Mode::kRead);
    return read_dataset(store, {}).value();
  }
  void ingest() const { ASSERT_TRUE(open().ingest(spool_)); }
};

TEST_F(PeaksTest, AreIngestedOnceAndAgainWhenTheDatabaseIsMadeAgain) {
  write("run-a", 1e11, "2026-03-01T00:00:00.000000Z");
  write("run-b", 2e11, "2026-03-02T00:00:00.000000Z");
  ingest();
  ingest();
  ASSERT_THAT(data().peaks, SizeIs(1));
  EXPECT_EQ(data().peaks[0].flops_per_s, 2e11) << "the newest";
  EXPECT_EQ(data().peaks[0].hardware_id, "machine-1");
  EXPECT_EQ(open(Store::Mode::kRead).summary()->runs, 2U);
  EXPECT_THAT(data().cells, IsEmpty());
  ASSERT_TRUE(fs::remove(path_));
  ASSERT_TRUE(Store::rebuild(path_, spool_));
  EXPECT_EQ(data().peaks.at(0).flops_per_s, 2e11);
  EXPECT_THAT(*open(Store::Mode::kRead).verify(spool_), IsEmpty());
}

TEST_F(PeaksTest, ATimeThatCannotBeTrueIsNoStartAndTheDatabaseAgreesWithItsFiles) {
  write("run-a", 1e11, "9999-12-31T00:00:00.000000Z");
  write("run-b", 2e11, "soon");
  write("run-c", 3e11, "2026-03-02T00:00:00.000000Z");
  ingest();
  EXPECT_EQ(query("SELECT string_agg(run_id) FROM benchmark_runs WHERE started_at IS NULL").rows.at(0).at(0),
            "run-a,run-b");
  EXPECT_THAT(*open(Store::Mode::kRead).verify(spool_), IsEmpty());
}

TEST_F(PeaksTest, ACalmOneIsBetterThanANewerOneThatWasDisturbed) {
  write("run-a", 2e11, "2026-03-01T00:00:00.000000Z");
  write("run-b", 1e11, "2026-03-02T00:00:00.000000Z", true);
  ingest();
  EXPECT_EQ(data().peaks.at(0).flops_per_s, 2e11);
}

TEST_F(PeaksTest, FilesThatAreNoneCostNothing) {
  write("run-a", 1e11, "2026-03-01T00:00:00.000000Z");
  for (const char* text :
       {"", "{", "[]", "{}", R"({"schema_version": 99, "run_id": "r", "hardware_id": "m", "environment": {}})",
        R"({"schema_version": 1, "run_id": 3, "hardware_id": "m", "environment": {}})"}) {
    std::ofstream(spool_ / ".peaks" / "other.json") << text;
    add(std::string("model ") + text, 10);
    ingest();
    EXPECT_THAT(data().peaks, SizeIs(1)) << text;
  }
  EXPECT_THAT(data().cells, SizeIs(6)) << "bundles are ingested all the same";
}

}  // namespace
}  // namespace assay
