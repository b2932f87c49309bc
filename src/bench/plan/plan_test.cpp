// SPDX-License-Identifier: Apache-2.0
#include "bench/plan/plan.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bench/plan/choices.hpp"
#include "bench/plan/plan_testing.hpp"
#include "bench/plan/row.hpp"

namespace assay {
namespace {
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::image_model;
using ::testing::IsEmpty;
using testing::missing_target;
using testing::model_value;
using ::testing::Pair;
using testing::run_info;
using testing::target_on;
using testing::text_model;

std::vector<Task> plan(const PreparedModel& model, const std::vector<Target>& targets, const RunSettings& settings) {
  return plan_tasks(model, targets, settings, run_info());
}

std::vector<std::string> shapes_of(const std::vector<Task>& tasks) {
  std::vector<std::string> shapes;
  for (const Task& task : tasks) shapes.push_back(fmt::format("{}x{}", task.shape.batch, task.shape.sequence));
  return shapes;
}

/// A decoder with one state.
PreparedModel decoder_model() {
  PreparedModel model = text_model();
  model.generation.emplace();
  model.generation->generation.states = {{"present", "past", "present"}};
  model.max_sequence = 64;
  return model;
}

TEST(Plan, LengthsMultiplyOnlyTheCellsOfModelsThatHaveThem) {
  RunSettings settings;
  settings.batch_sizes = {1, 4};
  settings.sequence_lengths = {32, 64, 128};
  settings.default_lengths = false;
  EXPECT_THAT(shapes_of(plan(text_model(), {target_on("onnxruntime")}, settings)),
              ElementsAre("1x32", "1x64", "1x128", "4x32", "4x64", "4x128"));
  EXPECT_EQ(plan(image_model(), {target_on("onnxruntime")}, settings).size(), 2U);
  settings.output_tokens = {8, 16};
  EXPECT_EQ(plan(text_model(), {target_on("onnxruntime")}, settings).size(), 6U) << "it does not generate";
  EXPECT_EQ(plan(decoder_model(), {target_on("onnxruntime")}, settings).size(), 12U);
  settings.streams = {1, 2};
  settings.threads = {1, 2};
  EXPECT_EQ(plan(image_model(), {target_on("onnxruntime"), target_on("openvino", "openvino")}, settings).size(), 16U);
}

TEST(Plan, WhatCannotRunIsOneTaskWithItsReason) {
  const std::vector<Task> tasks = plan(text_model(), {missing_target("qnn"), target_on("onnxruntime")}, {});
  ASSERT_EQ(tasks.size(), 1U + RunSettings().batch_sizes.size());
  EXPECT_FALSE(tasks[0].runs());
  EXPECT_EQ(tasks[0].row.status, CellStatus::kUnavailable);
  EXPECT_EQ(tasks[0].row.reason_code, Reason::kNoHardware);
  EXPECT_EQ(tasks[0].row.hardware, "qnn");
  EXPECT_EQ(tasks[0].row.model, "text");
  EXPECT_TRUE(tasks[0].artefact.empty()) << "nothing is made for it";
  EXPECT_TRUE(tasks[1].runs());

  PreparedModel large = text_model();
  large.refusal = Refusal{CellStatus::kSkipped, Reason::kTooLarge, "too large", ""};
  for (const Task& task : plan(large, {target_on("onnxruntime"), target_on("openvino")}, {}))
    EXPECT_EQ(task.row.reason_code, Reason::kTooLarge);
}

TEST(Plan, AFileThatTheEngineDoesNotReadIsUnsupported) {
  PreparedModel ir = text_model();
  ir.format = "xml";
  const std::vector<Task> tasks = plan(ir, {target_on("onnxruntime")}, {});
  ASSERT_EQ(tasks.size(), 1U);
  EXPECT_EQ(tasks[0].row.status, CellStatus::kUnsupported);
  EXPECT_THAT(tasks[0].row.message, HasSubstr("onnxruntime does not read .xml files; it reads onnx"));
}

TEST(Plan, AFixedBatchReplacesADefaultAndIsAddedToWhatWasAsked) {
  PreparedModel model = image_model();
  model.signatures.at("")->fixed_batch = 2;
  RunSettings settings;
  EXPECT_THAT(shapes_of(plan(model, {target_on("onnxruntime")}, settings)), ElementsAre("2x128"));
  settings.default_batches = false;
  settings.batch_sizes = {1, 4};
  EXPECT_THAT(shapes_of(plan(model, {target_on("onnxruntime")}, settings)), ElementsAre("1x128", "2x128", "4x128"));
}

TEST(Plan, GivenShapesFixTheSequenceLengthAndAreStatedByTheRow) {
  PreparedModel model = text_model();
  RunSettings settings;
  settings.batch_sizes = {1, 4};
  settings.sequence_lengths = {16, 32};
  settings.default_lengths = false;
  Signature& signature = *model.signatures.at("");
  signature.fixed_sequence = 77;
  signature.given_shapes = "pixels:Bx3x48x320";
  model.max_sequence = 512;
  const std::vector<Task> tasks = plan(model, {target_on("onnxruntime")}, settings);
  EXPECT_THAT(shapes_of(tasks), ElementsAre("1x77", "4x77"));
  EXPECT_EQ(tasks[0].row.given_shapes, "pixels:Bx3x48x320");
  model.max_sequence = 64;
  settings.default_lengths = true;
  EXPECT_THAT(plan(model, {target_on("onnxruntime")}, settings)[0].row.message,
              HasSubstr("sequence length 77 is beyond the 64 positions of the model"))
      << "what was given is not cut";
}

TEST(Plan, AFailureThatShapesMayCauseSaysHowToGiveOthers) {
  Task task;
  task.shape_hint = "other sizes: --shape x:Bx3xHxW";
  const auto message_of = [&](ErrorCode code, const char* message) {
    Record row;
    set_failure(row, task, Error{code, message, {}, "look"});
    return row.message;
  };
  EXPECT_EQ(message_of(ErrorCode::kInternal, "Incompatible Dimensions"),
            "Incompatible Dimensions; other sizes: --shape x:Bx3xHxW");
  EXPECT_EQ(message_of(ErrorCode::kUnsupported, "no operator 'Foo'"), "no operator 'Foo'");
  EXPECT_EQ(message_of(ErrorCode::kTimeout, "no shape was bound"), "no shape was bound");
  task.contradiction = Error{ErrorCode::kInvalidArgument, "node 'sum'", {}, ""};
  EXPECT_EQ(message_of(ErrorCode::kInvalidArgument, "node 'sum'"), "node 'sum'; other sizes: --shape x:Bx3xHxW");
}

TEST(Plan, ADefaultLengthIsCutToThePositionsAndOneThatWasAskedForIsRefused) {
  PreparedModel model = text_model();
  model.max_sequence = 64;
  RunSettings settings;
  settings.batch_sizes = {1};
  EXPECT_THAT(shapes_of(plan(model, {target_on("onnxruntime")}, settings)), ElementsAre("1x64"));
  settings.sequence_lengths = {32, 128, 512};
  EXPECT_THAT(shapes_of(plan(model, {target_on("onnxruntime")}, settings)), ElementsAre("1x32", "1x64"))
      << "two lengths that are cut to the same are one cell";
  settings.sequence_lengths = {128};
  settings.default_lengths = false;
  const std::vector<Task> refused = plan(model, {target_on("onnxruntime")}, settings);
  EXPECT_EQ(refused[0].row.status, CellStatus::kUnsupported);
  EXPECT_THAT(refused[0].row.message, HasSubstr("sequence length 128 is beyond the 64 positions"));
  EXPECT_EQ(refused[0].row.sequence_length, 128) << "the row of a refused cell says which one it is";

  // 32 tokens of output need 31 positions after the prompt.
  settings.default_lengths = true;
  EXPECT_THAT(shapes_of(plan(decoder_model(), {target_on("onnxruntime")}, settings)), ElementsAre("1x33"));
  settings.default_lengths = false;
  settings.sequence_lengths = {40};
  EXPECT_THAT(plan(decoder_model(), {target_on("onnxruntime")}, settings)[0].row.message,
              HasSubstr("32 output tokens after 40 of the prompt are beyond the 64 positions"));
}

TEST(Plan, WhatNobodyAskedForIsNoted) {
  const auto notes = [](const PreparedModel& model, const RunSettings& settings) {
    return silent_choices(model, plan(model, {target_on("onnxruntime")}, settings), settings);
  };
  PreparedModel model = text_model();
  EXPECT_THAT(notes(model, {}), ElementsAre(HasSubstr("text: random weights")));
  model.identity.weights = Weights::kGiven;
  EXPECT_THAT(notes(model, {}), IsEmpty());
  model.max_sequence = 64;
  EXPECT_THAT(notes(model, {}), ElementsAre("text: sequence length 64 instead of 128: the model has 64 positions"));
  RunSettings settings;
  settings.sequence_lengths = {32, 128, 512};
  EXPECT_THAT(notes(model, settings),
              ElementsAre("text: sequence length 64 instead of 128 and 512: the model has 64 positions"));
  settings.sequence_lengths = {32};
  settings.default_lengths = false;
  EXPECT_THAT(notes(model, settings), IsEmpty());

  PreparedModel decoder = decoder_model();
  decoder.identity.weights = Weights::kGiven;
  EXPECT_THAT(notes(decoder, {}),
              ElementsAre("text: sequence length 33 instead of 128: the model has 64 positions, and 32 output tokens "
                          "need some of them"));

  PreparedModel image = image_model();
  image.identity.weights = Weights::kGiven;
  EXPECT_THAT(notes(image, {}), IsEmpty()) << "only the batch is open";
  RunSettings runtime_cache;
  runtime_cache.kv_cache = KvCache::kRuntime;
  EXPECT_THAT(notes(image, runtime_cache),
              ElementsAre("image: --kv-cache runtime has no effect: no tokens are generated with this model"));
  EXPECT_THAT(notes(decoder, runtime_cache), ElementsAre(HasSubstr("sequence length")));
  image.info->inputs = {model_value("pixels", DType::kFloat32, {-1, 3, -1, -1}, {"batch", "", "height", "width"})};
  EXPECT_THAT(notes(image, {}),
              ElementsAre("image: the input 'pixels' has open extents; it is given [batch, 3, 224, 224]; other sizes: "
                          "--shape pixels:Bx3xHxW, or --dim height=N --dim width=N"));
  settings.data = "/data";
  EXPECT_THAT(notes(image, settings), IsEmpty()) << "the data has its own";
}

TEST(Plan, AGenerationHasTheCellsLengths) {
  RunSettings settings;
  settings.batch_sizes = {1};
  settings.sequence_lengths = {16};
  settings.output_tokens = {4};
  const Task task = plan(decoder_model(), {target_on("onnxruntime")}, settings).at(0);
  ASSERT_TRUE(task.generation);
  EXPECT_EQ(task.generation->prompt_tokens, 16);
  EXPECT_EQ(task.generation->output_tokens, 4);
  EXPECT_FALSE(task.variant);
}

TEST(Plan, AReferenceIsOfOneConfiguration) {
  // Blenderbot's and pegasus' smallest models have the same graph and seed, and other constants for positions.
  PreparedModel model = decoder_model();
  RunSettings settings;
  settings.batch_sizes = {1};
  settings.sequence_lengths = {16};
  model.identity.weights_hash = "seeded:scheme:0";
  model.identity.config_hash = "learned";
  const Task learned = plan(model, {target_on("onnxruntime")}, settings).at(0);
  model.identity.config_hash = "computed";
  const Task computed = plan(model, {target_on("onnxruntime")}, settings).at(0);
  EXPECT_EQ(learned.reference.graph_hash, computed.reference.graph_hash);
  EXPECT_NE(learned.reference.weights_hash, computed.reference.weights_hash);
}

TEST(Plan, AVariantOfTheCacheIsTimedAndTheModelAsItIsRemainsItsReference) {
  PreparedModel model = decoder_model();
  CacheVariant variant{{.file = "/models/static.onnx"}, *model.info, model.generation->generation, "config", "graph2"};
  model.variants.emplace("", variant);
  RunSettings settings;
  settings.batch_sizes = {1};
  settings.sequence_lengths = {16};
  settings.output_tokens = {4};
  settings.kv_cache = KvCache::kStatic;
  const Task task = plan(model, {target_on("onnxruntime")}, settings).at(0);
  EXPECT_EQ(task.artefact.file, "/models/static.onnx");
  EXPECT_EQ(task.reference.artefact.file, "/models/text.onnx");
  EXPECT_EQ(task.reference.graph_hash, "graph");
  EXPECT_EQ(task.row.graph_hash, "graph2");
  EXPECT_EQ(task.row.kv_cache, KvCache::kStatic);
  ASSERT_TRUE(task.variant);
  EXPECT_EQ(task.variant->generation.cache_tokens, 16 + 4 - 1);
  EXPECT_EQ(task.generation->cache_tokens, 0);

  model.variants.at("") = fail(ErrorCode::kUnsupported, "unsupported: kv_cache = static");
  EXPECT_EQ(plan(model, {target_on("onnxruntime")}, settings).at(0).row.message, "unsupported: kv_cache = static");
}

TEST(Plan, ARuntimeKnowsTheShapesUnlessDynamicOnesAreRequested) {
  Target by_load = target_on("onnxruntime"), by_compilation = target_on("openvino"), fixed = target_on("fixed");
  by_load.found.entry.fixed_extents = "extents";
  by_compilation.found.entry.open_extents = {{"reshape", "false"}};
  fixed.found.entry.static_shapes = true;
  RunSettings settings;
  for (const Target& target : {by_load, by_compilation, fixed})
    EXPECT_EQ(plan(text_model(), {target}, settings).at(0).row.shapes, ShapesForm::kStatic) << target.engine;
  EXPECT_EQ(plan(text_model(), {target_on("other")}, settings).at(0).row.shapes, ShapesForm::kOpen);
  EXPECT_THAT(plan(text_model(), {by_load}, settings).at(0).load.shape_options,
              Contains(::testing::Pair("extents", "")));
  for (const Target& target : {by_load, by_compilation})
    EXPECT_EQ(plan(decoder_model(), {target}, settings).at(0).row.shapes, ShapesForm::kOpen) << "its cache grows";

  settings.dynamic_shapes = true;
  const Task dynamic = plan(text_model(), {by_compilation}, settings).at(0);
  EXPECT_EQ(dynamic.row.shapes, ShapesForm::kDynamic);
  EXPECT_THAT(dynamic.load.options, Contains(::testing::Pair("reshape", "false")));
  EXPECT_THAT(plan(text_model(), {by_load}, settings).at(0).load.shape_options, IsEmpty());
  const Task refused = plan(text_model(), {fixed}, settings).at(0);
  EXPECT_EQ(refused.row.status, CellStatus::kUnsupported);
  EXPECT_EQ(refused.row.message, "fixed accepts only models whose extents are all fixed");
}

TEST(Plan, AFileComputesInTheLeastExactTypeOfItsInputsAndOutputs) {
  const auto arithmetic = [](DType input, std::vector<DType> outputs) {
    PreparedModel model = image_model();
    model.identity.weights = Weights::kGiven;
    model.info->inputs[0].dtype = input;
    model.info->outputs.clear();
    for (const DType dtype : outputs) model.info->outputs.push_back(model_value("y", dtype, {1, 8}, {"", ""}));
    model.signatures.clear();
    model.signatures.emplace("", Signature{*model.info, false, std::nullopt});
    return plan(model, {target_on("onnxruntime")}, {}).at(0).arithmetic;
  };
  EXPECT_EQ(arithmetic(DType::kFloat32, {DType::kFloat64, DType::kFloat32}), DType::kFloat32)
      << "converted at the end: its limit is not that of float64";
  EXPECT_EQ(arithmetic(DType::kFloat16, {DType::kFloat32}), DType::kFloat16);
  EXPECT_EQ(arithmetic(DType::kInt64, {DType::kFloat64}), DType::kFloat64);
  EXPECT_EQ(arithmetic(DType::kFloat32, {DType::kFloat8E5M2}), DType::kFloat32);
  EXPECT_EQ(arithmetic(DType::kInt32, {DType::kInt32}), DType::kFloat32);
}

TEST(Plan, AnEngineGetsTheFormOfShapesThatItsUsersRunUnlessAnotherIsRequested) {
  Target by_load = target_on("onnxruntime"), by_compilation = target_on("openvino");
  by_load.found.entry.fixed_extents = "extents";
  by_load.found.entry.default_shapes = {{"vision", "static"}, {std::string(kOtherFamilies), "exported"}};
  by_compilation.found.entry.open_extents = {{"reshape", "false"}};
  by_compilation.found.entry.default_shapes = {{"vision", "exported"}};
  const auto shapes = [](const PreparedModel& model, const Target& target, const RunSettings& settings) {
    return std::string(to_string(plan(model, {target}, settings).at(0).row.shapes));
  };
  RunSettings usual, dynamic, fixed;
  dynamic.dynamic_shapes = fixed.static_shapes = true;
  EXPECT_EQ(shapes(text_model(), by_load, usual), "exported");
  EXPECT_EQ(shapes(text_model(), by_load, dynamic), "exported") << "the same cell";
  EXPECT_EQ(shapes(text_model(), by_load, fixed), "static");
  EXPECT_EQ(shapes(image_model(), by_load, usual), "static");
  EXPECT_EQ(shapes(image_model(), by_load, dynamic), "dynamic");
  EXPECT_EQ(shapes(decoder_model(), by_load, usual), "open") << "its cache grows in either form";
  EXPECT_EQ(shapes(decoder_model(), by_load, dynamic), "open");
  EXPECT_THAT(plan(text_model(), {by_load}, usual).at(0).load.shape_options, IsEmpty());
  EXPECT_THAT(plan(text_model(), {by_load}, fixed).at(0).load.shape_options, ElementsAre(Pair("extents", "")));

  EXPECT_EQ(shapes(text_model(), by_compilation, usual), "static");
  EXPECT_EQ(shapes(text_model(), by_compilation, dynamic), "dynamic");
  EXPECT_EQ(shapes(image_model(), by_compilation, usual), "exported");
  EXPECT_EQ(shapes(image_model(), by_compilation, fixed), "static");
  EXPECT_THAT(plan(image_model(), {by_compilation}, usual).at(0).load.options, Contains(Pair("reshape", "false")));
}

TEST(Plan, AnEngineWithALoweringGetsOnnxModelsInItsOwnLanguage) {
  Target target = target_on("lowers");
  target.found.entry.formats = {"toy"};
  target.found.entry.lowered_to = "stablehlo";
  const Task task = plan(text_model(), {target}, {}).at(0);
  EXPECT_EQ(task.row.message, "");
  EXPECT_EQ(task.artefact.lowered_to, lowering::Dialect::kStableHlo);
  EXPECT_TRUE(task.static_shapes);
  EXPECT_EQ(task.row.shapes, ShapesForm::kStatic);
  EXPECT_FALSE(task.reference.artefact.lowered_to) << "the reference reads ONNX";
  EXPECT_FALSE(plan(text_model(), {target_on("onnxruntime")}, {}).at(0).artefact.lowered_to);

  target.found.entry.lowered_to.clear();
  EXPECT_EQ(plan(text_model(), {target}, {}).at(0).row.message, "lowers does not read .onnx files; it reads toy");
}

TEST(Plan, SpinStandsForTheOptionsOfTheEngine) {
  Target target = target_on("onnxruntime");
  target.found.entry.spin_off = {{"wait", "sleep"}};
  RunSettings settings;
  settings.spin = Spin::kOff;
  const Task task = plan(text_model(), {target}, settings).at(0);
  EXPECT_THAT(task.load.options, Contains(::testing::Pair("wait", "sleep")));
  EXPECT_EQ(task.row.spin, Spin::kOff);

  settings.engine_options = {{"wait", "busy"}};
  EXPECT_EQ(plan(text_model(), {target}, settings).at(0).row.message,
            "--spin off and --engine-option wait=busy contradict each other");

  settings.engine_options = {};
  target.found.entry.spin_off = {};
  EXPECT_THAT(plan(text_model(), {target}, settings).at(0).load.options, IsEmpty()) << "it decides itself";
}

TEST(Plan, AnEngineThatComputesNoModelGetsTheSignatureAndIsItsOwnReference) {
  Target null = target_on("null");
  null.found.entry.needs_model = false;
  RunSettings settings;
  settings.engine_options = {{"wrong", "0.5"}};
  const Task task = plan(text_model(), {null}, settings).at(0);
  const std::pair<std::string, std::string> inputs{"inputs", "input_ids:int64[batch,sequence]"};
  EXPECT_THAT(task.load.options, Contains(inputs));
  EXPECT_THAT(task.load.options, Contains(settings.engine_options[0]));
  EXPECT_THAT(task.reference.signature, Contains(inputs));
  EXPECT_EQ(task.reference.signature.size(), 2U) << "its faults are not the reference's";
}

TEST(Plan, AnEngineThatComputesNoModelGetsTheSignaturesOfBothGraphs) {
  Target null = target_on("null");
  null.found.entry.needs_model = false;
  RunSettings settings;
  settings.engine_options = {{"wrong", "0.5"}};
  PreparedModel model = decoder_model();
  EXPECT_THAT(plan(model, {null}, settings).at(0).load.step_options, IsEmpty()) << "one graph runs all tokens";

  model.generation->step.emplace();
  model.generation->step_info.inputs = {model_value("past", DType::kFloat32, {-1}, {"past"})};
  model.generation->step_info.outputs = {model_value("present", DType::kFloat32, {-1}, {"past + 1"})};
  const Task task = plan(model, {null}, settings).at(0);
  const std::pair<std::string, std::string> inputs{"inputs", "past:float32[past]"};
  EXPECT_THAT(task.load.step_options, Contains(inputs));
  EXPECT_THAT(task.load.step_options, Contains(settings.engine_options[0]));
  EXPECT_THAT(task.load.options,
              Contains(std::pair<std::string, std::string>{"inputs", "input_ids:int64[batch,sequence]"}));
  EXPECT_THAT(task.reference.step_signature, Contains(inputs));
  EXPECT_THAT(plan(model, {target_on("onnxruntime")}, settings).at(0).load.step_options, IsEmpty());
}

TEST(Plan, WithoutASignatureOfItsOwnAModelHasWhatItsEngineSays) {
  PreparedModel model = text_model();
  const ModelInfo info = *model.info;
  model.info.reset();
  model.signatures.clear();
  model.signatures.emplace(PreparedModel::signature_key("onnxruntime", "cpu"), Signature{info, false, 3});
  model.signatures.emplace(PreparedModel::signature_key("openvino", "cpu"), fail(ErrorCode::kTimeout, "no answer"));
  const std::vector<Task> tasks = plan(model, {target_on("onnxruntime"), target_on("openvino")}, {});
  ASSERT_EQ(tasks.size(), 2U);
  EXPECT_EQ(tasks[0].shape.batch, 3);
  EXPECT_THAT(tasks[0].reference.why_none, HasSubstr("no reference for files of this format"));
  EXPECT_EQ(tasks[1].row.reason_code, Reason::kTimeout);
}

TEST(Plan, AModelFileKeepsItsOwnTypeUnlessOneWasAskedFor) {
  PreparedModel model = text_model();
  model.identity.weights = Weights::kGiven;
  model.signatures.at("")->info.outputs[0].dtype = DType::kFloat16;
  Task task = plan(model, {target_on("onnxruntime")}, {}).at(0);
  EXPECT_EQ(task.row.precision, "as_is");
  EXPECT_EQ(task.load.precision, "as_is");
  EXPECT_EQ(task.arithmetic, DType::kFloat16);
  RunSettings asked;
  asked.precision_asked = true;
  task = plan(model, {target_on("onnxruntime")}, asked).at(0);
  EXPECT_EQ(task.row.precision, "float32");
  EXPECT_EQ(task.arithmetic, DType::kFloat32);
}

TEST(TaskJson, IsOneLineThatGivesTheSameTaskBack) {
  PreparedModel model = decoder_model();
  model.variants.emplace(
      "", CacheVariant{{.file = "/models/static.onnx"}, *model.info, model.generation->generation, "config", "graph2"});
  RunSettings settings;
  settings.kv_cache = KvCache::kStatic;
  settings.engine_options = {{"a", "b"}};
  settings.measure.iterations = 5;
  for (Task& task : plan(model, {target_on("onnxruntime"), missing_target("qnn")}, settings)) {
    task.inputs = {{"input_ids", DType::kInt64, {1, 16}, Fill::kInteger, 0, 99, {}}};
    task.contradiction = Error{ErrorCode::kInvalidArgument, "node 'x'", {"while"}, "hint"};
    const std::string line = json_text(to_json(task));
    EXPECT_EQ(line.find('\n'), std::string::npos);
    const Result<Task> again = task_from_json(parse_json(line, "line").value());
    ASSERT_TRUE(again) << to_string(again.error());
    EXPECT_EQ(json_text(to_json(*again)), line);
    EXPECT_EQ(again->row.reason_code, task.row.reason_code);
    EXPECT_EQ(again->shape.batch, task.shape.batch);
    EXPECT_EQ(again->inputs.at(0).shape, task.inputs[0].shape);
    EXPECT_EQ(again->contradiction->message, "node 'x'");
    EXPECT_EQ(again->timeout, task.timeout);
  }
}

TEST(TaskJson, SaysWhatIsWrong) {
  EXPECT_THAT(task_from_json(Json::object()).error().message, HasSubstr("this is not a task"));
  Json task = to_json(Task());
  task["version"] = 99;
  EXPECT_THAT(task_from_json(task).error().message, HasSubstr("version 99"));
  task = to_json(Task());
  const auto problem_of = [](const Json& changed) {
    const Result<Task> read = task_from_json(changed);
    EXPECT_FALSE(read);
    return read ? std::string() : to_string(read.error());
  };
  task["seed"] = "seven";
  EXPECT_THAT(problem_of(task), HasSubstr("error[invalid_argument]: this is not a task: \"seed\" is \"seven\": "));
  task["seed"] = -7;
  EXPECT_THAT(problem_of(task), HasSubstr("\"seed\" is -7: 0 or more is expected"));
  task = to_json(Task());
  task["arithmetic"] = "float33";
  EXPECT_THAT(problem_of(task), HasSubstr("\"arithmetic\" is \"float33\""));
  task = to_json(Task());
  task["shape"]["batch"] = 1.5;
  EXPECT_THAT(problem_of(task), AllOf(HasSubstr("\"shape\" is"), HasSubstr("\"batch\" is 1.5: an integer is")));
  task = to_json(Task());
  task["reference"].erase("why_none");
  EXPECT_THAT(problem_of(task), AllOf(HasSubstr("\"reference\""), HasSubstr("\"why_none\" is absent")));
  EXPECT_THAT(problem_of(Json::array()), HasSubstr("this is not a task"));
}

}  // namespace
}  // namespace assay
