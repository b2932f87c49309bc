// SPDX-License-Identifier: Apache-2.0
#include "history/store/fresh_bundles.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/files.hpp"
#include "core/base/text.hpp"

namespace assay::duckdb {
namespace {
namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class FreshBundlesTest : public ::testing::Test {
 protected:
  void add(const std::string& attempt, const std::string& manifest) const {
    ASSERT_TRUE(write_file_atomically(folder_.path() / "task" / attempt / "manifest.json", manifest));
  }
  [[nodiscard]] std::vector<FreshBundle> found(const std::set<std::string>& known = {}) {
    const auto bundles = fresh_bundles(folder_.path(), known, report_);
    EXPECT_TRUE(bundles) << to_string(bundles.error());
    return bundles.value_or(std::vector<FreshBundle>());
  }
  const TemporaryDirectory folder_ = *TemporaryDirectory::create();
  IngestReport report_;
};

TEST_F(FreshBundlesTest, AreOrderedByTimeWhateverElseTheirManifestsHave) {
  add("last", R"({"record": {"timestamp": "2026-03", "run_id": "run-1", "model": "bert"}})");
  add("known", R"({"record": {"timestamp": "2026-02", "run_id": "run-1"}})");
  add("first", R"({"timestamp": "2026-09", "run_id": "not this", "lists": [{"record": {"run_id": "nor this"}}],
    "record": {"flags": ["timestamp", "2026-08"], "other": {"timestamp": "2026-07", "run_id": "nor this"}, "n": 1.5,
    "run_id": "run\u0007-2", "yes": true, "none": null, "timestamp": "2026-01"}, "record2": {"run_id": "nor this"}})");
  const std::vector<FreshBundle> bundles = found({"known"});
  ASSERT_EQ(bundles.size(), 2U);
  EXPECT_EQ(report_.known, 1U);
  EXPECT_EQ(bundles[0].attempt, "first");
  EXPECT_EQ(bundles[0].timestamp, "2026-01");
  EXPECT_EQ(bundles[0].run_id, sanitise("run\a-2")) << "as the database stores it";
  EXPECT_EQ(bundles[1].attempt, "last");
  EXPECT_EQ(bundles[1].run_id, "run-1");
}

TEST_F(FreshBundlesTest, AreLookedAtCloselyLater) {
  add("a", "nonsense");
  add("b", R"({"record": [{"timestamp": "2026-01"}]})");
  add("c", R"({"record": {"timestamp": 5, "run_id": null}})");
  add("d", R"({"record": {"run_id": "run-1", "timestamp": "2026-01")");
  fs::create_directories(folder_.path() / "task" / "e");
  const std::vector<FreshBundle> bundles = found();
  std::vector<std::string> attempts;
  for (const FreshBundle& bundle : bundles) attempts.push_back(bundle.attempt);
  EXPECT_THAT(attempts, ElementsAre("a", "b", "c", "e", "d")) << "those without a time first";
  EXPECT_THAT(report_.refused, IsEmpty());
}

}  // namespace
}  // namespace assay::duckdb
