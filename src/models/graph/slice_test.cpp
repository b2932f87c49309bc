// SPDX-License-Identifier: Apache-2.0
#include "models/graph/slice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace assay {
namespace {

// The places are those of Python: list(range(extent))[start:end:step].
TEST(Slice, HasThePlacesOfPython) {
  struct Case {
    std::int64_t start, end, step, extent;
    std::vector<std::int64_t> places;
  };
  const Case cases[] = {
      {2, 8, 3, 10, {2, 5}},
      {7, -11, -3, 10, {7, 4, 1}},
      {-3, INT64_MAX, 1, 10, {7, 8, 9}},
      {0, -1, 1, 10, {0, 1, 2, 3, 4, 5, 6, 7, 8}},
      {20, 30, 1, 10, {}},
      {-100, 100, 1, 10, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
      {9, 0, -1, 10, {9, 8, 7, 6, 5, 4, 3, 2, 1}},
      {9, INT64_MIN, -1, 10, {9, 8, 7, 6, 5, 4, 3, 2, 1, 0}},
      {-11, INT64_MIN, -1, 10, {}},
      {20, INT64_MIN, -1, 10, {9, 8, 7, 6, 5, 4, 3, 2, 1, 0}},
      {5, 5, 1, 10, {}},
      {6, 2, 1, 10, {}},
      {2, 6, -1, 10, {}},
      {0, 10, INT64_MAX, 10, {0}},
      {9, INT64_MIN, INT64_MIN, 10, {9}},
      {0, 5, 1, 0, {}},
      {5, INT64_MIN, -1, 0, {}},
      {-2, INT64_MIN, -4, 10, {8, 4, 0}},
  };
  for (const Case& each : cases) {
    const graph::AxisSlice part = graph::slice_of(each.start, each.end, each.step, each.extent);
    std::vector<std::int64_t> places;
    for (std::int64_t k = 0; k < part.count; ++k) places.push_back(part.begin + k * part.step);
    EXPECT_EQ(places, each.places) << each.start << ":" << each.end << ":" << each.step << " of " << each.extent;
    if (part.step > 0 && part.count > 0) {
      EXPECT_EQ(part.end(), places.back() + 1);
    }
  }
}

}  // namespace
}  // namespace assay
