// SPDX-License-Identifier: Apache-2.0
#include "run/complete.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.hpp"
#include "onnx/inspect.hpp"
#include "onnx/onnx_testing.hpp"
#include "plan/plan_testing.hpp"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

/// The task of the model at batch 3 and 7 tokens, on an engine whose option "extents" fixes them.
Task completed(const PreparedModel& model) {
  const auto folder = TemporaryDirectory::create();
  EXPECT_TRUE(folder);
  Target target = testing::target_on("onnxruntime");
  target.found.entry.fixed_extents = "extents";
  RunSettings settings;
  settings.batch_sizes = {3};
  settings.sequence_lengths = {7};
  std::vector<Task> tasks = plan_tasks(model, {target}, settings, testing::run_info());
  EXPECT_EQ(tasks.size(), 1U);
  TaskCompleter(model, folder->path(), {}).complete(tasks.at(0));
  return tasks.at(0);
}

TEST(Complete, FixesTheOpenExtentsByTheirNames) {
  const Task task = completed(testing::text_model());
  EXPECT_THAT(task.load.shape_options, ElementsAre(Pair("extents", "batch=3;sequence=7")));
  EXPECT_EQ(task.row.shapes, "static");
}

TEST(Complete, ExtentsWithoutANameStayOpenAndTheRowSaysSo) {
  PreparedModel model = testing::text_model();
  model.info->inputs[0].symbols = {"batch", ""};
  model.signatures.clear();
  model.signatures.emplace("", Signature{*model.info, true, std::nullopt});
  const Task task = completed(model);
  EXPECT_THAT(task.load.shape_options, ElementsAre(Pair("extents", "batch=3")));
  EXPECT_EQ(task.row.shapes, "open");
}

TEST(Complete, ANameThatCannotBeWrittenStaysOpen) {
  PreparedModel model = testing::text_model();
  model.info->inputs[0].symbols = {"batch;size", "sequence"};
  model.signatures.clear();
  model.signatures.emplace("", Signature{*model.info, true, std::nullopt});
  const Task task = completed(model);
  EXPECT_EQ(task.row.message, "");
  EXPECT_THAT(task.load.shape_options, ElementsAre(Pair("extents", "sequence=7")));
  EXPECT_EQ(task.row.shapes, "open");
}

TEST(Complete, AnOperatorThatTheDialectLacksIsRefusedByNameBeforeAnythingRuns) {
  onnx::ModelProto file = testing::small_model();
  file.mutable_graph()->mutable_node(0)->set_op_type("Unheard");
  file.mutable_graph()->mutable_node(0)->set_domain("com.example");
  auto& domain = *file.add_opset_import();
  domain.set_domain("com.example");
  domain.set_version(1);
  const testing::ModelFolder folder;
  PreparedModel model = testing::image_model();
  model.graph = model.artefact.file = folder.write(file);
  model.info = inspect_model(model.graph).value();
  model.signatures.at("") = Signature{*model.info, false, std::nullopt};
  Target target = testing::target_on("lowers");
  target.found.entry.formats = {"toy"};
  target.found.entry.lowered_to = "torchscript";
  std::vector<Task> tasks = plan_tasks(model, {target}, RunSettings{}, testing::run_info());
  TaskCompleter(model, folder.path(), {}).complete(tasks.at(0));
  EXPECT_EQ(tasks[0].row.status, CellStatus::kUnsupported);
  EXPECT_THAT(tasks[0].row.message, HasSubstr("com.example:Unheard (opset 1)"));
}

TEST(Complete, RunsOfManyFlopsHaveTwoInputSets) {
  EXPECT_EQ(input_sets_of(4, 30e9), 4U);
  EXPECT_EQ(input_sets_of(4, 31e9), 2U);
  EXPECT_EQ(input_sets_of(1, 31e9), 1U);
  EXPECT_EQ(input_sets_of(4, std::nullopt), 4U);
}

}  // namespace
}  // namespace assay
