// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "models/lower/program.hpp"
#include "models/onnx/onnx_testing.hpp"

namespace assay::lowering {
namespace {
using testing::add_floats;
using testing::add_node;
using testing::add_value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class StableHlo : public ::testing::Test {
 protected:
  [[nodiscard]] Result<Program> lowered(const std::map<std::string, Shape>& shapes,
                                        std::map<std::string, Tensor> constants = {}) {
    ASSAY_TRY(const StaticModel model, StaticModel::open(folder_.write(model_)));
    return lower(model, {shapes, std::move(constants)}, Dialect::kStableHlo);
  }
  [[nodiscard]] std::string text(const std::map<std::string, Shape>& shapes) {
    const Result<Program> program = lowered(shapes);
    EXPECT_TRUE(program) << program.error().message;
    return program ? program->text : "";
  }
  [[nodiscard]] std::string refusal(const std::map<std::string, Shape>& shapes) {
    const Result<Program> program = lowered(shapes);
    if (program) return "";
    EXPECT_EQ(program.error().code, ErrorCode::kUnsupported);
    return program.error().message;
  }
  onnx::GraphProto& graph() { return *model_.mutable_graph(); }
  void input(const char* name, const std::vector<std::string>& extents, std::int32_t type = onnx::TensorProto::FLOAT) {
    add_value(graph().mutable_input(), name, type, extents);
  }
  void output(const char* name, std::int32_t type = onnx::TensorProto::FLOAT) {
    add_value(graph().mutable_output(), name, type, {});
  }
  void integers(const char* name, const std::vector<std::int64_t>& values) {
    testing::add_integers(graph(), name, values);
  }
  static void attribute(onnx::NodeProto& node, const char* name, const std::vector<std::int64_t>& values) {
    testing::add_attribute(node, name, values);
  }
  static void attribute(onnx::NodeProto& node, const char* name, std::int64_t value) {
    onnx::AttributeProto& to = *node.add_attribute();
    to.set_name(name);
    to.set_type(onnx::AttributeProto::INT);
    to.set_i(value);
  }
  /// y [batch, 8] = Relu(x [batch, 4] · w [4, 8] + b [1])
  void affine() {
    input("x", {"batch", "4"});
    output("y");
    add_floats(graph(), "w", {4, 8});
    add_floats(graph(), "b", {1});
    add_node(graph(), "MatMul", {"x", "w"}, {"product"});
    add_node(graph(), "Add", {"product", "b"}, {"sum"});
    add_node(graph(), "Relu", {"sum"}, {"y"});
  }
  [[nodiscard]] static std::ptrdiff_t count(const std::string& text, std::string_view word) {
    std::ptrdiff_t found = 0;
    for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
    return found;
  }

  testing::ModelFolder folder_;
  onnx::ModelProto model_ = testing::empty_model();
};

TEST_F(StableHlo, AModuleHasTheInputsThenTheWeightsAsArguments) {
  affine();
  EXPECT_EQ(text({{"x", {2, 4}}}),
            R"(module @assay {
  func.func public @main(%x0: tensor<2x4xf32> loc("x"), %w0: tensor<4x8xf32>) -> (tensor<2x8xf32>) {
    %0 = stablehlo.dot_general %x0, %w0, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
    %1 = stablehlo.constant dense<0.25> : tensor<1xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [1] : (tensor<1xf32>) -> tensor<2x8xf32>
    %3 = stablehlo.add %0, %2 : tensor<2x8xf32>
    %4 = stablehlo.constant dense<0.0> : tensor<2x8xf32>
    %5 = stablehlo.maximum %3, %4 : tensor<2x8xf32>
    return %5 : tensor<2x8xf32>
  }
}
)");
}

TEST_F(StableHlo, AWeightStaysInTheFileOfTheModel) {
  affine();
  const Result<Program> program = lowered({{"x", {2, 4}}});
  ASSERT_TRUE(program) << program.error().message;
  ASSERT_EQ(program->weights.size(), 1U);
  const Weight& weight = program->weights[0];
  EXPECT_EQ(weight.name, "w");
  EXPECT_EQ(weight.file, folder_.path() / "model.onnx");
  EXPECT_EQ(weight.bytes, 128U);
  EXPECT_THAT(weight.held, IsEmpty());
}

TEST_F(StableHlo, ConvolutionsKeepChannelsLastBetweenThem) {
  input("x", {"1", "3", "8", "8"});
  output("y");
  add_floats(graph(), "a", {4, 3, 3, 3});
  add_floats(graph(), "b", {2, 4, 1, 1});
  attribute(add_node(graph(), "Conv", {"x", "a"}, {"first"}), "pads", {1, 1, 1, 1});
  add_node(graph(), "Relu", {"first"}, {"second"});
  add_node(graph(), "Conv", {"second", "b"}, {"y"});
  const Result<Program> program = lowered({{"x", {1, 3, 8, 8}}});
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(count(program->text, "stablehlo.transpose"), 2) << "one before the first, one after the last\n"
                                                            << program->text;
  EXPECT_THAT(program->text, HasSubstr("dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]"));
  EXPECT_THAT(program->weights[0].permutation, ElementsAre(2, 3, 1, 0)) << "kernels are permuted when they are loaded";
  EXPECT_THAT(program->weights[0].shape, ElementsAre(3, 3, 3, 4));
}

TEST_F(StableHlo, ASliceWithANegativeStepIsASliceOfTheReversedAxis) {
  input("x", {"10"});
  output("y");
  integers("starts", {7});
  integers("ends", {-11});
  integers("axes", {0});
  integers("steps", {-3});
  add_node(graph(), "Slice", {"x", "starts", "ends", "axes", "steps"}, {"y"});
  const std::string module = text({{"x", {10}}});
  EXPECT_THAT(module, HasSubstr("stablehlo.reverse %x0, dims = [0]"));
  EXPECT_THAT(module, HasSubstr("stablehlo.slice %0 [2:9:3] : (tensor<10xf32>) -> tensor<3xf32>"));
}

TEST_F(StableHlo, NumbersAreWrittenSoThatTheyAreReadAsTheSame) {
  input("x", {"1"});
  output("y");
  onnx::TensorProto& tensor = *graph().add_initializer();
  tensor.set_name("numbers");
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.add_dims(5);
  for (const float number : {0.1F, 1e-30F, -3.4028235e38F, -std::numeric_limits<float>::infinity(), 2.0F})
    tensor.add_float_data(number);
  add_node(graph(), "Add", {"x", "numbers"}, {"y"});
  EXPECT_THAT(text({{"x", {1}}}), HasSubstr("dense<[0.1, 1.0e-30, -3.4028235e+38, 0xFF800000, 2.0]> : tensor<5xf32>"));
}

TEST_F(StableHlo, AHalfBeyondItsRangeIsInfinite) {
  input("x", {"1"}, onnx::TensorProto::FLOAT16);
  output("y", onnx::TensorProto::FLOAT16);
  onnx::TensorProto& tensor = *graph().add_initializer();
  tensor.set_name("limit");
  tensor.set_data_type(onnx::TensorProto::FLOAT16);
  tensor.add_int32_data(0xfbff);  // -65504
  add_node(graph(), "Max", {"x", "limit"}, {"y"});
  EXPECT_THAT(text({{"x", {1}}}), HasSubstr("dense<-65504.0> : tensor<f16>"));
}

TEST_F(StableHlo, ACacheIsWrittenInPlace) {
  input("cache", {"1", "2", "8", "4"});
  input("now", {"1", "2", "1", "4"});
  input("places", {"1"}, onnx::TensorProto::INT64);
  output("present");
  integers("column", {1, 1, -1, 1});
  integers("shape", {1, 2, 1, 4});
  add_node(graph(), "Reshape", {"places", "column"}, {"list"});
  add_node(graph(), "Expand", {"list", "shape"}, {"indices"});
  attribute(add_node(graph(), "ScatterElements", {"cache", "indices", "now"}, {"present"}), "axis", 2);
  const std::map<std::string, Shape> shapes{{"cache", {1, 2, 8, 4}}, {"now", {1, 2, 1, 4}}, {"places", {1}}};
  const std::string module = text(shapes);
  EXPECT_THAT(module, HasSubstr("%x0: tensor<1x2x8x4xf32> {tf.aliasing_output = 0 : i32} loc(\"cache\")"));
  EXPECT_THAT(module, HasSubstr("stablehlo.dynamic_update_slice %x0, %x1"));
  // Another reader would see the new elements.
  output("sum");
  add_node(graph(), "Neg", {"cache"}, {"sum"});
  EXPECT_THAT(text(shapes), Not(HasSubstr("aliasing_output")));
}

TEST_F(StableHlo, ARecurrentLayerIsALoop) {
  input("x", {"5", "1", "3"});
  output("y");
  output("last");
  add_floats(graph(), "w", {1, 8, 3});
  add_floats(graph(), "r", {1, 8, 2});
  attribute(add_node(graph(), "LSTM", {"x", "w", "r"}, {"y", "last"}), "hidden_size", 2);
  const std::string module = text({{"x", {5, 1, 3}}});
  EXPECT_EQ(count(module, "\"stablehlo.while\""), 1);
  EXPECT_THAT(module, HasSubstr("dense<5> : tensor<i32>"));
  EXPECT_THAT(module, HasSubstr("(tensor<5x1x1x2xf32>, tensor<1x1x2xf32>)"));
}

TEST_F(StableHlo, NearestResizingReadsAtPositionsAndLinearMultiplies) {
  input("x", {"1", "1", "2", "2"});
  output("y");
  integers("sizes", {1, 1, 4, 4});
  onnx::NodeProto& node = add_node(graph(), "Resize", {"x", "", "", "sizes"}, {"y"});
  EXPECT_THAT(text({{"x", {1, 1, 2, 2}}}), HasSubstr("stablehlo.gather"));
  onnx::AttributeProto& mode = *node.add_attribute();
  mode.set_name("mode");
  mode.set_type(onnx::AttributeProto::STRING);
  mode.set_s("linear");
  const std::string module = text({{"x", {1, 1, 2, 2}}});
  EXPECT_THAT(module, Not(HasSubstr("stablehlo.gather")));
  EXPECT_THAT(module, HasSubstr("dense<[[1.0, 0.0], [0.75, 0.25], [0.25, 0.75], [0.0, 1.0]]>"));
}

// Of 64 bits a double has only the first 53.
TEST_F(StableHlo, IntegersOf64BitsAreWrittenExactly) {
  integers("shape", {70'000});  // too many elements to be folded
  for (const auto& [type, name] :
       {std::pair(onnx::TensorProto::INT64, "signed"), std::pair(onnx::TensorProto::UINT64, "unsigned")}) {
    output(name, type);
    onnx::AttributeProto& value = *add_node(graph(), "ConstantOfShape", {"shape"}, {name}).add_attribute();
    value.set_name("value");
    value.set_type(onnx::AttributeProto::TENSOR);
    value.mutable_t()->set_data_type(type);
    value.mutable_t()->add_dims(1);
    if (type == onnx::TensorProto::INT64)
      value.mutable_t()->add_int64_data(INT64_MAX);
    else
      value.mutable_t()->add_uint64_data(UINT64_MAX - 1);
  }
  const std::string module = text({});
  EXPECT_THAT(module, HasSubstr("dense<9223372036854775807> : tensor<70000xi64>"));
  EXPECT_THAT(module, HasSubstr("dense<18446744073709551614> : tensor<70000xui64>"));
}

TEST_F(StableHlo, EinsumRepeatsExtentsOf1AndKeepsTheAxesOfAnEllipsis) {
  input("a", {"7", "2", "1"});
  input("b", {"3", "4"});
  output("y");
  onnx::AttributeProto& equation = *add_node(graph(), "Einsum", {"a", "b"}, {"y"}).add_attribute();
  equation.set_name("equation");
  equation.set_type(onnx::AttributeProto::STRING);
  equation.set_s("...ij,jk");
  const std::string module = text({{"a", {7, 2, 1}}, {"b", {3, 4}}});
  EXPECT_THAT(module, HasSubstr("stablehlo.reshape %x0 : (tensor<7x2x1xf32>) -> tensor<7x2xf32>"));
  EXPECT_THAT(module, HasSubstr("across dimensions = [0] : (tensor<3x4xf32>, tensor<f32>) -> tensor<4xf32>"));
  EXPECT_THAT(module, HasSubstr("(tensor<7x2xf32>, tensor<4xf32>) -> tensor<7x2x4xf32>"));
}

TEST_F(StableHlo, WhatTheDialectLacksIsRefusedByName) {
  input("x", {"2"});
  output("y");
  add_node(graph(), "NonZero", {"x"}, {"y"});
  EXPECT_THAT(refusal({{"x", {2}}}), HasSubstr("operator NonZero (opset 17) of node 'NonZero_1'"));
}

TEST_F(StableHlo, AnAxisThatIsNoConstantIsRefused) {
  input("x", {"4"});
  input("axis", {}, onnx::TensorProto::INT32);
  output("y");
  add_node(graph(), "CumSum", {"x", "axis"}, {"y"});
  EXPECT_THAT(refusal({{"x", {4}}, {"axis", {}}}), HasSubstr("input 'axis', which is not a constant"));
}

TEST(StableHloTable, RowsAreUniqueAndHaveARangeOfOpsets) {
  const std::vector<Operator> all = operators(Dialect::kStableHlo);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_LE(all[i].first_opset, all[i].last_opset) << all[i].name;
    if (i == 0) continue;
    EXPECT_NE(std::pair(all[i].domain, all[i].name), std::pair(all[i - 1].domain, all[i - 1].name));
  }
}

}  // namespace
}  // namespace assay::lowering
