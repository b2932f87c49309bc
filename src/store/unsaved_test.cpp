// SPDX-License-Identifier: Apache-2.0
#include "store/unsaved.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <optional>

#include "base/files.hpp"

namespace assay {
namespace {
namespace fs = std::filesystem;

class UnsavedSpoolTest : public ::testing::Test {
 protected:
  /// An earlier invocation's folder, with something in it.
  [[nodiscard]] fs::path earlier(const std::string& name) const {
    const fs::path folder = spool() / ".unsaved" / name / "task" / "attempt";
    EXPECT_TRUE(make_directories(folder));
    std::ofstream(folder / "DONE") << "x";
    return spool() / ".unsaved" / name;
  }
  [[nodiscard]] fs::path spool() const { return folder_.path() / "spool"; }

  TemporaryDirectory folder_ = TemporaryDirectory::create().value();
};

TEST_F(UnsavedSpoolTest, KeepsTheLastTenInvocations) {
  std::vector<fs::path> before;
  for (int i = 10; i < 22; ++i) before.push_back(earlier("202001" + std::to_string(i) + "_000000-run"));
  const auto now = UnsavedSpool::begin(spool(), "this");
  ASSERT_TRUE(now) << to_string(now.error());
  EXPECT_TRUE(fs::is_directory(now->path()));
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(fs::exists(before[i]), i >= 3) << before[i];
}

TEST_F(UnsavedSpoolTest, LeavesWhatItDidNotMake) {
  const fs::path own = earlier("0-notes");
  for (int i = 10; i < 22; ++i) (void)earlier("202001" + std::to_string(i) + "_000000-run");
  ASSERT_TRUE(UnsavedSpool::begin(spool(), "this"));
  EXPECT_TRUE(fs::exists(own / "task" / "attempt" / "DONE"));
}

TEST_F(UnsavedSpoolTest, LeavesOneThatIsInUse) {
  std::optional<UnsavedSpool> busy = UnsavedSpool::begin(spool(), "busy").value();
  for (int i = 10; i < 22; ++i) (void)earlier("999901" + std::to_string(i) + "_000000-run");
  ASSERT_TRUE(UnsavedSpool::begin(spool(), "99"));
  EXPECT_TRUE(fs::exists(busy->path()));
  const fs::path was = busy->path();
  busy.reset();
  ASSERT_TRUE(UnsavedSpool::begin(spool(), "98"));
  EXPECT_FALSE(fs::exists(was));
}

}  // namespace
}  // namespace assay
