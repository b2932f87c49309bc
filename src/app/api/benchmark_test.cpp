// SPDX-License-Identifier: Apache-2.0
// The installed library as a program uses it: with the program `assay` of this build and the engine `null`.
#include <assay/benchmark.hpp>

#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace assay {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class BenchmarkApi : public ::testing::Test {
 protected:
  BenchmarkApi() : folder_(fs::temp_directory_path() / ("assay-benchmark-test-" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
    setenv("ASSAY_CACHE_DIR", (folder_ / "cache").c_str(), 1);
    unsetenv("ASSAY_PROGRAM");
    config_.batch_sizes = {1, 4};
    config_.warmup_iterations = 1;
    config_.measurement_iterations = 20;
    config_.csv_output_dir = folder_ / "raw";
    config_.verbose = false;
    config_.options = {"--engine", "null"};
  }
  ~BenchmarkApi() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  fs::path folder_;
  BenchmarkConfig config_;
};

TEST_F(BenchmarkApi, MeasuresEachBatchAndWritesWhatTheLoggerReads) {
  ::testing::internal::CaptureStderr();
  const auto measured = run_inference_benchmark(config_);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), IsEmpty()) << "not verbose";
  ASSERT_TRUE(measured) << measured.error().message;
  ASSERT_EQ(measured->size(), 2);
  const auto read = BenchmarkLogger(folder_ / "raw").read_results();
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const BenchmarkResult& result = (*measured)[i];
    EXPECT_EQ(result.batch_size, config_.batch_sizes[i]);
    EXPECT_EQ(result.status, "completed");
    EXPECT_EQ(result.engine, "null");
    ASSERT_TRUE(result.latency_p50_ms && result.latency_p99_ms && result.throughput_ips);
    EXPECT_LE(*result.latency_min_ms, *result.latency_p50_ms);
    EXPECT_LE(*result.latency_p50_ms, *result.latency_p99_ms);
    EXPECT_THAT(result.json, AllOf(HasSubstr("\"latency_p50_ms\""), HasSubstr("\"attempt_id\"")));
    EXPECT_EQ((*read)[i].latency_p50_ms, result.latency_p50_ms);
    EXPECT_EQ((*read)[i].timestamp, result.timestamp);
  }
}

TEST_F(BenchmarkApi, ACellThatFailsIsAResult) {
  config_.options = {"--engine", "null", "--engine-option", "crash_at_run=5"};
  config_.batch_sizes = {2};
  const auto measured = run_inference_benchmark(config_);
  ASSERT_TRUE(measured) << measured.error().message;
  ASSERT_EQ(measured->size(), 1);
  EXPECT_EQ(measured->front().status, "failed");
  EXPECT_EQ(measured->front().latency_p50_ms, std::nullopt);
  EXPECT_THAT(measured->front().message, HasSubstr("SIGSEGV"));
}

TEST_F(BenchmarkApi, CellsThatCannotRunAreResultsWhateverTheProgramEndsWith) {
  config_.model_name = "bert";
  config_.options = {"--hardware", "mps"};
  config_.batch_sizes = {1};
  const auto measured = run_inference_benchmark(config_);
  ASSERT_TRUE(measured) << to_string(measured.error());
  ASSERT_EQ(measured->size(), 1);
  EXPECT_EQ(measured->front().status, "unavailable");
  EXPECT_THAT(measured->front().message, HasSubstr("macOS"));
}

TEST_F(BenchmarkApi, IsNotDisturbedByTheSignalsOfThisProgram) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const auto measured = run_inference_benchmark(config_);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ASSERT_TRUE(measured) << to_string(measured.error());
  EXPECT_EQ(measured->size(), 2);
}

TEST_F(BenchmarkApi, ReadsTheNewestFileOfOneSecond) {
  ASSERT_TRUE(run_inference_benchmark(config_));
  const fs::path raw = folder_ / "raw";
  fs::path first;
  for (const auto& entry : fs::directory_iterator(raw))
    if (entry.path().extension() == ".csv") first = entry.path();
  for (const char* number : {"_2", "_9", "_10"}) {
    const fs::path copy = raw / (first.stem().string() + number + ".csv");
    fs::copy_file(first, copy);
    std::ofstream(copy, std::ios::app) << (std::string(number) == "_10" ? "" : "not,a,row\n");
  }
  const auto read = BenchmarkLogger(raw).read_results();
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(read->size(), 2);
}

TEST_F(BenchmarkApi, ReportsAValueThatIsInvalidWithThoseThatAreValid) {
  config_.dtype = "float99";
  const auto measured = run_inference_benchmark(config_);
  ASSERT_FALSE(measured);
  EXPECT_EQ(measured.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(measured.error().message, AllOf(HasSubstr("float99"), HasSubstr("bfloat16")));
}

TEST_F(BenchmarkApi, ASuiteRequiresModelsAndKnownFrameworks) {
  EXPECT_THAT(run_benchmark_suite({}, {"jax"}, {1}).error().message, HasSubstr("requires a model"));
  EXPECT_THAT(run_benchmark_suite({"resnet50"}, {"pytorch", "caffe"}, {1}).error().message,
              AllOf(HasSubstr("caffe"), HasSubstr("valid are pytorch and jax")));
}

TEST_F(BenchmarkApi, SaysThatThereIsNoProgramOrNoFile) {
  setenv("ASSAY_PROGRAM", "/nowhere/assay", 1);
  const auto measured = run_inference_benchmark(config_);
  unsetenv("ASSAY_PROGRAM");
  ASSERT_FALSE(measured);
  EXPECT_EQ(measured.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(measured.error().message, HasSubstr("/nowhere/assay"));
  EXPECT_THAT(measured.error().hint, HasSubstr("ASSAY_PROGRAM"));
  EXPECT_EQ(BenchmarkLogger(folder_).read_results().error().code, ErrorCode::kNotFound);
  EXPECT_EQ(BenchmarkLogger(folder_, "absent.csv").read_results().error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace assay
