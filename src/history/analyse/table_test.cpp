// SPDX-License-Identifier: Apache-2.0
#include "history/analyse/table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace assay {
namespace {

TEST(Table, HeadingsHaveUnitAndDirection) {
  EXPECT_EQ(heading_of({"model", "model", ""}), "model");
  EXPECT_EQ(heading_of({"p50", "median", "ms", Better::kLower}), "median (ms, lower is better)");
  EXPECT_EQ(heading_of({"times", "times as fast", "", Better::kHigher}), "times as fast (higher is better)");
  EXPECT_EQ(heading_of({"mb", "memory", "MB"}), "memory (MB)");
}

TEST(Table, NumbersHaveThreeSignificantDigitsAndAbsentValuesADash) {
  const Column column{"p50", "median", "ms"};
  EXPECT_EQ(show(TableValue(8.2549), column), "8.25");
  EXPECT_EQ(show(TableValue("text"), column), "text");
  EXPECT_EQ(show(TableValue(), column), "–");
  EXPECT_EQ(show(value_of(Number(std::nan(""))), column), "–");
  EXPECT_EQ(show(value_of(Count(12345)), column), "12345");
}

TEST(Table, RowsBecomeObjectsWithExactNumbers) {
  Table table;
  table.columns = {{"model", "model", ""}, {"batch", "batch", ""}, {"p50", "median", "ms"}, {"mb", "memory", "MB"}};
  table.rows = {{TableValue("bert"), TableValue(8.0), TableValue(0.1), TableValue()}};
  EXPECT_EQ(rows_json(table).dump(), R"([{"model":"bert","batch":8,"p50":0.1,"mb":null}])");
}

}  // namespace
}  // namespace assay
