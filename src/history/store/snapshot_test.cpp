// SPDX-License-Identifier: Apache-2.0
#include "history/store/snapshot.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <thread>

#include "core/base/files.hpp"
#include "history/store/fake_bundles.hpp"
#include "history/store/lock.hpp"
#include "history/store/store.hpp"

namespace assay {
namespace {
namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::IsEmpty;

class SnapshotTest : public ::testing::Test {
 protected:
  void add(int model) const {
    const Samples samples = testing::fake_samples(2'000);
    testing::write_fake_bundle(spool_, testing::fake_record(fmt::format("m{}", model), samples), samples);
  }
  /// What a suite does between two models.
  [[nodiscard]] Status save() const {
    ASSAY_TRY(Store store, Store::open(path_, Store::Mode::kWrite));
    ASSAY_CHECK_OK(store.ingest(spool_).map([](const IngestReport&) {}));
    return store.publish_snapshot().map([](const fs::path&) {});
  }
  [[nodiscard]] std::size_t published() const {
    auto store = Store::open_snapshot(path_);
    EXPECT_TRUE(store) << to_string(store.error());
    const auto results = store->results();
    EXPECT_TRUE(results) << to_string(results.error());
    EXPECT_EQ(store->launches()->size(), results->size()) << "tables of different times";
    return results->size();
  }
  const TemporaryDirectory folder_ = *TemporaryDirectory::create();
  const fs::path path_ = folder_.path() / "history.duckdb";
  const fs::path spool_ = default_spool(path_);
};

TEST_F(SnapshotTest, KilledBetweenTwoModelsItLosesNothingAndReadersKeepAWholeSnapshot) {
  std::size_t made = 0;
  while (made < 10) add(static_cast<int>(made++));
  ASSERT_TRUE(save());
  std::size_t readable = published();
  ASSERT_EQ(readable, made);
  // Wherever that happens to be: in the transaction, its checkpoint, the snapshot, its renaming.
  for (int delay_us = 0; delay_us < 400'000; delay_us = delay_us * 3 / 2 + 2'000) {
    add(static_cast<int>(made++));
    const pid_t child = ::fork();
    if (child == 0) ::_exit(save() ? 0 : 1);
    ::usleep(static_cast<useconds_t>(delay_us));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    const std::size_t now = published();
    EXPECT_THAT(now, AnyOf(readable, made)) << "after " << delay_us << " us";
    readable = now;
  }
  ASSERT_TRUE(save());
  EXPECT_EQ(published(), made);
  EXPECT_FALSE(fs::exists(snapshot_path(path_).string() + ".tmp-publish"));
  auto store = Store::open(path_, Store::Mode::kRead);
  EXPECT_EQ(store->results()->size(), made);
  EXPECT_EQ(store->summary()->samples, made * 2'000);
  EXPECT_THAT(*store->verify(spool_), IsEmpty());
}

TEST_F(SnapshotTest, ADatabaseWithoutOneGetsItWhileNobodyWritesAndIsOnlyRead) {
  EXPECT_TRUE(Store::publish_missing_snapshot(path_)) << "there is no database";
  EXPECT_FALSE(fs::exists(snapshot_path(path_)));
  add(0);
  ASSERT_TRUE(save());
  fs::remove(snapshot_path(path_));
  {
    const auto writer = Store::open(path_, Store::Mode::kWrite);
    ASSERT_TRUE(writer);
    const Status busy = Store::publish_missing_snapshot(path_);
    ASSERT_FALSE(busy);
    EXPECT_EQ(busy.error().code, ErrorCode::kStoreBusy);
  }
  {
    std::optional<FileLock> reader = *FileLock::acquire(path_, FileLock::Kind::kShared, {});
    const Status busy = Store::publish_missing_snapshot(path_);
    ASSERT_FALSE(busy);
    EXPECT_EQ(busy.error().code, ErrorCode::kStoreBusy);
    // It waits for a reader that ends.
    std::thread ends([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      reader.reset();
    });
    EXPECT_TRUE(Store::publish_missing_snapshot(path_, std::chrono::seconds(60)));
    ends.join();
    fs::remove(snapshot_path(path_));
  }
  const auto before = read_file(path_);
  const Status made = Store::publish_missing_snapshot(path_);
  ASSERT_TRUE(made) << to_string(made.error());
  EXPECT_EQ(published(), 1);
  EXPECT_EQ(*read_file(path_), *before);
}

}  // namespace
}  // namespace assay
