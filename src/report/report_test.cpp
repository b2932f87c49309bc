// SPDX-License-Identifier: Apache-2.0
#include "report/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.hpp"

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
  r.contract = "e2e_host";
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
  refused.reason_code = "fixed_shape";
  refused.message = "fixed_shape: the file's batch is 1";
  refused.latency_mean_ms = refused.latency_p50_ms = refused.throughput_ips = std::nullopt;
  input.rows.push_back(refused);
  return input;
}

TEST(GuideJson, HasEveryFieldOfTheGuide) {
  const Json json = guide_json(sample());
  EXPECT_EQ(json["timestamp"], "20250302_123456");
  EXPECT_TRUE(json["system_info"].contains("python_version"));
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
  EXPECT_TRUE(json.contains("schema_version"));
}

TEST(Markdown, HasTheGuidesSections) {
  const std::string text = markdown_report(sample());
  EXPECT_THAT(text, StartsWith("# Hardware Benchmark Report - 20250302_123456\n"));
  for (const char* section :
       {"## System Information", "## Available Hardware", "## Models Tested", "## Functionality Verification Results",
        "## Benchmark Results", "### Embedding Models", "#### Latency Comparison (ms)",
        "#### Throughput Comparison (items/sec)", "#### Relative Performance (vs CPU)", "## Hardware Compatibility",
        "## Recommendations", "## Next Steps"})
    EXPECT_THAT(text, HasSubstr(section));
  EXPECT_THAT(text, HasSubstr("| Model | CPU | OPENVINO |"));
  EXPECT_THAT(text, HasSubstr("| OPENVINO | 2.00x | 1 |"));
  EXPECT_THAT(text, HasSubstr("- **mps**: ❌ Not available: macOS only"));
}

TEST(Csv, BeginsWithTheGuidesColumnsAndReadsBack) {
  ReportInput input = sample();
  input.rows[0].message = "a \"quoted\", text\nover two lines";
  input.rows[0].model = "=cmd()";
  const std::string text = csv_table(input.rows);
  EXPECT_THAT(
      text,
      StartsWith(
          "latency_p50_ms,latency_p95_ms,latency_p99_ms,latency_mean_ms,latency_std_ms,latency_min_ms,latency_max_ms,"
          "throughput_ips,memory_mb,compilation_time_ms,framework,model,device,device_type,batch_size,input_shape,"
          "dtype,"
          "timestamp,git_commit,"));
  EXPECT_THAT(text, HasSubstr("'=cmd()"));
  const auto folder = TemporaryDirectory::create();
  ASSERT_TRUE(write_file_atomically(folder->path() / "x.csv", text));
  const auto back = read_csv(folder->path() / "x.csv");
  ASSERT_TRUE(back) << to_string(back.error());
  ASSERT_EQ(back->size(), input.rows.size());
  for (std::size_t i = 0; i < input.rows.size(); ++i) EXPECT_EQ(to_json((*back)[i]), to_json(input.rows[i]));
}

TEST(Csv, NamesTheLineThatIsWrong) {
  const auto folder = TemporaryDirectory::create();
  ASSERT_TRUE(write_file_atomically(folder->path() / "x.csv", "model,batch_size\nbert,1\nbert\n"));
  EXPECT_THAT(read_csv(folder->path() / "x.csv").error().message, HasSubstr("line 3 has 1 cells, the heading has 2"));
}

TEST(Matrix, ComesFromTheLatestRowOfEachCell) {
  ReportInput input = sample();
  Record older = input.rows[0];
  older.timestamp = "2024-01-01T00:00:00.000000Z";
  older.status = CellStatus::kFailed;
  input.rows.insert(input.rows.begin(), older);
  const Json matrix = compatibility_matrix(input.rows, input.run);
  const Json& cpu = matrix["model_families"]["embedding"]["hardware_compatibility"]["cpu"];
  EXPECT_EQ(cpu["compatible"], true);
  EXPECT_EQ(cpu["performance_rating"], "medium-high");
  EXPECT_EQ(cpu["benchmark_results"][0]["model_name"], "bert");
  EXPECT_DOUBLE_EQ(cpu["benchmark_results"][0]["mean_latency"], 0.012);
  EXPECT_EQ(cpu["benchmark_results"][0]["timestamp"], "2025-03-02T12:34:56.789Z");
  EXPECT_THAT(matrix["hardware_types"].dump(), AllOf(HasSubstr("qualcomm"), Not(HasSubstr("qnn"))));
}

TEST(Console, MarksWeakPercentilesAndSaysWhyARowIsEmpty) {
  const std::string text = summary_table(sample(), false, 120);
  EXPECT_THAT(text, HasSubstr("~16.00"));
  EXPECT_THAT(text, HasSubstr("fixed_shape: the file's batch is 1"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(Console, PrintsTheBenchRunnersBlocks) {
  const std::string text = bench_console(sample(), "results/raw/x.csv");
  EXPECT_THAT(text, HasSubstr("onnxruntime Benchmark: bert\n"));
  EXPECT_THAT(text, HasSubstr("Benchmarking batch size: 1"));
  EXPECT_THAT(text, HasSubstr("  Latency (p50): 8.000ms\n  Throughput: 125.00 items/sec\n"));
  EXPECT_THAT(text, HasSubstr("Benchmark Suite Complete"));
  EXPECT_THAT(text, HasSubstr("Results saved to: results/raw/x.csv"));
}

}  // namespace
}  // namespace assay
