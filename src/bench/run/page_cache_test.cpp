// SPDX-License-Identifier: Apache-2.0
#include "bench/run/page_cache.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/base/files.hpp"

namespace assay {
namespace {

TEST(PageCache, DropsTheFilesOfAFolderAndNoOthers) {
  const auto folder = TemporaryDirectory::create();
  ASSERT_TRUE(folder);
  const std::string megabytes(std::size_t{4} << 20, 'x');
  const std::filesystem::path inside = folder->path() / "model" / "weights", other = folder->path() / "other";
  ASSERT_TRUE(write_file_atomically(inside, megabytes));
  ASSERT_TRUE(write_file_atomically(other, megabytes));
  EXPECT_GT(cached_share(inside).value(), 0.9);
  const Result<bool> dropped = drop_from_page_cache(inside.parent_path());
  ASSERT_TRUE(dropped) << to_string(dropped.error());
  if (!*dropped) GTEST_SKIP() << "this file system is in memory";
  EXPECT_LT(cached_share(inside).value(), 0.1);
  EXPECT_GT(cached_share(other).value(), 0.9);
  ASSERT_TRUE(read_file(inside));
  EXPECT_GT(cached_share(inside).value(), 0.9);
}

TEST(PageCache, AMissingFileIsAnError) { EXPECT_FALSE(cached_share("/nowhere/file")); }

}  // namespace
}  // namespace assay
