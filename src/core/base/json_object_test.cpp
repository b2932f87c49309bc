// SPDX-License-Identifier: Apache-2.0
#include "core/base/json_object.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

struct Values {
  std::string name;
  bool flag = false;
  std::int64_t count = 0;
  std::vector<std::string> list, words;
  std::vector<std::pair<std::string, std::string>> pairs;
  std::string inner;
};

Result<Values> read(const std::string& text) {
  ASSAY_TRY(const JsonDocument document, JsonDocument::parse(text, "x.json"));
  ObjectReader reader(document);
  Values values;
  reader.require("name");
  reader.read("name", values.name);
  reader.read("flag", values.flag);
  reader.read("count", values.count);
  reader.read("list", values.list);
  reader.read_words("words", values.words, {"red", "green"});
  reader.read("pairs", values.pairs);
  if (auto inside = reader.object("inside")) {
    inside->read("inner", values.inner);
    ASSAY_CHECK_OK(inside->finish());
  }
  ASSAY_CHECK_OK(reader.finish());
  return values;
}

std::string refusal(const std::string& text) {
  const Result<Values> values = read(text);
  return values ? "accepted"
                : values.error().message + (values.error().hint.empty() ? "" : " | " + values.error().hint);
}

TEST(ObjectReader, ReadsEachTypeAndKeepsDefaults) {
  const Values values = read(R"({"name": "a", "flag": true, "list": ["x", "y"], "words": ["green"],
    "pairs": {"k": "v"}, "inside": {"inner": "deep"}})")
                            .value();
  EXPECT_EQ(values.name, "a");
  EXPECT_TRUE(values.flag);
  EXPECT_EQ(values.count, 0);
  EXPECT_THAT(values.list, ElementsAre("x", "y"));
  EXPECT_THAT(values.words, ElementsAre("green"));
  EXPECT_THAT(values.pairs, ElementsAre(Pair("k", "v")));
  EXPECT_EQ(values.inner, "deep");
}

TEST(ObjectReader, NamesLineAndNearestOfAnUnknownKey) {
  EXPECT_EQ(refusal("{\n  \"name\": \"a\",\n  \"cuont\": 3\n}"),
            "x.json:3: unknown key \"cuont\"; did you mean \"count\"? | valid are: name, flag, count, list, words, "
            "pairs, inside");
  EXPECT_THAT(refusal("{\"name\": \"a\",\n\n \"inside\": {\n  \"iner\": \"\"}}"),
              HasSubstr("x.json:4: unknown key \"iner\"; did you mean \"inner\"?"));
}

TEST(ObjectReader, NamesTheValueThatHasAnotherType) {
  EXPECT_EQ(refusal("{\"name\": 3}"), "x.json:1: \"name\" must be a non-empty string, not 3");
  EXPECT_EQ(refusal("{\"name\": \"a\",\n\"flag\": \"yes\"}"), "x.json:2: \"flag\" must be true or false, not \"yes\"");
  EXPECT_EQ(refusal("{\"name\": \"a\", \"count\": 1.5}"), "x.json:1: \"count\" must be an integer, not 1.5");
  EXPECT_EQ(refusal("{\"name\": \"a\", \"list\": [\"x\", 1]}"),
            "x.json:1: \"list\" must be a list of non-empty strings, not [\"x\",1]");
  EXPECT_EQ(refusal("{\"name\": \"a\", \"list\": [\"x\", \"x\"]}"), "x.json:1: \"list\" names \"x\" twice");
  EXPECT_EQ(refusal("{\"name\": \"a\", \"pairs\": {\"k\": 1}}"),
            "x.json:1: \"pairs\" must be an object of strings, not {\"k\":1}");
  EXPECT_EQ(refusal("{\"name\": \"a\", \"inside\": []}"), "x.json:1: \"inside\" must be an object, not []");
  EXPECT_EQ(refusal("\n [1]"), "x.json:2:2: the file must have one JSON object, {…}, not [1]");
}

TEST(ObjectReader, NamesTheValidWords) {
  EXPECT_EQ(refusal("{\"name\": \"a\",\n \"words\": [\"red\",\n \"gren\"]}"),
            "x.json:2: \"words\" has the unknown value \"gren\"; did you mean \"green\"? | valid are: red, green");
}

TEST(ObjectReader, NamesAKeyThatIsMissing) {
  EXPECT_EQ(refusal("{\"flag\": true}"), "x.json:1: the key \"name\" is missing");
  EXPECT_THAT(refusal("{\n\"nmae\": \"a\"}"), HasSubstr("x.json:2: unknown key \"nmae\"; did you mean \"name\"?"))
      << "the reason why it is missing";
}

TEST(ObjectReader, FindsLinesAcrossStringsWithBracesAndEscapes) {
  EXPECT_THAT(refusal("{\"name\": \"} \\\" {\",\n \"list\": [\"]\", \"{\"],\n \"pairs\": {\"}\": \"a,b\"},\n"
                      " \"c\\u006funt\": false}"),
              HasSubstr("x.json:4: \"count\" must be an integer"));
}

TEST(JsonDocumentTest, PlacesHaveLineAndColumn) {
  const auto document = JsonDocument::parse("{\n  \"a\": 1,\n  \"ä\": {\"b\": [2], \"c\":  \"x\"}\n}", "f.json");
  ASSERT_TRUE(document);
  const auto at = [](JsonDocument::Place place) { return std::pair(place.line, place.column); };
  EXPECT_EQ(at(document->place_of({})), std::pair(1, 1));
  EXPECT_EQ(at(document->place_of({"a"})), std::pair(2, 3));
  EXPECT_EQ(at(document->place_of_value({"a"})), std::pair(2, 8));
  EXPECT_EQ(at(document->place_of({"ä", "c"})), std::pair(3, 19));
  EXPECT_EQ(at(document->place_of_value({"ä", "c"})), std::pair(3, 25));
  EXPECT_EQ(at(document->place_of_value({"ä", "b"})), std::pair(3, 14));
}

TEST(JsonDocumentTest, ElementsOfListsHavePlaces) {
  const auto document = JsonDocument::parse("{\"a\": [\"],\", [1, 2],\n {\"b\": [3, 4]}]}", "f.json");
  ASSERT_TRUE(document);
  const auto at = [&](const std::vector<std::string>& path) {
    const JsonDocument::Place place = document->place_of_value(path);
    return std::pair(place.line, place.column);
  };
  EXPECT_EQ(at({"a", "0"}), std::pair(1, 8));
  EXPECT_EQ(at({"a", "1"}), std::pair(1, 14));
  EXPECT_EQ(at({"a", "1", "1"}), std::pair(1, 18));
  EXPECT_EQ(at({"a", "2"}), std::pair(2, 2));
  EXPECT_EQ(at({"a", "2", "b", "1"}), std::pair(2, 12));
}

}  // namespace
}  // namespace assay
