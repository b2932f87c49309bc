// SPDX-License-Identifier: Apache-2.0
#include "models/graph/static_graph.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>

#include "models/graph/shape_rules.hpp"
#include "models/onnx/onnx_testing.hpp"

namespace assay {
namespace {
namespace fs = std::filesystem;
using testing::add_floats;
using testing::add_node;
using testing::add_value;
using ::testing::ElementsAre;
using testing::empty_model;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Static : public ::testing::Test {
 protected:
  [[nodiscard]] StaticGraph infer(const std::map<std::string, Shape>& shapes) {
    Result<StaticGraph> graph = StaticGraph::infer(folder_.write(model_), shapes);
    EXPECT_TRUE(graph) << to_string(graph.error());
    return graph ? std::move(*graph) : StaticGraph();
  }
  [[nodiscard]] std::string refusal(const std::map<std::string, Shape>& shapes) {
    const Result<StaticGraph> graph = StaticGraph::infer(folder_.write(model_), shapes);
    return graph ? "" : graph.error().message;
  }
  onnx::GraphProto& graph() { return *model_.mutable_graph(); }
  void input(const char* name, const std::vector<std::string>& extents) {
    add_value(graph().mutable_input(), name, onnx::TensorProto::FLOAT, extents);
  }
  void output(const char* name) { add_value(graph().mutable_output(), name, onnx::TensorProto::FLOAT, {}); }
  void integers(const char* name, const std::vector<std::int64_t>& values) {
    testing::add_integers(graph(), name, values);
  }
  static void attribute(onnx::NodeProto& node, const char* name, const std::vector<std::int64_t>& values) {
    testing::add_attribute(node, name, values);
  }

  testing::ModelFolder folder_;
  onnx::ModelProto model_ = empty_model();
};

// 8 × 4 times 4 × 4, a sum and a maximum for each element.
TEST_F(Static, CountsTwoForEachMultiplyAdd) {
  model_ = testing::small_model();
  const StaticGraph graph = infer({{"x", {8, 4}}});
  EXPECT_EQ(graph.values().at("y").shape, (Shape{8, 4}));
  EXPECT_EQ(graph.cost().flops, 2 * 8 * 4 * 4 + 32 + 32);
  EXPECT_EQ(graph.cost().bytes, 4 * ((32 + 16 + 32) + (32 + 4 + 32) + (32 + 32)));
  EXPECT_EQ(graph.cost().weight_bytes, 4U * (16 + 4));
  EXPECT_EQ(graph.cost().peak_activation_bytes, 4U * 64);
  EXPECT_EQ(graph.cost().counted, 1.0);
  EXPECT_THAT(graph.unknown_operators(), IsEmpty());
}

// ResNet's first layer: 3 → 64 channels, 7 × 7, stride 2, padding 3: 2 · 64 · 112² · 3 · 49 = 236,027,904.
TEST_F(Static, ConvolutionsAsInResNet) {
  input("x", {"batch", "3", "224", "224"});
  output("y");
  add_floats(graph(), "w", {64, 3, 7, 7});
  onnx::NodeProto& node = add_node(graph(), "Conv", {"x", "w"}, {"y"});
  attribute(node, "strides", {2, 2});
  attribute(node, "pads", {3, 3, 3, 3});
  const StaticGraph graph = infer({{"x", {1, 3, 224, 224}}});
  EXPECT_EQ(graph.values().at("y").shape, (Shape{1, 64, 112, 112}));
  EXPECT_EQ(graph.cost().flops, 236027904.0);
}

// [batch, sequence, 12] → [batch, sequence, 3, 4] as exporters write it.
TEST_F(Static, FoldsTheArithmeticOfShapes) {
  input("x", {"batch", "sequence", "12"});
  output("y");
  integers("zero", {0});
  integers("one", {1});
  integers("two", {2});
  integers("heads", {3, 4});
  add_node(graph(), "Shape", {"x"}, {"shape"});
  add_node(graph(), "Slice", {"shape", "zero", "two"}, {"leading"});
  add_node(graph(), "Mul", {"leading", "one"}, {"same"});
  onnx::NodeProto& join = add_node(graph(), "Concat", {"same", "heads"}, {"target"});
  onnx::AttributeProto& axis = *join.add_attribute();
  axis.set_name("axis");
  axis.set_type(onnx::AttributeProto::INT);
  axis.set_i(0);
  add_node(graph(), "Reshape", {"x", "target"}, {"y"});
  const StaticGraph graph = infer({{"x", {2, 5, 12}}});
  EXPECT_THAT(*graph.values().at("target").elements, ElementsAre(2, 5, 3, 4));
  EXPECT_EQ(graph.values().at("y").shape, (Shape{2, 5, 3, 4}));
  EXPECT_EQ(graph.cost().flops, 2.0) << "the product of two extents";
}

TEST_F(Static, WhatHasNoRuleIsNamedAndLeavesTheRestUnknown) {
  input("x", {"4"});
  output("y");
  add_node(graph(), "NonZero", {"x"}, {"places"});
  add_node(graph(), "Relu", {"x"}, {"y"});
  const StaticGraph graph = infer({{"x", {4}}});
  EXPECT_THAT(graph.unknown_operators(), ElementsAre("NonZero"));
  EXPECT_FALSE(graph.values().at("places").shape);
  EXPECT_EQ(graph.values().at("y").shape, (Shape{4}));
  EXPECT_EQ(graph.cost().counted, 0.5);
}

TEST_F(Static, ContradictionsNameTheNode) {
  model_ = testing::small_model();
  EXPECT_THAT(refusal({}), HasSubstr("input 'x' has no shape given"));
  EXPECT_THAT(refusal({{"x", {8, 5}}}), HasSubstr("input 'x' cannot have the shape [8, 5]"));
  graph().mutable_initializer(0)->set_dims(0, 2);
  graph().mutable_initializer(0)->set_dims(1, 8);
  EXPECT_THAT(refusal({{"x", {8, 4}}}), HasSubstr("('MatMul'): [8, 4] times [2, 8]"));
}

// What runtimes compute all the same, reading beside the table or dividing by zero.
TEST_F(Static, IndicesBeyondTheTableAreContradictions) {
  input("x", {"batch", "4"});
  output("y");
  integers("index", {7});
  onnx::NodeProto& node = add_node(graph(), "Gather", {"x", "index"}, {"y"});
  onnx::AttributeProto& axis = *node.add_attribute();
  axis.set_name("axis");
  axis.set_type(onnx::AttributeProto::INT);
  axis.set_i(1);
  EXPECT_THAT(refusal({{"x", {8, 4}}}), HasSubstr("index 7 of 4 elements"));
  graph().mutable_initializer(0)->set_int64_data(0, -4);
  EXPECT_EQ(refusal({{"x", {8, 4}}}), "");
  graph().mutable_initializer(0)->set_int64_data(0, -5);
  EXPECT_THAT(refusal({{"x", {8, 4}}}), HasSubstr("index -5 of 4 elements"));
}

TEST_F(Static, GroupsAndKernelsThatCannotBe) {
  input("x", {"batch", "4", "8", "8"});
  output("y");
  add_floats(graph(), "w", {4, 4, 3, 3});
  for (const char* op : {"Conv", "ConvTranspose"}) {
    graph().clear_node();
    onnx::NodeProto& node = add_node(graph(), op, {"x", "w"}, {"y"});
    onnx::AttributeProto& group = *node.add_attribute();
    group.set_name("group");
    group.set_type(onnx::AttributeProto::INT);
    EXPECT_THAT(refusal({{"x", {1, 4, 8, 8}}}), HasSubstr("group 0")) << op;
  }
  graph().clear_node();
  attribute(add_node(graph(), "Conv", {"x", "w"}, {"y"}), "kernel_shape", {5, 5});
  EXPECT_THAT(refusal({{"x", {1, 4, 8, 8}}}), HasSubstr("kernel_shape [5, 5]"));
}

// Rules read inputs and lists by their place: what is not there must be said, not read.
TEST_F(Static, NodesWithoutTheirInputsOrOutputs) {
  input("x", {"batch", "4"});
  output("y");
  for (const char* op : {"Relu", "Gather", "MatMul", "Conv", "Where", "Concat", "Add", "Slice", "GatherND", "LSTM"}) {
    graph().clear_node();
    add_node(graph(), op, {}, {"y"});
    EXPECT_THAT(refusal({{"x", {8, 4}}}), ::testing::AnyOf(HasSubstr("missing"), HasSubstr("inputs"), "")) << op;
    graph().clear_node();
    add_node(graph(), op, {"x"}, {"y"});
    static_cast<void>(refusal({{"x", {8, 4}}}));
    graph().clear_node();
    add_node(graph(), op, {"x"}, {});
    add_node(graph(), "Relu", {"x"}, {"y"});
    EXPECT_THAT(refusal({{"x", {8, 4}}}), HasSubstr("no outputs")) << op;
  }
  integers("three", {0, 0, 0});
  integers("one", {1});
  graph().clear_node();
  add_node(graph(), "Slice", {"x", "three", "three", "one"}, {"y"});
  EXPECT_THAT(refusal({{"x", {8, 4}}}), HasSubstr("different lengths"));
}

// Sizes by way of fractions, as exporters write an image's: floor(sides × 0.7), the span of a range.
TEST_F(Static, ExtentsComputedInFloats) {
  input("x", {"batch", "3", "height", "width"});
  output("y");
  output("steps");
  const auto floats = [&](const char* name, std::initializer_list<float> values, bool scalar = false) {
    onnx::TensorProto& tensor = *graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    if (!scalar) tensor.add_dims(static_cast<std::int64_t>(values.size()));
    for (const float value : values) tensor.add_float_data(value);
  };
  const auto with = [](onnx::NodeProto& node, const char* name, std::int64_t value) {
    onnx::AttributeProto& to = *node.add_attribute();
    to.set_name(name);
    to.set_type(onnx::AttributeProto::INT);
    to.set_i(value);
  };
  floats("scale", {0.7F});
  floats("zero", {0}, true);
  floats("half", {0.5F}, true);
  floats("scales", {1, 1, 0.7F, 2});
  integers("sides", {2, 3});
  integers("first", {0});
  integers("two", {2});
  add_node(graph(), "Shape", {"x"}, {"shape"});
  add_node(graph(), "Gather", {"shape", "sides"}, {"both"});
  with(add_node(graph(), "Cast", {"both"}, {"real"}), "to", onnx::TensorProto::FLOAT);
  add_node(graph(), "Mul", {"real", "scale"}, {"scaled"});
  add_node(graph(), "Floor", {"scaled"}, {"floored"});
  with(add_node(graph(), "Cast", {"floored"}, {"new"}), "to", onnx::TensorProto::INT64);
  add_node(graph(), "Slice", {"shape", "first", "two"}, {"kept"});
  with(add_node(graph(), "Concat", {"kept", "new"}, {"sizes"}), "axis", 0);
  add_node(graph(), "Resize", {"x", "", "", "sizes"}, {"by_sizes"});
  add_node(graph(), "Resize", {"by_sizes", "", "scales"}, {"y"});
  integers("last", {3});
  add_node(graph(), "Gather", {"real", "first"}, {"height"});
  add_node(graph(), "Squeeze", {"height"}, {"limit"});
  add_node(graph(), "Range", {"zero", "limit", "half"}, {"steps"});
  const StaticGraph graph = infer({{"x", {2, 3, 10, 15}}});
  EXPECT_THAT(*graph.values().at("sizes").elements, ElementsAre(2, 3, 7, 10));
  EXPECT_EQ(graph.values().at("y").shape, (Shape{2, 3, 4, 20}));
  EXPECT_EQ(graph.values().at("steps").shape, (Shape{20}));
  EXPECT_FALSE(graph.values().at("floored").elements) << "only whole numbers are folded into files";
}

TEST(Broadcast, AsNumPy) {
  EXPECT_EQ(broadcast({3, 1}, {4}), (Shape{3, 4}));
  EXPECT_EQ(broadcast({}, {2}), (Shape{2}));
  EXPECT_EQ(broadcast({0}, {1}), (Shape{0}));
  EXPECT_FALSE(broadcast({3}, {4}));
  EXPECT_THAT(broadcast_places({2, 1}, {2, 3}), ElementsAre(0, 0, 0, 1, 1, 1));
  EXPECT_THAT(broadcast_places({3}, {2, 3}), ElementsAre(0, 1, 2, 0, 1, 2));
}

// Integers are as wide as their type, in a runtime and here.
TEST_F(Static, ArithmeticWrapsAroundInItsType) {
  input("x", {"n"});
  output("y");
  integers("large", {1LL << 31, 7});
  integers("two", {2, 2});
  const auto cast = [&](const char* from, const char* to) {
    onnx::AttributeProto& type = *add_node(graph(), "Cast", {from}, {to}).add_attribute();
    type.set_name("to");
    type.set_type(onnx::AttributeProto::INT);
    type.set_i(onnx::TensorProto::INT32);
  };
  cast("large", "narrow");
  cast("two", "by");
  add_node(graph(), "Sub", {"narrow", "by"}, {"difference"});
  add_node(graph(), "Mul", {"difference", "by"}, {"product"});
  add_node(graph(), "Add", {"large", "two"}, {"sum"});
  add_node(graph(), "Relu", {"x"}, {"y"});
  const StaticGraph graph = infer({{"x", {1}}});
  EXPECT_THAT(*graph.values().at("narrow").elements, ElementsAre(INT32_MIN, 7));
  EXPECT_THAT(*graph.values().at("difference").elements, ElementsAre(INT32_MAX - 1, 5));
  EXPECT_THAT(*graph.values().at("product").elements, ElementsAre(-4, 10));
  EXPECT_THAT(*graph.values().at("sum").elements, ElementsAre((1LL << 31) + 2, 9));
}

}  // namespace
}  // namespace assay
