// SPDX-License-Identifier: Apache-2.0
#include "bench/run/local_executor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <ranges>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/run/local_task.hpp"
#include "bench/run/resumed.hpp"
#include "bench/run/run_testing.hpp"
#include "core/result/keys.hpp"

namespace assay {
namespace {
using ::testing::AllOf;
using testing::complete_tasks;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::quick_settings;
using testing::run_tasks;
using testing::services_in;
using testing::zoo_model;
namespace fs = std::filesystem;

class Local : public ::testing::Test {
 protected:
  [[nodiscard]] std::vector<Task> tasks_of(const std::string& name) {
    return complete_tasks(zoo_model(name, settings_, registry_, folder_.path()), settings_, registry_, folder_.path());
  }
  [[nodiscard]] std::vector<Record> run(std::vector<Task> tasks) const {
    return run_tasks(std::move(tasks), services_in(folder_.path(), registry_));
  }
  [[nodiscard]] std::size_t bundles() const {
    std::size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path() / "spool"))
      count += entry.path().filename() == "DONE" ? 1 : 0;
    return count;
  }

  TemporaryDirectory folder_ = TemporaryDirectory::create().value();
  EngineRegistry registry_{testing::build_places()};
  RunSettings settings_ = quick_settings();
};

TEST_F(Local, EachTaskHasARowAndABundle) {
  settings_.batch_sizes = {1, 2};
  settings_.sequence_lengths = {8, 16};
  const std::vector<Record> rows = run(tasks_of("prajjwal1/bert-tiny"));
  ASSERT_EQ(rows.size(), 4U);
  std::set<std::string> keys;
  for (const Record& row : rows) {
    EXPECT_EQ(row.status, CellStatus::kCompleted) << row.message;
    EXPECT_EQ(row.verification, Verification::kVerified);
    EXPECT_EQ(row.reference, "given");
    EXPECT_EQ(row.steady_from.value() + row.iterations.value(), 5);
    EXPECT_GT(row.model_size_mb.value(), 17);
    EXPECT_GT(row.flops.value(), 0);
    keys.insert(row.task_key);
  }
  EXPECT_EQ(keys.size(), 4U);
  EXPECT_EQ(bundles(), 4U);
  EXPECT_TRUE(fs::is_empty(folder_.path() / "cache/models")) << "files are for the time of the run";
}

TEST_F(Local, ARowSaysThatAnotherProcessMeasuredMeanwhileAndItsBundleWhich) {
  ExecutorServices services = services_in(folder_.path(), registry_);
  int looks = 0;  // before and after each launch: the other process begins during the first one
  services.others = [&] {
    return ++looks == 2 ? std::vector<MeasuringProcess>{{4711, "assay bench", "2026-03-02 12:34:56 UTC", ""}}
                        : std::vector<MeasuringProcess>();
  };
  settings_.batch_sizes = {1, 2};
  const std::vector<Record> rows = run_tasks(tasks_of("prajjwal1/bert-tiny"), std::move(services));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].message, "another measurement ran on this machine meanwhile");
  EXPECT_EQ(rows[1].message, "");
  std::vector<Json> named;
  for (const auto& entry : fs::recursive_directory_iterator(folder_.path() / "spool"))
    if (entry.path().filename() == "environment.json")
      if (const Json environment = read_json(entry.path()).value();
          json_text(environment).find("4711") != std::string::npos)
        named.push_back(environment);
  ASSERT_EQ(named.size(), 1U);
  EXPECT_THAT(json_text(named[0]), HasSubstr("process 4711 (assay bench, since 2026-03-02 12:34:56 UTC)"));
}

TEST_F(Local, ATaskReadBackInAnotherProcessGivesTheSameRow) {
  for (const char* name : {"prajjwal1/bert-tiny", "WinKawaks/vit-tiny-patch16-224"}) {
    const std::vector<Task> tasks = tasks_of(name);
    ASSERT_EQ(tasks.size(), 1U);
    const fs::path file = folder_.path() / "task.json", output = folder_.path() / "row.json";
    std::ofstream(file) << json_text(to_json(tasks[0])) << "\n";
    const std::string command = fmt::format("'{}' '{}' < '{}' > '{}'", ASSAY_BINARY_DIR "/bin/assay_run_task",
                                            (folder_.path() / "other").string(), file.string(), output.string());
    ASSERT_EQ(std::system(command.c_str()), 0);
    const Record there = record_from_json(read_json(output).value()).value();
    const Record here = run(tasks).at(0);
    EXPECT_EQ(here.status, CellStatus::kCompleted) << here.message;
    // All but what is measured, and the names of this execution.
    for (const Field& field : result_fields()) {
      const bool measured = field.unit == "ms" || field.unit == "s" || field.unit == "ns" || field.unit == "items/s" ||
                            field.unit == "MB" || field.unit == "tokens/s" || field.unit == "samples" ||
                            field.name.find("quality") != std::string_view::npos;
      const std::set<std::string_view> own{"attempt_id",          "timestamp",    "flags",
                                           "relative_half_width", "outliers",     "steady_from",
                                           "iterations",          "steady_class", "launch_p50_ms"};
      if (measured || own.contains(field.name)) continue;
      EXPECT_EQ(field_value(here, field), field_value(there, field)) << name << ": " << field.name;
    }
    EXPECT_EQ(here.model_size_mb, there.model_size_mb);
  }
}

// Recorded with the program as it was before tasks were values: histories and --resume depend on them. The graph is the
// zoo's own care (tests/graphs).
TEST_F(Local, WhatKeysHashIsWhatItWas) {
  const auto fields_of = [&](const std::string& name) {
    const Record row = run(tasks_of(name)).at(0);
    std::string text;
    for (const char* field : {"config_hash", "weights_hash", "seed_scheme", "kv_cache", "input_hash", "input_shape",
                              "batch_size", "sequence_length", "output_tokens", "streams", "threads", "precision",
                              "contract", "seed", "engine", "device", "hardware"})
      text += fmt::format("{}={}\n", field, json_text(field_value(row, *find_field(field))));
    return text;
  };
  EXPECT_EQ(fields_of("prajjwal1/bert-tiny"),
            R"x(config_hash="dc3558be4f5ca6b81047d5b98b8a6b5ec24fa01d27a629d09224af746f7c5def"
weights_hash="seeded:splitmix64-ih4-1:0"
seed_scheme="splitmix64-ih4-1"
kv_cache="growing"
input_hash="4ca8fcf452e50c47ff6eb6923f01b7fefe3246b76c870e6e40d95d674e77bf66"
input_shape="input_ids=(1, 16), token_type_ids=(1, 16), attention_mask=(1, 16)"
batch_size=1
sequence_length=16
output_tokens=null
streams=1
threads=null
precision="float32"
contract="e2e_host"
seed=0
engine="null"
device="cpu"
hardware="cpu"
)x");
  EXPECT_EQ(fields_of("google/t5-efficient-tiny"),
            R"x(config_hash="743ad31d1d80385d04fd533801d76e7f700c28a3d57ca519856b73f5535233c3"
weights_hash="seeded:splitmix64-ih4-1:0"
seed_scheme="splitmix64-ih4-1"
kv_cache="growing"
input_hash="851e45c5e16be48e62523a735a808328d8acb42e868b957e05c7a2edac21208c"
input_shape="input_ids=(1, 16), attention_mask=(1, 16), decoder_input_ids=(1, 1)"
batch_size=1
sequence_length=16
output_tokens=3
streams=1
threads=null
precision="float32"
contract="e2e_host"
seed=0
engine="null"
device="cpu"
hardware="cpu"
)x");
}

TEST_F(Local, AnEngineOfStaticShapesGetsTheGraphOfItsCell) {
  const std::vector<Task> tasks = complete_tasks(zoo_model("prajjwal1/bert-tiny", settings_, registry_, folder_.path()),
                                                 settings_, registry_, folder_.path(), /*static_shapes=*/true);
  EXPECT_EQ(tasks.at(0).artefact.shapes.at("input_ids"), (Shape{1, 16}));
  const Record row = run(tasks).at(0);
  EXPECT_EQ(row.status, CellStatus::kCompleted) << row.message;
  EXPECT_EQ(row.verification, Verification::kVerified) << "its reference is the model as it is";
}

TEST_F(Local, TheFilesOfAShapeAreRemovedAfterItsCell) {
  settings_.batch_sizes = {1, 2, 4};
  // The prepared model, which has files too, ends here.
  std::vector<Task> tasks =
      testing::complete_tasks(zoo_model("prajjwal1/bert-tiny", settings_, registry_, folder_.path()), settings_,
                              registry_, folder_.path(), /*static_shapes=*/true);
  std::vector<std::string> built;
  std::vector<std::ptrdiff_t> folders;
  ExecutorServices services = services_in(folder_.path(), registry_);
  services.making = [&](const std::string& what) { built.push_back(what); };
  services.doing = [&](const std::string& what) {
    if (!what.ends_with(": measuring")) return;
    const fs::directory_iterator models(folder_.path() / "cache/models");
    folders.push_back(std::ranges::distance(models));
  };
  for (const Record& row : run_tasks(tasks, services)) EXPECT_EQ(row.status, CellStatus::kCompleted) << row.message;
  EXPECT_THAT(folders, ElementsAre(2, 2, 2)) << "the model and its copy for this shape";
  EXPECT_THAT(built, ElementsAre("building prajjwal1/bert-tiny")) << "the model is built once";
  EXPECT_TRUE(fs::is_empty(folder_.path() / "cache/models"));
}

TEST_F(Local, ATaskOfAnotherMachineGetsTheFactsOfThisOne) {
  const std::vector<Task> tasks = tasks_of("prajjwal1/bert-tiny");
  RunInfo here = testing::test_run();
  here.host = "here";
  here.tool_version = "9.9";
  here.hardware_fingerprint = "this machine";
  const ExecutorServices services = services_in(folder_.path(), registry_);
  const Record row = run_tasks(tasks, services, here).at(0);
  EXPECT_EQ(row.status, CellStatus::kCompleted) << row.message;
  EXPECT_EQ(row.host, "here");
  EXPECT_EQ(row.tool_version, "9.9");
  EXPECT_EQ(row.hardware_id, "this machine");
  EXPECT_NE(row.device_name, tasks[0].row.device_name) << "as the runtime names it here";
  EXPECT_EQ(row.task_key, task_key(row));
  EXPECT_NE(row.task_key, run_tasks(tasks, services).at(0).task_key);

  std::vector<Task> elsewhere = tasks;
  elsewhere[0].load.device_id = "gpu7";
  const Record without_device = run_tasks(elsewhere, services, here).at(0);
  EXPECT_EQ(without_device.status, CellStatus::kUnavailable);
  EXPECT_EQ(without_device.reason_code, Reason::kNoHardware);
  EXPECT_THAT(without_device.message, HasSubstr("gpu7"));
}

TEST_F(Local, ATaskThatWasPlannedForAnotherVersionOfTheRuntimeDoesNotRun) {
  std::vector<Task> tasks = tasks_of("prajjwal1/bert-tiny");
  tasks[0].row.engine_version = "0.9";
  const Record row = run(tasks).at(0);
  EXPECT_EQ(row.status, CellStatus::kFailed);
  EXPECT_EQ(row.reason_code, Reason::kNotFound);
  EXPECT_THAT(row.message, AllOf(HasSubstr("null 0.9"), HasSubstr("this machine has 1.0")));
  EXPECT_FALSE(row.latency_mean_ms);
}

TEST_F(Local, AnExceptionWhileFilesAreMadeIsARow) {
  settings_.batch_sizes = {1, 2};
  ExecutorServices services = services_in(folder_.path(), registry_);
  int calls = 0;
  services.making = [&](const std::string&) {
    if (++calls <= 2) throw std::runtime_error("broken");  // for each of the two references
  };
  const std::vector<Record> rows = run_tasks(tasks_of("prajjwal1/bert-tiny"), services);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].reason_code, Reason::kInternal);
  EXPECT_THAT(rows[0].message, HasSubstr("broken"));
  EXPECT_EQ(bundles(), 2U);
}

TEST_F(Local, TheOtherTasksGoOnAfterACrash) {
  settings_.batch_sizes = {1, 2, 4};
  settings_.engine_options = {{"crash_at_run", "4"}, {"only_batch", "2"}};
  ExecutorServices services = services_in(folder_.path(), registry_);
  services.keep_workers = false;
  const std::vector<Record> rows = run_tasks(tasks_of("prajjwal1/bert-tiny"), services);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].status, CellStatus::kCompleted) << rows[0].message;
  EXPECT_EQ(rows[1].reason_code, Reason::kWorkerDied);
  EXPECT_EQ(rows[2].status, CellStatus::kCompleted) << rows[2].message;
}

TEST_F(Local, NothingIsMadeForTasksThatDoNotRun) {
  std::vector<Task> tasks = tasks_of("prajjwal1/bert-tiny");
  tasks[0].row.reason_code = Reason::kNoHardware;
  tasks[0].row.status = CellStatus::kUnavailable;
  std::vector<std::string> made;
  ExecutorServices services = services_in(folder_.path(), registry_);
  services.making = [&](const std::string& what) { made.push_back(what); };
  const std::vector<Record> rows = run_tasks(tasks, services);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].status, CellStatus::kUnavailable);
  EXPECT_TRUE(made.empty());
  EXPECT_EQ(bundles(), 1U) << "its row is kept, too";
}

TEST_F(Local, WhatIsResumedIsNotRunAgainAndNothingIsMadeForIt) {
  const std::vector<Record> first = run(tasks_of("prajjwal1/bert-tiny"));
  ExecutorServices services = services_in(folder_.path(), registry_);
  services.resumed[resume_key(first[0])] = {{.row = first[0], .resumed = true}};
  services.making = [](const std::string& what) { ADD_FAILURE() << what; };
  EXPECT_EQ(run_tasks(tasks_of("prajjwal1/bert-tiny"), services).at(0).attempt_id, first[0].attempt_id);
  services.resumed[resume_key(first[0])].front().row.status = CellStatus::kFailed;
  services.making = [](const std::string&) {};
  EXPECT_EQ(run_tasks(tasks_of("prajjwal1/bert-tiny"), services).at(0).attempt_number, 2);
}

TEST_F(Local, NothingIsConvertedForATaskThatIsResumed) {
  std::vector<Task> tasks = tasks_of("prajjwal1/bert-tiny");
  Record before = run(tasks).at(0);
  before.graph_hash = "of the converted file";
  before.task_key = task_key(before);
  tasks[0].artefact.converter = "openvino";
  ExecutorServices services = services_in(folder_.path(), registry_);
  services.resumed[resume_key(before)] = {{.row = before, .resumed = true}};
  services.making = [](const std::string& what) { ADD_FAILURE() << what; };
  EXPECT_EQ(run_tasks(tasks, services).at(0).attempt_id, before.attempt_id);
}

TEST_F(Local, AnArtefactThatCannotBeMadeIsARow) {
  std::vector<Task> tasks = tasks_of("prajjwal1/bert-tiny");
  tasks[0].artefact.zoo->weights = folder_.path() / "gone";
  const std::vector<Record> rows = run(tasks);
  EXPECT_EQ(rows.at(0).status, CellStatus::kFailed);
  EXPECT_EQ(rows.at(0).reason_code, Reason::kNotFound);
  EXPECT_THAT(rows.at(0).message, HasSubstr("gone"));
}

TEST_F(Local, TasksOfTwoModelsInOneCallHaveEachTheirOwnReference) {
  std::vector<Task> tasks = tasks_of("prajjwal1/bert-tiny");
  const Record alone = run(tasks_of("google-bert/bert-base-uncased")).at(0);
  for (Task& task : tasks_of("google-bert/bert-base-uncased")) tasks.push_back(std::move(task));
  ASSERT_EQ(tasks.size(), 2U);
  ASSERT_EQ(tasks[0].row.input_hash, tasks[1].row.input_hash);
  const std::vector<Record> rows = run(tasks);
  for (const Record& row : rows)
    EXPECT_EQ(row.verification, Verification::kVerified) << row.model << ": " << row.message;
  EXPECT_EQ(rows.at(1).worst_output, alone.worst_output);

  LocalTask first{tasks[0]}, second{tasks[0]};
  EXPECT_EQ(first.reference_key(registry_), second.reference_key(registry_));
  second.task.reference.weights_hash = "other";
  EXPECT_NE(first.reference_key(registry_), second.reference_key(registry_));
  second.task = first.task;
  second.task.reference.graph_hash = "other";
  EXPECT_NE(first.reference_key(registry_), second.reference_key(registry_));
}

TEST_F(Local, AnInterruptionLeavesTheRowsBefore) {
  settings_.batch_sizes = {1, 2, 4};
  std::vector<Record> rows;
  ExecutorServices services = services_in(folder_.path(), registry_);
  services.cancelled = [&] { return !rows.empty(); };
  const auto executor = LocalExecutor::create(testing::test_run(), std::move(services)).value();
  ASSERT_TRUE(executor->run(tasks_of("prajjwal1/bert-tiny"),
                            {.finished = [&](std::size_t, const Record& row) { rows.push_back(row); }}));
  EXPECT_EQ(rows.size(), 1U);
}

}  // namespace
}  // namespace assay
