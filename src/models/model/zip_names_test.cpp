// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <string>

#include "models/model/zip_names.hpp"
#include "models/model/zip_testing.hpp"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;
using testing::zip_of;

auto names_in(const std::string& file) { return zip_names(std::as_bytes(std::span(file))); }

TEST(ZipNames, AreThoseOfTheDirectoryAtTheEnd) {
  const std::string inner = zip_of({"inner/data.pkl"});
  for (const bool zip64 : {false, true}) {
    const std::string file = zip_of({"m/a", "m/archive.zip"}, inner, zip64);
    EXPECT_THAT(names_in(file), Optional(ElementsAre("m/a", "m/archive.zip"))) << zip64;
  }
}

TEST(ZipNames, ATornOrHostileFileHasNone) {
  EXPECT_EQ(names_in(""), std::nullopt);
  EXPECT_EQ(names_in("PK\x03\x04 m/constants.pkl"), std::nullopt);
  for (const bool zip64 : {false, true}) {
    const std::string whole = zip_of({"m/a", "m/b"}, "content", zip64);
    for (std::size_t bytes = 0; bytes + 1 < whole.size(); ++bytes)
      EXPECT_EQ(names_in(whole.substr(0, bytes)), std::nullopt) << bytes;
    for (std::size_t at = whole.size() - (zip64 ? 98 : 22); at < whole.size(); ++at) {
      std::string wrong = whole;
      wrong[at] = '\xff';  // must not read outside of the file
      const auto names = names_in(wrong);
      EXPECT_TRUE(!names || names->size() <= 2);
    }
  }
}

}  // namespace
}  // namespace assay
