// SPDX-License-Identifier: Apache-2.0

// The rules behind the numbers. What the documents look like as a whole: tests/approved.

#include "show/report/report.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/text.hpp"
#include "core/result/launch_medians.hpp"
#include "core/traits/cell.hpp"

namespace assay {
namespace {
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Record measured(const std::string& model, const std::string& hardware, const std::string& engine, double mean,
                std::int64_t batch) {
  Record r;
  r.model = model;
  r.model_id = "org/" + model;
  r.family = "embedding";
  r.hardware = r.device = hardware;
  r.engine = engine;
  r.precision = r.effective_precision = "float32";
  r.contract = Contract::kHost;
  r.batch_size = batch;
  r.sequence_length = 32;
  r.streams = 1;
  r.status = CellStatus::kCompleted;
  r.verification = Verification::kVerified;
  r.model_load_time = 2.34;
  r.latency_mean_ms = r.latency_p50_ms = mean;
  r.latency_p50_low_ms = mean - 0.1;
  r.latency_p50_high_ms = mean + 0.1;
  r.latency_p50_quality = "ok";
  r.launches = 3;
  r.latency_p50_interval = IntervalScope::kLaunches;
  r.launch_p50_ms = *parse_launch_medians(fmt::format("1:{} 2:{} 3:{}", mean * 0.995, mean, mean * 1.005));
  r.latency_p99_quality = "few_samples(n=50<368)";
  r.latency_p99_ms = mean * 2;
  r.throughput_ips = 1000.0 * static_cast<double>(batch) / mean;
  r.timestamp = "2025-03-02T12:34:56.789012Z";
  return r;
}

ReportInput sample() {
  ReportInput input;
  input.run.started = "2025-03-02T12:34:56.789012Z";
  input.run.command = "assay run";
  input.run.system = {
      {"platform", "Linux"}, {"processor", "A | B"}, {"python_version", nullptr}, {"cuda_available", false}};
  input.run.hardware = {{"cpu", {{"available", true}}}, {"mps", {{"available", false}, {"why", "macOS only"}}}};
  input.rows = {measured("bert", "cpu", "onnxruntime", 8, 1), measured("bert", "cpu", "onnxruntime", 16, 4),
                measured("bert", "openvino", "openvino", 4, 1)};
  Record refused = measured("bert", "openvino", "openvino", 1, 4);
  refused.status = CellStatus::kUnsupported;
  refused.reason_code = Reason::kFixedShape;
  refused.message = "the file's batch is 1";
  refused.latency_mean_ms = refused.latency_p50_ms = refused.throughput_ips = std::nullopt;
  input.rows.push_back(refused);
  return input;
}

TEST(GuideJson, SummarisesEachTargetInSeconds) {
  const Json json = guide_json(sample());
  EXPECT_EQ(json["timestamp"], "20250302_123456");
  const Json& target = json["benchmarks"]["embedding"]["bert"]["cpu"];
  EXPECT_EQ(target["status"], "completed");
  EXPECT_EQ(target["model_load_time"], 2.34);
  EXPECT_EQ(target["benchmark_results"]["batch_1_seq_32"]["status"], "completed");
  EXPECT_DOUBLE_EQ(target["benchmark_results"]["batch_1_seq_32"]["avg_latency"], 0.008);
  EXPECT_DOUBLE_EQ(target["benchmark_results"]["batch_1_seq_32"]["throughput"], 125);
  EXPECT_DOUBLE_EQ(target["performance_summary"]["latency"]["min"], 0.008);
  EXPECT_DOUBLE_EQ(target["performance_summary"]["latency"]["max"], 0.016);
  EXPECT_DOUBLE_EQ(target["performance_summary"]["latency"]["mean"], 0.012);
  EXPECT_DOUBLE_EQ(target["performance_summary"]["throughput"]["mean"], 187.5);
  EXPECT_EQ(json["benchmarks"]["embedding"]["bert"]["openvino"]["benchmark_results"]["batch_4_seq_32"]["status"],
            "unsupported");
}

TEST(Csv, QuotesWhatASpreadsheetWouldTakeApartOrRun) {
  Record row = measured("bert", "cpu", "onnxruntime", 8, 1);
  row.model = "=cmd()";
  row.message = "a \"quoted\", text";
  EXPECT_THAT(csv_table(std::span(&row, 1)), AllOf(HasSubstr(",'=cmd(),"), HasSubstr(R"(,"a ""quoted"", text",)")));
}

TEST(Matrix, ComesFromTheLatestRowOfEachCell) {
  ReportInput input = sample();
  Record older = input.rows[0];
  older.timestamp = "2024-01-01T00:00:00.000000Z";
  older.status = CellStatus::kFailed;
  input.rows.insert(input.rows.begin(), older);
  const Json matrix = compatibility_matrix(input.rows, input.run, "2025-03-02T13:00:00.123456Z");
  const Json& cpu = matrix["model_families"]["embedding"]["hardware_compatibility"]["cpu"];
  EXPECT_EQ(cpu["compatible"], true);
  EXPECT_EQ(cpu["performance_rating"], "medium-high");
  EXPECT_EQ(cpu["benchmark_results"][0]["model_name"], "bert");
  EXPECT_EQ(cpu["benchmark_results"][0]["timestamp"], "2025-03-02T12:34:56.789Z");
  EXPECT_THAT(matrix["hardware_types"].dump(), AllOf(HasSubstr("qualcomm"), Not(HasSubstr("qnn"))));
}

TEST(Matrix, HasMeansOverTheSameCellsForEveryHardware) {
  ReportInput input = sample();  // batch 4 is missing on openvino
  const auto results = [&](const char* hardware) {
    const Json matrix = compatibility_matrix(input.rows, input.run, "2025-03-02T13:00:00.123456Z");
    EXPECT_EQ(matrix["units"]["mean_latency"], "s");
    return matrix["model_families"]["embedding"]["hardware_compatibility"][hardware]["benchmark_results"][0];
  };
  EXPECT_DOUBLE_EQ(results("cpu")["mean_latency"], 0.008) << "batch 1 alone";
  EXPECT_DOUBLE_EQ(results("cpu")["mean_throughput"], 125);
  EXPECT_EQ(results("cpu")["mean_of_cells"], 1);
  EXPECT_DOUBLE_EQ(results("openvino")["mean_latency"], 0.004);
  input.rows.erase(input.rows.begin());  // now there is no cell that both have
  EXPECT_EQ(results("cpu")["mean_latency"], nullptr);
  EXPECT_EQ(results("openvino")["mean_throughput"], nullptr);
}

TEST(Matrix, ANewerRowWithOtherOptionsDoesNotReplaceTheDefaults) {
  ReportInput input = sample();
  Record tried = input.rows[0];
  tried.engine_options = "graph=off";
  tried.engine_version = "9";
  tried.latency_mean_ms = 80;
  tried.timestamp = "2026-01-01T00:00:00.000000Z";
  input.rows.push_back(tried);
  tried.engine_options.clear();
  tried.spin = Spin::kOff;
  input.rows.push_back(tried);
  const Json matrix = compatibility_matrix(input.rows, input.run, "2026-03-02T13:00:00.123456Z");
  const Json& cpu = matrix["model_families"]["embedding"]["hardware_compatibility"]["cpu"]["benchmark_results"][0];
  EXPECT_DOUBLE_EQ(cpu["mean_latency"], 0.008);
  EXPECT_EQ(cpu["engine_version"], nullptr);
}

TEST(Matrix, ANewerVerdictDoesNotTakeTheFlagsFromTheTimesOfAnOlderRow) {
  ReportInput input = sample();
  input.rows[0].flags.add(Flag::kUnsteady);
  Record only_verified = input.rows[0];
  only_verified.flags = {};
  only_verified.timestamp = "2026-01-01T00:00:00.000000Z";
  for (const auto member : {&Record::latency_mean_ms, &Record::latency_p50_ms, &Record::throughput_ips})
    (only_verified.*member).reset();
  input.rows.push_back(only_verified);
  const Json matrix = compatibility_matrix(input.rows, input.run, "2026-03-02T13:00:00.123456Z");
  const Json& cpu = matrix["model_families"]["embedding"]["hardware_compatibility"]["cpu"]["benchmark_results"][0];
  EXPECT_EQ(cpu["mean_latency"], nullptr) << "the times are unsteady";
  EXPECT_EQ(cpu["timestamp"], "2026-01-01T00:00:00.000Z");
}

TEST(Matrix, DistinguishesTwoModelsOfOneName) {
  ReportInput input = sample();
  for (Record& row : input.rows) {
    row.graph_hash = "base";
    row.model_id = "bert-base-uncased";
  }
  Record tiny = input.rows[0];
  tiny.graph_hash = "tiny";
  tiny.model_id = "prajjwal1/bert-tiny";
  tiny.timestamp = "2024-01-01T00:00:00.000000Z";
  tiny.latency_mean_ms = 1;
  input.rows.insert(input.rows.begin(), tiny);
  const Json matrix = compatibility_matrix(input.rows, input.run, "2025-03-02T13:00:00.123456Z");
  const Json& results = matrix["model_families"]["embedding"]["hardware_compatibility"]["cpu"]["benchmark_results"];
  ASSERT_EQ(results.size(), 2U);
  for (const Json& each : results) EXPECT_EQ(each["model_name"], "bert");
  EXPECT_EQ(results[0]["model_id"], "prajjwal1/bert-tiny");
  EXPECT_DOUBLE_EQ(results[0]["mean_latency"], 0.001);
  EXPECT_EQ(results[1]["model_id"], "bert-base-uncased");
  EXPECT_DOUBLE_EQ(results[1]["mean_latency"], 0.008);
}

TEST(Matrix, ForgetsWhatAModelWasBeforeItsFilesChanged) {
  ReportInput input = sample();
  for (Record& row : input.rows) row.graph_hash = "new";
  Record other = input.rows[0];
  other.graph_hash = "old";
  other.timestamp = "2024-01-01T00:00:00.000000Z";
  other.batch_size = 64;
  other.status = CellStatus::kWrong;
  input.rows.insert(input.rows.begin(), other);
  const Json matrix = compatibility_matrix(input.rows, input.run, "2025-03-02T13:00:00.123456Z");
  const Json& cpu = matrix["model_families"]["embedding"]["hardware_compatibility"]["cpu"];
  EXPECT_EQ(cpu["compatible"], true);
  EXPECT_FALSE(cpu["benchmark_results"][0]["shapes"].contains("batch_64_seq_32"));
}

TEST(Matrix, AnImportHidesNoOwnVerdict) {
  ReportInput input = sample();
  Record imported = input.rows[0];
  imported.flags.add(Flag::kImported);
  imported.timestamp = "2026-01-01T00:00:00.000000Z";
  Record& own = input.rows[0];
  own.status = CellStatus::kWrong;
  own.verification = Verification::kWrong;
  for (const auto member : {&Record::latency_mean_ms, &Record::latency_p50_ms, &Record::throughput_ips})
    (own.*member).reset();
  input.rows.insert(input.rows.begin(), imported);
  const Json matrix = compatibility_matrix(input.rows, input.run, "2026-03-02T13:00:00.123456Z");
  const Json& cpu = matrix["model_families"]["embedding"]["hardware_compatibility"]["cpu"];
  EXPECT_EQ(cpu["compatible"], false);
  EXPECT_EQ(cpu["benchmark_results"][0]["shapes"][shape_key(imported)], "wrong");
}

TEST(Matrix, AnImportOfOtherFilesRemovesNoOwnResults) {
  ReportInput input = sample();
  for (Record& row : input.rows) row.graph_hash = "mine";
  Record imported = input.rows[0];
  imported.flags.add(Flag::kImported);
  imported.graph_hash = "theirs";
  imported.batch_size = 64;
  imported.timestamp = "2026-01-01T00:00:00.000000Z";
  input.rows.insert(input.rows.begin(), imported);
  const Json matrix = compatibility_matrix(input.rows, input.run, "2026-03-02T13:00:00.123456Z");
  const Json& shapes =
      matrix["model_families"]["embedding"]["hardware_compatibility"]["cpu"]["benchmark_results"][0]["shapes"];
  EXPECT_TRUE(shapes.contains(shape_key(input.rows[1]))) << shapes;
  EXPECT_FALSE(shapes.contains(shape_key(imported))) << shapes;
}

TEST(Matrix, RemembersCellsOfOtherPrecisionsAndKvCaches) {
  ReportInput input = sample();
  for (Record& row : input.rows) row.config_hash = "growing";
  Record other = input.rows[0];
  other.config_hash = "static";
  other.kv_cache = KvCache::kStatic;
  other.timestamp = "2027-01-01T00:00:00.000000Z";
  input.rows.push_back(other);
  other.config_hash = "float16";
  other.kv_cache = KvCache::kGrowing;
  other.precision = "float16";
  input.rows.push_back(other);
  const Json matrix = compatibility_matrix(input.rows, input.run, "2027-03-02T13:00:00.123456Z");
  const Json& hardware = matrix["model_families"]["embedding"]["hardware_compatibility"];
  EXPECT_TRUE(hardware.contains("openvino")) << "measured with a growing cache only";
  const Json& shapes = hardware["cpu"]["benchmark_results"][0]["shapes"];
  for (const Record& row : input.rows) {
    EXPECT_TRUE(row.hardware != "cpu" || shapes.contains(shape_key(row))) << shape_key(row) << " in " << shapes;
  }
}

TEST(Console, PrintsNothingThatATerminalWouldObey) {
  ReportInput input = sample();
  input.rows[0].model = "a\x1b[2Jb";
  input.notes = {"x\x1b]0;title\x07y"};
  for (const std::string& text :
       {summary_table(input, false, 120), verification_table(input, false, 160), bench_console(input, {}, 200)})
    EXPECT_THAT(text, AllOf(HasSubstr("a[2Jb"), Not(HasSubstr("\x1b")), Not(HasSubstr("\x07"))));
}

TEST(Console, ColoursOnlyWhenAsked) {
  EXPECT_THAT(summary_table(sample(), true, 120), HasSubstr("\x1b[32m"));
  EXPECT_THAT(summary_table(sample(), false, 120), Not(HasSubstr("\x1b")));
}

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  for (const std::string& line : split(text, '\n')) {
    const auto marks =
        std::ranges::count_if(line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; });
    widest = std::max(widest, line.size() - static_cast<std::size_t>(marks));
  }
  return widest;
}

TEST(Console, FoldsLongSentencesAndKeepsEveryWord) {
  ReportInput input = sample();
  input.rows.back().status = CellStatus::kFailed;
  input.rows.back().message = "größer one two three four five six seven eight nine ten";
  input.notes = {"one two three four five six seven eight nine ten eleven twelve"};
  const std::string text = summary_table(input, false, 44);
  EXPECT_THAT(text,
              HasSubstr("  failed (fixed_shape): größer one two three\n    four five six seven eight nine ten\n"));
  EXPECT_THAT(text, HasSubstr("  one two three four five six seven eight\n    nine ten eleven twelve\n"));
}

TEST(Console, FoldsTheSentencesOfBlocksButNotTheirPaths) {
  ReportInput input = sample();
  input.rows.back().status = CellStatus::kFailed;
  input.rows.back().message = "one two three four five six seven eight nine ten";
  input.rows.back().attempt_id = "a1";
  const std::string log = "a folder/with a name that is longer than the terminal/worker.log";
  input.files.logs["a1"] = log;
  input.notes = {"one two three four five six seven eight nine ten", "`a command that is longer than the terminal is`"};
  const std::string text = bench_console(input, {}, 44);
  EXPECT_THAT(text, HasSubstr("three four\n    five six seven eight nine ten\n"));
  EXPECT_THAT(text, HasSubstr("\nnote: one two three four five six seven\n  eight nine ten\n"));
  EXPECT_THAT(text, HasSubstr("\n  `a command that is longer than the terminal is`\n"));
  EXPECT_THAT(text, HasSubstr("\n  Log: " + log + "\n"));
  EXPECT_THAT(bench_console(input, {"a.csv", "b.json"}, 44),
              HasSubstr("Results saved to: a.csv\nResults saved to: b.json\nnote: "));
}

TEST(Console, AnExternalEngineHasItsFrameworkAndItsTraits) {
  ReportInput input = sample();
  input.rows.resize(1);
  input.rows[0].engine = "ours";
  input.rows[0].wall_time_per_iteration_ns = 1234;
  EXPECT_THAT(bench_console(input, {}, 80), AllOf(HasSubstr("ours Benchmark: bert"), Not(HasSubstr("Wall time"))));
  EngineEntry ours;
  ours.name = "ours";
  ours.framework_title = "OurFrame";
  ours.needs_model = false;
  input.engines.push_back(ours);
  EXPECT_THAT(bench_console(input, {}, 80),
              AllOf(HasSubstr("OurFrame Benchmark: bert"), HasSubstr("Wall time per iteration: 1234ns")));
}

TEST(Console, ATableThatIsTooWideNamesWhatItLeavesOut) {
  const std::string wide = summary_table(sample(), false, 200);
  EXPECT_THAT(wide, Not(HasSubstr("Without room")));
  const std::string narrow = summary_table(sample(), false, 72);
  EXPECT_THAT(narrow, HasSubstr("Without room for: p99 ms"));
  EXPECT_LE(widest_line(narrow), 72U) << narrow;
}

TEST(Console, ExplainsItsMarksAndSaysAReasonOnce) {
  ReportInput input = sample();
  input.rows.front().latency_p50_low_ms = 1;
  input.rows.front().latency_p50_high_ms = 2;
  input.rows.front().latency_p99_quality = "few_samples(n=50<368)";
  EXPECT_THAT(summary_table(input, false, 400), AllOf(HasSubstr("interval: 95 %, of the median."),
                                                      HasSubstr("~ marks a percentile of too few samples.")));
  Record& row = input.rows.back();
  row.status = CellStatus::kUnsupported;
  row.reason_code = Reason::kUnsupported;
  row.message = "unsupported: hidden_act = foo";
  EXPECT_THAT(bench_console(input, {}, 200), HasSubstr("\n  unsupported: hidden_act = foo\n"));
}

TEST(Console, BeginsWithTheFastestRuntimeOfEachModel) {
  const std::string text = summary_table(sample(), false, 200);
  EXPECT_THAT(text, StartsWith("Fastest runtime of each model\n  bert"));
  EXPECT_THAT(text, HasSubstr("2.00× as fast as cpu (95 %: 2.00 to 2.00); "));
}

TEST(Console, NamesBothWhereNoDifferenceIsShown) {
  ReportInput input = sample();
  Record& openvino = input.rows[2];
  openvino.latency_p50_ms = openvino.latency_mean_ms = 7.9;
  openvino.launch_p50_ms = *parse_launch_medians("1:7.8 2:8.1 3:7.8");
  openvino.latency_p50_low_ms = 7.7;
  openvino.latency_p50_high_ms = 8.1;
  const std::string text = summary_table(input, false, 200);
  EXPECT_THAT(text, HasSubstr("  openvino or cpu  "));
  EXPECT_THAT(text, HasSubstr("no difference shown"));
}

TEST(Console, SaysEachCauseOnceBelowTheTable) {
  ReportInput input = sample();
  input.rows.resize(3);
  for (std::size_t i = 1; i < 3; ++i) {
    input.rows[i].status = CellStatus::kFailed;
    input.rows[i].reason_code = Reason::kTimeout;
    input.rows[i].message = "no answer within 600 s";
    input.rows[i].attempt_id = "a" + std::to_string(i);
  }
  input.files.logs["a1"] = "spool/worker.log";
  const std::string text = summary_table(input, false, 200);
  const std::size_t first = text.find("no answer within 600 s");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(text.find("no answer within 600 s", first + 1), std::string::npos);
  EXPECT_THAT(text, AllOf(HasSubstr("\nWhat failed, and why\n  failed (timeout): no answer"),
                          HasSubstr("\n    log: spool/worker.log\n    to do: run again with --debug\n")));
}

TEST(Console, HasBarsWhereTheTerminalIsWide) {
  EXPECT_THAT(summary_table(sample(), false, 140), AllOf(HasSubstr("log scale"), HasSubstr("████████")));
  EXPECT_THAT(summary_table(sample(), false, 99), Not(HasSubstr("█")));
}

TEST(Console, NotesThatDifferInNumbersAreOne) {
  ReportInput input = sample();
  input.notes = {"skipped 3 of `a`", "another", "skipped 4 of `b`"};
  EXPECT_THAT(summary_table(input, false, 140),
              HasSubstr("\nNotes\n  skipped 3 of `a` (2 notes of this kind)\n  another\n"));
}

TEST(Interval, ShowsItsEndsWhereOneIsFartherAway) {
  ReportInput input = sample();
  input.rows.resize(1);
  Record& row = input.rows[0];
  row.latency_p50_ms = 1.71;
  row.latency_p50_low_ms = 1.45;
  row.latency_p50_high_ms = 109.7;
  for (const std::string& text : {summary_table(input, false, 200), markdown_report(input)})
    EXPECT_THAT(text, AllOf(HasSubstr("1.45 to 109.7"), Not(HasSubstr("± 54"))));
  row.latency_p50_low_ms = 1.70;
  row.latency_p50_high_ms = 1.72;
  EXPECT_THAT(summary_table(input, false, 200), HasSubstr("± 0.01"));
  row.latency_p50_low_ms = std::nullopt;
  EXPECT_THAT(summary_table(input, false, 200), Not(HasSubstr("interval: 95 %")));
}

TEST(Bench, PrintsTheIntervalAndWhatDisturbedBesideTheNumbers) {
  ReportInput input = sample();
  input.rows.resize(1);
  Record& row = input.rows[0];
  EXPECT_THAT(
      bench_console(input, {}, 200),
      HasSubstr("  Latency (p50): 8.000ms\n    95 % interval: 7.900 to 8.100ms (over 3 launches)\n  Throughput: "));
  row.launch_p50_ms.clear();
  row.launches = 1;
  EXPECT_THAT(bench_console(input, {}, 200),
              HasSubstr("(one process: the difference between processes is not in this interval)"));
  row.flags.add(Flag::kNoisy);
  row.latency_p50_high_ms = 90;
  row.latency_mean_ms = 39.2;
  EXPECT_THAT(bench_console(input, {}, 200),
              AllOf(HasSubstr("8.000ms"), HasSubstr("7.900 to 90.000ms"), HasSubstr("  noisy: other activity"),
                    HasSubstr("  not ranked: "), HasSubstr("Latency (mean): 39.200ms"), HasSubstr("`assay doctor`")));
}

TEST(Marks, SayWhatIsSpecialAboutATime) {
  ReportInput input = sample();
  input.rows[0].steady_class = stats::SteadyClass::kSlowdown;
  input.rows[1] = measured("bert", "cpu", "onnxruntime", 2, 4);  // less time than batch 1
  const std::string table = summary_table(input, false, 200);
  EXPECT_THAT(table, AllOf(HasSubstr(" S I "), HasSubstr("S slowdown: the last samples were slower"),
                           HasSubstr("I inconsistent: a larger batch")));
  EXPECT_THAT(markdown_report(input), HasSubstr("slowdown, inconsistent |"));
}

TEST(Generation, SaysThatALatencyIsOfAWholeGenerationAndShowsMediansOfTokens) {
  ReportInput input = sample();
  input.rows.resize(1);
  Record& row = input.rows[0];
  row.output_tokens = 32;
  row.ttft_ms = 99.25;  // one slow prompt: the mean is above a whole generation
  row.tpot_ms = 1.5;
  row.tpot_p50_ms = 0.125;
  EXPECT_THAT(summary_table(input, false, 200), HasSubstr("mean 99.25"));
  row.ttft_p50_ms = 3.25;
  row.ttft_p50_low_ms = 3;
  row.ttft_p50_high_ms = 3.5;
  EXPECT_THAT(
      summary_table(input, false, 400),
      AllOf(HasSubstr("TTFT ms"), HasSubstr("3.25"), Not(HasSubstr("99.25")),
            HasSubstr(
                "For bert latency and items/s are of one generation of 32 tokens. TTFT and TPOT: medians; tokens/s: of "
                "one sequence, by the mean TPOT.")));
  EXPECT_THAT(bench_console(input, {}, 200),
              AllOf(HasSubstr("those of one generation of 32 tokens"),
                    HasSubstr("Time to first token (p50): 3.250ms (95 % interval: 3.000 to 3.500ms)")));
  EXPECT_THAT(markdown_report(input), HasSubstr("| 3.25 | ± 0.25 |"));
}

TEST(Claims, OfASpeedUpNeedLaunches) {
  ReportInput input = sample();
  EXPECT_THAT(markdown_report(input), HasSubstr("| OPENVINO | 2.00x | 2.00 to 2.00 | 3 | 1 |"));
  Json speedup = guide_json(input)["relative_performance"]["speedup"]["openvino"];
  EXPECT_NEAR(speedup["factor"].get<double>(), 2, 1e-9);
  EXPECT_EQ(speedup["difference_shown"], true);
  for (Record& row : input.rows) row.launch_p50_ms.clear();
  EXPECT_THAT(markdown_report(input),
              AllOf(HasSubstr("| OPENVINO | not compared: one process each |"),
                    HasSubstr("| not rated: not compared: one process each"), Not(HasSubstr("2.00x"))));
  speedup = guide_json(input)["relative_performance"]["speedup"]["openvino"];
  EXPECT_EQ(speedup["factor"], nullptr);
  EXPECT_EQ(speedup["difference_shown"], false);
}

TEST(HowSure, IsBelowTheAnswersAndInEveryReport) {
  ReportInput input = sample();
  input.run.doctor = {{"score", 33},
                      {"findings",
                       {{{"item", "turbo"}, {"verdict", "warn"}},
                        {{"item", "smt"}, {"verdict", "warn"}},
                        {{"item", "load"}, {"verdict", "bad"}},
                        {{"item", "swap"}, {"verdict", "ok"}},
                        {{"item", "huge_pages"}, {"verdict", "warn"}}}}};
  EXPECT_THAT(summary_table(input, false, 200),
              HasSubstr("\nHow sure: machine 33 of 100 (load, turbo, smt and 1 more), "));
  EXPECT_THAT(markdown_report(input),
              HasSubstr("## How Sure\n\n- machine: 33 of 100 (load, turbo, smt and 1 more) before the run"));
  const Json sure = guide_json(input)["how_sure"];
  EXPECT_EQ(sure["machine_score"], 33);
  EXPECT_EQ(sure["machine_disturbances"], Json({"load", "turbo", "smt", "huge_pages"}));
  EXPECT_EQ(sure["pairs_called_different"], 1);
}

TEST(Report, SaysWhatTheTimeOfTheRunWasSpentOn) {
  ReportInput input = sample();
  EXPECT_FALSE(guide_json(input).contains("time_s")) << "not known";
  input.spent.seconds[static_cast<std::size_t>(Work::kReferences)] = 12.2;
  input.spent.seconds[static_cast<std::size_t>(Work::kSampling)] = 50;
  EXPECT_THAT(summary_table(input, false, 200), HasSubstr("\nTime\n  62 s: references 12 s, sampling 50 s\n"));
  EXPECT_THAT(markdown_report(input), HasSubstr("## Time\n\n- 62 s: references 12 s, sampling 50 s\n"));
  EXPECT_EQ(guide_json(input)["time_s"]["sampling"], 50);
}

/// Four cells: one was kept from an earlier run, one has one of three launches, the only launch of one was cut short,
/// and one never started.
ReportInput interrupted() {
  ReportInput input = sample();
  for (std::size_t i = 0; i < input.rows.size(); ++i) input.rows[i].attempt_id = "attempt-" + std::to_string(i);
  input.interrupted = true;
  input.resume_command = "assay run --resume";
  input.kept = {"attempt-0"};
  input.rows[2].flags.add(Flag::kPartial);
  input.rows[2].stop_reason = StopReasons{StopReason::kInterrupted};
  input.rows[3].status = CellStatus::kSkipped;
  input.rows[3].reason_code = Reason::kCancelled;
  input.rows[3].message = "interrupted before it ran";
  for (Record& row : input.rows) row.planned_launches = 3;
  input.rows[1].launches = 1;
  input.rows[1].launch_p50_ms.clear();
  input.partly = {"attempt-1"};
  return input;
}

TEST(Interruption, IsSaidInEveryFormatWithWhatIsMissingAndHowToGoOn) {
  const ReportInput input = interrupted();
  const std::string missing = "bert on cpu: batch_4_seq_32 (1 of 3 launches)",
                    other = "bert on openvino: batch_1_seq_32 (0 of 3 launches), batch_4_seq_32";
  for (const std::string& text :
       {summary_table(input, false, 200), verification_table(input, false, 200), bench_console(input, {}, 200)})
    EXPECT_THAT(text, AllOf(HasSubstr("interrupted: 1 of 4 cells complete, 2 partly measured, 1 not begun"),
                            HasSubstr("issing: " + missing), HasSubstr("issing: " + other),
                            HasSubstr("`assay run --resume` completes them."), HasSubstr("(kept from 12:34 UTC)"),
                            Not(HasSubstr("before it ran"))));
  EXPECT_THAT(markdown_report(input),
              AllOf(HasSubstr("**Interrupted: 1 of 4 cells complete, 2 partly measured, 1 not begun.** `assay run "
                              "--resume` completes them."),
                    HasSubstr("- " + missing), HasSubstr("- " + other), HasSubstr("| 1 of 3 |"),
                    HasSubstr("✅ verified (kept from 12:34 UTC)")));
  for (const Json& json : {guide_json(input), results_json(input)}) {
    EXPECT_EQ(json["interrupted"]["cells"], 4);
    EXPECT_EQ(json["interrupted"]["finished"], 1);
    EXPECT_EQ(json["interrupted"]["partly_measured"], 2);
    EXPECT_EQ(json["interrupted"]["not_begun"], 1);
    EXPECT_EQ(json["interrupted"]["resume"], "assay run --resume");
    ASSERT_EQ(json["interrupted"]["missing"].size(), 3U);
    EXPECT_EQ(json["interrupted"]["missing"][0], (Json{{"model", "bert"},
                                                       {"model_id", "org/bert"},
                                                       {"hardware", "cpu"},
                                                       {"shape", "batch_4_seq_32"},
                                                       {"launches", 1},
                                                       {"planned_launches", 3}}));
    EXPECT_EQ(json["interrupted"]["missing"][1]["launches"], 0) << "one that was cut short does not count";
  }
  EXPECT_EQ(results_json(input)["kept"], (Json{{"attempt-0", input.rows[0].timestamp}}));
  const Json guide = guide_json(input);
  const Json& shapes = guide["benchmarks"]["embedding"]["bert"]["cpu"]["benchmark_results"];
  EXPECT_EQ(shapes["batch_1_seq_32"]["kept_from"], input.rows[0].timestamp);
  EXPECT_EQ(shapes["batch_4_seq_32"]["kept_from"], nullptr);
  EXPECT_THAT(csv_table(input.rows), HasSubstr(",skipped,cancelled,interrupted before it ran,"));
}

TEST(FewerLaunches, AreSaidWithTheReasonInEveryFormat) {
  ReportInput input = sample();
  const std::string why = "a warm-up and three runs take all the time of a cell (--max-time)";
  Record& row = input.rows[1];
  row.planned_launches = 3;
  row.launches = 2;
  row.launch_p50_ms = *parse_launch_medians("1:16 2:16");
  row.flags.add(Flag::kLimitedByMaxTime);
  row.message = "verified elsewhere; 2 of 3 launches: not this sentence";
  for (const std::string& text :
       {summary_table(input, false, 1000), bench_console(input, {}, 1000), markdown_report(input)})
    EXPECT_THAT(text, AllOf(HasSubstr("2 of 3"), HasSubstr("Fewer launches than planned: " + why + ".")));
  EXPECT_EQ(results_json(input)["results"][1]["planned_launches"], 3);
  EXPECT_THAT(csv_table(input.rows), HasSubstr(std::string(to_string(Flag::kLimitedByMaxTime))));
  row.launches = 3;
  row.launch_p50_ms = *parse_launch_medians("1:16 2:16 3:16");
  EXPECT_THAT(summary_table(input, false, 200), Not(HasSubstr("Fewer launches")));
}

TEST(Interruption, IsNotReportedForAWholeRun) {
  for (const Json& json : {guide_json(sample()), results_json(sample())}) EXPECT_EQ(json["interrupted"], nullptr);
  EXPECT_THAT(markdown_report(sample()), Not(HasSubstr("nterrupted")));
  ReportInput unsaved = interrupted();
  unsaved.resume_command.clear();
  EXPECT_THAT(summary_table(unsaved, false, 200), HasSubstr("cannot be resumed"));
  unsaved.kept = {"attempt-1"};
  unsaved.rows[1].timestamp = "2025-03-01T23:59:00.000000Z";
  EXPECT_THAT(summary_table(unsaved, false, 200), HasSubstr("(kept from 2025-03-01 23:59 UTC)"));
}

TEST(TwoModelsOfOneName, AreDistinctInTheReportOfARun) {
  ReportInput input = sample();
  input.rows[1].model_id = "org/bert-large";
  const Json json = guide_json(input);
  const Json& models = json["benchmarks"]["embedding"];
  EXPECT_EQ(models["bert (org/bert)"]["cpu"]["model_id"], "org/bert");
  EXPECT_EQ(models["bert (org/bert-large)"]["cpu"]["model_id"], "org/bert-large");
  EXPECT_EQ(models["bert (org/bert-large)"]["cpu"]["benchmark_results"].size(), 1U);
  EXPECT_EQ(models["bert (org/bert-large)"]["cpu"]["benchmark_results"]["batch_4_seq_32"]["model"], "bert");
  EXPECT_THAT(markdown_report(input), AllOf(HasSubstr("| bert (org/bert) | org/bert |"),
                                            HasSubstr("| bert (org/bert-large) | org/bert-large |")));
  EXPECT_THAT(summary_table(input, false, 200), HasSubstr("bert (org/bert-large)"));
}

TEST(VerifyOnly, ShowsNoEmptyColumnsOfTimes) {
  ReportInput input = sample();
  for (Record& row : input.rows) {
    row.latency_p50_ms = row.latency_p99_ms = row.latency_mean_ms = row.throughput_ips = std::nullopt;
    row.max_abs_error = 0.25;
  }
  EXPECT_THAT(summary_table(input, false, 200),
              AllOf(HasSubstr("max abs error"), HasSubstr("0.25"), Not(HasSubstr("p50")), Not(HasSubstr("items/s"))));
  EXPECT_THAT(markdown_report(input), AllOf(HasSubstr("The models were verified, not measured."),
                                            Not(HasSubstr("Throughput Comparison")), Not(HasSubstr("p50 (ms)"))));
  EXPECT_THAT(csv_table(input.rows), HasSubstr("latency_p50_ms,"));
}

TEST(Summary, SaysOnceWhyNothingWasMeasured) {
  ReportInput input = sample();
  for (Record& row : input.rows) {
    row.status = CellStatus::kUnavailable;
    row.reason_code = Reason::kNoRuntime;
    row.message = "the runtime is not installed";
    row.hint = "pip install runtime";
    row.latency_p50_ms = row.latency_mean_ms = std::nullopt;
  }
  for (const std::string& what : {input.rows.front().message, input.rows.front().hint}) {
    const std::string text = summary_table(input, false, 200);
    const std::size_t first = text.find(what);
    ASSERT_NE(first, std::string::npos) << text;
    EXPECT_EQ(text.find(what, first + 1), std::string::npos) << text;
  }
}

TEST(Environment, NamesTheMachineAndTheSoftware) {
  ReportInput input = sample();
  input.run.system["os"] = "Debian GNU/Linux 12 (bookworm)";
  input.run.system["memory_gb"] = 23.54;
  input.run.system["gpus"] = {{{"name", "A GPU"}, {"memory_gb", 24.0}}, {{"name", "B GPU"}, {"memory_gb", nullptr}}};
  input.run.tool_version = "0.1.0";
  for (Record& row : input.rows) row.engine_version = row.engine == "openvino" ? "2026.4" : "1.30.0";
  for (const Json& json : {guide_json(input), results_json(input)}) {
    const Json& environment = json["environment"];
    EXPECT_EQ(environment["processor"], "A | B");
    EXPECT_EQ(environment["os"], "Debian GNU/Linux 12 (bookworm)");
    EXPECT_EQ(environment["memory_gb"], 23.54);
    EXPECT_EQ(environment["gpus"], "A GPU (24.0 GB), B GPU (null GB)");
    EXPECT_EQ(environment["assay"], "0.1.0");
    EXPECT_EQ(environment["runtimes"], (Json{{"onnxruntime", "1.30.0"}, {"openvino", "2026.4"}}));
  }
}

TEST(Markdown, SaysAReasonOnce) {
  ReportInput input = sample();
  input.rows.resize(1);
  input.rows[0].status = CellStatus::kUnsupported;
  input.rows[0].reason_code = Reason::kUnsupported;
  input.rows[0].message = "unsupported: hidden_act = foo";
  EXPECT_THAT(markdown_report(input), Not(HasSubstr("unsupported: hidden_act")));
}

TEST(Console, NamesTheLogOfWhatFailed) {
  ReportInput input = sample();
  input.rows.back().status = CellStatus::kFailed;
  input.rows.back().attempt_id = "a1";
  input.files.logs["a1"] = "spool/key/a1/worker.log";
  EXPECT_THAT(bench_console(input, {}, 200), HasSubstr("\n  Log: spool/key/a1/worker.log\n"));
}

TEST(Console, CellsThatDifferInOneSettingSayWhich) {
  ReportInput input = sample();
  Record& row = input.rows.back();
  row.batch_size = 2;
  row.threads = 3;
  row.streams = 4;
  row.precision = "bfloat16";
  EXPECT_THAT(bench_console(input, {}, 200), HasSubstr("streams: 4, threads: 3, precision: bfloat16"));
}

}  // namespace
}  // namespace assay
