// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <random>
#include <stdexcept>

#include "show/chart/child.hpp"
#include "show/chart/layout.hpp"
#include "show/chart/picture.hpp"
#include "show/chart/render.hpp"

namespace assay::chart {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Renderer renderer() {
  Result<Renderer> made = Renderer::create();
  EXPECT_TRUE(made) << to_string(made.error());
  return std::move(*made);
}

Chart small_chart(const std::string& title = "A picture") {
  Picture picture({.name = "small", .title = title, .subtitle = "for a test", .legend = {}, .notes = {}, .width = 400});
  Panel panel{
      60, 30, 300, 120, "", number_axis("batch", {"x"}, {0}, "log"), number_axis("ms", {"value"}, {0}, "linear", true)};
  picture.add(panel);
  for (const double x : {1.0, 2.0, 4.0}) picture.add(Row{0, "", "cpu", x, 1.5 * x, x, 2 * x, Mark::kNone, 0, ""});
  picture.draw(0, "cpu", "point", "point", arguments_of({"cpu", "cpu", "circle", "solid"}));
  return picture.finish(200, {}, "three points");
}

// A script that never ends and needs no memory.
constexpr const char* kEndless = "formatNumber(1), function () { for (;;) {} }";

TEST(Renderer, AScriptThatNeverEndsIsStopped) {
  Result<Renderer> draws = Renderer::create({.deadline = std::chrono::milliseconds(300)});
  ASSERT_TRUE(draws);
  const Result<Json> endless = draws->call(kEndless, Json());
  ASSERT_FALSE(endless);
  EXPECT_EQ(endless.error().code, ErrorCode::kTimeout);
  EXPECT_THAT(endless.error().message, HasSubstr("not finished after 0.3 s"));
}

TEST(Renderer, AnInterruptStopsTheScriptAndTheNextOneRuns) {
  bool cancelled = true;
  Result<Renderer> draws = Renderer::create({.cancelled = [&] { return cancelled; }});
  ASSERT_TRUE(draws);
  const Result<Json> endless = draws->call(kEndless, Json());
  ASSERT_FALSE(endless);
  EXPECT_EQ(endless.error().code, ErrorCode::kCancelled);
  cancelled = false;
  EXPECT_TRUE(draws->svg(small_chart(), theme("light")));
}

TEST(Child, AnExceptionIsAnErrorAndLeavesNoSecondProcess) {
  const pid_t parent = ::getpid();
  const Result<std::string> text =
      run_in_child([]() -> Result<std::string> { throw std::runtime_error("thrown"); }, std::chrono::minutes(5), {});
  if (::getpid() != parent) ::_exit(0);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, ErrorCode::kInternal);
  EXPECT_THAT(text.error().message, HasSubstr("thrown"));
}

TEST(Renderer, ErrorsOfTheScriptHaveItsWords) {
  const Result<Json> wrong = renderer().call("noSuchFunction", Json());
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::kInternal);
  EXPECT_THAT(wrong.error().message, HasSubstr("TypeError"));
}

TEST(Renderer, DrawsTheSameBytesEachTime) {
  Renderer draws = renderer();
  const Result<std::string> first = draws.svg(small_chart(), theme("light"));
  ASSERT_TRUE(first) << to_string(first.error());
  EXPECT_EQ(*first, *draws.svg(small_chart(), theme("light")));
  EXPECT_EQ(*first, *renderer().svg(small_chart(), theme("light")));
  EXPECT_THAT(*first, HasSubstr("fill=\"#1849AB\""));
  EXPECT_THAT(text_faults(*first), IsEmpty());
}

TEST(Renderer, LeavesOutTheSameLabelsEachTimeWhereThereIsNoRoomForAll) {
  Picture picture(
      {.name = "crowded", .title = "A picture", .subtitle = "for a test", .legend = {}, .notes = {}, .width = 400});
  picture.add({60, 30, 120, 120, "", number_axis("ms", {"x"}, {0}, "log"), number_axis("", {"value"}, {0}, "linear")});
  for (const double x : {2000.0, 250'000.0}) picture.add(Row{0, "", "cpu", x, 1, {}, {}, Mark::kNone, 0, ""});
  picture.draw(0, "cpu", "point", "point", arguments_of({"cpu", "cpu", "circle", "solid"}));
  const Chart chart = picture.finish(200, {}, "two points");
  Renderer draws = renderer();
  const Result<std::string> first = draws.svg(chart, theme("light"));
  ASSERT_TRUE(first) << to_string(first.error());
  for (int i = 0; i < 20; ++i) EXPECT_EQ(*first, *draws.svg(chart, theme("light"))) << i;
}

TEST(Renderer, TextOfUsersIsEscaped) {
  const Result<std::string> svg =
      renderer().svg(small_chart("</title><script>alert(\"1\")</script> & more"), theme("light"));
  ASSERT_TRUE(svg) << to_string(svg.error());
  EXPECT_EQ(svg->find("<script"), std::string::npos);
}

TEST(Renderer, AnOptionThatNamesAnUnknownFunctionIsAnError) {
  Chart chart = small_chart();
  chart.option["series"][0]["renderItem"]["$fn"] = "no_such_function";
  const Result<std::string> svg = renderer().svg(chart, theme("light"));
  ASSERT_FALSE(svg);
  EXPECT_THAT(svg.error().message, HasSubstr("unknown function no_such_function"));
}

TEST(Renderer, NumbersAreWrittenAsInThePage) {
  Renderer draws = renderer();
  std::mt19937 random(1);
  std::uniform_real_distribution<double> exponent(-5, 7);
  for (int i = 0; i < 500; ++i) {
    const double value = i == 0 ? 9.995 : i == 1 ? 99.96 : i == 2 ? 0.9999 : std::pow(10.0, exponent(random));
    const Result<Json> words = draws.call("formatNumber", value);
    ASSERT_TRUE(words) << to_string(words.error());
    EXPECT_EQ(words->get<std::string>(), number_words(value)) << value;
  }
  EXPECT_EQ(number_words(8), "8.00");
  EXPECT_EQ(number_words(0.0123), "0.0123");
  EXPECT_EQ(number_words(10432.4), "10\u2009432");
  EXPECT_EQ(number_words(1234567), "1\u2009234\u2009567");
}

TEST(Renderer, ATimeThatIsNotRankedHasADashedOutline) {
  const auto svg = [](int style) {
    Picture picture({.name = "small", .title = "A picture", .subtitle = "", .legend = {}, .notes = {}, .width = 400});
    picture.add({60, 30, 300, 120, "", number_axis("", {"x"}, {0}, "log"), number_axis("", {"value"}, {0}, "linear")});
    picture.add(Row{0, "", "cpu", 1.0, 2.0, {}, {}, Mark::kNone, style, ""});
    picture.draw(0, "cpu", "point", "point", arguments_of({"cpu", "cpu", "circle", "solid"}));
    return renderer().svg(picture.finish(200, {}, ""), theme("light")).value_or("");
  };
  EXPECT_THAT(svg(kUnranked), HasSubstr("stroke-dasharray=\"2.2,1.6\""));
  EXPECT_THAT(svg(kHollow), Not(HasSubstr("stroke-dasharray=\"2.2,1.6\"")));
}

TEST(Renderer, NearLimitsHaveTicksAtEqualDistances) {
  const auto axis = [](double low, double high) {
    Picture picture({.name = "small", .title = "A picture", .subtitle = "", .legend = {}, .notes = {}, .width = 400});
    picture.add({60, 30, 300, 120, "", number_axis("", {"x"}, {0}, "linear"), number_axis("", {"value"}, {0}, "log")});
    for (const double value : {low, high}) picture.add(Row{0, "", "cpu", value, value, {}, {}, Mark::kNone, 0, ""});
    return renderer().svg(picture.finish(200, {}, ""), theme("light")).value_or("");
  };
  for (const char* tick : {">85<", ">90<", ">95<"}) EXPECT_THAT(axis(86, 99), HasSubstr(tick));
  for (const char* tick : {">50<", ">100<", ">200<"}) EXPECT_THAT(axis(60, 180 * 2), HasSubstr(tick));
}

TEST(Renderer, APngHasTheSizeOfThePictureTimesTheScale) {
  const Result<std::string> svg = renderer().svg(small_chart(), theme("dark"));
  ASSERT_TRUE(svg);
  const Result<std::string> bytes = png(*svg, 2);
  ASSERT_TRUE(bytes) << to_string(bytes.error());
  ASSERT_GE(bytes->size(), 24U);
  EXPECT_EQ(bytes->substr(1, 3), "PNG");
  const auto number = [&](std::size_t at) {
    std::size_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) value = value * 256 + static_cast<unsigned char>((*bytes)[at + i]);
    return value;
  };
  EXPECT_EQ(number(16), 800U);
  EXPECT_EQ(number(20), 2U * static_cast<std::size_t>(small_chart().height));
}

TEST(Layout, TextIsMeasuredByTheFont) {
  EXPECT_DOUBLE_EQ(text_width("0123456789", 2048), 13030);  // all digits are equally wide
  EXPECT_GT(text_width("bert", 12, true), text_width("bert", 12));
  EXPECT_GT(text_width("≠ ✕ ∅", 12), text_width("    ", 12));
}

TEST(Layout, LongTextIsCutInTheMiddle) {
  EXPECT_EQ(cut_to("bert", 100, 12), "bert");
  const std::string cut = cut_to("microsoft/layoutlmv3-base-finetuned", 120, 12);
  EXPECT_LE(text_width(cut, 12), 120);
  EXPECT_THAT(cut, HasSubstr("…"));
  EXPECT_TRUE(cut.starts_with("micro"));
}

TEST(Layout, WordsAreWrapped) {
  EXPECT_THAT(wrapped("one two three", text_width("one two", 12), 12), ElementsAre("one two", "three"));
  EXPECT_THAT(wrapped("", 100, 12), IsEmpty());
}

TEST(Layout, TextThatIsCutOrOverlapsIsFound) {
  const auto svg = [](const char* texts) {
    return "<svg width=\"100\" height=\"50\">" + std::string(texts) + "</svg>";
  };
  EXPECT_THAT(text_faults(svg("<text dy=\"0.36em\" style=\"font-size:12px;\" transform=\"translate(10 "
                              "10)\" fill=\"#000\">ok</text>")),
              IsEmpty());
  EXPECT_THAT(text_faults(svg("<text style=\"font-size:12px;\" x=\"90\" y=\"20\">wide text</text>")),
              ElementsAre(HasSubstr("'wide text' is cut")));
  EXPECT_THAT(text_faults(svg("<text style=\"font-size:12px;\" x=\"10\" y=\"20\">one</text><text "
                              "style=\"font-size:12px;\" x=\"20\" y=\"22\">two</text>")),
              ElementsAre(HasSubstr("'one' and 'two' overlap")));
}

}  // namespace
}  // namespace assay::chart
