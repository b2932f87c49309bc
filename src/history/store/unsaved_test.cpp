// SPDX-License-Identifier: Apache-2.0
#include "history/store/unsaved.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <optional>

#include "core/base/files.hpp"
#include "history/store/fake_bundles.hpp"

namespace assay {
namespace {
namespace fs = std::filesystem;
using ::testing::IsEmpty;
using ::testing::SizeIs;

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

/// Bundles of an earlier invocation without --save.
class MoveOutOfUnsavedTest : public UnsavedSpoolTest {
 protected:
  fs::path write(const std::string& name, int bundles) {
    const fs::path run = spool() / ".unsaved" / name;
    for (int i = 0; i < bundles; ++i) {
      const Samples samples = testing::fake_samples(30);
      const Record record = testing::fake_record("m" + std::to_string(i % 2), samples);
      testing::write_fake_bundle(run, record, samples);
      attempts_.push_back(fs::path(record.task_key) / record.attempt_id);
    }
    return run;
  }
  void expect_all_in_spool() const {
    for (const fs::path& attempt : attempts_) {
      const auto bundle = read_bundle(spool() / attempt);
      EXPECT_TRUE(bundle) << to_string(bundle.error());
    }
    EXPECT_THAT(*list_bundles(spool()), SizeIs(attempts_.size()));
  }
  static int across_file_systems(const char* /*from*/, const char* /*to*/) {
    errno = EXDEV;
    return -1;
  }
  std::vector<fs::path> attempts_;
};

TEST_F(MoveOutOfUnsavedTest, EveryBundleOfOneRunOrOfAllMovesOnce) {
  const fs::path a = write("a", 2);
  write("b", 1);
  write("c", 1);
  auto moved = move_out_of_unsaved(a);
  ASSERT_TRUE(moved) << to_string(moved.error());
  EXPECT_EQ(moved->bundles, 2U);
  EXPECT_EQ(moved->spool, spool());
  EXPECT_FALSE(fs::exists(a));
  EXPECT_EQ(move_out_of_unsaved(a)->bundles, 0U) << "the second time nothing is left";
  EXPECT_EQ(move_out_of_unsaved(spool() / ".unsaved")->bundles, 2U);
  expect_all_in_spool();
}

TEST_F(MoveOutOfUnsavedTest, OtherFoldersAreSpools) {
  testing::write_fake_bundle(spool(), testing::fake_record("m", {}), {});
  const auto moved = move_out_of_unsaved(spool());
  ASSERT_TRUE(moved);
  EXPECT_EQ(moved->spool, spool());
  EXPECT_EQ(moved->bundles, 0U);
  EXPECT_EQ(move_out_of_unsaved(spool() / "absent")->spool, spool() / "absent");
}

TEST_F(MoveOutOfUnsavedTest, AFolderIsKnownByAnyOfItsNames) {
  const fs::path run = write("a", 1);
  fs::create_directory_symlink(run, folder_.path() / "link");
  const auto moved = move_out_of_unsaved(folder_.path() / "link");
  ASSERT_TRUE(moved) << to_string(moved.error());
  EXPECT_EQ(moved->bundles, 1U);
  expect_all_in_spool();
}

TEST_F(MoveOutOfUnsavedTest, AcrossFileSystemsBundlesAreCopiedAndChecked) {
  const fs::path run = write("a", 3);
  const auto moved = move_out_of_unsaved(run, across_file_systems);
  ASSERT_TRUE(moved) << to_string(moved.error());
  EXPECT_EQ(moved->bundles, 3U);
  EXPECT_FALSE(fs::exists(run));
  expect_all_in_spool();
}

TEST_F(MoveOutOfUnsavedTest, ACopyThatWasCutShortIsMadeAnewAndOneThatWasDoneIsKept) {
  const fs::path run = write("a", 2);
  const fs::path cut = spool() / attempts_[0].parent_path() / (".copy-" + attempts_[0].filename().string());
  ASSERT_TRUE(make_directories(cut));
  std::ofstream(cut / "manifest.json") << "{";
  ASSERT_TRUE(make_directories(spool() / attempts_[1].parent_path()));
  fs::copy(run / attempts_[1], spool() / attempts_[1]);
  fs::remove(run / attempts_[1] / "manifest.json");  // the original was being removed
  const auto moved = move_out_of_unsaved(run, across_file_systems);
  ASSERT_TRUE(moved) << to_string(moved.error());
  EXPECT_THAT(moved->refused, IsEmpty());
  EXPECT_FALSE(fs::exists(run));
  expect_all_in_spool();
}

TEST_F(MoveOutOfUnsavedTest, WhatIsDamagedDifferentOrStillWrittenStaysAndIsNamed) {
  const fs::path run = write("a", 2);
  std::ofstream(run / attempts_[0] / "samples.bin", std::ios::app) << "x";
  ASSERT_TRUE(make_directories(spool() / attempts_[1].parent_path()));
  Record other = testing::fake_record("m1", {});
  other.attempt_id = attempts_[1].filename();
  testing::write_fake_bundle(spool(), other, {});
  const auto moved = move_out_of_unsaved(run);
  ASSERT_TRUE(moved);
  EXPECT_THAT(moved->refused, SizeIs(2));
  EXPECT_TRUE(fs::exists(run / attempts_[0]) && fs::exists(run / attempts_[1]));

  const auto living = UnsavedSpool::begin(spool(), "living");
  testing::write_fake_bundle(living->path(), testing::fake_record("m", {}), {});
  const auto busy = move_out_of_unsaved(living->path());
  ASSERT_TRUE(busy);
  ASSERT_THAT(busy->refused, SizeIs(1));
  EXPECT_EQ(busy->refused[0].code, ErrorCode::kStoreBusy);
  EXPECT_THAT(*list_bundles(living->path()), SizeIs(1));
}

TEST_F(MoveOutOfUnsavedTest, KilledAtAnyPointItLosesNothing) {
  const fs::path run = write("a", 30);
  for (const Rename& rename : {Rename(across_file_systems), Rename(std::rename)}) {
    for (const int delay_us : {0, 500, 2'000, 5'000, 10'000}) {
      const pid_t child = ::fork();
      if (child == 0) {
        static_cast<void>(move_out_of_unsaved(run, rename));
        ::pause();
      }
      ::usleep(static_cast<useconds_t>(delay_us));
      ::kill(child, SIGKILL);
      int status = 0;
      ::waitpid(child, &status, 0);
      for (const fs::path& attempt : attempts_)
        EXPECT_TRUE(read_bundle(run / attempt) || read_bundle(spool() / attempt)) << attempt;
    }
  }
  const auto moved = move_out_of_unsaved(run);
  ASSERT_TRUE(moved) << to_string(moved.error());
  EXPECT_THAT(moved->refused, IsEmpty());
  expect_all_in_spool();
}

}  // namespace
}  // namespace assay
