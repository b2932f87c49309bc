// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/json.hpp"
#include "core/result/launch_medians.hpp"
#include "core/traits/cell.hpp"
#include "history/analyse/analysis.hpp"
#include "history/store/dataset.hpp"
#include "show/dashboard/pack.hpp"

/// What the document says of which rows are of one cell, of one model, and of one machine.
namespace assay::dashboard {
namespace {

using ::testing::ElementsAre;

Record measured_on(const std::string& model, const std::string& hardware, double p50_ms) {
  Record row;
  row.model = row.architecture = model;
  row.model_id = "hub/" + model;
  row.config_hash = "c-" + model;
  row.weights_hash = "w-" + model;
  row.category = "text_encoders";
  row.hardware = hardware;
  row.engine = hardware == "openvino" ? "openvino" : "onnxruntime";
  row.precision = row.effective_precision = "float32";
  row.contract = Contract::kHost;
  row.batch_size = 1;
  row.sequence_length = 128;
  row.run_id = "r";
  row.host = "localhost";
  row.hardware_id = "1a2b3c4d";
  row.status = CellStatus::kCompleted;
  row.verification = Verification::kVerified;
  row.latency_p50_ms = p50_ms;
  row.latency_p50_interval = IntervalScope::kLaunches;
  row.throughput_ips = 1000 / p50_ms;
  row.launches = 3;
  return row;
}

Record on_another_machine(Record row) {
  row.hardware_id = "9f8e7d6c";  // of the same host
  return row;
}

Dataset dataset(std::vector<Record> rows) {
  Dataset data;
  for (Record& row : rows) {
    row.series_key = std::to_string(data.cells.size());
    data.ids.push_back(static_cast<std::int64_t>(data.ids.size()) + 1);
    data.series.push_back(row.series_key);
    data.cells.push_back(std::move(row));
  }
  return data;
}

/// The document, and the columns of its cells, or of another table.
class Read {
 public:
  explicit Read(const Dataset& data, const Detail& detail = {}, std::string table = "cells")
      : bytes_(document(data, analyse(data), {}, detail)), table_(std::move(table)) {
    std::memcpy(&length_, bytes_.data() + 8, sizeof length_);
    header = Json::parse(bytes_.substr(12, length_));
  }
  [[nodiscard]] std::vector<int> numbers(const std::string& name) const {
    std::vector<int> values;
    for (const std::uint32_t value : cells(name)) values.push_back(static_cast<int>(value));
    return values;
  }
  [[nodiscard]] std::vector<std::string> texts(const std::string& name) const {
    std::vector<std::string> values;
    const Json column = named(name);
    if (column.contains("value")) return std::vector(n(), column["value"].get<std::string>());
    for (const std::uint32_t index : cells(name)) values.push_back(header["text"][index]);
    return values;
  }
  Json header;

 private:
  [[nodiscard]] std::size_t n() const { return header[table_]["n"].get<std::size_t>(); }
  [[nodiscard]] Json named(const std::string& name) const {
    for (const Json& column : header[table_]["columns"])
      if (column["name"] == name) return column;
    ADD_FAILURE() << "no column " << name;
    return {};
  }
  [[nodiscard]] std::vector<std::uint32_t> cells(const std::string& name) const {
    const Json column = named(name);
    if (column.contains("value")) return std::vector(n(), column["value"].get<std::uint32_t>());
    std::vector<std::uint32_t> values(n());
    const auto* bytes = bytes_.data() + 12 + length_ + column["at"].get<std::size_t>();
    for (std::size_t byte = 0; byte < 4; ++byte)
      for (std::size_t i = 0; i < n(); ++i)
        values[i] |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[byte * n() + i])) << (8 * byte);
    return values;
  }
  std::string bytes_, table_;
  std::uint32_t length_ = 0;
};

TEST(Identity, RowsAreComparableAsTheAnalysisComparesThem) {
  const std::vector<std::pair<std::string, std::function<void(Record&)>>> differences{
      {"another target", [](Record& row) { row.hardware = row.engine = "openvino"; }},
      {"another run and version", [](Record& row) { row.run_id = row.engine_version = "2"; }},
      {"batch", [](Record& row) { row.batch_size = 4; }},
      {"length", [](Record& row) { row.sequence_length = 32; }},
      {"output tokens", [](Record& row) { row.output_tokens = 128; }},
      {"streams", [](Record& row) { row.streams = 2; }},
      {"threads", [](Record& row) { row.threads = 2; }},
      {"spin", [](Record& row) { row.spin = Spin::kOn; }},
      {"cache", [](Record& row) { row.kv_cache = KvCache::kStatic; }},
      {"shapes", [](Record& row) { row.shapes = ShapesForm::kStatic; }},
      {"options", [](Record& row) { row.engine_options = "A=1"; }},
      {"precision", [](Record& row) { row.precision = "runtime"; }},
      {"precision as it was", [](Record& row) { row.effective_precision = "bfloat16"; }},
      {"contract", [](Record& row) { row.contract = Contract::kDeviceResident; }},
      {"weights", [](Record& row) { row.weights_hash = "others"; }},
      {"machine", [](Record& row) { row.hardware_id = "9f8e7d6c"; }}};
  std::vector<Record> rows{measured_on("bert", "cpu", 8)};
  for (const auto& [what, change] : differences) {
    rows.push_back(rows.front());
    change(rows.back());
  }
  const Dataset data = dataset(rows);
  const Read read(data);
  const std::vector<int> comparable = read.numbers("comparable"), alike = read.numbers("alike");
  ASSERT_EQ(comparable.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = 0; j < rows.size(); ++j)
      EXPECT_EQ(comparable[i] == comparable[j], assay::comparable(data.cells[i], data.cells[j])) << i << " and " << j;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const std::string& what = differences[i - 1].first;
    const bool by_choice = what == "batch" || what.starts_with("precision") || what == "machine" || i <= 2;
    EXPECT_EQ(alike[i] == alike[0], by_choice) << what;
  }
}

TEST(Identity, ATargetThatComputesWrongNumbersForAModelIsNotUsableForIt) {
  std::vector<Record> rows{measured_on("bert", "cpu", 8), measured_on("bert", "openvino", 4),
                           measured_on("bert", "openvino", 6), measured_on("t5", "openvino", 5),
                           on_another_machine(measured_on("bert", "openvino", 4))};
  rows[2].batch_size = 4;
  rows[2].status = CellStatus::kWrong;
  rows[2].verification = Verification::kWrong;
  const Read read(dataset(rows));
  EXPECT_THAT(read.numbers("ranked"), ElementsAre(1, 1, 0, 1, 1));
  EXPECT_THAT(read.numbers("usable"), ElementsAre(1, 0, 0, 1, 1));
  EXPECT_THAT(read.numbers("shown"), ElementsAre(1, 1, 0, 1, 1));
  Detail few;
  few.cells = 2;  // without the wrong one
  EXPECT_THAT(Read(dataset(rows), few).numbers("usable"), ElementsAre(1, 0));
}

TEST(Identity, TwoMachinesOfOneHostHaveTwoNames) {
  const Read read(dataset({measured_on("bert", "cpu", 8), on_another_machine(measured_on("bert", "cpu", 4))}));
  EXPECT_THAT(read.texts("machine"), ElementsAre("localhost 1a2b3c", "localhost 9f8e7d"));
  const Json& models = read.header["analysis"]["models"];
  ASSERT_EQ(models.size(), 2);
  EXPECT_EQ(models[0]["machine"], "localhost 1a2b3c");
  EXPECT_EQ(models[1]["hardware_id"], "9f8e7d6c");
  EXPECT_THAT(Read(dataset({measured_on("bert", "cpu", 8)})).texts("machine"), ElementsAre(""));
}

TEST(Identity, WhatAnotherProgramMeasuredHasNoCommand) {
  Dataset data = dataset({measured_on("bert", "cpu", 8), measured_on("BM_x", "cpu", 8), measured_on("t5", "cpu", 8)});
  data.cells[1].run_id = "google";
  data.cells[2].run_id = "collected";
  RunFacts run;
  run.run_id = "google";
  run.environment = {{"imported_from", {{"file", "micro.json"}, {"format", "google-benchmark"}}}};
  data.runs.push_back(run);
  run.run_id = "collected";
  run.environment = {{"imported_from", {{"file", "results.json"}, {"format", "assay"}}}};
  data.runs.push_back(run);
  const Read read(data);
  EXPECT_THAT(
      read.texts("not_repeatable"),
      ElementsAre("", "It was imported from micro.json, a file of google-benchmark: assay cannot repeat it.", ""));
  EXPECT_EQ(read.texts("reproduce")[1], "");
  EXPECT_THAT(read.texts("reproduce")[2], ::testing::StartsWith("assay bench --model-id hub/t5 "));
}

TEST(Identity, AModelHasOneNameOnAllMachines) {
  Record other = on_another_machine(measured_on("bert", "cpu", 4));
  other.model_id = "someone/bert";
  other.config_hash = "another";
  const Read read(dataset({measured_on("bert", "cpu", 8), other}));
  EXPECT_THAT(read.texts("model"), ElementsAre("bert (hub/bert)", "bert (someone/bert)"));
  const Json& models = read.header["analysis"]["models"];
  ASSERT_EQ(models.size(), 2);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(models[i]["model"], read.texts("model")[i]);
}

// Results of a series over three runs, the last of which is the cell; each differs from it as `change` says.
void add_history(Dataset& data, std::uint32_t series, const std::function<void(HistoryPoint&, int run)>& change) {
  for (int run = 0; run < 3; ++run) {
    HistoryPoint point;
    point.series = series;
    point.result_id = run == 2 ? data.ids[series] : 0;
    point.run = point.version = static_cast<std::uint32_t>(run);
    point.status = CellStatus::kCompleted;
    point.verification = Verification::kVerified;
    point.ranked = true;
    point.p50_ms = data.cells[series].latency_p50_ms;
    point.effective_precision = data.cells[series].effective_precision;
    point.launch_p50_ms = *parse_launch_medians("1:4 2:4");
    change(point, run);
    data.history.push_back(std::move(point));
  }
}

TEST(Identity, AnEarlierResultIsComparableByItsArithmeticAndUsableByItsVersion) {
  Dataset data = dataset({measured("bert", "cpu", 4), measured("bert", "cpu", 5)});
  data.cells[1].batch_size = 4;
  data.versions = {"1.0", "1.1", "1.2"};
  data.runs.resize(3);
  add_history(data, 0, [](HistoryPoint& point, int run) {
    if (run == 1) point.effective_precision = "bfloat16";
  });
  // Another shape of the same target was wrong with version 1.0, so that no time of that version is compared.
  add_history(data, 1, [](HistoryPoint& point, int run) {
    if (run > 0) return;
    point.status = CellStatus::kWrong;
    point.verification = Verification::kWrong;
    point.ranked = false;
  });
  const Read history(data, {}, "history");
  const std::vector<int> cells = Read(data).numbers("comparable"), results = history.numbers("comparable");
  ASSERT_EQ(results.size(), 6U);
  EXPECT_EQ(results[0], cells[0]);
  EXPECT_NE(results[1], cells[0]) << "it was computed in bfloat16";
  EXPECT_NE(results[1], cells[1]);
  EXPECT_EQ(results[2], cells[0]);
  EXPECT_EQ(results[3], cells[1]);
  EXPECT_THAT(history.numbers("usable"), ElementsAre(0, 1, 1, 0, 1, 1));
  EXPECT_THAT(history.texts("launch_p50_ms"), ElementsAre("1:4 2:4", "1:4 2:4", "", "1:4 2:4", "1:4 2:4", ""))
      << "the cells have theirs";
}

}  // namespace
}  // namespace assay::dashboard
