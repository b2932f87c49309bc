// SPDX-License-Identifier: Apache-2.0
#include "suite/matrix_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/files.hpp"
#include "base/json.hpp"
#include "report/report.hpp"

namespace assay::suite {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// As the guide's scripts write it, with a model, a hardware and keys that assay does not know.
constexpr const char* kOfTheGuide = R"({
  "timestamp": "2025-03-02T12:34:56.789Z",
  "hardware_types": ["cpu", "cuda", "abacus"],
  "made_by": "somebody",
  "model_families": {
    "embedding": {"hardware_compatibility": {
      "cpu": {"compatible": true, "performance_rating": "medium", "benchmark_results": [
        {"timestamp": "2025-03-02T12:34:56.789Z", "model_name": "bert", "mean_latency": 0.01245, "mean_throughput": 80.32},
        {"timestamp": "2025-03-02T12:34:56.789Z", "model_name": "their-own", "mean_latency": 0.5, "mean_throughput": 2}]},
      "abacus": {"compatible": false}}},
    "poetry": {"hardware_compatibility": {"cpu": {"compatible": null, "benchmark_results": []}}, "remark": "new"}
  }
})";

class MatrixFileTest : public ::testing::Test {
 protected:
  static Record row(const std::string& model, const std::string& hardware) {
    Record record;
    record.model = model;
    record.family = "embedding";
    record.hardware = hardware;
    record.batch_size = 1;
    record.status = CellStatus::kCompleted;
    record.verification = Verification::kVerified;
    record.timestamp = "2026-03-01T00:00:00.000000Z";
    return record;
  }
  Result<std::string> write(const std::vector<Record>& rows, const std::string& host = "here") {
    return write_matrix_file(file_, compatibility_matrix(rows, host, "2026-03-02T00:00:00.000000Z"), rows);
  }
  [[nodiscard]] Json matrix() const { return *read_json(file_); }
  [[nodiscard]] Json hardware() const { return matrix()["model_families"]["embedding"]["hardware_compatibility"]; }
  void put(const std::string& text) { ASSERT_TRUE(write_file_atomically(file_, text)); }

  const TemporaryDirectory work_ = *TemporaryDirectory::create();
  const fs::path file_ = work_.path() / kMatrixFile;
};

std::vector<std::string> sources_of(const Json& entry) {
  std::vector<std::string> list;
  for (const Json& each : entry["benchmark_results"])
    list.push_back(each["model_name"].get<std::string>() + " " + each["source"].get<std::string>());
  return list;
}

TEST_F(MatrixFileTest, WhatOtherProgramsMeasuredIsKeptAndSaysSo) {
  put(kOfTheGuide);
  for (int again = 0; again < 3; ++again) {
    const auto note = write({row("bert", "cpu")});
    ASSERT_TRUE(note) << to_string(note.error());
    EXPECT_THAT(*note, HasSubstr("2 of other programs, which assay did not measure"));
    const Json merged = matrix();
    const Json cpu = hardware()["cpu"];
    EXPECT_THAT(sources_of(cpu), ElementsAre("bert history", "bert other_program", "their-own other_program"));
    EXPECT_EQ(cpu["source"], "history");
    EXPECT_EQ(cpu["other_program"], (Json{{"compatible", true}, {"performance_rating", "medium"}}));
    EXPECT_EQ(hardware()["abacus"], (Json{{"compatible", false}, {"source", "other_program"}}));
    EXPECT_EQ(merged["model_families"]["poetry"]["remark"], "new");
    EXPECT_EQ(merged["model_families"]["poetry"]["hardware_compatibility"]["cpu"]["source"], "other_program");
    EXPECT_EQ(merged["made_by"], "somebody");
    EXPECT_EQ(merged["host"], "here");
    EXPECT_THAT(merged["hardware_types"], ::testing::Contains(Json("abacus")));
  }
}

TEST_F(MatrixFileTest, WhatAssayMeasuredElsewhereIsKeptUntilItIsInThisHistory) {
  ASSERT_TRUE(write({row("bert", "cpu"), row("vit", "cpu"), row("bert", "qnn")}, "there"));
  const auto note = write({row("bert", "cpu")});
  ASSERT_TRUE(note);
  EXPECT_THAT(*note, HasSubstr("2 of other histories of assay"));
  EXPECT_THAT(sources_of(hardware()["cpu"]), ElementsAre("bert history", "vit other_history"));
  EXPECT_EQ(hardware()["cpu"]["benchmark_results"][1]["host"], "there");
  EXPECT_EQ(hardware()["qualcomm"]["source"], "other_history");
  const auto none = write({row("bert", "cpu"), row("vit", "cpu"), row("bert", "qnn")});
  ASSERT_TRUE(none);
  EXPECT_THAT(*none, IsEmpty());
  EXPECT_THAT(sources_of(hardware()["cpu"]), ElementsAre("bert history", "vit history"));
  EXPECT_THAT(sources_of(hardware()["qualcomm"]), ElementsAre("bert history"));
}

// A model whose files changed: the new matrix leaves out what its old files did on another hardware.
TEST_F(MatrixFileTest, WhatTheRowsHaveAndTheMatrixLeavesOutIsNotKept) {
  const std::vector<Record> rows{row("bert", "cpu"), row("bert", "cuda")};
  ASSERT_TRUE(write(rows));
  const auto note = write_matrix_file(file_, compatibility_matrix({rows.data(), 1}, "here", ""), rows);
  ASSERT_TRUE(note);
  EXPECT_FALSE(hardware().contains("cuda"));
}

// Results of another program in the folder itself, such as those of the guide's own example.
TEST_F(MatrixFileTest, RowsOfOtherProgramsAreNotCalledOurs) {
  Record theirs = row("bert", "cpu");
  theirs.weights_hash = "named:bert";
  for (int again = 0; again < 2; ++again) {
    ASSERT_TRUE(write({theirs}));
    EXPECT_THAT(sources_of(hardware()["cpu"]), ElementsAre("bert other_program"));
    EXPECT_EQ(hardware()["cpu"]["source"], "other_program");
  }
}

TEST_F(MatrixFileTest, ADamagedFileIsAnErrorAndStaysAsItIs) {
  const std::vector<std::pair<std::string, std::string>> files{
      {"", "line 1, column 1"},
      {"{\"model_families\": {", "not valid JSON at line 1, column"},
      {"[]", ":1:1: the file must have one JSON object"},
      {"{}", "not a compatibility matrix: the key \"model_families\" is missing"},
      {"{\n \"model_families\": []}",
       ":2:20: the compatibility matrix is damaged: \"model_families\" is not an object"},
      {"{\"model_families\": {\"vision\": {\"hardware_compatibility\": {\"cpu\":\n true}}}}", ":2:2: "},
      {"{\"model_families\": {\"vision\": {\"hardware_compatibility\": {\"cpu\": {\"benchmark_results\":\n [1]}}}}}",
       ":2:2: the compatibility matrix is damaged: \"benchmark_results\" is not a list of objects"}};
  for (const auto& [text, says] : files) {
    put(text);
    const auto written = write({row("bert", "cpu")});
    ASSERT_FALSE(written) << text;
    EXPECT_EQ(written.error().code, ErrorCode::kInternal);
    EXPECT_THAT(written.error().message, HasSubstr(says));
    EXPECT_THAT(written.error().message, HasSubstr("stays as it is"));
    EXPECT_EQ(*read_file(file_), text);
  }
}

}  // namespace
}  // namespace assay::suite
