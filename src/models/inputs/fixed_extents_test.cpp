// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/inputs/fixed_extents.hpp"
#include "models/inputs/inputs.hpp"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr DType kF32 = DType::kFloat32, kI64 = DType::kInt64;

ModelValue open_input(const char* name, DType dtype, Shape shape, std::vector<std::string> symbols = {}) {
  symbols.resize(shape.size());
  return {.name = name, .dtype = dtype, .shape = std::move(shape), .symbols = std::move(symbols)};
}

ModelInfo model_with(std::vector<ModelValue> inputs) {
  ModelInfo model;
  model.inputs = std::move(inputs);
  return model;
}

// A recogniser of text in images: no symbol says anything.
ModelInfo recogniser() {
  return model_with(
      {open_input("x", kF32, {-1, 3, -1, -1}, {"DynamicDimension.0", "", "DynamicDimension.2", "unk__3"})});
}
ModelInfo named_sides() {
  return model_with({open_input("x", kF32, {-1, 3, -1, -1}, {"N", "", "height", "width"}),
                     open_input("mask", kF32, {-1, -1, -1}, {"N", "height", "width"})});
}
ModelInfo text() {
  return model_with({open_input("ids", kI64, {-1, -1}, {"batch", "length"}),
                     open_input("mask", kI64, {-1, -1}, {"batch", "past_length + length"}),
                     open_input("past", kF32, {-1, 4, -1, 16}, {"batch", "", "past_length", ""})});
}

// "--shape …" or "--dim …" of one word each.
GivenShapes given(const std::vector<std::string>& shapes, const std::vector<std::string>& dims = {}) {
  GivenShapes all;
  for (const std::string& each : shapes) EXPECT_TRUE(add_shapes(each, all.shapes)) << each;
  for (const std::string& each : dims) EXPECT_TRUE(add_extents(each, all.extents)) << each;
  return all;
}

// The shapes of the inputs, or the error.
std::string made(const ModelInfo& model, const GivenShapes& shapes, std::int64_t batch = 4) {
  const auto inputs = make_inputs(model, {.batch = batch, .sequence = 32, .given = shapes});
  if (!inputs) return to_string(inputs.error());
  std::string all;
  for (const InputRecipe& recipe : inputs->recipes) all += to_string(recipe.shape);
  return all;
}

std::string shape_error(const std::string& word) {
  std::vector<GivenShape> shapes;
  const Status status = add_shapes(word, shapes);
  return status ? "valid" : to_string(status.error());
}

std::string dim_error(const std::string& word) {
  std::vector<GivenExtent> extents;
  const Status status = add_extents(word, extents);
  return status ? "valid" : to_string(status.error());
}

TEST(GivenShapes, AreReadInTheFormsOfOtherTools) {
  const GivenShapes all = given({"x:1x3x48x320", "a:1x3,b:2x4", "ids:BxS:int64", "input:0:Bx7", "rate:scalar:int64"},
                                {"width=320", "height=48,N=2"});
  EXPECT_THAT(all.shapes, ElementsAre(GivenShape{"x", {1, 3, 48, 320}}, GivenShape{"a", {1, 3}},
                                      GivenShape{"b", {2, 4}}, GivenShape{"ids", {kBatchExtent, kSequenceExtent}, kI64},
                                      GivenShape{"input:0", {kBatchExtent, 7}}, GivenShape{"rate", {}, kI64}));
  EXPECT_THAT(all.extents, ElementsAre(GivenExtent{"width", 320}, GivenExtent{"height", 48}, GivenExtent{"N", 2}));
  EXPECT_EQ(option_text(all.shapes[3]), "--shape ids:BxS:int64");
  EXPECT_EQ(option_text(all.shapes[5]), "--shape rate:scalar:int64");
  EXPECT_EQ(option_text(all.extents[0]), "--dim width=320");
}

TEST(GivenShapes, ThatAreNotValidAreRefusedWithWhatIs) {
  for (const char* word : {"", "x", "x:", ":1x3", "1x3x224x224", "x=1x3"})
    EXPECT_THAT(shape_error(word), AllOf(HasSubstr("is not valid"), HasSubstr("such as x:1x3x224x224"))) << word;
  EXPECT_THAT(shape_error("x:1x0x3"),
              HasSubstr("the extent '0' is not valid; give an integer from 1 to 1073741824, B"));
  EXPECT_THAT(shape_error("x:-1x3"), HasSubstr("the extent '-1' is not valid"));
  EXPECT_THAT(shape_error("x:1x99999999999999999999"), HasSubstr("the extent '99999999999999999999' is not valid"));
  EXPECT_THAT(shape_error("x:1xx3"), HasSubstr("the extent '' is not valid"));
  EXPECT_THAT(shape_error("x:[1,3]"), HasSubstr("not valid"));
  EXPECT_THAT(shape_error("x:Bx3xHxW"), AllOf(HasSubstr("'H' stands for a number"), HasSubstr("write an integer")));
  EXPECT_THAT(shape_error("x:1x3:int63"), AllOf(HasSubstr("'int63' is not an element type"), HasSubstr("bfloat16")));
  EXPECT_THAT(shape_error("x:1x3,x:1x4"), HasSubstr("--shape x:1x3 and --shape x:1x4 contradict each other"));
  EXPECT_EQ(shape_error("x:1x3,x:1x3"), "valid");
  for (const char* word : {"", "width", "=3"}) EXPECT_THAT(dim_error(word), HasSubstr("give SYMBOL=N")) << word;
  for (const char* word : {"w=0", "w=-1", "w=x", "w=", "w=99999999999999999999"})
    EXPECT_THAT(dim_error(word), HasSubstr("give an integer from 1 to")) << word;
  EXPECT_THAT(dim_error("w=1,w=2"), HasSubstr("contradict each other"));
}

TEST(GivenShapes, OfAModelWinOverThoseForAll) {
  const GivenShapes both = merged(given({"x:Bx3"}, {"w=1"}), given({"x:Bx4,y:Bx5"}, {"w=2", "h=3"}));
  EXPECT_THAT(both.shapes, ElementsAre(given({"x:Bx3"}).shapes[0], given({"y:Bx5"}).shapes[0]));
  EXPECT_THAT(both.extents, ElementsAre(GivenExtent{"w", 1}, GivenExtent{"h", 3}));
}

TEST(FixedExtents, FollowTheBatchOrFixIt) {
  EXPECT_EQ(made(recogniser(), given({"x:Bx3x48x320"})), "[4, 3, 48, 320]");
  EXPECT_EQ(made(recogniser(), given({"x:?x3x48x?"})), "[4, 3, 48, 224]") << "? is as without the option";
  EXPECT_EQ(made(recogniser(), given({"x:2x3x48x320"}), 2), "[2, 3, 48, 320]");
  EXPECT_THAT(made(recogniser(), given({"x:2x3x48x320"})), HasSubstr("batch is fixed"));
  EXPECT_EQ(fixed_batch(recogniser(), {.given = given({"x:2x3x48x320"})}).value(), 2);
  EXPECT_EQ(fixed_batch(recogniser(), {.given = given({"x:Bx3x48x320"})}).value(), std::nullopt);
  EXPECT_EQ(fixed_batch(named_sides(), {.given = given({}, {"N=3"})}).value(), 3);
  const ModelInfo two = model_with({open_input("a", kF32, {-1, 3}), open_input("b", kF32, {-1, 4})});
  EXPECT_EQ(made(two, given({"a:1x3,b:2x4"}), 1), "[1, 3][2, 4]");
  EXPECT_EQ(made(two, given({"b:2x4"}), 2), "[2, 3][2, 4]") << "what is not given follows";
  EXPECT_EQ(made(two, given({"a:Bx3,b:2x4"})), "[4, 3][2, 4]") << "B is the batch, 2 is not";
}

TEST(FixedExtents, AQuestionMarkIsNotASymbol) {
  const ModelInfo model = model_with({open_input("x", kF32, {-1, 3, -1, -1}, {"?", "", "?", "?"})});
  EXPECT_EQ(made(model, given({"x:Bx3x48x320"})), "[4, 3, 48, 320]");
  const ModelInfo as_read = model_with({open_input("x", kF32, {-1, 3, -1, -1})});
  EXPECT_EQ(shape_options(as_read, {}, OpenExtents::kByRule), "--shape x:Bx3xHxW");
}

TEST(FixedExtents, HoldForTheSymbolWhereverItIs) {
  EXPECT_EQ(made(named_sides(), given({}, {"width=320", "height=48"})), "[4, 3, 48, 320][4, 48, 320]");
  EXPECT_EQ(made(named_sides(), given({"mask:Bx48x320"})), "[4, 3, 48, 320][4, 48, 320]");
  EXPECT_EQ(made(named_sides(), given({"x:Bx3x48x320"}, {"WIDTH=320"})), "[4, 3, 48, 320][4, 48, 320]");
  EXPECT_EQ(made(text(), given({}, {"past_length=7"})), "[4, 32][4, 39][4, 4, 7, 16]");
}

TEST(FixedExtents, FixTheSequenceLengthWhereItIsTheModels) {
  const auto length = [](const GivenShapes& shapes) { return fix_extents(text(), shapes)->sequence; };
  EXPECT_EQ(length(given({"ids:Bx77"})), 77);
  EXPECT_EQ(length(given({}, {"length=77"})), 77);
  EXPECT_EQ(length(given({}, {"past_length=7"})), std::nullopt) << "the past is another length";
  EXPECT_EQ(length(given({"ids:BxS"})), std::nullopt);
  EXPECT_EQ(made(text(), given({"ids:Bx77"}, {"past_length=7"})), "[4, 77][4, 84][4, 4, 7, 16]");
}

TEST(FixedExtents, GiveARankToAnInputThatHasNone) {
  ModelInfo model = model_with({open_input("x", kF32, {})});
  model.inputs[0].has_rank = false;
  EXPECT_THAT(made(model, {}), AllOf(HasSubstr("has no shape, not even a rank"), HasSubstr("--shape x:BxN")));
  EXPECT_EQ(made(model, given({"x:Bx3x8"})), "[4, 3, 8]");
}

TEST(FixedExtents, ThatDoNotFitTheModelAreRefusedWithItsInputs) {
  const auto refuses = [](const ModelInfo& model, const GivenShapes& shapes, const char* why) {
    const Status status = check_input_shape(model, {.given = shapes});
    ASSERT_FALSE(status) << why;
    EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(to_string(status.error()), AllOf(HasSubstr(why), HasSubstr("the inputs: " + inputs_text(model))));
  };
  const char* inputs = "x float32 [N, 3, height, width], mask float32 [N, height, width]";
  EXPECT_EQ(inputs_text(named_sides()), inputs);
  refuses(named_sides(), given({"y:1x3x48x320"}), "--shape y:1x3x48x320: the model has no input 'y'");
  refuses(named_sides(), given({"msak:1x48x320"}), "did you mean mask?");
  refuses(named_sides(), given({"x:1x48x320"}), "it has 3 extents, the input 'x' has 4");
  refuses(named_sides(), given({"x:1x1x48x320"}), "extent 2 of the input 'x' is fixed at 3 in the model");
  refuses(named_sides(), given({"x:1x3x48x320:int64"}), "the input 'x' is float32");
  refuses(named_sides(), given({}, {"widht=320"}), "no open extent of the model is named 'widht'");
  refuses(named_sides(), given({}, {"widht=320"}), "did you mean width");
  refuses(named_sides(), given({"x:1x3x48x320"}, {"width=640"}),
          "--shape x:1x3x48x320 and --dim width=640 contradict each other: both are the extent 'width'");
  refuses(named_sides(), given({"x:Bx3x48x320", "mask:2x48x320"}), "both are the extent 'N'");
  refuses(model_with({open_input("x", kF32, {-1, 3})}), given({}, {"N=2"}),
          "its open extents have no names: use --shape");
}

TEST(FixedExtents, AreStatedInOneNotationHoweverTheyWereGiven) {
  const auto stated = [](const ModelInfo& model, const GivenShapes& shapes) {
    return given_text(model, *fix_extents(model, shapes));
  };
  EXPECT_EQ(stated(recogniser(), given({"x:Bx3x48x320"})), "x:Bx3x48x320");
  EXPECT_EQ(stated(recogniser(), given({"x:2x3x48x320"})), "x:Bx3x48x320") << "the row has the batch";
  EXPECT_EQ(stated(named_sides(), given({"x:Bx3x48x320"})), "x:Bx3x48x320,mask:Bx48x320");
  EXPECT_EQ(stated(named_sides(), given({}, {"height=48"})), "x:Bx3x48x?,mask:Bx48x?");
  EXPECT_EQ(stated(text(), given({"ids:2x77"})), "") << "batch and sequence length have fields of their own";
}

TEST(FixedExtents, OfAFileThatDoesNotSayItsShapesAreStatedAsGiven) {
  EXPECT_EQ(given_text(given({"x:Bx3x8x8", "ids:BxS:int64"}).shapes, std::nullopt), "x:Bx3x8x8");
  EXPECT_EQ(given_text(given({"x:2x3x8x8", "ids:2x16:int64"}).shapes, 2), "x:Bx3x8x8,ids:Bx16");
}

TEST(ShapeOptions, HaveTheModelsOwnNamesAndPlaces) {
  const auto options = [](const ModelInfo& model, const GivenShapes& shapes = {},
                          OpenExtents which = OpenExtents::kByRule) {
    return shape_options(model, *fix_extents(model, shapes), which);
  };
  EXPECT_EQ(options(recogniser()), "--shape x:Bx3xHxW");
  EXPECT_EQ(options(named_sides()), "--shape x:Bx3xHxW --shape mask:BxHEIGHTxWIDTH, or --dim height=N --dim width=N");
  EXPECT_EQ(options(named_sides(), given({}, {"height=48"})),
            "--shape x:Bx3x48xW --shape mask:Bx48xWIDTH, or --dim width=N");
  EXPECT_EQ(options(text()), "");
  EXPECT_EQ(options(text(), {}, OpenExtents::kEvery),
            "--shape ids:BxLENGTH --shape mask:BxN --shape past:Bx4xPAST_LENGTHx16");
  const ModelInfo odd =
      model_with({open_input("a b", kF32, {-1, -1, -1, -1, -1, -1}, {"", "", "lat lon", "", "", ""})});
  EXPECT_EQ(options(odd, {}, OpenExtents::kWithoutRule), "--shape 'a b:BxNxNxNxNxN'");
  EXPECT_THAT(made(odd, {}), AllOf(HasSubstr("the size of axis 1 is unknown"), HasSubstr("--shape 'a b:BxNxNxNxNxN'")));
  EXPECT_THAT(options(recogniser(), given({"x:Bx3x48x320"})), Not(HasSubstr("--shape")));
}

}  // namespace
}  // namespace assay
