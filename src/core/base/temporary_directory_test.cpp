// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <string>

#include "core/base/files.hpp"

namespace assay {
namespace {
namespace fs = std::filesystem;

/// A process that does something in a folder, says so and then waits to be killed.
class OtherProcess {
 public:
  explicit OtherProcess(const std::function<fs::path()>& act) {
    int ends[2];
    if (::pipe(ends) != 0) std::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      const std::string path = act().string();
      if (::write(ends[1], path.data(), path.size()) < 0) ::_exit(1);
      ::close(ends[1]);
      for (;;) ::pause();
    }
    ::close(ends[1]);
    std::string path(4096, '\0');
    const ssize_t size = ::read(ends[0], path.data(), path.size());
    path.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    ::close(ends[0]);
    path_ = path;
  }
  ~OtherProcess() { kill(); }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;

  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  /// What `act` returned.
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  pid_t pid_ = -1;
  fs::path path_;
};

class TemporaryDirectoryTest : public ::testing::Test {
 protected:
  [[nodiscard]] fs::path place() const { return folder_.path() / "place"; }
  /// Kept in memory until the process ends, as a killed process would.
  [[nodiscard]] fs::path make_with_content(const std::string& prefix = "assay-model-") const {
    auto* folder = new TemporaryDirectory(TemporaryDirectory::create(prefix, place()).value());
    static_cast<void>(write_file_atomically(folder->path() / "deep" / "model.onnx", "weights"));
    return folder->path();
  }

  TemporaryDirectory folder_ = TemporaryDirectory::create().value();
};

TEST_F(TemporaryDirectoryTest, IsForItsOwnerAloneAndEndsWithItsObject) {
  fs::path path;
  {
    const TemporaryDirectory folder = TemporaryDirectory::create("assay-", place()).value();
    path = folder.path();
    EXPECT_TRUE(fs::is_empty(path));
    ASSERT_TRUE(write_file_atomically(path / "a" / "b", "x"));
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
  }
  EXPECT_FALSE(fs::exists(path.parent_path()));
}

TEST_F(TemporaryDirectoryTest, WhatAKilledProcessLeftIsRemovedByTheNextInTheSamePlace) {
  for (const char* prefix : {"assay-model-", ".assay-specialise-"}) {
    OtherProcess other([&] { return make_with_content(prefix); });
    other.kill();
    ASSERT_TRUE(fs::exists(other.path() / "deep" / "model.onnx"));
    ASSERT_TRUE(TemporaryDirectory::create("assay-", place()));
    EXPECT_FALSE(fs::exists(other.path().parent_path())) << "it is not a day old, and nobody uses it";
  }
}

TEST_F(TemporaryDirectoryTest, WhatALivingProcessUsesStays) {
  OtherProcess other([&] { return make_with_content(); });
  const TemporaryDirectory own = TemporaryDirectory::create("assay-", place()).value();
  remove_abandoned_directories(place());
  EXPECT_TRUE(fs::exists(other.path() / "deep" / "model.onnx"));
  EXPECT_TRUE(fs::exists(own.path()));
}

TEST_F(TemporaryDirectoryTest, WhatItDidNotMakeStays) {
  const auto year_ago = fs::file_time_type::clock::now() - std::chrono::hours(24 * 365);
  const auto file_in = [&](const fs::path& folder) {
    EXPECT_TRUE(write_file_atomically(folder / "thesis.txt", "mine"));
    fs::last_write_time(folder, year_ago);
    return folder / "thesis.txt";
  };
  std::vector<fs::path> kept{file_in(place() / "my models"), file_in(place() / "assay-model-abcdef"),
                             file_in(place() / "x1y2z3")};
  // A copy of an abandoned folder, with its marker, under another name.
  OtherProcess other([&] { return make_with_content(); });
  other.kill();
  fs::copy(other.path().parent_path(), place() / "assay-backup", fs::copy_options::recursive);
  kept.push_back(place() / "assay-backup" / other.path().filename() / "deep" / "model.onnx");

  ASSERT_TRUE(TemporaryDirectory::create("assay-", place()));
  for (const fs::path& path : kept) EXPECT_TRUE(fs::exists(path)) << path;
  EXPECT_FALSE(fs::exists(other.path()));
}

TEST_F(TemporaryDirectoryTest, LinksAreNotFollowed) {
  ASSERT_TRUE(write_file_atomically(folder_.path() / "elsewhere" / "thesis.txt", "mine"));
  OtherProcess inside([&] {
    const fs::path path = make_with_content();
    fs::create_directory_symlink(folder_.path() / "elsewhere", path / "link");
    return path;
  });
  inside.kill();
  // An abandoned folder in another place, reached by a link of the same name.
  ASSERT_TRUE(make_directories(folder_.path() / "other"));
  OtherProcess linked([&] {
    auto* folder = new TemporaryDirectory(TemporaryDirectory::create("assay-", folder_.path() / "other").value());
    return folder->path();
  });
  linked.kill();
  const fs::path link = place() / linked.path().parent_path().filename();
  fs::create_directory_symlink(linked.path().parent_path(), link);

  ASSERT_TRUE(TemporaryDirectory::create("assay-", place()));
  EXPECT_FALSE(fs::exists(inside.path()));
  EXPECT_TRUE(fs::exists(folder_.path() / "elsewhere" / "thesis.txt"));
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_TRUE(fs::exists(linked.path()));
}

TEST_F(TemporaryDirectoryTest, WhatIsKeptIsNoLongerTemporary) {
  OtherProcess other([&] {
    TemporaryDirectory folder = TemporaryDirectory::create("assay-reference-", place()).value();
    static_cast<void>(write_file_atomically(folder.path() / "set0", "x"));
    std::move(folder).keep_as(place() / "assay-kept");
    return place() / "assay-kept";
  });
  other.kill();
  TemporaryDirectory second = TemporaryDirectory::create("assay-", place()).value();
  const fs::path path = second.path();
  EXPECT_FALSE(std::move(second).keep_as(place() / "assay-kept")) << "there is one";
  EXPECT_TRUE(fs::exists(place() / "assay-kept" / "set0"));
  EXPECT_EQ(std::distance(fs::directory_iterator(place() / "assay-kept"), {}), 1);
  EXPECT_TRUE(fs::exists(path)) << "until its object ends";
}

TEST_F(TemporaryDirectoryTest, SaysWhereNothingCanBeMade) {
  const auto refused = TemporaryDirectory::create("assay-", "/proc/nowhere");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("/proc/nowhere"), std::string::npos) << refused.error().message;
}

TEST_F(TemporaryDirectoryTest, UnfinishedFilesOfKilledProcessesAreRemovedByTheNextWriter) {
  const auto begin = [&](const char* name) {
    auto* file = new PendingFile(PendingFile::create(place() / name).value());
    static_cast<void>(file->write(std::string_view("half")));
    return place();
  };
  const auto entries = [&] { return std::distance(fs::directory_iterator(place()), {}); };
  ASSERT_TRUE(write_file_atomically(place() / ".thesis.tmp-abcdef", "mine"));
  OtherProcess killed([&] { return begin("one.onnx"); });
  OtherProcess living([&] { return begin("two.onnx"); });
  ASSERT_EQ(entries(), 3);
  killed.kill();
  ASSERT_TRUE(write_file_atomically(place() / "three.json", "x"));
  EXPECT_EQ(entries(), 3) << "the user's file, the file that is being written, and the new one";
  EXPECT_TRUE(fs::exists(place() / ".thesis.tmp-abcdef"));
}

TEST(CopyContent, CopiesOverWhatIsThereAndEndsEarly) {
  const TemporaryDirectory folder = TemporaryDirectory::create().value();
  const fs::path from = folder.path() / "from", to = folder.path() / "to";
  ASSERT_TRUE(write_file_atomically(from, "new"));
  ASSERT_TRUE(write_file_atomically(to, "older and longer"));
  ASSERT_TRUE(copy_content(from, to, {}));
  EXPECT_EQ(*read_file(to), "new");
  EXPECT_EQ(copy_content(from, to, [] { return true; }).error().code, ErrorCode::kCancelled);
  EXPECT_EQ(copy_content(folder.path() / "none", to, {}).error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace assay
