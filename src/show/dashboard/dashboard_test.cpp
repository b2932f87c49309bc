// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <zlib.h>

#include <cstring>
#include <string>
#include <vector>

#include "core/base/base64.hpp"
#include "core/base/files.hpp"
#include "core/base/json.hpp"
#include "history/analyse/analysis.hpp"
#include "history/store/dataset.hpp"
#include "show/chart/chart.hpp"
#include "show/dashboard/page.hpp"
#include "show/dashboard/reproduce.hpp"

namespace assay::dashboard {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Record measured(const std::string& model, const std::string& engine, double p50_ms) {
  Record row;
  row.model = row.model_id = row.architecture = model;
  row.category = "text encoders";
  row.engine = row.framework = engine;
  row.hardware = engine == "openvino" ? "openvino" : "cpu";
  row.precision = row.effective_precision = "float32";
  row.batch_size = 1;
  row.sequence_length = 128;
  row.run_id = "r";
  row.host = "bench-1";
  row.hardware_id = "m";
  row.timestamp = "2026-03-02T12:00:00Z";
  row.series_key = model + engine;
  row.status = CellStatus::kCompleted;
  row.verification = Verification::kVerified;
  row.latency_p50_ms = p50_ms;
  row.latency_p50_low_ms = p50_ms * 0.99;
  row.latency_p50_high_ms = p50_ms * 1.01;
  row.latency_p50_interval = IntervalScope::kLaunches;
  row.latency_p50_ns = 5'000'000'000;
  row.throughput_ips = 1000 / p50_ms;
  row.launches = row.planned_launches = 3;
  row.launch_p50_ms = {{1, p50_ms}, {2, p50_ms}, {3, p50_ms}};
  return row;
}

SampleDistribution shape_of(std::int64_t result_id, std::int64_t launch, std::size_t quantiles, std::size_t bins) {
  SampleDistribution distribution;
  distribution.result_id = result_id;
  distribution.launch_number = launch;
  distribution.samples = distribution.steady = 300;
  distribution.low_ns = 1'000'000;
  distribution.high_ns = 2'000'000;
  distribution.window_ns = 300'000'000;
  for (std::size_t i = 0; i < quantiles; ++i)
    distribution.quantiles.push_back(static_cast<std::uint16_t>((i * 65535 + launch * 37) / quantiles));
  for (std::size_t i = 0; i < bins; ++i)
    for (const std::size_t code : {i * 7, i * 7 + 20 + i * i % 13, i * 7 + 900 + i * 31 % 101})
      distribution.bins.push_back(static_cast<std::uint16_t>(code));
  return distribution;
}

Dataset two_targets(std::size_t models = 1) {
  Dataset data;
  data.source = "benchmark_db.duckdb";
  data.made_at = "2026-03-02T12:30:00Z";
  for (std::size_t i = 0; i < models; ++i) {
    const std::string name = i == 0 ? "bert" : "bert-" + std::to_string(i);
    data.cells.push_back(measured(name, "onnxruntime", 8.123456789));
    data.cells.push_back(measured(name, "openvino", 4.0));
  }
  data.cells.back().energy_j = 0.25;
  for (std::size_t i = 0; i < data.cells.size(); ++i) {
    const auto id = static_cast<std::int64_t>(i + 1);
    data.ids.push_back(id);
    data.series.push_back(data.cells[i].series_key);
    for (std::int64_t launch = 1; launch <= 3; ++launch) data.distributions.push_back(shape_of(id, launch, 64, 100));
    HistoryPoint point;
    point.series = static_cast<std::uint32_t>(i);
    point.result_id = id;
    point.p50_ms = data.cells[i].latency_p50_ms;
    data.history.push_back(point);
  }
  data.versions = {"onnxruntime 1.31.1, assay 0.1.0"};
  RunFacts run;
  run.run_id = "r";
  run.score = 74;
  data.runs.push_back(run);
  return data;
}

Json header_of(const std::string& document) {
  std::uint32_t length = 0;
  std::memcpy(&length, document.data() + 8, sizeof length);
  return Json::parse(document.substr(12, length));
}

Json column(const Json& table, const std::string& name) {
  for (const Json& one : table["columns"])
    if (one["name"] == name) return one;
  return {};
}

std::string section(const std::string& document, const Json& place) {
  std::uint32_t length = 0;
  std::memcpy(&length, document.data() + 8, sizeof length);
  return document.substr(12 + length + place["at"].get<std::size_t>(), place["bytes"].get<std::size_t>());
}

std::string inflated(const std::string& bytes) {
  std::string result(50'000'000, '\0');
  uLongf size = result.size();
  EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(result.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()),
                       bytes.size()),
            Z_OK);
  result.resize(size);
  return result;
}

TEST(Document, HasEveryFieldAndNumbersInFull) {
  const Dataset data = two_targets();
  const std::string bytes = document(data, analyse(data), {});
  ASSERT_THAT(bytes, StartsWith("ASSAYDD1"));
  const Json header = header_of(bytes);
  EXPECT_EQ(header["schema"], "assay-dashboard 1");
  EXPECT_EQ(header["detail"], "full");
  EXPECT_EQ(header["cells"]["n"], 2);
  EXPECT_EQ(header["fields"].size(), result_fields().size());
  for (const Field& field : result_fields())
    EXPECT_FALSE(column(header["cells"], std::string(field.name)).is_null()) << field.name;
  const Json p50 = column(header["cells"], "latency_p50_ms");
  ASSERT_EQ(p50["type"], "f64");
  const std::string shuffled = section(bytes, p50);
  std::string first(8, '\0');
  for (std::size_t byte = 0; byte < 8; ++byte) first[byte] = shuffled[byte * 2];
  double value = 0;
  std::memcpy(&value, first.data(), sizeof value);
  EXPECT_EQ(value, 8.123456789);
  EXPECT_EQ(column(header["cells"], "latency_p50_ns")["value"], 5'000'000'000);
  EXPECT_EQ(column(header["cells"], "batch_size")["value"], 1);
  EXPECT_EQ(column(header["cells"], "energy_j")["type"], "f32");
  EXPECT_EQ(column(header["cells"], "memory_mb")["value"], Json());
}

TEST(Document, SectionsDoNotOverlapAndEndTogether) {
  const Dataset data = two_targets(3);
  const std::string bytes = document(data, analyse(data), {});
  const Json header = header_of(bytes);
  std::size_t end = 0;
  for (const char* table : {"cells", "history", "distributions"})
    for (const Json& one : header[table]["columns"]) {
      if (!one.contains("at")) continue;
      EXPECT_EQ(one["at"], end) << table << one["name"];
      end = one["at"].get<std::size_t>() + one["bytes"].get<std::size_t>();
    }
  EXPECT_EQ(header["quantiles"]["at"], end);
  EXPECT_EQ(header["quantiles"]["bytes"], 2 * 64 * 3 * 6);
  EXPECT_EQ(header["bins"]["bytes"], 2 * 300 * 3 * 6);
}

TEST(Document, SaysTheSameAsTheAnalysis) {
  const Dataset data = two_targets();
  const Analysis analysis = analyse(data);
  const Json json = header_of(document(data, analysis, {}))["analysis"];
  ASSERT_EQ(json["models"].size(), 1);
  const Json best = json["models"][0]["latency"];
  EXPECT_EQ(best["cell"], 1);
  EXPECT_EQ(best["runner_up"], 0);
  EXPECT_EQ(best["claimed"], true);
  ASSERT_TRUE(analysis.models.front().latency);
  EXPECT_EQ(best["words"], analysis.models.front().latency->words);
  EXPECT_EQ(json["states"]["verified"], 2);
}

TEST(Document, NamesNoRowThatItDoesNotHave) {
  const Dataset data = two_targets(2);
  Detail detail;
  detail.cells = 1;
  const Json header = header_of(document(data, analyse(data), {}, detail));
  EXPECT_EQ(header["cells"]["n"], 1);
  EXPECT_EQ(header["left_out"], 3);
  ASSERT_EQ(header["analysis"]["models"].size(), 2);
  const Json& best = header["analysis"]["models"][1]["latency"];
  EXPECT_TRUE(best["cell"].is_null());
  EXPECT_TRUE(best["runner_up"].is_null());
  EXPECT_EQ(best["target"], "openvino");
  EXPECT_EQ(best["p50_ms"], 4.0);
  EXPECT_EQ(best["runner_up_target"], "cpu") << "it is not the only choice";
  EXPECT_THAT(header["detail"].get<std::string>(), HasSubstr("newest 1 cells"));
}

std::vector<std::string> names_of(const std::vector<PageChart>& charts) {
  std::vector<std::string> names;
  for (const PageChart& chart : charts) names.push_back(chart.name);
  return names;
}

TEST(Charts, OfAModelHaveTheirRowsThoseOfCellsHaveNone) {
  Dataset data = two_targets();
  for (Record& row : data.cells) {
    row.max_abs_error = 1e-5;
    row.error_limit = 1e-4;
  }
  const std::vector<PageChart> charts = page_charts(data, analyse(data));
  EXPECT_THAT(names_of(charts),
              ::testing::IsSupersetOf({"hardware_comparison", "relative_speedup", "verification", "machine_noise",
                                       "batch_size_scaling/bert/128/float32", "latency_distribution/cpu/3",
                                       "samples_over_time/openvino/3", "history/cpu", "phases/openvino"}));
  for (const PageChart& one : charts) {
    if (one.chart.contains("missing")) continue;
    const std::size_t rows = one.chart["option"]["dataset"]["source"].size();
    const bool of_cell = one.name.starts_with("latency_d") || one.name.starts_with("samples") ||
                         one.name.starts_with("history") || one.name.starts_with("phases");
    EXPECT_EQ(rows == 1, of_cell) << one.name;
    EXPECT_EQ(one.chart.contains("table"), !of_cell) << one.name;
    EXPECT_NE(one.chart["title"], "") << one.name;
  }
}

Json chart_of(const std::vector<PageChart>& charts, const std::string& name) {
  for (const PageChart& one : charts)
    if (one.name == name) return one.chart;
  return {};
}

TEST(Charts, HaveTheirTableWithHeadingsAndUnits) {
  const Dataset data = two_targets();
  const Json table = chart_of(page_charts(data, analyse(data)), "hardware_comparison")["table"];
  const Table whole = chart::make_charts(chart::Kind::kHardwareComparison, {.data = &data}).front().table;
  ASSERT_EQ(table["columns"].size(), whole.columns.size());
  bool has_ms = false;
  for (std::size_t i = 0; i < whole.columns.size(); ++i) {
    EXPECT_EQ(table["columns"][i]["heading"], whole.columns[i].heading);
    EXPECT_EQ(table["columns"][i]["unit"], whole.columns[i].unit);
    has_ms |= whole.columns[i].unit == "ms";
  }
  EXPECT_TRUE(has_ms);
  ASSERT_EQ(table["rows"].size(), whole.rows.size());
  EXPECT_THAT(table["rows"].dump(), HasSubstr("8.123457"));
}

TEST(Charts, WithoutDataSayWhatIsMissingAndTheCommand) {
  const Dataset data = two_targets();
  const Json missing = chart_of(page_charts(data, analyse(data)), "hardware_efficiency");
  EXPECT_EQ(missing["title"], "How much of the measured peak is reached?");
  EXPECT_THAT(missing["missing"].get<std::string>(), HasSubstr("`assay doctor --peak`"));
}

TEST(Charts, OfCellsAreThereAlsoIfTheFirstCellOfTheTargetIsWrong) {
  Dataset data = two_targets(2);
  data.cells[1].status = CellStatus::kWrong;
  data.cells[1].verification = Verification::kWrong;
  EXPECT_THAT(names_of(page_charts(data, analyse(data))),
              ::testing::IsSupersetOf({"latency_distribution/openvino/3", "samples_over_time/openvino/3"}));
}

TEST(Charts, OfAModelAreOfOneMachine) {
  Dataset data = two_targets();
  Record laptop = data.cells[0];
  laptop.hardware_id = "other";
  laptop.host = "laptop";
  data.cells.push_back(laptop);
  data.ids.push_back(9);
  data.series.push_back("laptop");
  const std::vector<PageChart> charts = page_charts(data, analyse(data));
  EXPECT_EQ(chart_of(charts, "batch_size_scaling/bert/128/float32/bench-1")["table"]["rows"].size(), 2);
  EXPECT_EQ(chart_of(charts, "batch_size_scaling/bert/128/float32/laptop")["table"]["rows"].size(), 1);
}

TEST(Charts, StandInTheDocumentUntilCellsAreLeftOut) {
  const Dataset data = two_targets();
  const Analysis analysis = analyse(data);
  const std::vector<PageChart> charts = page_charts(data, analysis);
  const Json all = header_of(document(data, analysis, charts));
  EXPECT_EQ(all["charts"].size() + all["missing_charts"].size(), charts.size());
  EXPECT_TRUE(all["missing_charts"].contains("hardware_efficiency"));
  EXPECT_EQ(all["charts_left_out"], 0);
  EXPECT_EQ(all["themes"]["dark"].size(), all["themes"]["light"].size());
  Detail detail;
  detail.charts = false;
  const Json few = header_of(document(data, analysis, charts, detail));
  EXPECT_TRUE(few["charts"].contains("history/cpu"));
  EXPECT_FALSE(few["charts"].contains("hardware_comparison"));
  EXPECT_GT(few["charts_left_out"], 0);
}

TEST(Pack, IsWholeWhileItFitsAndThenCoarser) {
  const Dataset data = two_targets();
  const Analysis analysis = analyse(data);
  EXPECT_EQ(pack(data, analysis, {}).detail, "full");
  const Packed whole = pack(data, analysis, {});
  const Packed coarse = pack(data, analysis, {}, {.most_bytes = whole.size_in_page - 1});
  EXPECT_EQ(coarse.detail, "33 quantiles and 25 bins of each launch");
  EXPECT_LT(coarse.size_in_page, whole.size_in_page);
  const Json header = header_of(inflated(coarse.bytes));
  EXPECT_EQ(header["quantiles"]["bytes"], 2 * 33 * 3 * 2);
  EXPECT_EQ(header["bins"]["bytes"], 2 * 75 * 3 * 2);
  EXPECT_EQ(pack(data, analysis, {}, {.most_bytes = 0}).detail, "full");
}

TEST(Pack, AThousandCellsFitIntoThreeMegabytes) {
  const Dataset data = two_targets(500);
  const Packed packed = pack(data, analyse(data), {}, {.fixed_bytes = empty_page_bytes()});
  EXPECT_LT(packed.size_in_page, 3'000'000);
  EXPECT_EQ(header_of(inflated(packed.bytes))["cells"]["n"], 1000);
}

TEST(Pack, LeavesOutCellsRatherThanExceedTheLimit) {
  const Dataset data = two_targets(100);
  const Packed packed = pack(data, analyse(data), {}, {.most_bytes = 15'000});
  EXPECT_LE(packed.size_in_page, 15'000);
  EXPECT_THAT(packed.detail, HasSubstr("cells"));
}

TEST(Page, HasAPolicyThatAllowsItsOwnScriptAndStyleOnly) {
  const Dataset data = two_targets();
  const std::string html = page(pack(data, analyse(data), {}), "</title><script>alert(1)</script>");
  EXPECT_THAT(html, StartsWith("<!doctype html>"));
  EXPECT_THAT(html, HasSubstr("default-src 'none'; script-src 'sha256-"));
  EXPECT_THAT(html, Not(HasSubstr("unsafe-inline")));
  EXPECT_THAT(html, Not(HasSubstr("\r")));  // a browser would read "\n", and find another hash
  EXPECT_THAT(html, Not(HasSubstr("alert(1)</script>")));
  const auto between = [&](std::string_view open, std::string_view close) {
    const std::size_t from = html.find(open) + open.size();
    return html.substr(from, html.find(close, from) - from);
  };
  EXPECT_THAT(html, HasSubstr("style-src '" + policy_hash(between("<style>", "</style>")) + "'"));
  EXPECT_THAT(html, HasSubstr("script-src '" + policy_hash(between("<script>", "</script>")) + "'"));
  EXPECT_THAT(html, Not(HasSubstr("connect-src")));
}

TEST(Page, IsTheSameForTheServerButFetchesItsDocument) {
  EXPECT_THAT(live_page(), HasSubstr("connect-src 'self'"));
  EXPECT_THAT(live_page(), HasSubstr("id=\"assay-document\"></script>"));
}

TEST(Page, IsWrittenWhole) {
  auto folder = TemporaryDirectory::create();
  ASSERT_TRUE(folder);
  const Dataset data = two_targets();
  const Analysis analysis = analyse(data);
  const auto path = write_dashboard(data, analysis, folder->path() / "dashboard");
  ASSERT_TRUE(path);
  EXPECT_EQ(*path, folder->path() / "dashboard" / "index.html");
  const auto html = read_file(*path);
  ASSERT_TRUE(html);
  EXPECT_THAT(*html, HasSubstr(base64(pack(data, analysis, page_charts(data, analysis)).bytes)));
}

TEST(Page, OfAnEmptyDatabaseIsAPageToo) {
  const Dataset data;
  EXPECT_EQ(header_of(inflated(pack(data, analyse(data), {}).bytes))["cells"]["n"], 0);
}

TEST(Reproduce, NamesWhatTheTaskKeyContains) {
  Record row = measured("bert", "openvino", 4);
  row.model_id = "bert-base-uncased";
  row.weights = Weights::kSeeded;
  row.measure_plan = "warmup=10 iterations=50";
  row.engine_options = "NUM_STREAMS=1,hint=a b";
  row.threads = 2;
  row.seed = 0;
  row.data_source = "synthetic";
  row.kv_cache = KvCache::kGrowing;
  row.spin = Spin::kRuntime;
  row.streams = 1;
  EXPECT_EQ(reproduce_command(row),
            "assay bench --model-id bert-base-uncased --allow-random-weights --device openvino --engine openvino "
            "--precision float32 --batch-sizes 1 --sequence-lengths 128 --threads 2 --engine-option NUM_STREAMS=1 "
            "--engine-option 'hint=a b' --warmup 10 --iterations 50 --launches 3");
}

TEST(Reproduce, RepeatsAnAdaptiveCellWithAsManyInferencesAsALaunchHad) {
  Record row = measured("bert", "onnxruntime", 4);
  row.model_id = "zoo:bert/tiny";
  row.size = "tiny";
  row.measure_plan = "adaptive";
  row.iterations = 900;
  row.data_source = "synthetic";
  row.kv_cache.reset();
  row.spin = Spin::kRuntime;
  row.streams = 1;
  EXPECT_EQ(reproduce_command(row),
            "assay bench --model bert --size tiny --device cpu --engine onnxruntime --precision float32 "
            "--batch-sizes 1 --sequence-lengths 128 --iterations 300 --launches 3");
}

TEST(Reproduce, RequestsTheFormOfShapesOnlyWhereItIsNotTheDefaultOfTheEngine) {
  const auto command = [](const char* engine, const char* shapes) {
    Record row = measured("bert", engine, 4);
    row.shapes = from_word<ShapesForm>(shapes);
    return reproduce_command(row);
  };
  EXPECT_THAT(command("onnxruntime", "exported"), Not(HasSubstr("-shapes")));
  EXPECT_THAT(command("onnxruntime", "static"), HasSubstr(" --static-shapes"));
  EXPECT_THAT(command("openvino", "static"), Not(HasSubstr("-shapes")));
  EXPECT_THAT(command("openvino", "dynamic"), HasSubstr(" --dynamic-shapes"));
}

}  // namespace
}  // namespace assay::dashboard
