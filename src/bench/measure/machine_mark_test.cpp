// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/machine_mark.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <optional>

#include "core/base/files.hpp"

namespace assay {
namespace {
namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using State = MachineMark::State;

class MachineMarkTest : public ::testing::Test {
 protected:
  [[nodiscard]] MachineMark begin(std::int64_t pid, State state = State::kMeasuring) {
    return MachineMark::begin({pid, "assay run", "2026-03-02 12:34:56 UTC", "/data/history.duckdb"}, pid, state,
                              {folder_.path()});
  }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()));
  }
  static std::vector<std::int64_t> pids(const std::vector<MeasuringProcess>& others) {
    std::vector<std::int64_t> numbers;
    for (const MeasuringProcess& each : others) numbers.push_back(each.pid);
    return numbers;
  }
  TemporaryDirectory folder_ = TemporaryDirectory::create("assay-mark-test-").value();
};

TEST_F(MachineMarkTest, TwoSeeEachOtherUntilOneEnds) {
  const MachineMark first = begin(1);
  EXPECT_THAT(first.others(), IsEmpty());
  {
    const MachineMark second = begin(2);
    ASSERT_THAT(second.others(), SizeIs(1));
    EXPECT_EQ(process_words(second.others()[0]),
              "process 1 (assay run, since 2026-03-02 12:34:56 UTC, database '/data/history.duckdb')");
    EXPECT_THAT(pids(first.others()), ElementsAre(2));
  }
  EXPECT_THAT(first.others(), IsEmpty());
  EXPECT_EQ(files(), 1U);
}

TEST_F(MachineMarkTest, WhatAKilledProcessLeftIsNoMeasurementAndIsRemoved) {
  ASSERT_TRUE(write_file_atomically(folder_.path() / "assay-measuring-abc", R"({"pid": 1, "command": "assay run"})"));
  const MachineMark mark = begin(2);
  EXPECT_THAT(mark.others(), IsEmpty());
  EXPECT_EQ(files(), 1U);
}

TEST_F(MachineMarkTest, FilesThatAreNoMarksAreLeftAlone) {
  fs::create_symlink("/dev/zero", folder_.path() / "assay-measuring-link");
  fs::create_directory(folder_.path() / "assay-measuring-folder");
  ASSERT_EQ(::mkfifo((folder_.path() / "assay-measuring-pipe").c_str(), 0600), 0);
  const MachineMark mark = begin(1);
  EXPECT_THAT(mark.others(), IsEmpty());
  EXPECT_EQ(files(), 4U);
}

TEST_F(MachineMarkTest, AMarkCanBeReadByEveryUser) {
  const MachineMark mark = begin(1);
  for (const fs::directory_entry& file : fs::directory_iterator(folder_.path()))
    EXPECT_EQ(file.status().permissions() & fs::perms::all, fs::perms(0644)) << file.path();
}

TEST_F(MachineMarkTest, NothingThatATerminalWouldObeyIsShown) {
  const MachineMark first = MachineMark::begin({7, std::string("assay \x1b[31m\n") + std::string(500, 'x'), "now", ""},
                                               1, State::kMeasuring, {folder_.path()});
  const std::string words = process_words(begin(2).others().at(0));
  EXPECT_EQ(words.find('\x1b'), std::string::npos);
  EXPECT_EQ(words.find('\n'), std::string::npos);
  EXPECT_LT(words.size(), 300U);
}

TEST_F(MachineMarkTest, WithoutAFolderThatCanBeWrittenNothingHappens) {
  const MachineMark mark =
      MachineMark::begin({1, "assay run", "", ""}, 1, State::kMeasuring, {"/proc/nowhere", "/dev/null"});
  EXPECT_THAT(mark.others(), IsEmpty());
  MachineMark waits = MachineMark::begin({1, "assay run", "", ""}, 1, State::kWaiting, {"/proc/nowhere"});
  EXPECT_TRUE(waits.wait_for_turn([] { return false; }, [] { FAIL(); }));
}

TEST_F(MachineMarkTest, ThoseThatWaitGetTheirTurnInTheOrderInWhichTheyBegan) {
  std::optional<MachineMark> running(begin(1));
  std::optional<MachineMark> earlier(begin(2, State::kWaiting));
  MachineMark later = begin(3, State::kWaiting);
  EXPECT_THAT(pids(later.others()), ElementsAre(1)) << "one that waits disturbs nobody";
  int pauses = 0;
  const auto pause = [&] {
    ++pauses;
    if (pauses == 1) running.reset();
    if (pauses == 2) {
      EXPECT_TRUE(earlier->wait_for_turn([] { return false; }, [] { FAIL() << "nobody is before it"; }));
    }
    if (pauses == 3) {
      EXPECT_THAT(pids(later.others()), ElementsAre(2));
    }
    if (pauses == 4) earlier.reset();
  };
  EXPECT_TRUE(later.wait_for_turn([] { return false; }, pause));
  EXPECT_EQ(pauses, 4);
  EXPECT_THAT(pids(begin(5).others()), ElementsAre(3));
}

TEST_F(MachineMarkTest, WaitingCanBeCancelled) {
  const MachineMark running = begin(1);
  MachineMark waits = begin(2, State::kWaiting);
  bool cancelled = false;
  EXPECT_FALSE(waits.wait_for_turn([&] { return cancelled; }, [&] { cancelled = true; }));
}

}  // namespace
}  // namespace assay
