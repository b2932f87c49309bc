// SPDX-License-Identifier: Apache-2.0
#include "report/document.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyse/analysis.hpp"
#include "base/base64.hpp"
#include "store/dataset.hpp"

namespace assay {
namespace {
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Record reported(const std::string& model, const std::string& hardware, double p50, std::int64_t batch = 1) {
  Record row;
  row.run_id = "run";
  row.model = model;
  row.category = "vision";
  row.architecture = model;
  row.hardware = hardware;
  row.engine = hardware == "openvino" ? "openvino" : "onnxruntime";
  row.precision = row.effective_precision = "float32";
  row.hardware_id = "machine-1";
  row.host = "laboratory";
  row.timestamp = "2026-03-02T12:34:58.250000Z";
  row.series_key = fmt::format("{}-{}-{}", model, hardware, batch);
  row.status = CellStatus::kCompleted;
  row.verification = Verification::kVerified;
  row.batch_size = batch;
  row.latency_p50_ms = p50;
  row.latency_p50_low_ms = p50 * 0.99;
  row.latency_p50_high_ms = p50 * 1.01;
  row.throughput_ips = 1000.0 * static_cast<double>(batch) / p50;
  row.memory_mb = 100;
  row.memory_source = "process";
  row.iterations = 100;
  row.launches = 3;
  row.latency_p50_interval = "launches";
  row.launch_p50_ms = fmt::format("1:{} 2:{} 3:{}", p50 * 0.999, p50, p50 * 1.001);
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

TEST(TextReports, AreAsWideAsTheTerminalAndNameWhatTheyOmit) {
  const Dataset data = small_dataset();
  const std::string text = to_text(made("overview", data), false, 80);
  EXPECT_THAT(text, HasSubstr("too narrow for the columns"));
}

}  // namespace
}  // namespace assay
