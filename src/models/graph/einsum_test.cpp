// SPDX-License-Identifier: Apache-2.0
#include "models/graph/einsum.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {
using graph::read_einsum;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

std::string error_of(std::string_view equation, const std::vector<Shape>& operands) {
  const auto read = read_einsum(equation, operands);
  return read ? "" : read.error();
}

TEST(Einsum, LabelsEachAxisAndSaysTheExtents) {
  const auto read = read_einsum("bij, jk -> bik", std::vector<Shape>{{2, 3, 4}, {4, 5}});
  ASSERT_TRUE(read) << read.error();
  EXPECT_THAT(read->operands, ElementsAre("bij", "jk"));
  EXPECT_EQ(read->result, "bik");
  EXPECT_THAT(read->extents, ElementsAre(Pair('b', 2), Pair('i', 3), Pair('j', 4), Pair('k', 5)));
}

TEST(Einsum, ARepeatedOperandHasTheExtent1) {
  const auto read = read_einsum("ij,jk->ik", std::vector<Shape>{{2, 1}, {3, 4}});
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->extents.at('j'), 3);
}

TEST(Einsum, TheResultThatIsNotStatedBeginsWithTheEllipsis) {
  const auto read = read_einsum("...ji,...kj", std::vector<Shape>{{7, 6, 3, 2}, {6, 4, 3}});
  ASSERT_TRUE(read) << read.error();
  EXPECT_THAT(read->operands, ElementsAre("\2\1ji", "\1kj")) << "ellipses are aligned at the end";
  EXPECT_EQ(read->result, "\2\1ik");
  EXPECT_EQ(read_einsum("bA", std::vector<Shape>{{2, 3}})->result, "Ab") << "capitals first";
  EXPECT_EQ(read_einsum("ii", std::vector<Shape>{{3, 3}})->result, "");
  EXPECT_EQ(read_einsum("Z...,Y", std::vector<Shape>{{2, 3}, {4}})->result, "\1YZ") << "any letter may stand beside it";
}

TEST(Einsum, SaysWhatContradicts) {
  EXPECT_THAT(error_of("ij,jk->ik", {{2, 3}}), HasSubstr("an equation for 2 operands, not 1"));
  EXPECT_THAT(error_of("ij->i", {{2, 3, 4}}), HasSubstr("another rank"));
  EXPECT_THAT(error_of("ij...->i", {{2}}), HasSubstr("another rank"));
  EXPECT_THAT(error_of("ij,jk->ik", {{2, 3}, {4, 5}}), HasSubstr("extents 3 and 4 with one label"));
  EXPECT_THAT(error_of("ij->ik", {{2, 3}}), HasSubstr("label 'k' no operand has"));
  EXPECT_THAT(error_of("ij->ii", {{2, 3}}), HasSubstr("label 'i'"));
  EXPECT_THAT(error_of("i+->i", {{2, 3}}), HasSubstr("characters that are not letters"));
  EXPECT_THAT(error_of("ij->i->j", {{2, 3}}), HasSubstr("characters that are not letters"));
}

}  // namespace
}  // namespace assay
