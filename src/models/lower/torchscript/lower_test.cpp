// SPDX-License-Identifier: Apache-2.0
// The texts of methods, statement by statement.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "models/lower/operators.hpp"
#include "models/lower/program.hpp"
#include "models/onnx/onnx_testing.hpp"

namespace assay::lowering {
namespace {

using testing::add_floats;
using testing::add_node;
using testing::add_value;
using ::testing::HasSubstr;
using ::testing::Not;

/// A graph with the inputs x [2, 4] (and others that a test adds) and the output y.
class Text : public ::testing::Test {
 protected:
  Text() {
    model_ = testing::empty_model();
    model_.mutable_opset_import(0)->set_version(18);
    add_value(graph().mutable_input(), "x", onnx::TensorProto::FLOAT, {"n", "4"});
    add_value(graph().mutable_output(), "y", onnx::TensorProto::FLOAT, {"", ""});
    request_.shapes = {{"x", {2, 4}}};
  }
  onnx::GraphProto& graph() { return *model_.mutable_graph(); }
  void add_number(const std::string& name, float value) {
    onnx::TensorProto& tensor = add_floats(graph(), name, {1});
    tensor.clear_dims();
    tensor.set_raw_data(&value, sizeof value);
  }
  void add_integers(const std::string& name, const std::vector<std::int64_t>& values) {
    testing::add_integers(graph(), name, values);
  }
  [[nodiscard]] Result<Program> lowered() {
    const auto opened = StaticModel::open(folder_.write(model_));
    if (!opened) return tl::unexpected<Error>(opened.error());
    return lower(*opened, request_, Dialect::kTorchScript);
  }
  [[nodiscard]] std::string text() {
    const auto program = lowered();
    EXPECT_TRUE(program) << to_string(program.error());
    return program ? program->text : "";
  }
  [[nodiscard]] std::string refusal() {
    const auto program = lowered();
    EXPECT_FALSE(program);
    return program ? "" : program.error().message;
  }

  testing::ModelFolder folder_;
  onnx::ModelProto model_;
  SpecialiseRequest request_;
};

TEST_F(Text, DefinesAMethodWithAStatementForEachNode) {
  add_node(graph(), "Relu", {"x"}, {"a"});
  add_node(graph(), "Exp", {"a"}, {"y"});
  EXPECT_EQ(text(), R"(def forward(self, x0: Tensor):
    v0 = torch.relu(x0)
    v1 = torch.exp(v0)
    return (v1, )
)");
}

TEST_F(Text, NumbersWeightsAsItReadsThemAndWritesScalarsInPlace) {
  add_floats(graph(), "w", {4});
  add_number("half", 0.5F);
  add_node(graph(), "Mul", {"x", "half"}, {"a"});
  add_node(graph(), "Sub", {"half", "a"}, {"b"});
  add_node(graph(), "Add", {"b", "w"}, {"y"});
  const auto program = lowered();
  ASSERT_TRUE(program);
  EXPECT_EQ(program->text, R"(def forward(self, x0: Tensor):
    v0 = torch.mul(x0, 0.5)
    v1 = torch.rsub(v0, 0.5)
    v2 = torch.add(v1, self.w0)
    return (v2, )
)");
  ASSERT_EQ(program->weights.size(), 1);
  EXPECT_EQ(program->weights[0].name, "w");
}

TEST_F(Text, WritesALinearLayerForAProductWithWeightsAndItsBias) {
  add_floats(graph(), "w", {4, 3});
  add_floats(graph(), "b", {3});
  add_node(graph(), "MatMul", {"x", "w"}, {"product"});
  add_node(graph(), "Add", {"b", "product"}, {"y"});
  for (const std::int64_t rows : {1, 8, 255}) {
    request_.shapes["x"] = {rows, 4};
    EXPECT_THAT(text(), HasSubstr("torch.linear(x0, torch.t(self.w1), self.w0)")) << rows;
  }
  request_.shapes["x"] = {256, 4};
  EXPECT_THAT(text(), HasSubstr("torch.addmm(self.w0, x0, self.w1)")) << "for many rows";
}

TEST_F(Text, WritesALinearLayerThatMakesItsInputWiderForAnyNumberOfRows) {
  add_floats(graph(), "w", {4, 5});
  add_node(graph(), "MatMul", {"x", "w"}, {"y"});
  for (const std::int64_t rows : {1, 2, 1000}) {
    request_.shapes["x"] = {rows, 4};
    EXPECT_THAT(text(), HasSubstr("torch.linear(x0, torch.t(self.w0))")) << rows;
  }
}

TEST_F(Text, WritesALinearLayerForTiedWeightsWhichATransposeTurns) {
  add_floats(graph(), "w", {3, 4});
  onnx::AttributeProto& order = *add_node(graph(), "Transpose", {"w"}, {"turned"}).add_attribute();
  order.set_name("perm");
  order.set_type(onnx::AttributeProto::INTS);
  for (const int axis : {1, 0}) order.add_ints(axis);
  add_node(graph(), "MatMul", {"x", "turned"}, {"product"});
  add_floats(graph(), "b", {3});
  add_node(graph(), "Add", {"product", "b"}, {"y"});
  EXPECT_THAT(text(), HasSubstr("    v0 = torch.linear(x0, self.w1, self.w0)\n    return (v0, )"));
  request_.shapes["x"] = {256, 4};
  EXPECT_THAT(text(), HasSubstr("torch.addmm(self.w0, x0, torch.t(self.w1))"));
  graph().mutable_node()->RemoveLast();
  graph().mutable_node(1)->set_output(0, "y");
  EXPECT_THAT(text(), HasSubstr("torch.mm(x0, torch.t(self.w0))")) << "without a bias";
  graph().mutable_initializer(0)->set_dims(0, 4);
  graph().mutable_initializer(0)->mutable_raw_data()->resize(64);
  graph().mutable_node(0)->mutable_attribute(0)->set_ints(0, 0);
  graph().mutable_node(0)->mutable_attribute(0)->set_ints(1, 1);
  EXPECT_THAT(text(), HasSubstr("torch.matmul(x0, ")) << "an order that turns nothing";
}

TEST_F(Text, KeepsATransposeThatTwoNodesRead) {
  add_floats(graph(), "w", {4, 4});
  add_node(graph(), "Transpose", {"w"}, {"turned"});
  add_node(graph(), "MatMul", {"x", "turned"}, {"product"});
  add_node(graph(), "MatMul", {"product", "turned"}, {"y"});
  EXPECT_THAT(text(), HasSubstr("v0 = torch.permute(self.w0, [1, 0])\n    v1 = torch.matmul(x0, v0)"));
}

TEST_F(Text, MultipliesAVectorAndReshapesABatchOfManyRows) {
  add_floats(graph(), "w", {4, 3});
  add_node(graph(), "MatMul", {"x", "w"}, {"y"});
  graph().mutable_input(0)->Clear();
  graph().clear_input();
  add_value(graph().mutable_input(), "x", onnx::TensorProto::FLOAT, {"4"});
  request_.shapes["x"] = {4};
  EXPECT_THAT(text(), HasSubstr("torch.matmul(x0, self.w0)"));
  graph().clear_input();
  add_value(graph().mutable_input(), "x", onnx::TensorProto::FLOAT, {"2", "128", "4"});
  request_.shapes["x"] = {2, 128, 4};
  EXPECT_THAT(text(), HasSubstr("torch.reshape(torch.mm(torch.reshape(x0, [256, 4]), self.w0), [2, 128, 3])"));
}

TEST_F(Text, WritesALinearLayerForAGemmWithConstantWeights) {
  add_floats(graph(), "w", {3, 4});
  add_floats(graph(), "b", {3});
  onnx::AttributeProto& flips = *add_node(graph(), "Gemm", {"x", "w", "b"}, {"y"}).add_attribute();
  flips.set_name("transB");
  flips.set_type(onnx::AttributeProto::INT);
  flips.set_i(1);
  EXPECT_THAT(text(), HasSubstr("torch.linear(x0, self.w1, self.w0)"));
  request_.shapes["x"] = {256, 4};
  EXPECT_THAT(text(), HasSubstr("torch.addmm(self.w0, x0, torch.t(self.w1))"));
  onnx::AttributeProto& flip = *graph().mutable_node(0)->add_attribute();
  flip.set_name("transA");
  flip.set_type(onnx::AttributeProto::INT);
  flip.set_i(1);
  request_.shapes["x"] = {4, 4};
  EXPECT_THAT(text(), HasSubstr("torch.linear(torch.t(x0), self.w1, self.w0)"));
}

// x · ½ · (1 + erf(x / √2)), and the same with a constant that is not √2.
TEST_F(Text, FindsGeluByItsConstants) {
  for (const float root : {1.41421356F, 1.4142F}) {
    graph().clear_node();
    graph().clear_initializer();
    add_number("root", root);
    add_number("one", 1.0F);
    add_number("half", 0.5F);
    add_node(graph(), "Div", {"x", "root"}, {"a"});
    add_node(graph(), "Erf", {"a"}, {"b"});
    add_node(graph(), "Add", {"b", "one"}, {"c"});
    add_node(graph(), "Mul", {"x", "c"}, {"d"});
    add_node(graph(), "Mul", {"d", "half"}, {"y"});
    if (root == 1.4142F)
      EXPECT_THAT(text(), Not(HasSubstr("gelu")));
    else
      EXPECT_THAT(text(), HasSubstr("v0 = torch.gelu(x0, approximate=\"none\")"));
  }
}

TEST_F(Text, LeavesAnActivationThatAnotherNodeReadsWhole) {
  add_node(graph(), "Sigmoid", {"x"}, {"a"});
  add_node(graph(), "Mul", {"x", "a"}, {"b"});
  add_node(graph(), "Add", {"a", "b"}, {"y"});
  EXPECT_THAT(text(), Not(HasSubstr("silu")));
  graph().mutable_node(2)->set_input(0, "x");
  EXPECT_THAT(text(), HasSubstr("torch.silu(x0)"));
}

// softmax(q · kᵀ / 2) · v
TEST_F(Text, WritesOneOperatorForAttention) {
  graph().clear_input();
  for (const char* name : {"q", "k", "v"}) {
    add_value(graph().mutable_input(), name, onnx::TensorProto::FLOAT, {"1", "2", "n", "4"});
    request_.shapes[name] = {1, 2, 5, 4};
  }
  request_.shapes.erase("x");
  add_number("two", 2.0F);
  onnx::AttributeProto& order = *add_node(graph(), "Transpose", {"k"}, {"turned"}).add_attribute();
  order.set_name("perm");
  order.set_type(onnx::AttributeProto::INTS);
  for (const int axis : {0, 1, 3, 2}) order.add_ints(axis);
  add_node(graph(), "MatMul", {"q", "turned"}, {"product"});
  add_node(graph(), "Div", {"product", "two"}, {"scores"});
  add_node(graph(), "Softmax", {"scores"}, {"shares"});
  add_node(graph(), "MatMul", {"shares", "v"}, {"y"});
  EXPECT_THAT(text(), HasSubstr("v0 = torch.scaled_dot_product_attention(x0, x1, x2, None, 0.0, False, scale=0.5)"));
}

TEST_F(Text, SamplesAxesOfAResizeByPlaceOrByAMatrix) {
  graph().mutable_input(0)->Clear();
  graph().clear_input();
  add_value(graph().mutable_input(), "x", onnx::TensorProto::FLOAT, {"1", "1", "2", "2"});
  request_.shapes["x"] = {1, 1, 2, 2};
  add_integers("sizes", {1, 1, 2, 4});
  add_node(graph(), "Resize", {"x", "", "", "sizes"}, {"y"});
  EXPECT_THAT(text(), HasSubstr("torch.index_select(x0, 3, self.w0)")) << "only the axis that changes";
  onnx::AttributeProto& mode = *graph().mutable_node(0)->add_attribute();
  mode.set_name("mode");
  mode.set_type(onnx::AttributeProto::STRING);
  mode.set_s("linear");
  EXPECT_THAT(text(), HasSubstr("torch.upsample_bilinear2d(x0, [2, 4], False)"));
  mode.set_s("cubic");
  const auto program = lowered();
  ASSERT_TRUE(program);
  EXPECT_THAT(program->text, HasSubstr("torch.linear(x0, self.w0)"));
  ASSERT_EQ(program->weights.size(), 1);
  EXPECT_EQ(program->weights[0].shape, (Shape{4, 2}));
  mode.set_s("sinc");
  EXPECT_THAT(refusal(), HasSubstr("the mode 'sinc' of node 'Resize_1' (Resize) is not supported"));
}

// The variance is the mean of the squares of what is centred: of numbers near 1000, E[x²] − E[x]² has no digit left.
TEST_F(Text, CentresBeforeItSquares) {
  testing::add_attribute(add_node(graph(), "MeanVarianceNormalization", {"x"}, {"y"}), "axes", {1});
  EXPECT_THAT(text(), HasSubstr("v0 = torch.sub(x0, torch.mean(x0, [1], True))\n"));
  EXPECT_THAT(text(), HasSubstr("torch.sqrt(torch.mean(torch.mul(v0, v0), [1], True))"));
}

// As Python's x[-5::-1] of four elements. A start below the first element was taken for the first one.
TEST_F(Text, ASliceThatBeginsBeforeTheFirstElementAndGoesBackIsEmpty) {
  for (const auto& [name, value] :
       {std::pair("starts", -5), std::pair("ends", -100), std::pair("axes", 1), std::pair("steps", -1)})
    add_integers(name, {value});
  add_node(graph(), "Slice", {"x", "starts", "ends", "axes", "steps"}, {"y"});
  EXPECT_THAT(text(), HasSubstr("torch.slice(x0, 1, 0, 0, 1)"));
}

TEST_F(Text, ReadsANumberThatIsAnInputFromItsTensor) {
  add_integers("places", {0, 0, 0, 1});
  add_node(graph(), "Pad", {"x", "places", "fill"}, {"y"});
  add_value(graph().mutable_input(), "fill", onnx::TensorProto::FLOAT, {});
  request_.shapes["fill"] = {};
  EXPECT_THAT(text(), HasSubstr("torch.constant_pad_nd(x0, [0, 1, 0, 0], torch.item(x1))"));
}

TEST(TorchOperators, AreEachInTheTableOnce) {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (const auto& row : torch_operators()) {
    EXPECT_TRUE(seen.emplace(row.known.domain, row.known.name).second) << row.known.name;
    EXPECT_LE(row.known.first_opset, row.known.last_opset) << row.known.name;
  }
}

}  // namespace
}  // namespace assay::lowering
