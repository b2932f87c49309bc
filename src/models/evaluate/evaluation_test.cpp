// SPDX-License-Identifier: Apache-2.0
#include "models/evaluate/evaluation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>

#include "models/evaluate/kernels_testing.hpp"

namespace assay::evaluate {
namespace {
using assay::testing::add_node;
using assay::testing::add_value;
using ::testing::ElementsAre;
using testing::floats;
using ::testing::HasSubstr;
using testing::integers_of;
using testing::longs;
using testing::reals_of;

constexpr std::int32_t kFloat = onnx::TensorProto::FLOAT, kInt64 = onnx::TensorProto::INT64,
                       kBool = onnx::TensorProto::BOOL;

class Evaluated : public ::testing::Test {
 protected:
  onnx::GraphProto& graph() { return *model_.mutable_graph(); }
  void input(const char* name, std::int32_t type, const std::vector<std::string>& extents) {
    add_value(graph().mutable_input(), name, type, extents);
  }
  void output(const char* name, std::int32_t type = kFloat) { add_value(graph().mutable_output(), name, type, {}); }
  Outputs run(Values given, int threads = 1) {
    ASSAY_TRY(const Evaluator evaluator, Evaluator::open(folder_.write(model_)));
    return evaluator.run(std::move(given), threads);
  }
  Value only(Values given) { return testing::first_of(run(std::move(given))); }
  static onnx::GraphProto& body(onnx::NodeProto& node, const char* name) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    attribute.mutable_g()->set_name(name);
    return *attribute.mutable_g();
  }
  static void number(onnx::NodeProto& node, const char* name, std::int64_t value) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(value);
  }

  assay::testing::ModelFolder folder_;
  onnx::ModelProto model_ = assay::testing::empty_model();
};

TEST_F(Evaluated, NodesInTheOrderOfTheirValues) {
  model_ = assay::testing::small_model();  // relu(x w + b); w and b count from 0.25
  const Value y = only({floats({1, 4}, {1, 0, 0, -1})});
  EXPECT_EQ(y.shape(), (Shape{1, 4}));
  EXPECT_THAT(reals_of(y), ElementsAre(0, 0, 0, 0)) << "0.25 − 12.25 + 0.25 …";
  EXPECT_THAT(reals_of(only({floats({1, 4}, {1, 0, 0, 0})})), ElementsAre(0.5, 2.5, 4.5, 6.5));
}

TEST_F(Evaluated, TheBranchThatTheConditionNames) {
  input("c", kBool, {});
  input("x", kFloat, {"2"});
  output("y");
  onnx::NodeProto& node = add_node(graph(), "If", {"c"}, {"y"});
  for (const auto& [name, op] : {std::pair("then_branch", "Neg"), std::pair("else_branch", "Exp")}) {
    onnx::GraphProto& branch = body(node, name);
    add_node(branch, op, {"x"}, {"made"});  // reads a value of the graph around it
    add_value(branch.mutable_output(), "made", kFloat, {"2"});
  }
  const Value x = floats({2}, {0, 1});
  EXPECT_THAT(reals_of(only({Value(DType::kBool, {}, Integers{1}), x})), ElementsAre(0, -1));
  EXPECT_THAT(reals_of(only({Value(DType::kBool, {}, Integers{0}), x})), ElementsAre(1, std::exp(1.0)));
}

// carried = carried + x, three times; each step's value is scanned.
TEST_F(Evaluated, ALoopCarriesAndScans) {
  input("x", kFloat, {});
  output("last");
  output("all");
  assay::testing::add_integers(graph(), "trips", {3}).clear_dims();
  onnx::NodeProto& node = add_node(graph(), "Loop", {"trips", "", "x"}, {"last", "all"});
  onnx::GraphProto& loop = body(node, "body");
  add_value(loop.mutable_input(), "i", kInt64, {});
  add_value(loop.mutable_input(), "goes_on", kBool, {});
  add_value(loop.mutable_input(), "carried", kFloat, {});
  add_node(loop, "Identity", {"goes_on"}, {"condition"});
  add_node(loop, "Add", {"carried", "x"}, {"sum"});
  add_node(loop, "Identity", {"sum"}, {"seen"});
  add_value(loop.mutable_output(), "condition", kBool, {});
  add_value(loop.mutable_output(), "sum", kFloat, {});
  add_value(loop.mutable_output(), "seen", kFloat, {});
  const Outputs results = run({floats({}, {2})});
  ASSERT_TRUE(results) << to_string(results.error());
  EXPECT_THAT(reals_of((*results)[0]), ElementsAre(8));
  EXPECT_THAT(reals_of((*results)[1]), ElementsAre(4, 6, 8));
}

TEST_F(Evaluated, AScanOverTheFirstAxis) {
  input("start", kFloat, {});
  input("x", kFloat, {"3"});
  output("last");
  output("all");
  onnx::NodeProto& node = add_node(graph(), "Scan", {"start", "x"}, {"last", "all"});
  number(node, "num_scan_inputs", 1);
  onnx::GraphProto& step = body(node, "body");
  add_value(step.mutable_input(), "sum", kFloat, {});
  add_value(step.mutable_input(), "one", kFloat, {});
  add_node(step, "Add", {"sum", "one"}, {"next"});
  add_node(step, "Neg", {"next"}, {"seen"});
  add_value(step.mutable_output(), "next", kFloat, {});
  add_value(step.mutable_output(), "seen", kFloat, {});
  const Outputs results = run({floats({}, {10}), floats({3}, {1, 2, 3})});
  ASSERT_TRUE(results) << to_string(results.error());
  EXPECT_THAT(reals_of((*results)[0]), ElementsAre(16));
  EXPECT_THAT(reals_of((*results)[1]), ElementsAre(-11, -13, -16));
}

TEST_F(Evaluated, ALocalFunctionAndItsAttributes) {
  input("x", kFloat, {"2", "2"});
  output("y");
  model_.add_opset_import()->set_domain("own");
  model_.mutable_opset_import(1)->set_version(1);
  onnx::FunctionProto& function = *model_.add_functions();
  function.set_name("Joined");
  function.set_domain("own");
  function.add_input("a");
  function.add_output("b");
  function.add_attribute("where");
  function.add_opset_import()->set_version(17);
  onnx::NodeProto& inner = *function.add_node();
  inner.set_op_type("Concat");
  inner.add_input("a");
  inner.add_input("a");
  inner.add_output("b");
  onnx::AttributeProto& axis = *inner.add_attribute();
  axis.set_name("axis");
  axis.set_type(onnx::AttributeProto::INT);
  axis.set_ref_attr_name("where");
  onnx::NodeProto& call = add_node(graph(), "Joined", {"x"}, {"y"});
  call.set_domain("own");
  number(call, "where", 1);
  EXPECT_THAT(reals_of(only({floats({2, 2}, {1, 2, 3, 4})})), ElementsAre(1, 2, 1, 2, 3, 4, 3, 4));
}

// A caller may leave out the last inputs of a function, or name none in the middle.
TEST_F(Evaluated, ALocalFunctionWithoutItsOptionalInputs) {
  input("x", kFloat, {"3"});
  output("y");
  output("z");
  model_.add_opset_import()->set_domain("own");
  model_.mutable_opset_import(1)->set_version(1);
  onnx::FunctionProto& function = *model_.add_functions();
  function.set_name("Limited");
  function.set_domain("own");
  for (const char* const name : {"a", "low", "high"}) function.add_input(name);
  function.add_output("b");
  function.add_opset_import()->set_version(17);
  onnx::NodeProto& inner = *function.add_node();
  inner.set_op_type("Clip");
  for (const char* const name : {"a", "low", "high"}) inner.add_input(name);
  inner.add_output("b");
  add_node(graph(), "Limited", {"x"}, {"y"}).set_domain("own");
  assay::testing::add_node(graph(), "ReduceMean", {"x"}, {"mean"});
  number(*graph().mutable_node(1), "keepdims", 0);
  add_node(graph(), "Limited", {"x", "", "mean"}, {"z"}).set_domain("own");
  const Outputs results = run({floats({3}, {-1, 0, 4})});
  ASSERT_TRUE(results) << to_string(results.error());
  EXPECT_THAT(reals_of((*results)[0]), ElementsAre(-1, 0, 4));
  EXPECT_THAT(reals_of((*results)[1]), ElementsAre(-1, 0, 1));
}

// What the memory cannot have is an error, not an exception.
TEST_F(Evaluated, ATensorLargerThanTheMemory) {
  input("extents", kInt64, {"2"});
  output("y");
  add_node(graph(), "ConstantOfShape", {"extents"}, {"y"});
  const Outputs results = run({testing::list({1 << 20, 1 << 20})});
  ASSERT_FALSE(results);
  EXPECT_EQ(results.error().code, ErrorCode::kOutOfMemory);
}

// 1 + 2^-12 is not a float16; halves are rounded to even once, not by way of float32.
TEST_F(Evaluated, RoundsTo16BitsOnlyWhereTheResultLeaves) {
  input("x", onnx::TensorProto::FLOAT16, {"1"});
  output("y", onnx::TensorProto::FLOAT16);
  add_node(graph(), "Add", {"x", "x"}, {"twice"});
  add_node(graph(), "Sub", {"twice", "x"}, {"y"});
  const double fine = 1 + std::ldexp(1.0, -12);
  const Value y = only({Value(DType::kFloat16, {1}, Reals{fine})});
  EXPECT_THAT(reals_of(y), ElementsAre(fine));
  const Value packed = Value::from(y.to_tensor().value().view()).value();
  EXPECT_THAT(reals_of(packed), ElementsAre(1));
  EXPECT_EQ(rounded_to(DType::kFloat16, 1 + std::ldexp(1.0, -11) + std::ldexp(1.0, -40)), 1 + std::ldexp(1.0, -10));
  EXPECT_EQ(rounded_to(DType::kFloat16, 1 + std::ldexp(1.0, -11)), 1);
}

TEST_F(Evaluated, AnOperatorWithoutAKernelIsNamed) {
  input("x", kFloat, {"2"});
  output("y");
  add_node(graph(), "Strange", {"x"}, {"y"});
  const Outputs results = run({floats({2}, {1, 2})});
  ASSERT_FALSE(results);
  EXPECT_EQ(results.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(results.error().message, HasSubstr("Strange"));
}

TEST_F(Evaluated, ANodeThatContradictsItsOperandsIsNamed) {
  input("x", kFloat, {"2", "3"});
  output("y");
  add_node(graph(), "MatMul", {"x", "x"}, {"y"});
  const Outputs results = run({floats({2, 3}, Reals(6, 1.0))});
  ASSERT_FALSE(results);
  EXPECT_EQ(results.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(results.error().message, HasSubstr("MatMul_1"));
}

}  // namespace
}  // namespace assay::evaluate
