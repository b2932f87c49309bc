// SPDX-License-Identifier: Apache-2.0
#include "bench/run/complete.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/plan/plan_testing.hpp"
#include "core/base/files.hpp"
#include "models/hub/hub.hpp"
#include "models/onnx/inspect.hpp"
#include "models/onnx/onnx_testing.hpp"

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
  TaskCompleter(model, {.cache = folder->path()}).complete(tasks.at(0));
  return tasks.at(0);
}

TEST(Complete, FixesTheOpenExtentsByTheirNames) {
  const Task task = completed(testing::text_model());
  EXPECT_THAT(task.load.shape_options, ElementsAre(Pair("extents", "batch=3;sequence=7")));
  EXPECT_EQ(task.row.shapes, ShapesForm::kStatic);
}

TEST(Complete, ExtentsWithoutANameStayOpenAndTheRowSaysSo) {
  PreparedModel model = testing::text_model();
  model.info->inputs[0].symbols = {"batch", ""};
  model.signatures.clear();
  model.signatures.emplace("", Signature{*model.info, true, std::nullopt});
  const Task task = completed(model);
  EXPECT_THAT(task.load.shape_options, ElementsAre(Pair("extents", "batch=3")));
  EXPECT_EQ(task.row.shapes, ShapesForm::kOpen);
}

TEST(Complete, ANameThatCannotBeWrittenStaysOpen) {
  PreparedModel model = testing::text_model();
  model.info->inputs[0].symbols = {"batch;size", "sequence"};
  model.signatures.clear();
  model.signatures.emplace("", Signature{*model.info, true, std::nullopt});
  const Task task = completed(model);
  EXPECT_EQ(task.row.message, "");
  EXPECT_THAT(task.load.shape_options, ElementsAre(Pair("extents", "sequence=7")));
  EXPECT_EQ(task.row.shapes, ShapesForm::kOpen);
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
  TaskCompleter(model, {.cache = folder.path()}).complete(tasks.at(0));
  EXPECT_EQ(tasks[0].row.status, CellStatus::kUnsupported);
  EXPECT_THAT(tasks[0].row.message, HasSubstr("com.example:Unheard (opset 1)"));
}

/// A small model of the zoo that generates, on an engine that gets lowered models.
Task generating(const std::string& known, const TemporaryDirectory& folder) {
  hub::Settings offline;
  offline.cache = folder.path() / "hub";
  offline.offline = true;
  hub::Hub hub(offline);
  const EngineRegistry registry{EngineRegistry::Places{}};
  std::string lowers;
  for (const EngineEntry& engine : registry.entries())
    if (engine.lowered_to == "stablehlo") lowers = engine.name;
  RunSettings settings;
  settings.size = "tiny";
  settings.batch_sizes = {2};
  settings.sequence_lengths = {5};
  settings.output_tokens = {4};
  ModelChoice choice;
  choice.name = choice.reference = known;
  Preparing with;
  with.cache = with.inputs = folder.path();
  with.hub = &hub;
  with.registry = &registry;
  with.engines = {lowers};
  Result<PreparedModel> model = prepare_model(choice, settings, with);
  EXPECT_TRUE(model) << to_string(model.error());
  model->signatures.emplace("", Signature{*model->info, true, std::nullopt});
  Target target = testing::target_on(lowers);
  target.found.entry = *registry.entry(lowers);
  std::vector<Task> tasks = plan_tasks(*model, {target}, settings, testing::run_info());
  TaskCompleter(*model, {.cache = folder.path()}).complete(tasks.at(0));
  return tasks.at(0);
}

TEST(Complete, ADecoderOnFixedShapesHasOneFileForThePromptAndOneForTheSteps) {
  const TemporaryDirectory folder = TemporaryDirectory::create().value();
  const Task task = generating("gpt2", folder);
  ASSERT_TRUE(task.runs()) << task.row.message;
  EXPECT_EQ(task.row.kv_cache, KvCache::kStatic) << "nothing was requested, and the engine runs no other";
  EXPECT_EQ(task.row.shapes, ShapesForm::kStatic);
  const std::int64_t cache = 5 + 4 - 1;
  EXPECT_EQ(task.variant->generation.cache_tokens, cache);
  EXPECT_EQ(task.artefact.shapes.at("input_ids"), (Shape{2, 5}));
  EXPECT_EQ(task.artefact.shapes.at("cache_position"), (Shape{5}));
  EXPECT_EQ(task.artefact.step_shapes.at("input_ids"), (Shape{2, 1}));
  EXPECT_EQ(task.artefact.step_shapes.at("cache_position"), (Shape{1}));
  for (const auto* shapes : {&task.artefact.shapes, &task.artefact.step_shapes}) {
    EXPECT_EQ(shapes->at("attention_mask"), (Shape{2, cache}));
    EXPECT_EQ(shapes->at("past_key_values.0.key")[2], cache);
  }
  const auto again = artefact_from_json(to_json(task.artefact)).value();
  EXPECT_EQ(again.step_shapes, task.artefact.step_shapes);
}

TEST(Complete, AnEncoderDecodersPromptHasNoCacheAndItsStepsOneOfFixedLength) {
  const TemporaryDirectory folder = TemporaryDirectory::create().value();
  const Task task = generating("t5", folder);
  ASSERT_TRUE(task.runs()) << task.row.message;
  EXPECT_FALSE(task.artefact.shapes.contains("cache_position"));
  EXPECT_EQ(task.artefact.shapes.at("input_ids"), (Shape{2, 5}));
  EXPECT_EQ(task.artefact.step_shapes.at("decoder_input_ids"), (Shape{2, 1}));
  EXPECT_EQ(task.artefact.step_shapes.at("past_key_values.0.decoder.key")[2], 4)
      << "one token of the prompt, and three";
  EXPECT_EQ(task.artefact.step_shapes.at("past_key_values.0.encoder.key")[2], 5);
}

TEST(Complete, RunsOfManyFlopsHaveTwoInputSets) {
  EXPECT_EQ(input_sets_of(4, 30e9), 4U);
  EXPECT_EQ(input_sets_of(4, 31e9), 2U);
  EXPECT_EQ(input_sets_of(1, 31e9), 1U);
  EXPECT_EQ(input_sets_of(4, std::nullopt), 4U);
}

}  // namespace
}  // namespace assay
