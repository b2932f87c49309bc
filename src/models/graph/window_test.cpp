// SPDX-License-Identifier: Apache-2.0
#include "models/graph/window.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace assay {
namespace {
using graph::Node;
using graph::Window;
using ::testing::ElementsAre;

using Lists = std::map<std::string_view, std::vector<std::int64_t>>;

// Lifetime: the node points into `lists`.
Node node_with(const Lists& lists, std::string_view automatic = "NOTSET") {
  Node node;
  node.op_type = "Conv";
  for (const auto& [name, values] : lists)
    node.attributes.push_back({.name = name, .value = std::span<const std::int64_t>(values)});
  node.attributes.push_back({.name = "auto_pad", .value = automatic});
  return node;
}

std::string error_of(const Lists& lists, const Shape& in = {1, 1, 8}) {
  const auto window = graph::read_window(node_with(lists), in, {3});
  return window ? "" : window.error();
}

// How many windows begin where a step leads and end inside the padded input: by trying each place.
std::int64_t tried_count(std::int64_t padded, std::int64_t reach, std::int64_t stride) {
  std::int64_t count = 0;
  for (std::int64_t begin = 0; begin + reach <= padded; begin += stride) ++count;
  return count;
}

TEST(Window, CountsTheWindowsThatFit) {
  for (const std::int64_t extent : {1, 5, 8, 11})
    for (const std::int64_t kernel : {1, 2, 3, 5})
      for (const std::int64_t stride : {1, 2, 3})
        for (const std::int64_t dilation : {1, 2})
          for (const std::int64_t pad : {0, 1, 3}) {
            const Lists lists{{"strides", {stride}}, {"dilations", {dilation}}, {"pads", {pad, 1}}};
            const auto window = graph::read_window(node_with(lists), {1, 1, extent}, {kernel});
            ASSERT_TRUE(window) << window.error();
            EXPECT_EQ(window->reach(0), dilation * (kernel - 1) + 1);
            const std::int64_t count = window->count(0, extent);
            EXPECT_EQ(count, tried_count(extent + pad + 1, window->reach(0), stride))
                << extent << " elements, kernel " << kernel << ", stride " << stride << ", dilation " << dilation;
            if (count > 0) {
              EXPECT_EQ((count - 1) * stride + window->reach(0), extent + pad + window->exact_after(0, extent, count));
            }
          }
}

TEST(Window, WithCeilALastWindowMayReachBeyondTheEndButNotBeginThere) {
  const Lists lists{{"strides", {2}}};
  const auto window = graph::read_window(node_with(lists), {1, 1, 6}, {3});
  ASSERT_TRUE(window);
  EXPECT_EQ(window->count(0, 6), 2);
  EXPECT_EQ(window->count(0, 6, true), 3);
  EXPECT_EQ(window->count(0, 5, true), 2);
  const Lists padded{{"strides", {3}}, {"pads", {0, 2}}};
  const auto other = graph::read_window(node_with(padded), {1, 1, 4}, {1});
  ASSERT_TRUE(other);
  EXPECT_EQ(other->count(0, 4, true), 2) << "a third one would begin in the padding";
}

TEST(Window, SameGivesAnOutputOfTheExtentOverTheStride) {
  for (const std::string_view automatic : {"SAME_UPPER", "SAME_LOWER"})
    for (const std::int64_t extent : {1, 4, 7, 8})
      for (const std::int64_t kernel : {1, 2, 3, 6})
        for (const std::int64_t stride : {1, 2, 3}) {
          const Lists lists{{"strides", {stride}}};
          const auto window = graph::read_window(node_with(lists, automatic), {1, 1, extent}, {kernel});
          ASSERT_TRUE(window);
          EXPECT_EQ(window->count(0, extent), (extent + stride - 1) / stride);
          const std::int64_t odd =
              automatic == "SAME_UPPER" ? window->after[0] - window->before[0] : window->before[0] - window->after[0];
          EXPECT_THAT(odd, ::testing::AnyOf(0, 1)) << "where the odd element is";
        }
}

TEST(Window, ValidIgnoresThePads) {
  const Lists lists{{"pads", {2, 2}}};
  const auto window = graph::read_window(node_with(lists, "VALID"), {1, 1, 5}, {3});
  ASSERT_TRUE(window);
  EXPECT_EQ(window->count(0, 5), 3);
}

TEST(Window, CountsTheElementsOfEachWindow) {
  const Lists lists{{"pads", {1, 1}}, {"strides", {2}}};
  const auto window = graph::read_window(node_with(lists), {1, 1, 4}, {3});
  ASSERT_TRUE(window);
  EXPECT_THAT(window->elements(0, 4, 2, false), ElementsAre(2, 3));
  EXPECT_THAT(window->elements(0, 4, 3, false), ElementsAre(2, 3, 1)) << "a last one that reaches beyond";
  EXPECT_THAT(window->elements(0, 4, 3, true), ElementsAre(3, 3, 2)) << "only the node's padding counts";
}

TEST(Window, ATransposedConvolutionCutsWhatItsOutputDoesNotHave) {
  const Lists lists{{"strides", {2}}, {"pads", {1, 0}}, {"output_padding", {1}}};
  const Node plain = node_with(lists);
  const auto window = graph::read_window(plain, {1, 1, 4}, {3});
  ASSERT_TRUE(window);
  EXPECT_EQ(window->transposed_extent(0, 4), 9);
  EXPECT_EQ(graph::cut_before(plain, *window, 0, 4, 9), 1) << "its pads";
  EXPECT_EQ(graph::cut_before(node_with(lists, "SAME_UPPER"), *window, 0, 4, 7), 1) << "of 9 + 1 - 7 = 3";
  EXPECT_EQ(graph::cut_before(node_with(lists, "SAME_LOWER"), *window, 0, 4, 7), 2);
}

TEST(Window, SaysWhatContradicts) {
  EXPECT_EQ(error_of({}), "");
  EXPECT_EQ(error_of({{"strides", {1, 1}}}), "attributes of another rank");
  EXPECT_EQ(error_of({{"pads", {1}}}), "attributes of another rank");
  EXPECT_EQ(error_of({}, {1, 1, 8, 8}), "attributes of another rank");
  EXPECT_EQ(error_of({{"dilations", {0}}}), "a kernel, stride or dilation below 1 or too large");
  EXPECT_EQ(error_of({{"strides", {INT64_MAX}}}), "a kernel, stride or dilation below 1 or too large");
  EXPECT_EQ(error_of({{"pads", {0, 1 << 25}}}), "padding that is too large");
  EXPECT_EQ(error_of({{"pads", {INT64_MIN, 0}}}), "padding that is too large");
}

}  // namespace
}  // namespace assay
