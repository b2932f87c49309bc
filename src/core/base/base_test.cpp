// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/base/clock.hpp"
#include "core/base/files.hpp"
#include "core/base/guard.hpp"
#include "core/base/hash.hpp"
#include "core/base/json.hpp"
#include "core/base/ordered_object.hpp"
#include "core/base/shell.hpp"
#include "core/base/text.hpp"
#include "core/base/time_words.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Error, PrintsCodeContextAndHint) {
  const Error error{ErrorCode::kUnsupported, "no kernel for 'Foo'", {"while compiling m.onnx"}, "try another"};
  EXPECT_EQ(to_string(error), "error[unsupported]: no kernel for 'Foo'\n  while compiling m.onnx\n  hint: try another");
}

TEST(Error, CodesHaveStableNamesBothWays) {
  for (int i = 0; i <= static_cast<int>(ErrorCode::kInternal); ++i) {
    const auto code = static_cast<ErrorCode>(i);
    EXPECT_EQ(error_code_from(to_string(code)), code);
  }
  EXPECT_EQ(error_code_from("nonsense"), std::nullopt);
}

TEST(Text, CountsWithThePluralThatFits) {
  EXPECT_EQ(counted(1, "cell"), "1 cell");
  EXPECT_EQ(counted(std::size_t{0}, "cell"), "0 cells");
  EXPECT_EQ(counted(1, "launch", "launches"), "1 launch");
  EXPECT_EQ(counted(2, "run does", "runs do"), "2 runs do");
}

TEST(WithoutLinks, FollowsLinksOfTheFileItself) {
  const TemporaryDirectory folder = *TemporaryDirectory::create();
  const fs::path root = folder.path();
  fs::create_directories(root / "real");
  ASSERT_TRUE(write_file_atomically(root / "real" / "file", "x"));
  fs::create_symlink("real/file", root / "link");
  fs::create_symlink(root / "link", root / "link-to-link");
  fs::create_symlink("real", root / "folder");
  fs::create_symlink("../link", root / "real" / "up");
  fs::create_symlink("real/absent", root / "dangling");
  fs::create_symlink("circle", root / "circle");
  for (const char* name : {"link", "link-to-link", "folder/up", "folder/../link", "real//file"})
    EXPECT_TRUE(fs::equivalent(without_links(root / name), root / "real" / "file")) << name;
  for (const char* name : {"link", "link-to-link", "folder/up"})
    EXPECT_FALSE(fs::is_symlink(without_links(root / name))) << name;
  EXPECT_EQ(without_links(root / "dangling"), root / "real" / "absent");
  EXPECT_EQ(without_links(root / "circle"), root / "circle");
  for (const char* name : {"plain", "folder/plain", "./a/../b", "/none/there"}) EXPECT_EQ(without_links(name), name);
}

TEST(Clock, ReadsWhatItWrites) {
  for (const char* text : {"2026-03-02T12:34:56.789012Z", "0001-01-01T00:00:00.000000Z", "9999-12-31T23:59:59.999999Z",
                           "2024-02-29T00:00:00.000001Z"}) {
    const auto time = parse_iso8601(text);
    ASSERT_TRUE(time) << text;
    EXPECT_EQ(iso8601(*time), text);
  }
  EXPECT_EQ(*parse_iso8601("2026-03-02T12:34:56Z"), *parse_iso8601("2026-03-02T12:34:56.000000Z"));
  for (const char* text :
       {"", "2026", "2026-03-02", "2026-03-02T12:34:56", "2026-13-02T12:34:56Z", "2026-02-30T12:34:56Z",
        "2026-03-02T24:00:00Z", "12026-03-02T12:34:56Z", "2026-03-02T12:34:56.Z", "2026-03-02T12:34:56.5aZ",
        "-026-03-02T12:34:56Z", "2026-03-02T12:34:56+02:00"})
    EXPECT_FALSE(parse_iso8601(text)) << text;
}

TEST(Json, SaysLineAndColumnOfAMistake) {
  const auto json = parse_json("{\n  \"a\": 1,\n  \"b\" 2\n}", "config.json");
  ASSERT_FALSE(json);
  EXPECT_EQ(json.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(json.error().message, HasSubstr("config.json: not valid JSON at line 3, column 7: "));
}

TEST(Json, RefusesAByteZero) {
  for (const std::string_view text :
       {std::string_view("{}\0]", 4), std::string_view("{}\0\"a\":", 7), std::string_view("\0", 1)}) {
    const auto json = parse_json(text, "x");
    ASSERT_FALSE(json);
    EXPECT_THAT(json.error().message, HasSubstr("a byte 0"));
  }
}

TEST(Json, RefusesDuplicateKeysAndDeepNesting) {
  EXPECT_EQ(parse_json("{\"b\": [{\"a\": \"a\"}, {\"a\": 0}],\n \"ä\": {}, \"\\u0062\": 2}", "x").error().message,
            "x: the key \"b\" is given twice in one object, again at line 2, column 11");
  EXPECT_THAT(parse_json(std::string(100000, '['), "x").error().message, HasSubstr("nesting deeper than"));
}

// A key that counts how often it is looked at.
struct CountingKey {
  std::string text;
  static inline std::size_t looks = 0;
  explicit operator std::string_view() const {
    ++looks;
    return text;
  }
};

TEST(OrderedObject, ComparesEachKeyWithAFewOthersHoweverManyThereAre) {
  using Object = OrderedObject<CountingKey, int>;
  const auto looks = [](int keys) {
    CountingKey::looks = 0;
    Object object;
    for (int i = 0; i < keys; ++i) object.emplace(CountingKey{"model.layers." + std::to_string(i) + ".weight"}, i);
    for (int i = 0; i < keys; ++i) EXPECT_EQ(object.at("model.layers." + std::to_string(i) + ".weight"), i);
    EXPECT_EQ(object.size(), static_cast<std::size_t>(keys));
    return CountingKey::looks;
  };
  EXPECT_LT(looks(50'000), 10U * 50'000) << "quadratic: 2,500,000,000";
}

TEST(OrderedObject, IsAMapInTheOrderOfInsertionWithAndWithoutAnIndex) {
  for (const int keys : {5, 15, 16, 17, 100}) {
    OrderedObject<std::string, int> object;
    const auto key = [](int i) { return "k" + std::to_string(i); };
    for (int i = 0; i < keys; ++i) EXPECT_TRUE(object.emplace(key(i), i).second);
    EXPECT_FALSE(object.emplace(key(3), 0).second);
    EXPECT_EQ(object.erase(key(1)), 1U);
    EXPECT_EQ(object.erase(key(1)), 0U);
    EXPECT_EQ(object.count(key(1)), 0U);
    object[key(1)] = 7;
    auto copy = object;
    copy.erase(copy.begin(), copy.begin() + 2);
    EXPECT_EQ(copy.begin()->first, "k3");
    EXPECT_EQ(copy.at(key(keys - 1)), keys - 1);
    EXPECT_EQ(copy.find("k2"), copy.end());
    std::vector<std::string> order;
    for (const auto& [name, value] : object) order.push_back(name);
    EXPECT_EQ(order[1], "k2") << keys;
    EXPECT_EQ(order.back(), "k1");
    auto moved = std::move(object);
    object.clear();  // NOLINT(bugprone-use-after-move): what it tests
    object.emplace("new", 1);
    EXPECT_EQ(object.at("new"), 1);
    EXPECT_EQ(moved.at(key(1)), 7);
    EXPECT_THROW(static_cast<void>(moved.at("absent")), std::out_of_range);
  }
}

TEST(Json, ManyKeysKeepTheirOrderAndAreFoundAndADuplicateIsRefused) {
  constexpr int kKeys = 100'000;
  std::string text = "{";
  for (int i = 0; i < kKeys; ++i) text += fmt::format("\"key {}\": {},\n", i, i);
  const auto json = parse_json(text + "\"last\": {\"key 0\": 0}}", "x");
  ASSERT_TRUE(json) << json.error().message;
  EXPECT_EQ(json->begin().key(), "key 0");
  EXPECT_EQ((*json)["key 77777"], 77777);
  EXPECT_EQ(*parse_json(json_text(*json), "y"), *json);
  EXPECT_EQ(parse_json(text + "\"key 5\": 0}", "x").error().message,
            "x: the key \"key 5\" is given twice in one object, again at line 100001, column 1");
}

TEST(Json, ReadingALongTextIsInterrupted) {
  std::string text = "[";
  for (int i = 0; i < 50'000; ++i) text += "1,";
  int asked = 0;
  const auto json = parse_json(text + "1]", "x", [&] { return ++asked == 3; });
  ASSERT_FALSE(json);
  EXPECT_EQ(json.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(asked, 3) << "it stops at once";
}

TEST(Json, TellsWhichNumberIsTooLarge) {
  EXPECT_THAT(parse_json("{\n  \"a\": 1e400\n}", "x").error().message, HasSubstr("1e400 at line 2, column 8 "));
}

TEST(Text, SanitisesWhatATerminalWouldObey) {
  EXPECT_EQ(sanitise("a\x1b[31m\xC2\x9b"
                     "b\xC3\xA9\x7F\n"),
            "a[31mb\xC3\xA9\n");
  EXPECT_EQ(one_line("a\nb\tc"), "a b c");
}

TEST(Text, QuotesAWordForTheShell) {
  EXPECT_EQ(shell_quoted("--output-dir=my/out_1.2"), "--output-dir=my/out_1.2");
  EXPECT_EQ(shell_quoted("microsoft/deberta-v3@main:a,b%"), "microsoft/deberta-v3@main:a,b%");
  EXPECT_EQ(shell_quoted(""), "''");
  EXPECT_EQ(shell_quoted("my out"), "'my out'");
  EXPECT_EQ(shell_quoted("it's"), R"('it'\''s')");
  for (const char* special : {"a;b", "*", "$HOME", "~", "#x", "`ls`", "a|b", "a&b", "(a)", "a\"b", "a\\b", "a\nb", "!"})
    EXPECT_EQ(shell_quoted(special), "'" + std::string(special) + "'");
}

TEST(Text, EscapesTheBytesOfAName) {
  EXPECT_EQ(escape_bytes("gr\xC3\xB6\xC3\x9F"
                         "e"),
            "gr\xC3\xB6\xC3\x9F"
            "e");
  EXPECT_EQ(escape_bytes("a\xFF/b\n\xE2\x82"), "a\\xff/b\\x0a\\xe2\\x82");
}

TEST(Guard, AnExceptionBecomesAnError) {
  const auto doing = [](auto body) { return guarded("while testing", body).error(); };
  const Error broken = doing([]() -> Status { throw std::runtime_error("broken \xFF"); });
  EXPECT_EQ(broken.code, ErrorCode::kInternal);
  EXPECT_THAT(broken.message, HasSubstr("broken \xEF\xBF\xBD"));
  EXPECT_THAT(broken.context, ElementsAre("while testing"));
  EXPECT_EQ(doing([]() -> Result<int> { throw std::bad_alloc(); }).code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(doing([]() -> Status { return fail(ErrorCode::kMismatch, "x"); }).code, ErrorCode::kMismatch);
  EXPECT_EQ(*guarded("", []() -> Result<int> { return 3; }), 3);
}

TEST(Files, RefusesPipesAtOnce) {
  const auto folder = TemporaryDirectory::create();
  ASSERT_TRUE(folder);
  const auto pipe = folder->path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(read_file(pipe).error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(MappedFile::open(pipe).error().message, HasSubstr("pipe"));
}

TEST(Files, WritesAtomicallyAndReadsBack) {
  const auto folder = TemporaryDirectory::create();
  ASSERT_TRUE(folder);
  const auto path = folder->path() / "a" / "b.txt";
  ASSERT_TRUE(write_file_atomically(path, "one"));
  ASSERT_TRUE(write_file_atomically(path, "two"));
  EXPECT_EQ(*read_file(path), "two");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path.parent_path()), {}), 1);
}

TEST(Files, WhatCannotBeLookedAtIsNotAbsent) {
  const auto folder = TemporaryDirectory::create();
  ASSERT_TRUE(folder);
  const auto file = folder->path() / "file";
  EXPECT_TRUE(is_empty_or_absent(file));
  ASSERT_TRUE(write_file_atomically(file, ""));
  EXPECT_TRUE(is_empty_or_absent(file));
  ASSERT_TRUE(write_file_atomically(file, "x"));
  EXPECT_FALSE(is_empty_or_absent(file));
  EXPECT_FALSE(is_empty_or_absent(file / "below"));
}

TEST(Files, SaysWhatIsWrong) {
  EXPECT_EQ(read_file("/nonexistent/x").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(read_file("/").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(write_file_atomically("/proc/nowhere/x", "x").has_value(), false);
}

TEST(Files, MapsFiles) {
  const auto folder = TemporaryDirectory::create();
  ASSERT_TRUE(write_file_atomically(folder->path() / "x", "abc"));
  EXPECT_EQ(MappedFile::open(folder->path() / "x")->bytes().size(), 3U);
  ASSERT_TRUE(write_file_atomically(folder->path() / "empty", ""));
  EXPECT_TRUE(MappedFile::open(folder->path() / "empty")->bytes().empty());
}

TEST(Hash, MatchesThePublishedVectors) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(git_blob_hash("abc"), "f2ba8f84ab5c1bce84a7b441cb1959cfc7093b7f");
}

TEST(Hash, UuidsAreVersionFourAndDiffer) {
  const std::string uuid = make_uuid();
  EXPECT_EQ(uuid.size(), 36U);
  EXPECT_EQ(uuid[14], '4');
  EXPECT_NE(uuid, make_uuid());
}

TEST(Clock, FormatsUtc) {
  const WallTime time{std::chrono::microseconds(1'772'454'896'789'012)};
  EXPECT_EQ(iso8601(time), "2026-03-02T12:34:56.789012Z");
  EXPECT_EQ(compact_timestamp(time), "20260302_123456");
}

TEST(Text, ParsesWholeNumbersOnly) {
  EXPECT_EQ(parse_number<int>("12"), 12);
  EXPECT_EQ(parse_number<int>("12x"), std::nullopt);
  EXPECT_EQ(parse_number<int>(""), std::nullopt);
}

TEST(Text, SaysTimesInWords) {
  EXPECT_EQ(time_words(40), "40 s");
  EXPECT_EQ(time_words(310), "5 min 10 s");
  EXPECT_EQ(time_words(360), "6 min");
  EXPECT_EQ(time_words(5400), "1 h 30 min");
  EXPECT_EQ(time_words(3600), "1 h");
  EXPECT_EQ(budget_text(std::chrono::minutes(5)), "--budget 5 min");
}

TEST(Text, FindsTheClosestNames) {
  EXPECT_THAT(closest("opnvino", {"cpu", "openvino", "onnxruntime"}), ElementsAre("openvino"));
}

TEST(Text, JudgesUtf8AsUnicodeDoes) {
  EXPECT_TRUE(is_utf8("größe 模型 🙂"));
  EXPECT_FALSE(is_utf8("\xC0\x80"));          // overlong
  EXPECT_FALSE(is_utf8("\xED\xA0\x80"));      // surrogate
  EXPECT_FALSE(is_utf8("\xF4\x90\x80\x80"));  // beyond U+10FFFF
  EXPECT_FALSE(is_utf8("\xE2\x82"));          // cut
  EXPECT_EQ(sanitise("a\x01\xFFz"), "a\xEF\xBF\xBDz");
}

}  // namespace
}  // namespace assay
