// SPDX-License-Identifier: Apache-2.0
#include "app/suite/matrix_file.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/files.hpp"
#include "core/base/json.hpp"
#include "show/report/report.hpp"

namespace assay::suite {
namespace {

namespace fs = std::filesystem;
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
  static RunInfo on(const std::string& host, const std::string& hardware_id = {}) {
    RunInfo run;
    run.host = host;
    run.hardware_fingerprint = hardware_id;
    return run;
  }
  // Each is made at another time.
  Result<std::string> write(const std::vector<Record>& rows, const RunInfo& run = on("here")) {
    return write_matrix_file(
        file_, compatibility_matrix(rows, run, fmt::format("2026-03-02T00:00:{:02}.000Z", made_++)), rows);
  }
  [[nodiscard]] Json matrix() const { return *read_json(file_); }
  [[nodiscard]] Json hardware() const { return matrix()["model_families"]["embedding"]["hardware_compatibility"]; }
  void put(const std::string& text) { ASSERT_TRUE(write_file_atomically(file_, text)); }

  const TemporaryDirectory work_ = *TemporaryDirectory::create();
  const fs::path file_ = work_.path() / kMatrixFile;
  int made_ = 0;
};

TEST_F(MatrixFileTest, TheMatrixOfAnotherProgramIsKeptAsItIs) {
  put(kOfTheGuide);
  for (int again = 0; again < 3; ++again) {
    const auto note = write({row("bert", "cpu")});
    ASSERT_TRUE(note) << to_string(note.error());
    EXPECT_THAT(*note, HasSubstr("keeps an earlier matrix of another program in its list \"earlier\""));
    EXPECT_EQ(matrix()["earlier"], Json::array({Json::parse(kOfTheGuide)}));
    EXPECT_EQ(matrix()["host"], "here");
    EXPECT_EQ(hardware()["cpu"]["benchmark_results"].size(), 1);
    EXPECT_FALSE(hardware().contains("abacus"));
  }
}

TEST_F(MatrixFileTest, AnEarlierMatrixIsReplacedOnceThisHistoryHasTriedAllThatItHas) {
  ASSERT_TRUE(write({row("bert", "cpu"), row("vit", "cpu"), row("bert", "qnn")}));
  Json first = matrix();
  EXPECT_THAT(*write({row("bert", "cpu")}), HasSubstr("an earlier matrix with results that this history lacks"));
  EXPECT_EQ(matrix()["earlier"], Json::array({first}));
  EXPECT_THAT(*write({row("vit", "cpu")}),
              HasSubstr("2 earlier matrices in its list \"earlier\": 2 with results that this history lacks"))
      << "bert on cpu is not in this history";
  EXPECT_EQ(matrix()["earlier"][0], first);
  EXPECT_THAT(*write({row("bert", "cpu"), row("vit", "cpu"), row("bert", "qnn")}), IsEmpty());
  EXPECT_FALSE(matrix().contains("earlier"));
}

TEST_F(MatrixFileTest, WhatWasNotTriedAndWhatOthersMeasuredReplacesNothing) {
  ASSERT_TRUE(write({row("bert", "cpu")}));
  Record skipped = row("bert", "cpu"), theirs = row("bert", "cpu");
  skipped.status = CellStatus::kSkipped;
  theirs.weights_hash = "named:bert";
  for (const Record& other : {skipped, theirs}) {
    const Json first = matrix();
    EXPECT_THAT(*write({other}), HasSubstr("an earlier matrix"));
    EXPECT_EQ(matrix()["earlier"][0], first);
    ASSERT_TRUE(write({row("bert", "cpu")}));
    EXPECT_FALSE(matrix().contains("earlier"));
  }
}

TEST_F(MatrixFileTest, AMatrixOfAnotherMachineIsKept) {
  ASSERT_TRUE(write({row("bert", "cpu")}, on("there")));
  for (int again = 0; again < 2; ++again) {
    EXPECT_THAT(*write({row("bert", "cpu")}), HasSubstr("an earlier matrix of another machine"));
    EXPECT_EQ(matrix()["earlier"].size(), 1);
    EXPECT_EQ(matrix()["earlier"][0]["host"], "there");
  }
}

// A container has a new host name each time, and is the same machine.
TEST_F(MatrixFileTest, AMatrixOfTheSameMachineUnderAnotherNameIsReplaced) {
  ASSERT_TRUE(write({row("bert", "cpu")}, on("a1", "machine-1")));
  for (const char* host : {"b2", "c3"}) {
    EXPECT_THAT(*write({row("bert", "cpu")}, on(host, "machine-1")), IsEmpty());
    EXPECT_FALSE(matrix().contains("earlier"));
    EXPECT_EQ(matrix()["host"], host);
  }
  EXPECT_THAT(*write({row("bert", "cpu")}, on("c3", "machine-2")), HasSubstr("of another machine"));
  EXPECT_EQ(matrix()["earlier"][0]["hardware_id"], "machine-1");
  // An earlier assay wrote no hardware_id.
  Json old = matrix();
  old.erase("earlier");
  old.erase("hardware_id");
  put(old.dump());
  EXPECT_THAT(*write({row("bert", "cpu")}, on("c3", "machine-2")), IsEmpty());
}

TEST_F(MatrixFileTest, WhatAnotherProgramMeasuredIsReplacedByTheSameAndByWhatAssayMeasures) {
  Record theirs = row("bert", "cpu");
  theirs.verification = Verification::kUnverified;
  theirs.weights_hash = "named:bert";
  for (int again = 0; again < 3; ++again) {
    EXPECT_THAT(*write({theirs}), IsEmpty());
    EXPECT_FALSE(matrix().contains("earlier"));
  }
  EXPECT_THAT(*write({row("bert", "cpu")}), IsEmpty());
  EXPECT_FALSE(matrix().contains("earlier"));
}

TEST_F(MatrixFileTest, EachShapeCounts) {
  Record batch_8 = row("bert", "cpu");
  batch_8.batch_size = 8;
  ASSERT_TRUE(write({row("bert", "cpu"), batch_8}));
  EXPECT_THAT(*write({row("bert", "cpu")}), HasSubstr("with results that this history lacks"));
  Record whole_model = row("bert", "cpu");
  whole_model.batch_size = std::nullopt;
  whole_model.status = CellStatus::kFailed;
  EXPECT_THAT(*write({whole_model}), HasSubstr("2 earlier matrices"));
  EXPECT_THAT(*write({row("bert", "cpu"), batch_8}), IsEmpty());
}

TEST_F(MatrixFileTest, EachReasonIsCounted) {
  put(kOfTheGuide);
  ASSERT_TRUE(write({row("bert", "cpu")}, on("there")));
  EXPECT_THAT(
      *write({row("bert", "cpu")}),
      HasSubstr("keeps 2 earlier matrices in its list \"earlier\": 1 of another machine, 1 of another program"));
}

// A row that was skipped, of a model that this history never tried: the matrix says nothing that could be lost.
TEST_F(MatrixFileTest, AMatrixOfSkippedCellsIsReplaced) {
  Record skipped = row("vit", "cpu");
  skipped.status = CellStatus::kSkipped;
  ASSERT_TRUE(write({skipped}));
  EXPECT_THAT(*write({row("bert", "cpu")}), IsEmpty());
}

// A model whose files changed: the new matrix leaves out what its old files did on another hardware.
TEST_F(MatrixFileTest, WhatTheRowsHaveAndTheMatrixLeavesOutIsNotKept) {
  const std::vector<Record> rows{row("bert", "cpu"), row("bert", "cuda")};
  ASSERT_TRUE(write(rows));
  const auto note = write_matrix_file(file_, compatibility_matrix({rows.data(), 1}, on("here"), ""), rows);
  ASSERT_TRUE(note);
  EXPECT_THAT(*note, IsEmpty());
}

TEST_F(MatrixFileTest, ADamagedFileIsAnErrorAndStaysAsItIs) {
  const std::vector<std::pair<std::string, std::string>> files{
      {"", "line 1, column 1"},
      {"{\"model_families\": {", "not valid JSON at line 1, column"},
      {"[]", ":1:1: the file must have one JSON object"},
      {"{}", ":1:1: not a compatibility matrix: \"model_families\" must be an object of families"},
      {"{\n \"model_families\": []}", ":2:20: not a compatibility matrix: \"model_families\" must be an object"}};
  for (const auto& [text, says] : files) {
    put(text);
    const auto written = write({row("bert", "cpu")});
    ASSERT_FALSE(written) << text;
    EXPECT_EQ(written.error().code, ErrorCode::kMismatch);
    EXPECT_THAT(written.error().message, HasSubstr(says));
    EXPECT_THAT(written.error().message, HasSubstr("stays as it is"));
    EXPECT_EQ(*read_file(file_), text);
  }
}

}  // namespace
}  // namespace assay::suite
