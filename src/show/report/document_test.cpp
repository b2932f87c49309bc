// SPDX-License-Identifier: Apache-2.0
#include "show/report/document.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/base64.hpp"
#include "history/analyse/analysis.hpp"
#include "history/analyse/results_for_test.hpp"
#include "history/store/dataset.hpp"

namespace assay {
namespace {
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Record reported(const std::string& model, const std::string& hardware, double p50, std::int64_t batch = 1) {
  Record row = testing::result(model, hardware, p50, batch);
  row.category = "vision";
  row.architecture = model;
  row.timestamp = "2026-03-02T12:34:58.250000Z";
  return row;
}

Dataset small_dataset() {
  Dataset data;
  data.source = "benchmark_db.duckdb";
  data.made_at = "2026-03-02T13:00:00Z";
  data.cells = {reported("vit", "cpu", 8), reported("vit", "openvino", 4), reported("=cmd|x", "cpu", 2)};
  data.cells.push_back(reported("<b>&", "openvino", 3));
  data.cells.back().status = CellStatus::kFailed;
  data.cells.back().message = "died of `SIGSEGV` <script>";
  return data;
}

Document made(std::string_view name, const Dataset& data) {
  Result<Document> document = make_report(name, data, analyse(data));
  EXPECT_TRUE(document) << (document ? "" : document.error().message);
  return *document;
}

TEST(Reports, OfTwoMachinesOfOneHostCountModelsAndNameBoth) {
  Dataset data = small_dataset();
  data.cells.push_back(reported("vit", "cpu", 9));
  data.cells.back().hardware_id = "another-1";
  EXPECT_THAT(made("overview", data).answer, HasSubstr("of 4 cases (3 models on 2 machines) (latency)."));
  EXPECT_THAT(made("overview", small_dataset()).answer, HasSubstr("of 3 models (latency)."));
  const std::string cells = to_markdown(made("comprehensive-benchmarks", data));
  EXPECT_THAT(cells, AllOf(HasSubstr("laboratory machin"), HasSubstr("laboratory anothe")));
}

TEST(Reports, ExistUnderEachOfTheirNames) {
  const Dataset data = small_dataset();
  for (const ReportName& each : report_names()) {
    const Document document = made(each.name, data);
    EXPECT_EQ(document.name, each.name);
    EXPECT_THAT(to_markdown(document), StartsWith("# " + document.title));
    EXPECT_EQ(to_json(document)["report"], each.name);
    EXPECT_THAT(to_html(document), HasSubstr("</html>"));
    EXPECT_FALSE(to_text(document, false, 100).empty());
  }
}

TEST(Reports, OfNothingAreWhole) {
  const Dataset nothing;
  for (const ReportName& each : report_names()) EXPECT_THAT(to_html(made(each.name, nothing)), HasSubstr("</html>"));
}

TEST(Reports, AnUnknownNameIsAnErrorWithTheNearest) {
  const Result<Document> document = make_report("optimal-hardwear", {}, {});
  ASSERT_FALSE(document);
  EXPECT_THAT(document.error().hint, HasSubstr("optimal-hardware"));
}

TEST(Reports, SayTheSameInEveryFormat) {
  const Dataset data = small_dataset();
  const Document document = made("optimal-hardware", data);
  const std::string sentence = "vit: use openvino: 4 ms, 2.00× as fast as cpu";
  EXPECT_THAT(to_markdown(document), HasSubstr(sentence));
  EXPECT_THAT(to_html(document), HasSubstr(sentence));
  EXPECT_THAT(to_json(document).dump(), HasSubstr(sentence));
  EXPECT_THAT(to_text(document, false, 400), HasSubstr(sentence));
}

TEST(Reports, CsvIsTheFirstTableAndHasNoFormulas) {
  const Dataset data = small_dataset();
  const std::string csv = to_csv(made("comprehensive-benchmarks", data));
  EXPECT_THAT(csv, StartsWith("category,architecture,model,hardware,"));
  EXPECT_THAT(csv, HasSubstr("'=cmd|x"));
  EXPECT_THAT(to_markdown(made("comprehensive-benchmarks", data)), HasSubstr("=cmd\\|x"));
}

TEST(HtmlReports, AllowNothingButTheirOwnStyle) {
  const Dataset data = small_dataset();
  const std::string html = to_html(made("overview", data));
  EXPECT_THAT(html, AllOf(HasSubstr("default-src 'none'"), Not(HasSubstr("<script")), Not(HasSubstr(" style=")),
                          Not(HasSubstr("http://")), Not(HasSubstr("https://"))));
  const std::size_t begin = html.find("<style>") + 7;
  const std::string style = html.substr(begin, html.find("</style>") - begin);
  EXPECT_THAT(html, HasSubstr("style-src '" + policy_hash(style) + "'"));
}

TEST(HtmlReports, ShowTextAsText) {
  const Dataset data = small_dataset();
  const std::string html = to_html(made("overview", data));
  EXPECT_THAT(html, HasSubstr("&lt;b&gt;&amp;"));
  EXPECT_THAT(html, HasSubstr("<code>SIGSEGV</code> &lt;script&gt;"));
}

TEST(HtmlReports, HaveTheirPicturesInBothThemes) {
  const Dataset data = small_dataset();
  const Picture picture{"hardware_comparison", "Which is \"fastest\"?", "<svg>light</svg>", "<svg>dark</svg>"};
  const std::string html = to_html(made("overview", data), std::vector{picture});
  EXPECT_THAT(html, AllOf(HasSubstr("src=\"data:image/svg+xml;base64," + base64(picture.light)),
                          HasSubstr("srcset=\"data:image/svg+xml;base64," + base64(picture.dark)),
                          HasSubstr("alt=\"Which is &quot;fastest&quot;?\"")));
  EXPECT_THAT(to_markdown(made("overview", data),
                          std::vector{std::pair<std::string, std::string>{"hardware_comparison", "plots/h.svg"}}),
              HasSubstr("![hardware_comparison](plots/h.svg)"));
}

TEST(Reports, ChangesAreRowsInCsvAndJson) {
  Dataset data = small_dataset();
  data.series = {data.cells[0].series_key, data.cells[1].series_key};
  data.versions = {"onnxruntime 1.31, assay 0.1"};
  for (const double day : {1, 2}) {
    HistoryPoint point;
    point.time_s = day * kSecondsOfDay;
    point.run = static_cast<std::uint32_t>(day);
    point.status = CellStatus::kCompleted;
    point.verification = Verification::kVerified;
    point.p50_ms = 4 * day;
    data.history.push_back(point);
    point.series = 1;
    if (point.run == 2) data.history.push_back(point);
  }
  const Document document = made("changes", data);
  EXPECT_THAT(document.answer, AllOf(HasSubstr("1 move of time"), HasSubstr("1 new cell")));
  EXPECT_THAT(to_csv(document),
              AllOf(StartsWith("since,what,model,target,shape,cells,quantity,unit,before,after,ratio,"),
                    HasSubstr("\nlast_run,moved,vit,cpu,batch 1,1,latency_p50_ms,ms,4,8,2,no,"),
                    HasSubstr("\nlast_run,new,vit,openvino,batch 1,1,,,,,,,")));
  const Json json = to_json(document);
  ASSERT_EQ(json["changes"].size(), 2u);
  EXPECT_EQ(json["changes"][0]["before"], 4);
  EXPECT_EQ(json["changes"][1]["what"], "new");
}

TEST(TextReports, AreAsWideAsTheTerminalAndNameWhatTheyOmit) {
  const Dataset data = small_dataset();
  const std::string text = to_text(made("overview", data), false, 80);
  EXPECT_THAT(text, HasSubstr("Without room for: "));
  // What is claimed of the numbers is not omitted.
  EXPECT_THAT(text,
              AllOf(HasSubstr("\n      2.00× as fast as cpu (95 %: 2.00 to 2.00)\n"), Not(HasSubstr("by how much"))));
}

}  // namespace
}  // namespace assay
