// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/tensor/npy.hpp"
#include "core/tensor/safetensors.hpp"
#include "models/inputs/inputs.hpp"
#include "models/onnx/inspect.hpp"
#include "models/onnx/onnx_testing.hpp"

namespace assay {
namespace {

using onnx::TensorProto;
using testing::add_floats;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ModelFolder;
using testing::small_model;

ModelValue value(const char* name, DType dtype, Shape shape, std::vector<std::string> symbols = {}) {
  symbols.resize(shape.size());
  return {.name = name, .dtype = dtype, .shape = std::move(shape), .symbols = std::move(symbols)};
}

ModelInfo model_of(std::vector<ModelValue> inputs) {
  ModelInfo model;
  model.inputs = std::move(inputs);
  return model;
}

// The recipes' shapes, or the error's text.
std::string shapes(const std::vector<ModelValue>& inputs, const InputAxes& axes = {.batch = 4, .sequence = 32}) {
  const auto made = make_inputs(model_of(inputs), axes);
  if (!made) return to_string(made.error());
  std::string text;
  for (const InputRecipe& recipe : made->recipes) text += to_string(recipe.shape);
  return text;
}

TEST(MakeInputs, FollowsTheNamesOfABertsInputs) {
  ModelInfo bert = model_of({value("input_ids", DType::kInt64, {-1, -1}, {"batch", "sequence"}),
                             value("attention_mask", DType::kInt64, {-1, -1}, {"batch", "sequence"}),
                             value("token_type_ids", DType::kInt64, {-1, -1}, {"batch", "sequence"}),
                             value("position_ids", DType::kInt64, {-1, -1}, {"batch", "sequence"})});
  bert.inputs[0].index_limit = 30522;
  bert.inputs[2].index_limit = 2;
  const auto made = make_inputs(bert, {.batch = 4, .sequence = 32});
  ASSERT_TRUE(made) << to_string(made.error());
  EXPECT_TRUE(made->uses_batch);
  EXPECT_TRUE(made->uses_sequence);
  for (const InputRecipe& recipe : made->recipes) EXPECT_THAT(recipe.shape, ElementsAre(4, 32));
  EXPECT_EQ(made->recipes[0].fill, Fill::kInteger);
  EXPECT_EQ(made->recipes[0].high, 30521);
  EXPECT_EQ(made->recipes[1].fill, Fill::kPaddingMask);
  EXPECT_EQ(made->recipes[2].fill, Fill::kTokenTypes);
  EXPECT_EQ(made->recipes[2].high, 1);
  EXPECT_EQ(made->recipes[3].fill, Fill::kPositions);
  for (const InputRecipe& recipe : made->recipes) EXPECT_TRUE(make_input(recipe, 0, 0)) << recipe.name;
}

TEST(MakeInputs, TellsDynamicExtentsByTheirSymbol) {
  const DType f = DType::kFloat32, i = DType::kInt64;
  EXPECT_EQ(shapes({value("x", f, {-1, 7}, {"batch_size", ""})}), "[4, 7]");
  EXPECT_EQ(shapes({value("h", f, {-1, -1, 64}, {"Batch", "encoder_sequence_length"})}), "[4, 32, 64]");
  EXPECT_EQ(shapes({value("ids", i, {-1, -1}, {"text_batch_size", "seq_len"})}), "[4, 32]");
  EXPECT_EQ(shapes({value("mask", i, {-1, -1}, {"batch", "past_sequence_length + sequence_length"})}), "[4, 64]");
  EXPECT_EQ(shapes({value("mask", i, {-1, -1}, {"batch", "past_sequence_length + 1"})}), "[4, 33]");
  EXPECT_EQ(shapes({value("h", f, {-1, -1, 8}, {"batch", "encoder_sequence_length / 2"})}), "[4, 16, 8]");
  EXPECT_EQ(shapes({value("past_key_values.0.key", f, {-1, 4, -1, 16}, {"batch", "", "past_sequence_length", ""})}),
            "[4, 4, 32, 16]");
}

TEST(MakeInputs, TakesTheRequestedShapeForTheImageInput) {
  const DType f = DType::kFloat32, i = DType::kInt64;
  const ModelValue open = value("pixel_values", f, {-1, 3, -1, -1}, {"batch", "", "height", "width"});
  const ModelValue mask = value("pixel_mask", i, {-1, -1, -1}, {"batch", "height", "width"});
  const auto shaped = [&](const std::vector<ModelValue>& inputs, Shape shape, std::int64_t batch = 4) {
    return shapes(inputs, {.batch = batch, .sequence = 32, .input_shape = std::move(shape)});
  };
  EXPECT_EQ(shaped({open}, {3, 64, 96}), "[4, 3, 64, 96]");
  EXPECT_EQ(shaped({open, mask}, {4, 3, 64, 96}), "[4, 3, 64, 96][4, 64, 96]");
  const ModelValue ids = value("input_ids", i, {-1, -1}, {"batch", "sequence"});
  EXPECT_EQ(shaped({ids, open}, {3, 64, 96}), "[4, 32][4, 3, 64, 96]");
  EXPECT_EQ(shaped({value("wave", f, {-1, -1}, {"batch", "samples"})}, {400}), "[4, 400]");
  EXPECT_THAT(shaped({open}, {4, 3, 64, 96}, 8), HasSubstr("the requested shape's batch is fixed at 4"));
}

TEST(MakeInputs, RefusesAShapeThatTheModelCannotTakeAndSaysWhichItCan) {
  const DType f = DType::kFloat32;
  const ModelInfo model = model_of({value("pixel_values", f, {-1, 3, 224, -1}, {"batch", "", "", "width"})});
  for (const Shape& shape : {Shape{3, 32, 32}, Shape{224, 224}, Shape{1, 4, 224, 224}, Shape{1, 1, 3, 224, 224}}) {
    const Status status = check_input_shape(model, {.input_shape = shape});
    ASSERT_FALSE(status) << to_string(shape);
    EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(to_string(status.error()),
                AllOf(HasSubstr("does not fit the input 'pixel_values' of shape [-1, 3, 224, -1]"),
                      HasSubstr("valid: --input-shape 3,224,any, or with the batch in front any,3,224,any")));
  }
  EXPECT_TRUE(check_input_shape(model, {.input_shape = {3, 224, 500}}));
  EXPECT_TRUE(check_input_shape(model, {.input_shape = {7, 3, 224, 500}}));
  EXPECT_EQ(fixed_batch(model, {.input_shape = {7, 3, 224, 500}}).value(), 7);
  EXPECT_EQ(fixed_batch(model, {.input_shape = {3, 224, 500}}).value(), std::nullopt);
  const ModelInfo text = model_of({value("input_ids", DType::kInt64, {-1, -1}, {"batch", "sequence"})});
  EXPECT_THAT(to_string(check_input_shape(text, {.input_shape = {64}}).error()),
              AllOf(HasSubstr("axis 1 of the input 'input_ids' is the sequence length"),
                    HasSubstr("use --sequence-lengths 64")));
}

TEST(MakeInputs, TellsUnnamedExtentsByTheirPlace) {
  const DType f = DType::kFloat32, i = DType::kInt32;
  EXPECT_EQ(shapes({value("data", f, {-1, 10})}), "[4, 10]");
  EXPECT_EQ(shapes({value("input_ids", i, {-1, -1})}), "[4, 32]");
  EXPECT_EQ(shapes({value("input_ids", i, {-1, -1}, {"N", "S"})}), "[4, 32]");
  EXPECT_EQ(shapes({value("input_ids", i, {-1, -1}, {"s0", "s1"}), value("other", f, {-1, 3, -1}, {"s0", "", "s1"})}),
            "[4, 32][4, 3, 32]");
  EXPECT_EQ(shapes({value("hidden", f, {-1, -1, 16}, {"unk__1", "unk__2"})}), "[4, 32, 16]");
  EXPECT_EQ(shapes({value("x", f, {-1, 8}), value("state", f, {2, -1, 128}), value("h0", f, {1, -1, 64})}),
            "[4, 8][2, 4, 128][1, 4, 64]")
      << "states of recurrent layers have the batch in the middle";
  EXPECT_EQ(shapes({value("pixel_values", f, {-1, -1, -1, -1}, {"batch", "num_channels", "height", "width"})}),
            "[4, 3, 224, 224]");
  EXPECT_EQ(shapes({value("image", f, {-1, -1, -1, 3})}), "[4, 224, 224, 3]");
  EXPECT_EQ(shapes({value("x", f, {-1, -1, -1, -1})}), "[4, 3, 224, 224]");
  EXPECT_EQ(shapes({value("input_features", f, {-1, 80, -1}, {"batch", "", "encoder_sequence_length"})}),
            "[4, 80, 3000]");
  // Frames in sequence, as long as their mask.
  EXPECT_EQ(shapes({value("input_features", f, {-1, -1, 80}, {"batch", "sequence", ""}),
                    value("attention_mask", DType::kInt64, {-1, -1}, {"batch", "sequence"})}),
            "[4, 32, 80][4, 32]");
  EXPECT_EQ(shapes({value("input_values", f, {-1, -1}, {"batch", "sequence_length"})}), "[4, 16000]");
}

TEST(MakeInputs, RefusesAnExtentThatNothingTells) {
  const std::string text = shapes({value("boxes", DType::kFloat32, {-1, -1}, {"batch", "num_boxes"})});
  EXPECT_THAT(text, HasSubstr("input 'boxes' [-1, -1]: the size of axis 1 (num_boxes) is unknown"));
  EXPECT_THAT(text, HasSubstr("--data"));
  ModelInfo rankless = model_of({value("x", DType::kFloat32, {})});
  rankless.inputs[0].has_rank = false;
  EXPECT_THAT(make_inputs(rankless, {}).error().message, HasSubstr("not even a rank"));
  EXPECT_EQ(make_inputs(rankless, {}).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(make_inputs(model_of({value("z", DType::kComplex64, {1})}), {}).error().code, ErrorCode::kUnsupported);
  EXPECT_FALSE(make_inputs(model_of({}), {.batch = 0}));
  EXPECT_THAT(shapes({value("ids", DType::kInt64, {-1, -1})}, {.batch = 1, .sequence = 0}),
              HasSubstr("above 0, not 0"));
  EXPECT_THAT(shapes({value("x", DType::kFloat32, {-1, 1LL << 50})}), HasSubstr("more than this machine's memory"));
  EXPECT_THAT(shapes({value("x", DType::kFloat32, {-1, 1LL << 61})}), HasSubstr("overflows"));
}

TEST(MakeInputs, RunsAFixedBatchAtThatBatchOnly) {
  const ModelInfo fixed = model_of({value("a", DType::kFloat32, {2, 3}), value("b", DType::kFloat32, {2, 5})});
  EXPECT_EQ(*fixed_batch(fixed), 2);
  EXPECT_TRUE(make_inputs(fixed, {.batch = 2}));
  const auto other = make_inputs(fixed, {.batch = 8});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kFixedShape);
  EXPECT_EQ(other.error().message, "the model's batch is fixed at 2, 8 was requested");

  const ModelInfo none = model_of({value("a", DType::kFloat32, {2, 3}), value("b", DType::kFloat32, {})});
  EXPECT_EQ(*fixed_batch(none), std::nullopt);
  EXPECT_TRUE(make_inputs(none, {.batch = 1}));
  EXPECT_THAT(make_inputs(none, {.batch = 2}).error().message, HasSubstr("the model has no batch axis"));
  EXPECT_EQ(*fixed_batch(model_of({value("x", DType::kFloat32, {-1, 3})})), std::nullopt);
}

TEST(MakeInputs, ChoosesRangesByType) {
  const auto made = make_inputs(model_of({value("q", DType::kUInt8, {2, 4}), value("flags", DType::kBool, {2, 2}),
                                          value("use_cache", DType::kBool, {1}), value("count", DType::kInt64, {2}),
                                          value("timestep", DType::kInt64, {1}), value("x", DType::kFloat16, {2})}),
                                {});
  ASSERT_TRUE(made) << to_string(made.error());
  EXPECT_EQ(made->recipes[0].high, 255);
  EXPECT_EQ(made->recipes[1].fill, Fill::kInteger);
  EXPECT_EQ(made->recipes[2].fill, Fill::kConstant);
  EXPECT_EQ(made->recipes[3].high, 1);
  EXPECT_EQ(made->recipes[4].high, 999);
  EXPECT_EQ(made->recipes[5].fill, Fill::kNormal);
  for (const InputRecipe& recipe : made->recipes) EXPECT_TRUE(make_input(recipe, 0, 0)) << recipe.name;
}

// ---- data ----

Tensor floats(Shape shape) { return Tensor::create(DType::kFloat32, std::move(shape)).value(); }

TensorProto float_proto(const std::string& name, std::initializer_list<std::int64_t> dims) {
  onnx::GraphProto graph;
  return add_floats(graph, name, dims);
}

TEST(MakeInputs, TakesDataByName) {
  const ModelFolder folder;
  const ModelInfo model = model_of({value("gpu_0/x", DType::kFloat32, {-1, 3}), value("y", DType::kFloat32, {2})});
  ASSERT_TRUE(write_npy(folder.path() / "gpu_0_x.npy", floats({2, 3}).view()));
  const InputAxes axes{.batch = 2, .data = folder.path(), .cache = folder.path() / "cache"};
  EXPECT_THAT(make_inputs(model, axes).error().message, HasSubstr("no data for input 'y'; it has 'gpu_0/x'"));
  folder.write_bytes(float_proto("y", {2}).SerializeAsString(), "anything.pb");
  const auto made = make_inputs(model, axes);
  ASSERT_TRUE(made) << to_string(made.error());
  EXPECT_EQ(made->recipes[0].fill, Fill::kFile);
  EXPECT_THAT(made->recipes[0].shape, ElementsAre(2, 3));
  const auto y = make_input(made->recipes[1], 0, 0);
  ASSERT_TRUE(y) << to_string(y.error());
  EXPECT_EQ(y->as<float>()[1], 1.25F);
  EXPECT_EQ(*fixed_batch(model, axes), 2);
  InputAxes four = axes;
  four.batch = 4;
  EXPECT_EQ(make_inputs(model, four).error().message, "the data's batch is fixed at 2, 4 was requested");
}

TEST(MakeInputs, RefusesDataThatNoInputTakes) {
  const ModelFolder folder;
  const ModelInfo model = model_of({value("x", DType::kFloat32, {-1, 3}), value("mask", DType::kFloat32, {-1, 3})});
  for (const char* name : {"x.npy", "mask.npy", "labels.npy"})
    ASSERT_TRUE(write_npy(folder.path() / name, floats({1, 3}).view()));
  folder.write_bytes("notes", "readme.txt");
  const auto extra = make_inputs(model, {.data = folder.path()});
  ASSERT_FALSE(extra);
  EXPECT_EQ(extra.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(extra.error().message, HasSubstr("an array for 'labels', which is not an input of the model; its inputs: "
                                               "'x', 'mask'"));
  std::filesystem::remove(folder.path() / "labels.npy");
  EXPECT_TRUE(make_inputs(model, {.data = folder.path()}));
  ASSERT_TRUE(write_npy(folder.path() / "input_2.npy", floats({1, 3}).view()));
  EXPECT_THAT(make_inputs(model, {.data = folder.path()}).error().message,
              HasSubstr("'input_2', which is not an input"));
}

TEST(MakeInputs, RefusesTwoArraysForOneInput) {
  const ModelFolder folder;
  ASSERT_TRUE(write_npy(folder.path() / "x.npy", floats({1, 3}).view()));
  ASSERT_TRUE(write_npy(folder.path() / "input_0.npy", floats({1, 3}).view()));
  const auto twice = make_inputs(model_of({value("x", DType::kFloat32, {-1, 3})}), {.data = folder.path()});
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(twice.error().message, HasSubstr("both have an array for 'x'"));
}

TEST(MakeInputs, TakesOneFileForOneInputWhateverItsName) {
  const ModelFolder folder;
  ASSERT_TRUE(write_npy(folder.path() / "cat.npy", floats({1, 3}).view()));
  EXPECT_TRUE(make_inputs(model_of({value("x", DType::kFloat32, {-1, 3})}), {.data = folder.path() / "cat.npy"}));
}

TEST(MakeInputs, RefusesDataThatDoesNotFit) {
  const ModelFolder folder;
  ASSERT_TRUE(write_npy(folder.path() / "x.npy", floats({1, 3}).view()));
  const auto wrong_type = make_inputs(model_of({value("x", DType::kInt64, {-1, 3})}), {.data = folder.path()});
  EXPECT_EQ(wrong_type.error().code, ErrorCode::kMismatch);
  EXPECT_THAT(wrong_type.error().hint, HasSubstr("astype('int64')"));
  const auto wrong_shape = make_inputs(model_of({value("x", DType::kFloat32, {-1, 4})}), {.data = folder.path()});
  EXPECT_THAT(wrong_shape.error().message, HasSubstr("expects [-1, 4] (-1: any)"));
  EXPECT_EQ(make_inputs(model_of({}), {.data = folder.path() / "none"}).error().code, ErrorCode::kNotFound);
  folder.write_bytes("\xff\xff", "bad/x.pb");
  EXPECT_EQ(make_inputs(model_of({value("x", DType::kFloat32, {2})}), {.data = folder.path() / "bad"}).error().code,
            ErrorCode::kInvalidArgument);
}

TEST(FindGivenData, ReadsTheModelZoosLayout) {
  const ModelFolder folder;
  const auto path = folder.write(small_model());
  const auto info = inspect_model(path);
  ASSERT_TRUE(info);
  EXPECT_FALSE(*find_given_data(*info, folder.path() / "cache"));
  folder.write_bytes(float_proto("", {1, 4}).SerializeAsString(), "test_data_set_0/input_0.pb");
  folder.write_bytes(float_proto("whatever", {1, 4}).SerializeAsString(), "test_data_set_0/output_0.pb");
  const auto given = find_given_data(*info, folder.path() / "cache");
  ASSERT_TRUE(given) << to_string(given.error());
  ASSERT_TRUE(*given);
  EXPECT_TRUE(make_input((*given)->inputs.at(0), 0, 0));
  EXPECT_EQ((*given)->folder, path.parent_path() / "test_data_set_0");
  const auto outputs = SafetensorsFile::open((*given)->outputs);
  ASSERT_TRUE(outputs);
  EXPECT_THAT(outputs->names(), ElementsAre("y"));
}

}  // namespace
}  // namespace assay
