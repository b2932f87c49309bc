// SPDX-License-Identifier: Apache-2.0
#include "bench/run/places.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/descriptor.hpp"
#include "core/base/files.hpp"
#include "history/store/store.hpp"

namespace assay {
namespace {
namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class PlacesTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(write_file_atomically(folder_.path() / "file", "these are my notes")); }
  [[nodiscard]] SessionRequest request() const {
    SessionRequest asked;
    asked.database = folder_.path() / "history.duckdb";
    asked.spool = folder_.path() / "history.duckdb.spool";
    asked.output_dir = folder_.path() / "out" / "raw";
    return asked;
  }
  TemporaryDirectory folder_ = TemporaryDirectory::create("assay-places-test-").value();
};

TEST_F(PlacesTest, WhatDoesNotExistIsCreatedLaterAndNotByTheCheck) {
  SessionRequest asked = request();
  asked.database = folder_.path() / "new" / "deep" / "history.duckdb";
  EXPECT_TRUE(check_places(asked));
  EXPECT_FALSE(fs::exists(folder_.path() / "new"));
  EXPECT_FALSE(fs::exists(folder_.path() / "out"));
}

TEST_F(PlacesTest, EachPlaceThatCannotBeWrittenIsNamedWithTheOptionForAnother) {
  const fs::path file = folder_.path() / "file", below = file / "below";
  const auto refused = [&](auto member, const fs::path& path, const char* option) {
    SessionRequest asked = request();
    asked.*member = path;
    const Status status = check_places(asked);
    ASSERT_FALSE(status) << path;
    EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(status.error().message, AnyOf(HasSubstr(path.string()), HasSubstr(path.parent_path().string())));
    EXPECT_THAT(status.error().hint + status.error().context.at(0), HasSubstr(option));
  };
  refused(&SessionRequest::database, folder_.path(), "--db-path");
  refused(&SessionRequest::database, file, "--db-path");  // it is not a database
  refused(&SessionRequest::database, below, "--db-path");
  refused(&SessionRequest::spool, file, "--spool");
  refused(&SessionRequest::spool, below, "--spool");
  refused(&SessionRequest::output_dir, file, "--output-dir");
  refused(&SessionRequest::output_dir, below, "--output-dir");
  EXPECT_EQ(read_file(file), "these are my notes");
}

TEST_F(PlacesTest, ARunThatIsNotSavedNeedsNoDatabase) {
  SessionRequest asked = request();
  asked.save = false;
  asked.database = folder_.path() / "file";
  EXPECT_TRUE(check_places(asked));
}

TEST_F(PlacesTest, ADatabaseThatAnotherProgramHasOpenIsNamedAndCostsNoMeasurement) {
  const SessionRequest asked = request();
  ASSERT_TRUE(Store::init(asked.database, asked.spool, false));
  EXPECT_TRUE(check_database(asked.database));
  int ready[2] = {-1, -1}, done[2] = {-1, -1};
  ASSERT_EQ(::pipe(ready) + ::pipe(done), 0);
  const pid_t reader = ::_Fork();  // without DuckDB's handlers, which the thread sanitiser cannot follow
  ASSERT_GE(reader, 0);
  if (reader == 0) {  // as DuckDB locks a file that it only reads
    const int file = ::open(asked.database.c_str(), O_RDONLY);
    struct ::flock lock {};
    lock.l_type = F_RDLCK;
    lock.l_whence = SEEK_SET;
    char byte = ::fcntl(file, F_SETLK, &lock) == 0 ? 'y' : 'n';
    if (::write(ready[1], &byte, 1) != 1 || ::close(done[1]) != 0 || ::read(done[0], &byte, 1) > 0) ::_exit(1);
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ASSERT_EQ(byte, 'y');
  const Status busy = check_database(asked.database);
  const Status places = check_places(asked);
  for (const int end : {ready[0], ready[1], done[0], done[1]}) ::close(end);
  ::waitpid(reader, nullptr, 0);
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().code, ErrorCode::kStoreBusy);
  EXPECT_THAT(busy.error().message, HasSubstr("process " + std::to_string(reader) + " has the database"));
  EXPECT_TRUE(places);
  EXPECT_TRUE(check_database(asked.database));
}

// Such a lock belongs to no process, as one of another namespace of processes has no number here.
TEST_F(PlacesTest, AProcessThatCannotBeNamedIsAnotherProcess) {
  const SessionRequest asked = request();
  ASSERT_TRUE(Store::init(asked.database, asked.spool, false));
  const Descriptor file(::open(asked.database.c_str(), O_RDONLY | O_CLOEXEC));
  struct ::flock lock {};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_SET;
  ASSERT_EQ(::fcntl(file.get(), F_OFD_SETLK, &lock), 0);
  EXPECT_THAT(check_database(asked.database).error().message, StartsWith("another process has the database"));
}

TEST_F(PlacesTest, ADamagedDatabaseCostsNoMeasurement) {
  const SessionRequest asked = request();
  ASSERT_TRUE(Store::init(asked.database, asked.spool, false));
  fs::resize_file(asked.database, 1000);
  EXPECT_EQ(check_database(asked.database).error().code, ErrorCode::kInternal);
  EXPECT_TRUE(check_places(asked));
}

}  // namespace
}  // namespace assay
