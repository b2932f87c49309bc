// SPDX-License-Identifier: Apache-2.0
#include "core/result/newest.hpp"

#include <gtest/gtest.h>

namespace assay {
namespace {

const WallTime kNow = *parse_iso8601("2026-03-02T12:00:00.000000Z");

Record at(const char* timestamp, Flags flags = {}) {
  Record row;
  row.timestamp = timestamp;
  row.flags = flags;
  return row;
}

TEST(Newest, AnOwnResultIsNewerThanEveryImportedOne) {
  const Record own = at("2026-03-01T00:00:00.000000Z"), later = at("2026-03-02T00:00:00.000000Z");
  const Record imported = at("2026-03-03T00:00:00.000000Z", {Flag::kImported, Flag::kNoisy});
  EXPECT_GT(newness(later), newness(own));
  EXPECT_GT(newness(own), newness(imported));
}

TEST(Newest, ATimeThatCannotBeTrueIsReplacedByThatOfTheIngestAndFlagged) {
  for (const char* bad : {"9999-12-31T23:59:59.000000Z", "0001-01-01T00:00:00.000000Z", "1970-01-01T00:00:00.000000Z",
                          "2026-03-03T12:00:01.000000Z", "12026-03-02T12:00:00Z", "yesterday", "2026-02-30T00:00:00Z",
                          "2026-03-02 12:00:00", "20260302_120000"}) {
    Record row = at(bad, {Flag::kNoisy});
    correct_time(row, kNow);
    EXPECT_EQ(row.timestamp, iso8601(kNow)) << bad;
    EXPECT_EQ(row.flags, Flags({Flag::kDoubtfulTime, Flag::kNoisy})) << bad;
    EXPECT_EQ(credible_time(bad, kNow), iso8601(kNow)) << bad;
  }
}

TEST(Newest, OtherTimesStayAlsoOfAClockThatIsSomeHoursAhead) {
  for (const char* good : {"2026-03-02T11:59:59.123456Z", "2026-03-02T11:59:59Z", "2026-03-03T02:00:00.000000Z",
                           "2010-01-01T00:00:00.000000Z", ""}) {
    Record row = at(good);
    correct_time(row, kNow);
    EXPECT_EQ(row.timestamp, good);
    EXPECT_EQ(row.flags, Flags()) << good;
    EXPECT_EQ(credible_time(good, kNow), good);
  }
}

}  // namespace
}  // namespace assay
