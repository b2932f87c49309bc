// SPDX-License-Identifier: Apache-2.0
// Every field of every message, with every wrong value: decode() and check() refuse it or accept it, and never do
// anything else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "bench/worker/protocol.hpp"

namespace assay::worker_protocol {
namespace {
using ::testing::HasSubstr;

// Wrong for most fields. What is right for one has its type and its range.
const std::vector<Json>& values() {
  static const std::vector<Json> all{
      nullptr,
      true,
      0,
      -1,
      1,
      2,
      27,
      1'000'000,
      0.5,
      -0.5,
      1e300,
      std::numeric_limits<std::int64_t>::min(),
      std::numeric_limits<std::int64_t>::max(),
      std::numeric_limits<std::uint64_t>::max(),
      "",
      "text",
      "inf",
      "-inf",
      "nan",
      std::string("a\0b", 3),
      std::string(100'000, 'x'),
      Json::array(),
      Json::array({1}),
      Json::array({"a"}),
      Json::array({"a", "b", "c"}),
      Json::array({Json::array({"a", 1})}),
      Json::object(),
      Json{{"a", 1}},
      Json{{"code", 99}, {"message", "m"}, {"context", Json::array()}, {"hint", ""}},
  };
  return all;
}

// Calls `use` with `message` changed at one place, for each of its places (objects and lists inside included) and each
// value, and with each key removed.
void for_each_change(Json& message, Json& place, const std::string& path,
                     const std::function<void(const Json&, const std::string&)>& use) {
  const Json before = place;
  for (const Json& value : values()) {
    place = value;
    use(message, path + " = " + json_text(value).substr(0, 60));
  }
  place = before;
  if (place.is_object()) {
    for (const auto& [key, ignored] : before.items()) {
      place.erase(key);
      use(message, path + "/" + key + " removed");
      place = before;
      for_each_change(message, place[key], path + "/" + key, use);
    }
  } else if (place.is_array()) {
    for (std::size_t i = 0; i < place.size(); ++i)
      for_each_change(message, place[i], path + "/" + std::to_string(i), use);
  }
}

template <class T>
void survives(const T& sample, std::size_t fields, const std::function<Status(const T&)>& check) {
  Json message = encode(sample);
  ASSERT_TRUE(decode<T>(message)) << to_string(decode<T>(message).error());
  ASSERT_TRUE(check(sample));
  ASSERT_GE(message.size(), fields);
  std::size_t refused = 0, changes = 0;
  for_each_change(message, message, "", [&](const Json& changed, const std::string& what) {
    ++changes;
    const Result<T> decoded = decode<T>(changed);
    const Status valid = decoded ? check(*decoded) : tl::unexpected<Error>(decoded.error());
    if (valid) return;
    ++refused;
    EXPECT_EQ(valid.error().code, ErrorCode::kInternal) << what;
    EXPECT_NE(valid.error().message, "") << what;
    EXPECT_LT(valid.error().message.size(), 1000u) << what;
  });
  EXPECT_GT(refused, changes / 2);
}

template <class T>
Status no_check(const T&) {
  return {};
}
template <class T>
Status checked(const T& reply) {
  return check(reply);
}

const ValueSignature kValue{"x", DType::kFloat32, true, {-1, 3}, {"batch", ""}, 0};

TEST(ProtocolFields, RepliesWithWrongFieldsAreRefused) {
  survives<Description>(
      {"1.0", {{"cpu", "cpu", "a processor", 1, 0, false, false}}, {{"o", "int", "0", "help"}}, {{"k", "v"}}}, 4,
      checked<Description>);
  survives<LoadReply>({1.5, 0.5, "1.0", {kValue}, {kValue}, {{"precision", "float32"}}, 1, 2, 3}, 9,
                      checked<LoadReply>);
  survives<BindReply>({1.0, {{"precision", "float32"}}}, 2, checked<BindReply>);
  survives<InferReply>({1.0}, 1, checked<InferReply>);
  MeasureReply measured;
  measured.measurement.relative_half_width = 0.1;
  measured.measurement.failure = Error{ErrorCode::kDeviceLost, "gone", {"while measuring"}, "hint"};
  measured.environment = {{"noise", {{"reasons", Json::array()}}}};
  survives<MeasureReply>(measured, 5, checked<MeasureReply>);
}

TEST(ProtocolFields, RequestsWithWrongFieldsAreRefused) {
  LoadRequest load;
  load.model = "/m.onnx";
  load.options = {{"a", "b"}};
  survives<LoadRequest>(load, 9, no_check<LoadRequest>);
  BindRequest bind{{{"ids", DType::kInt64, {2, 3}, Fill::kInteger, 1, 9, {}}}, 1, 4, 2};
  bind.generation = Generation{.output_tokens = 2, .states = {{"a", "b", "c"}}};
  survives<BindRequest>(bind, 5, no_check<BindRequest>);
  survives<InferRequest>({.set = 1, .outputs = "out"}, 5, no_check<InferRequest>);
  MeasureRequest measure;
  measure.plan.iterations = 5;
  measure.samples = "s";
  survives<MeasureRequest>(measure, 3, no_check<MeasureRequest>);
  survives<SaveRequest>({"f"}, 1, no_check<SaveRequest>);
}

TEST(ProtocolFields, AnErrorIsShortenedAndItsCodeIsKnown) {
  const Error long_one{ErrorCode::kInternal, std::string(1'000'000, 'x'), std::vector<std::string>(100, "while"), "h"};
  const Result<Error> error = decode_error(encode_error(long_one));
  ASSERT_TRUE(error);
  EXPECT_LT(error->message.size(), 17'000u);
  EXPECT_LE(error->context.size(), 20u);
  Json wrong = encode_error({ErrorCode::kInternal, "m"});
  for (const int code : {-1, 12, 1'000'000}) {
    wrong["code"] = code;
    EXPECT_THAT(decode_error(wrong).error().message, HasSubstr("'code': a known value was expected"));
  }
}

TEST(ProtocolFields, TheMessageNamesTheFieldAndTheValue) {
  Json reply = encode(InferReply{1.0});
  reply["run_ms"] = "soon";
  EXPECT_EQ(decode<InferReply>(reply).error().message, "'run_ms': a number was expected, not \"soon\"");
  reply["run_ms"] = -2.0;
  EXPECT_THAT(check(*decode<InferReply>(reply)).error().message, HasSubstr("'run_ms' is -2"));
  reply.erase("run_ms");
  EXPECT_EQ(decode<InferReply>(reply).error().message, "'run_ms' is missing");
}

}  // namespace
}  // namespace assay::worker_protocol
