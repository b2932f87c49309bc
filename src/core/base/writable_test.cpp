// SPDX-License-Identifier: Apache-2.0
#include "core/base/writable.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "core/base/files.hpp"

namespace assay {
namespace {
namespace fs = std::filesystem;
using ::testing::HasSubstr;

class WritableTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(write_file_atomically(folder_.path() / "file", "x"));
    fs::create_directory(folder_.path() / "folder");
    fs::create_symlink("nowhere", folder_.path() / "link");
  }
  [[nodiscard]] std::string refused(const Status& status) const {
    if (status) return "not refused";
    EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
    return status.error().message;
  }
  TemporaryDirectory folder_ = TemporaryDirectory::create("assay-writable-test-").value();
};

TEST_F(WritableTest, AFolderThatDoesNotExistIsCreatedWhereItsNearestParentAllowsIt) {
  EXPECT_TRUE(check_folder_writable(folder_.path()));
  EXPECT_TRUE(check_folder_writable(folder_.path() / "folder" / ""));
  EXPECT_TRUE(check_folder_writable(folder_.path() / "new" / "deep" / "folder"));
  EXPECT_FALSE(fs::exists(folder_.path() / "new"));
}

TEST_F(WritableTest, WhatIsNotAFolderIsNamed) {
  const std::string file = (folder_.path() / "file").string();
  EXPECT_EQ(refused(check_folder_writable(file)), "cannot write to '" + file + "': it is not a folder");
  EXPECT_EQ(refused(check_folder_writable(file + "/a/b")),
            "cannot create the folder '" + file + "/a/b': '" + file + "': it is not a folder");
  EXPECT_THAT(refused(check_folder_writable(folder_.path() / "link" / "below")),
              HasSubstr("a link to a missing folder"));
}

TEST_F(WritableTest, AFileCountsByItselfIfItExistsElseItsFolder) {
  EXPECT_TRUE(check_file_writable(folder_.path() / "file"));
  EXPECT_TRUE(check_file_writable(folder_.path() / "new" / "file"));
  EXPECT_THAT(refused(check_file_writable(folder_.path() / "folder")), HasSubstr("but a folder"));
  EXPECT_THAT(refused(check_file_writable(folder_.path() / "file" / "below")), HasSubstr("it is not a folder"));
}

TEST_F(WritableTest, PermissionsCount) {
  if (::geteuid() == 0)
    GTEST_SKIP() << "the administrator may write everywhere: test_places.py tests it as another user";
  ::chmod((folder_.path() / "file").c_str(), 0444);
  ::chmod((folder_.path() / "folder").c_str(), 0555);
  EXPECT_THAT(refused(check_file_writable(folder_.path() / "file")), HasSubstr("Permission denied"));
  EXPECT_THAT(refused(check_folder_writable(folder_.path() / "folder" / "new")), HasSubstr("Permission denied"));
}

}  // namespace
}  // namespace assay
