// SPDX-License-Identifier: Apache-2.0
#include "prepare/prepare.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "base/files.hpp"

namespace assay {
namespace {
namespace fs = std::filesystem;

class Prepare : public ::testing::Test {
 protected:
  Prepare() {
    with_.cache = folder_.path() / "models";
    with_.hub = &hub_;
  }

  [[nodiscard]] Result<PreparedModel> tiny() {
    ModelChoice choice;
    choice.name = choice.reference = "prajjwal1/bert-tiny";
    return prepare_model(choice, settings_, with_);
  }

  TemporaryDirectory folder_ = TemporaryDirectory::create().value();
  hub::Hub hub_{[this] {
    hub::Settings settings;
    settings.cache = folder_.path() / "hub";
    settings.offline = true;
    return settings;
  }()};
  RunSettings settings_;
  Preparing with_;
};

TEST_F(Prepare, LeavesTheUsersOwnFilesInTheCacheHoweverOld) {
  const auto year_ago = fs::file_time_type::clock::now() - std::chrono::hours(24 * 365);
  const fs::path own = with_.cache / "my fine-tuned model";
  ASSERT_TRUE(write_file_atomically(own / "model.onnx", "mine"));
  fs::last_write_time(own, year_ago);
  ASSERT_TRUE(make_directories(folder_.path() / "elsewhere"));
  ASSERT_TRUE(write_file_atomically(folder_.path() / "elsewhere" / "thesis.txt", "mine"));
  fs::last_write_time(folder_.path() / "elsewhere", year_ago);
  fs::create_directory_symlink(folder_.path() / "elsewhere", with_.cache / "link");

  const Result<PreparedModel> model = tiny();
  ASSERT_TRUE(model) << to_string(model.error());
  EXPECT_TRUE(fs::exists(model->file));
  EXPECT_TRUE(fs::exists(own / "model.onnx"));
  EXPECT_TRUE(fs::is_symlink(with_.cache / "link"));
  EXPECT_TRUE(fs::exists(folder_.path() / "elsewhere" / "thesis.txt"));
}

TEST_F(Prepare, WhatWasBuiltEndsWithTheModel) {
  fs::path file;
  {
    const Result<PreparedModel> model = tiny();
    ASSERT_TRUE(model) << to_string(model.error());
    file = model->file;
    ASSERT_TRUE(fs::exists(file));
  }
  EXPECT_FALSE(fs::exists(file.parent_path()));
}

TEST_F(Prepare, EndsWhileWeightsAreWritten) {
  int asked = 0;
  with_.cancelled = [&] { return ++asked > 3; };
  const Result<PreparedModel> model = tiny();
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, ErrorCode::kCancelled);
  EXPECT_TRUE(fs::is_empty(with_.cache)) << "what was half built is gone";
}

}  // namespace
}  // namespace assay
