// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/files.hpp"
#include "history/exchange/dataset_of_files.hpp"
#include "history/exchange/results_file.hpp"
#include "history/store/history_point.hpp"

namespace assay::exchange {
namespace {

namespace fs = std::filesystem;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;

fs::path example(const char* name) { return fs::path(ASSAY_SOURCE_DIR) / "tests" / "exchange" / name; }

ResultsFile read_example(const char* name) {
  Result<ResultsFile> file = read_results(example(name));
  EXPECT_TRUE(file) << to_string(file.error());
  return file ? std::move(*file) : ResultsFile{};
}

class ExchangeFiles : public ::testing::Test {
 protected:
  fs::path write(const std::string& name, const std::string& content) {
    const fs::path path = folder_->path() / name;
    EXPECT_TRUE(write_file_atomically(path, content));
    return path;
  }
  [[nodiscard]] std::string error_of(const std::string& name, const std::string& content) {
    const auto file = read_results(write(name, content));
    return file ? "no error" : file.error().message;
  }
  Result<TemporaryDirectory> folder_ = TemporaryDirectory::create();
};

TEST(Exchange, ReadsTheGuidesOwnExample) {
  const ResultsFile file = read_example("guide.json");
  EXPECT_EQ(file.format, Format::kGuide);
  ASSERT_EQ(file.rows.size(), 1U);
  const Record& row = file.rows[0].record;
  EXPECT_EQ(row.model, "bert-base-uncased");
  EXPECT_EQ(row.family, "embedding");
  EXPECT_EQ(row.hardware, "cuda");
  EXPECT_EQ(row.engine, "");
  EXPECT_THAT(row.batch_size, Optional(1));
  EXPECT_THAT(row.sequence_length, Optional(32));
  EXPECT_EQ(row.status, CellStatus::kCompleted);
  EXPECT_THAT(row.latency_mean_ms, Optional(DoubleNear(2.3, 1e-9)));
  EXPECT_THAT(row.throughput_ips, Optional(434.78));
  EXPECT_THAT(row.model_load_time, Optional(2.34));
  EXPECT_EQ(row.timestamp, "2025-03-02T12:34:56.000000Z");
  // The file has a mean and no median.
  EXPECT_EQ(row.latency_p50_ms, std::nullopt);
  EXPECT_EQ(row.verification, Verification::kUnverified);
  EXPECT_FALSE(row.ranked());
}

TEST_F(ExchangeFiles, ATargetWithoutShapesIsOfItsArchitecture) {
  const auto file = read_results(write("results.json", R"({"schema_version": "1.0", "timestamp": "20261123_170801",
      "benchmarks": {"audio": {"facebook/wav2vec2-base": {"cuda": {"status": "unavailable", "reason_code": "no_hardware",
      "architecture": "wav2vec2", "category": "audio", "model_class": "Wav2Vec2Model", "benchmark_results": {}}}}}})"));
  ASSERT_TRUE(file) << to_string(file.error());
  ASSERT_EQ(file->rows.size(), 1U);
  EXPECT_EQ(file->rows[0].record.architecture, "wav2vec2");
  EXPECT_EQ(file->rows[0].record.category, "audio");
  EXPECT_EQ(file->rows[0].record.model_class, "Wav2Vec2Model");
}

TEST(Exchange, ReadsTheBenchRunnersColumns) {
  const ResultsFile file = read_example("guide.csv");
  ASSERT_EQ(file.rows.size(), 2U);
  const Record& row = file.rows[1].record;
  EXPECT_EQ(row.model, "resnet50");
  EXPECT_EQ(row.engine, "pytorch");
  EXPECT_EQ(row.hardware, "mps");
  EXPECT_EQ(row.input_shape, "(4, 3, 224, 224)");
  EXPECT_EQ(row.precision, "float32");
  EXPECT_THAT(row.latency_p50_ms, Optional(12.174));
  EXPECT_EQ(row.timestamp, "2025-11-13T13:43:52.000000Z");
  EXPECT_FALSE(row.ranked());
}

TEST(Exchange, JoinsTheRepetitionsOfGoogleBenchmark) {
  const ResultsFile file = read_example("google_benchmark.json");
  EXPECT_EQ(file.format, Format::kGoogleBenchmark);
  EXPECT_EQ(file.run.started, "2026-11-23T09:39:52.000000Z");
  ASSERT_EQ(file.rows.size(), 4U);
  const Record& copy = file.rows[0].record;
  EXPECT_EQ(copy.model, "copy/65536");
  // (1880.86 + 2759.03 + the third) / 3 in ns, all with as many iterations.
  EXPECT_THAT(copy.iterations, Optional(3 * 9271));
  EXPECT_THAT(copy.latency_mean_ms, Optional(DoubleNear(0.0023, 0.0012)));
  EXPECT_EQ(file.rows[2].record.model, "refuse");
  EXPECT_EQ(file.rows[2].record.status, CellStatus::kFailed);
  EXPECT_EQ(file.rows[2].record.message, "no such device");
  EXPECT_THAT(file.rows[3].record.latency_mean_ms, Optional(testing::Gt(0.05)));  // its unit is ms
}

TEST(Exchange, ReadsBothFormsOfBenchmarkApp) {
  const ResultsFile python = read_example("benchmark_app.json");
  ASSERT_EQ(python.rows.size(), 1U);
  EXPECT_EQ(python.rows[0].record.model, "mlp");
  EXPECT_EQ(python.rows[0].record.device, "CPU");
  EXPECT_EQ(python.rows[0].record.hardware, "openvino");
  EXPECT_THAT(python.rows[0].record.latency_p50_ms, Optional(0.22));
  EXPECT_THAT(python.rows[0].record.latency_mean_ms, Optional(3.10));
  EXPECT_THAT(python.rows[0].record.model_load_time, Optional(DoubleNear(0.82296, 1e-9)));
  EXPECT_THAT(python.rows[0].record.iterations, Optional(500));
  const ResultsFile cpp = read_example("benchmark_app_cpp.json");
  ASSERT_EQ(cpp.rows.size(), 1U);
  EXPECT_EQ(cpp.rows[0].record.model, "vit");
  EXPECT_EQ(cpp.rows[0].record.device, "GPU");
  EXPECT_THAT(cpp.rows[0].record.batch_size, Optional(8));
  EXPECT_THAT(cpp.rows[0].record.streams, Optional(2));
  EXPECT_THAT(cpp.rows[0].record.latency_p50_ms, Optional(33.02));
}

TEST(Exchange, ReadsPromptsAndGenerationsOfLlamaBench) {
  const ResultsFile file = read_example("llama_bench.json");
  ASSERT_EQ(file.rows.size(), 3U);
  const Record& prompt = file.rows[0].record;
  EXPECT_EQ(prompt.model, "stories15M-q8_0");
  EXPECT_EQ(prompt.hardware, "cpu");
  EXPECT_THAT(prompt.sequence_length, Optional(512));
  EXPECT_THAT(prompt.latency_p50_ms, Optional(184.0192));
  EXPECT_THAT(prompt.prompt_tokens_per_second, Optional(testing::Gt(2700)));
  EXPECT_EQ(file.rows[0].samples.size(), 5U);
  const Record& generation = file.rows[1].record;
  EXPECT_THAT(generation.output_tokens, Optional(128));
  EXPECT_THAT(generation.tpot_ms, Optional(DoubleNear(3.144, 0.01)));
  EXPECT_THAT(generation.tokens_per_second, Optional(DoubleNear(318, 1)));
  EXPECT_EQ(file.rows[2].record.hardware, "cuda");
  EXPECT_EQ(file.rows[2].record.device_name, "NVIDIA H100 80GB HBM3");
  EXPECT_NE(prompt.series_key, generation.series_key);
}

TEST_F(ExchangeFiles, ReadsLlamaBenchWithOneTestOnEachLine) {
  const fs::path path =
      write("a.jsonl", "{\"build_commit\": \"a\", \"avg_ns\": 1e6, \"model_filename\": \"m.gguf\", \"n_gen\": 4}\n\n");
  const auto file = read_results(path);
  ASSERT_TRUE(file) << to_string(file.error());
  EXPECT_EQ(file->format, Format::kLlamaBench);
  EXPECT_THAT(file->rows.at(0).record.latency_mean_ms, Optional(1.0));
}

TEST(Exchange, ReadsPrefillAndDecodeOfOptimumBenchmark) {
  const ResultsFile file = read_example("optimum_benchmark.json");
  ASSERT_EQ(file.rows.size(), 1U);
  const Record& row = file.rows[0].record;
  EXPECT_EQ(row.model, "openai-community/gpt2");
  EXPECT_EQ(row.engine, "pytorch");
  EXPECT_EQ(row.hardware, "cpu");
  EXPECT_THAT(row.batch_size, Optional(2));
  EXPECT_THAT(row.sequence_length, Optional(16));
  EXPECT_THAT(row.output_tokens, Optional(8));
  EXPECT_THAT(row.ttft_p50_ms, Optional(DoubleNear(40.2, 1e-9)));
  EXPECT_THAT(row.latency_p50_ms, Optional(DoubleNear(193.2, 1e-9)));  // 40.2 + 153.0
  EXPECT_THAT(row.tpot_samples, Optional(21));
  EXPECT_THAT(row.model_load_time, Optional(1.21));
  EXPECT_THAT(row.memory_mb, Optional(1033.7));
}

TEST(Exchange, AReportOfOptimumBenchmarkAloneSaysThatItsModelIsNotKnown) {
  const ResultsFile file = read_example("optimum_report_only.json");
  ASSERT_EQ(file.rows.size(), 1U);
  EXPECT_EQ(file.rows[0].record.model, "exchange");
  EXPECT_THAT(file.notes, ElementsAre(HasSubstr("which model and runtime")));
  EXPECT_THAT(file.rows[0].record.latency_p50_ms, Optional(DoubleNear(12.0, 1e-9)));
}

TEST_F(ExchangeFiles, OwnResultsAreReadWhole) {
  Record row;
  row.run_id = "run-1";
  row.attempt_id = "attempt-1";
  row.model = "bert";
  row.hardware = "cpu";
  row.engine = "null";
  row.hardware_id = "machine-1";
  row.batch_size = 4;
  row.status = CellStatus::kCompleted;
  row.verification = Verification::kVerified;
  row.latency_p50_ms = 2.5;
  row.launches = 3;
  row.timestamp = "2026-03-02T12:34:56.789012Z";
  const Json bench{{"schema_version", "1.0"}, {"run", {{"run_id", "run-1"}}}, {"results", Json::array({to_json(row)})}};
  Json entry = to_json(row);
  entry["avg_latency"] = nullptr;
  Json benchmarks;
  benchmarks["embedding"]["bert (x)"]["cpu@null"]["benchmark_results"]["batch_4"] = entry;
  const Json guide{{"schema_version", "1.0"},
                   {"run", {{"run_id", "run-1"}, {"hardware_id", "machine-1"}}},
                   {"how_sure", {{"machine_score", 74}}},
                   {"benchmarks", benchmarks}};
  const fs::path a = write("a/bench.json", json_text(bench)), b = write("a/guide.json", json_text(guide));
  const auto from_bench = read_results(a);
  const auto from_guide = read_results(b);
  ASSERT_TRUE(from_bench && from_guide);
  row.task_key = from_bench->rows.at(0).record.task_key;
  row.series_key = from_bench->rows.at(0).record.series_key;
  EXPECT_EQ(row.series_key.size(), 64U);
  EXPECT_EQ(to_json(from_bench->rows.at(0).record), to_json(row));
  EXPECT_EQ(to_json(from_guide->rows.at(0).record), to_json(row));

  // The same row in two files is one cell.
  const std::vector<fs::path> folders{folder_->path() / "a"};
  const auto data = dataset_of(folders);
  ASSERT_TRUE(data) << to_string(data.error());
  EXPECT_EQ(data->cells.size(), 1U);
  EXPECT_EQ(data->history.size(), 1U);
  ASSERT_EQ(data->runs.size(), 1U);
  EXPECT_EQ(data->runs[0].cells, 1);
}

TEST_F(ExchangeFiles, ANewerRunOfASeriesIsTheCellAndTheOlderIsHistory) {
  const auto file = [](const char* run, const char* time, double p50) {
    Record row;
    row.run_id = row.attempt_id = run;
    row.model = "bert";
    row.hardware = "cpu";
    row.engine = "null";
    row.engine_version = run;
    row.status = CellStatus::kCompleted;
    row.latency_p50_ms = p50;
    row.timestamp = time;
    return json_text(Json{{"schema_version", "1.0"},
                          {"run", {{"run_id", run}, {"started", time}, {"hardware_id", "m"}}},
                          {"results", Json::array({to_json(row)})}});
  };
  const std::vector<fs::path> files{write("new.json", file("run-2", "2026-03-09T10:00:00Z", 3)),
                                    write("old.json", file("run-1", "2026-03-02T10:00:00Z", 2))};
  const auto data = dataset_of(files);
  ASSERT_TRUE(data) << to_string(data.error());
  ASSERT_EQ(data->cells.size(), 1U);
  EXPECT_THAT(data->cells[0].latency_p50_ms, Optional(3.0));
  ASSERT_EQ(data->history.size(), 2U);
  EXPECT_THAT(data->history[0].p50_ms, Optional(2.0));
  EXPECT_EQ(data->runs[data->history[0].run].run_id, "run-1");
  EXPECT_EQ(data->versions[data->history[1].version], "null run-2, assay ?");
  EXPECT_EQ(data->history[1].time_s - data->history[0].time_s, 7 * 86400);
  EXPECT_EQ(data->runs[0].run_id, "run-2");
  EXPECT_EQ(data->machines.size(), 1U);
}

// The rule of cells_latest.sql, of which the database's dataset is made.
TEST(CellOfSeries, IsTheNewestThatHasATimeOrAVerdictThatHolds) {
  const auto row = [](const char* time, CellStatus status, Verification verification, Number p50 = {},
                      Flags flags = {}) {
    Record record;
    record.timestamp = time;
    record.status = status;
    record.verification = verification;
    record.latency_p50_ms = p50;
    record.flags = flags;
    return record;
  };
  const auto cell = [](const std::vector<Record>& rows) {
    std::vector<const Record*> pointers;
    for (const Record& each : rows) pointers.push_back(&each);
    return &cell_of_series(pointers) - rows.data();
  };
  const Record timed = row("1", CellStatus::kCompleted, Verification::kVerified, 8);
  const Record skipped = row("", CellStatus::kSkipped, Verification::kUnverified);
  const Record verified = row("3", CellStatus::kCompleted, Verification::kVerified);
  const Record wrong = row("2", CellStatus::kWrong, Verification::kWrong);
  EXPECT_EQ(cell({timed, row("2", CellStatus::kCompleted, Verification::kVerified, 9)}), 1);
  EXPECT_EQ(cell({skipped, timed}), 1);
  EXPECT_EQ(cell({timed, row("2", CellStatus::kSkipped, Verification::kUnverified)}), 0);
  EXPECT_EQ(cell({timed, row("2", CellStatus::kCompleted, Verification::kVerified, 9, {Flag::kPartial})}), 0);
  EXPECT_EQ(cell({timed, wrong}), 1);
  EXPECT_EQ(cell({wrong, verified}), 1) << "corrected";
  EXPECT_EQ(cell({timed, wrong, verified}), 0) << "corrected: the time holds again";
  EXPECT_EQ(cell({wrong, row("3", CellStatus::kCompleted, Verification::kUnverified)}), 0) << "nobody looked";
}

// `suite --aggregate-results` writes a file of its own run, whose rows are of others; so are those of one CSV.
TEST(CellOfSeries, AnImportedRowReplacesNoOwnOne) {
  std::vector<Record> rows(3);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].timestamp = "2026-03-0" + std::to_string(i + 1);
    rows[i].status = CellStatus::kCompleted;
    rows[i].latency_p50_ms = 1;
    if (i > 0) rows[i].flags.add(Flag::kImported);
  }
  const auto chosen = [&](std::vector<const Record*> pointers) { return &cell_of_series(pointers) - rows.data(); };
  EXPECT_EQ(chosen({&rows[0], &rows[1], &rows[2]}), 0);
  EXPECT_EQ(chosen({&rows[1], &rows[2]}), 2);
  rows[2].verification = Verification::kVerified;
  rows[0].status = CellStatus::kWrong;
  EXPECT_EQ(chosen({&rows[0], &rows[1], &rows[2]}), 0) << "a verdict of a file does not correct an own one";
  rows[0].status = CellStatus::kSkipped;
  EXPECT_EQ(chosen({&rows[0], &rows[1], &rows[2]}), 2);
}

TEST_F(ExchangeFiles, RowsOfRunsAndMachinesThatTheirFileDoesNotDescribeKeepThem) {
  Json rows = Json::array();
  for (const char* name : {"1", "2"}) {
    Record row;
    row.run_id = row.attempt_id = std::string("run-") + name;
    row.hardware_id = row.host = std::string("machine-") + name;
    row.model = "bert";
    row.hardware = "cpu";
    row.engine = "null";
    row.tool_version = "0.1.0";
    row.status = CellStatus::kCompleted;
    row.latency_p50_ms = 2;
    row.timestamp = std::string("2026-03-0") + name + "T10:00:00.000000Z";
    rows.push_back(to_json(row));
  }
  const std::vector<fs::path> files{write("all.json", json_text(Json{{"schema_version", "1.0"},
                                                                     {"run",
                                                                      {{"run_id", "collected"},
                                                                       {"started", "2026-03-09T10:00:00.000000Z"},
                                                                       {"host", "machine-9"},
                                                                       {"hardware_id", "machine-9"}}},
                                                                     {"results", rows}}))};
  const auto data = dataset_of(files);
  ASSERT_TRUE(data) << to_string(data.error());
  ASSERT_EQ(data->history.size(), 2U);
  for (const HistoryPoint& point : data->history) {
    const RunFacts& run = data->runs.at(point.run);
    EXPECT_EQ(run.run_id.substr(4), data->series.at(point.series) == data->cells.at(0).series_key ? "2" : "1");
    EXPECT_EQ(run.started, "2026-03-0" + run.run_id.substr(4) + "T10:00:00.000000Z");
    EXPECT_EQ(run.machine, "machine-" + run.run_id.substr(4));
    EXPECT_EQ(run.cells, 1);
  }
  EXPECT_THAT(data->runs, testing::SizeIs(2)) << "nothing is of the run that collected them";
  EXPECT_EQ(data->runs[0].run_id, "run-2") << "newest first";
  EXPECT_THAT(data->machines, testing::SizeIs(2));
}

TEST_F(ExchangeFiles, WhatCannotBeReadIsNamed) {
  EXPECT_THAT(error_of("a.json", "{\"a\": 1}"),
              HasSubstr("has none of the formats that can be read: assay, csv, guide"));
  EXPECT_THAT(error_of("b.json", "{\"a\": "), HasSubstr("b.json"));
  EXPECT_THAT(error_of("c.txt", "hello"), HasSubstr("neither JSON nor a CSV"));
  EXPECT_THAT(error_of("d.json", "{\"schema_version\": \"2.0\", \"results\": []}"), HasSubstr("schema version '2.0'"));
  EXPECT_THAT(error_of("e.json", "{\"benchmarks\": {\"embedding\": {\"bert\": 3}}}"),
              HasSubstr("benchmarks.embedding.bert is not an object"));
  EXPECT_THAT(error_of("f.json", R"({"benchmarks": {"e": {"b": {"cpu": {"status": "odd"}}}}})"), HasSubstr("'odd'"));
  EXPECT_THAT(error_of("g.csv", "latency_p50_ms,batch_size\n1.0\n"), HasSubstr("line 2 has 1 values"));
  EXPECT_THAT(error_of("h.csv", "latency_p50_ms,batch_size\nfast,1\n"), HasSubstr("line 2: 'fast' is not a number"));
  EXPECT_THAT(error_of("i.csv", "latency_p50_ms,batch_size\n\"1,1\n"), HasSubstr("a quote is not closed"));
  EXPECT_THAT(error_of("j.json", R"({"context": {}, "benchmarks": [{"name": "x", "real_time": 1, "time_unit": "d"}]})"),
              HasSubstr("time unit \"d\""));
  EXPECT_THAT(error_of("k.json", R"({"execution_results": {}})"), HasSubstr("neither an average latency"));
  EXPECT_THAT(error_of("l.json", R"({"forward": {"latency": {}}})"),
              HasSubstr("no target of \"report\" has latencies"));
}

TEST_F(ExchangeFiles, ANumberThatItsColumnCannotHaveIsRefusedWithItsPlace) {
  const auto csv = [&](const std::string& column, const std::string& value) {
    return error_of("bad.csv", "model,framework,device_type,batch_size,latency_p50_ms," + column +
                                   "\nbert,pytorch,cpu,1,2.5,1\nbert,pytorch,cpu,4,2.5," + value + "\n");
  };
  for (const char* value : {"-3", "0", "nan", "inf", "-inf"})
    EXPECT_THAT(csv("latency_mean_ms", value), HasSubstr(std::string("bad.csv': line 3 ('bert'): latency_mean_ms is ") +
                                                         value + "; valid is a finite number above 0"));
  EXPECT_THAT(csv("memory_mb", "-1"), HasSubstr("memory_mb is -1; valid is a finite number from 0"));
  EXPECT_THAT(csv("throughput_ips", "-0.5"), HasSubstr("throughput_ips is -0.5"));
  EXPECT_THAT(csv("iterations", "-50"), HasSubstr("iterations is -50"));
  EXPECT_THAT(
      error_of("bad.json", R"({"schema_version": "1.0", "results": [{"model": "m", "launch_p50_ms": "1:-2"}]})"),
      HasSubstr("results[0] ('m'): launch_p50_ms is -2"));
  EXPECT_EQ(csv("memory_mb", "0"), "no error");
  EXPECT_EQ(csv("latency_std_ms", "0"), "no error");
  EXPECT_THAT(
      error_of("bad.json", R"({"schema_version": "1.0", "results": [{"model": "m", "status": "completed"},
                {"model": "m", "latency_p50_ms": -1}, {"model": "m", "latency_p50_ms": 0}]})"),
      HasSubstr("results[1] ('m'): latency_p50_ms is -1; valid is a finite number above 0 (and 1 more row like"));
  EXPECT_THAT(error_of("bad.json", R"({"benchmarks": {"text": {"bert": {"cpu": {"benchmark_results":
                {"batch_1": {"avg_latency": "NaN"}}}}}}})"),
              HasSubstr("benchmarks.text.bert.cpu.benchmark_results.batch_1 ('bert'): latency_mean_ms is nan"));
  EXPECT_THAT(error_of("bad.json", R"([{"build_commit": "a", "model_filename": "m", "n_prompt": 8, "n_gen": 0,
                "n_batch": 1, "avg_ns": 5, "samples_ns": [5, -7]}])"),
              HasSubstr("valid is a"));
}

TEST_F(ExchangeFiles, ATimeThatCannotBeTrueIsNotedAndDrawnAtTheTimeOfReading) {
  const fs::path path = write("future.csv",
                              "model,framework,device_type,batch_size,latency_p50_ms,timestamp\n"
                              "bert,pytorch,cpu,1,2.5,9999-12-31T00:00:00\nbert,pytorch,cpu,4,2.5,0001-01-01T00:00:00\n"
                              "bert,pytorch,cpu,8,2.5,2026-03-02T00:00:00\n");
  const auto file = read_results(path);
  ASSERT_TRUE(file) << to_string(file.error());
  EXPECT_THAT(file->notes, ElementsAre(HasSubstr("2 results are at a time that cannot be true, such as '9999-12-31")));
  EXPECT_EQ(file->rows[0].record.timestamp, "9999-12-31T00:00:00.000000Z") << "the bundle keeps what the file says";
  const auto data = dataset_of(std::vector<fs::path>{path});
  ASSERT_TRUE(data);
  for (const HistoryPoint& point : data->history) {
    EXPECT_LT(point.time_s, 4e9);
    EXPECT_GT(point.time_s, 1e9);
  }
}

TEST_F(ExchangeFiles, AFolderWithoutResultsNamesThoseInside) {
  write("20260302_123456/benchmark_results.json", "{}");
  const std::vector<fs::path> folders{folder_->path()};
  const auto data = dataset_of(folders);
  ASSERT_FALSE(data);
  EXPECT_EQ(data.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(data.error().hint, HasSubstr("20260302_123456"));
  EXPECT_FALSE(dataset_of(std::vector<fs::path>{}));
  EXPECT_EQ(dataset_of(std::vector<fs::path>{folder_->path() / "none.json"}).error().code, ErrorCode::kNotFound);
}

TEST(Exchange, FormatsHaveNames) {
  for (const Format format : all_formats()) EXPECT_EQ(find_format(name_of(format)), format);
  EXPECT_EQ(find_format("csvx"), std::nullopt);
}

TEST(Exchange, ReadingTwiceGivesTheSameIds) {
  const ResultsFile a = read_example("llama_bench.json"), b = read_example("llama_bench.json");
  EXPECT_EQ(a.run.run_id, b.run.run_id);
  EXPECT_EQ(a.rows[1].record.attempt_id, b.rows[1].record.attempt_id);
  EXPECT_NE(a.rows[0].record.attempt_id, a.rows[1].record.attempt_id);
  EXPECT_EQ(a.rows[0].record.attempt_id.size(), 36U);
}

}  // namespace
}  // namespace assay::exchange
