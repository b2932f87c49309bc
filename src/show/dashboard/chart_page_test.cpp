// SPDX-License-Identifier: Apache-2.0
#include "show/dashboard/chart_page.hpp"

#include <gmock/gmock.h>

#include <string>
#include <string_view>

#include "core/base/base64.hpp"
#include "core/base/json.hpp"
#include "show/chart/cells_for_test.hpp"
#include "show/dashboard/charts.hpp"

namespace assay::dashboard {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string between(std::string_view html, std::string_view open, std::string_view close) {
  const std::size_t from = html.find(open);
  if (from == std::string_view::npos) return "";
  const std::size_t begin = from + open.size();
  return std::string(html.substr(begin, html.find(close, begin) - begin));
}

std::string page_of(chart::Kind kind, const Dataset& data) {
  const Analysis analysis = analyse(data);
  Result<chart::Renderer> renderer = chart::Renderer::create();
  EXPECT_TRUE(renderer);
  const std::vector<chart::Chart> pages = chart::make_charts(kind, {.data = &data, .analysis = &analysis});
  Result<std::string> html = chart_page(*renderer, pages, data);
  EXPECT_TRUE(html) << (html ? "" : html.error().message);
  return html.value_or("");
}

const std::string kMarkup = "</script><script>alert(1)</script><!--";

Dataset on_two_targets() {
  Dataset data =
      chart::data_of({chart::laboratory_cell(kMarkup, "cpu", 8), chart::laboratory_cell(kMarkup, "openvino", 4)});
  data.source = "benchmark_db.duckdb";
  return data;
}

TEST(ChartPage, AllowsItsOwnScriptAndStyleOnly) {
  const std::string html = page_of(chart::Kind::kHardwareComparison, on_two_targets());
  const std::string script = between(html, "<script>", "</script>"), style = between(html, "<style>", "</style>");
  const std::string policy = between(html, "Content-Security-Policy\" content=\"", "\"");
  EXPECT_EQ(policy, "default-src 'none'; script-src '" + policy_hash(script) + "'; style-src '" + policy_hash(style) +
                        "'; img-src data:; base-uri 'none'; form-action 'none'");
  EXPECT_EQ(html.find('\r'), std::string::npos) << "a browser would read another text, and find another hash";
  EXPECT_THAT(between(html, "<body>", "<script"), Not(HasSubstr(" style=")));
}

TEST(ChartPage, HasTheOptionOfTheDashboardWhateverNamesAre) {
  const Dataset data = on_two_targets();
  const std::string html = page_of(chart::Kind::kHardwareComparison, data);
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  const std::string block = between(html, "id=\"page-data\">", "</script>");
  EXPECT_THAT(block, Not(HasSubstr("<")));
  const Result<Json> read = parse_json(block, "page-data");
  ASSERT_TRUE(read) << block.substr(0, 200);
  ASSERT_EQ((*read)["charts"].size(), 1U);
  const Json& chart = (*read)["charts"][0];
  EXPECT_EQ(chart["name"], "hardware_comparison");
  const Json expected = picture_json(chart::chart_of(chart::Kind::kHardwareComparison, data));
  for (const auto& [key, value] : expected.items()) EXPECT_EQ(chart[key], value) << key;
  EXPECT_THAT(chart["option"]["dataset"]["source"].dump(), HasSubstr(kMarkup));
  EXPECT_EQ((*read)["themes"], themes_json());
}

TEST(ChartPage, ShowsItsPictureAndItsNumbersWithoutTheScript) {
  const std::string html = page_of(chart::Kind::kHardwareComparison, on_two_targets());
  const std::string body = between(html, "<body>", "<script");
  EXPECT_THAT(
      body, AllOf(HasSubstr("<figure data-picture><picture><source media=\"screen and (prefers-color-scheme: dark)\""),
                  HasSubstr("alt=\""), HasSubstr("<table>"), HasSubstr("openvino"),
                  HasSubstr("Made from benchmark_db.duckdb (2 cells)")));
}

TEST(ChartPage, OfSeveralPagesHasAPictureForEach) {
  std::vector<Record> cells;
  for (int i = 0; i < 50; ++i)
    for (const char* hardware : {"cpu", "openvino"})
      cells.push_back(chart::laboratory_cell("model-" + std::to_string(i), hardware, 1 + i));
  const Dataset data = chart::data_of(std::move(cells));
  const std::size_t pages = chart::make_charts(chart::Kind::kHardwareComparison, {.data = &data}).size();
  ASSERT_GT(pages, 1U);
  const std::string html = page_of(chart::Kind::kHardwareComparison, data);
  std::size_t figures = 0;
  for (std::size_t at = html.find("<figure data-picture>"); at != std::string::npos;
       at = html.find("<figure data-picture>", at + 1))
    ++figures;
  EXPECT_EQ(figures, pages);
  const Result<Json> read = parse_json(between(html, "id=\"page-data\">", "</script>"), "page-data");
  ASSERT_TRUE(read);
  EXPECT_EQ((*read)["charts"].size(), pages);
}

TEST(ChartPage, WithoutDataSaysWhatItNeedsAndHasNoScript) {
  const std::string html = page_of(chart::Kind::kHardwareEfficiency, on_two_targets());
  EXPECT_THAT(html, AllOf(HasSubstr("<code>assay doctor --peak</code>"), Not(HasSubstr("<script")),
                          Not(HasSubstr("script-src")), Not(HasSubstr("<figure"))));
}

}  // namespace
}  // namespace assay::dashboard
