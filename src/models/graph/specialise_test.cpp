// SPDX-License-Identifier: Apache-2.0
#include "models/graph/specialise.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "models/onnx/inspect.hpp"
#include "models/onnx/onnx_testing.hpp"

namespace assay {
namespace {
namespace fs = std::filesystem;
using onnx::TensorProto;
using testing::add_floats;
using testing::add_node;
using testing::add_value;
using ::testing::ElementsAre;
using testing::empty_model;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

void attribute(onnx::NodeProto& node, const char* name, std::int64_t value) {
  onnx::AttributeProto& to = *node.add_attribute();
  to.set_name(name);
  to.set_type(onnx::AttributeProto::INT);
  to.set_i(value);
}

Tensor int64s(const Shape& shape, const std::vector<std::int64_t>& values) {
  Tensor tensor = Tensor::create(DType::kInt64, shape).value();
  std::copy(values.begin(), values.end(), tensor.as<std::int64_t>().begin());
  return tensor;
}

class Specialise : public ::testing::Test {
 protected:
  onnx::GraphProto& graph() { return *model_.mutable_graph(); }
  void input(const char* name, const std::vector<std::string>& extents, std::int32_t type = TensorProto::FLOAT) {
    add_value(graph().mutable_input(), name, type, extents);
  }
  void output(const char* name, std::int32_t type = TensorProto::FLOAT) {
    onnx::ValueInfoProto& value = add_value(graph().mutable_output(), name, type, {});
    value.mutable_type()->mutable_tensor_type()->clear_shape();
  }
  void integers(const char* name, const std::vector<std::int64_t>& values) {
    TensorProto& tensor = *graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(TensorProto::INT64);
    tensor.add_dims(static_cast<std::int64_t>(values.size()));
    for (const std::int64_t value : values) tensor.add_int64_data(value);
  }
  // [batch, sequence, 12] → [batch, sequence, 3, 4], as exporters write it.
  void split_heads() {
    input("x", {"batch", "sequence", "12"});
    output("y");
    integers("zero", {0});
    integers("two", {2});
    integers("heads", {3, 4});
    add_node(graph(), "Shape", {"x"}, {"shape"});
    add_node(graph(), "Slice", {"shape", "zero", "two"}, {"leading"});
    attribute(add_node(graph(), "Concat", {"leading", "heads"}, {"target"}), "axis", 0);
    add_node(graph(), "Reshape", {"x", "target"}, {"split"});
    add_node(graph(), "Relu", {"split"}, {"y"});
  }

  // Reads what it wrote; the result is in done_.
  onnx::GraphProto specialised(const SpecialiseRequest& request) {
    const Result<SpecialisedModel> done = specialise(folder_.write(model_), request, folder_.path() / "static.onnx");
    EXPECT_TRUE(done) << to_string(done.error());
    if (!done) return {};
    done_ = *done;
    written_.ParseFromString(read_file(done->path).value());
    const Result<ModelInfo> checked = inspect_graph(done->path);
    EXPECT_TRUE(checked) << to_string(checked.error());
    return written_.graph();
  }
  std::string refusal(const SpecialiseRequest& request) {
    const Result<SpecialisedModel> done = specialise(folder_.write(model_), request, folder_.path() / "static.onnx");
    return done ? "" : done.error().message;
  }

  testing::ModelFolder folder_;
  onnx::ModelProto model_ = empty_model(), written_;
  SpecialisedModel done_;
};

std::vector<std::string> operators(const onnx::GraphProto& graph) {
  std::vector<std::string> names;
  for (const onnx::NodeProto& node : graph.node()) names.push_back(node.op_type());
  return names;
}
template <class List>
std::vector<std::string> names(const List& list) {
  std::vector<std::string> found;
  for (const auto& each : list) found.push_back(each.name());
  return found;
}
std::vector<std::int64_t> elements(const onnx::GraphProto& graph, const std::string& name) {
  for (const TensorProto& tensor : graph.initializer()) {
    if (tensor.name() != name || tensor.data_type() != TensorProto::INT64) continue;
    std::vector<std::int64_t> values(tensor.raw_data().size() / sizeof(std::int64_t));
    std::memcpy(values.data(), tensor.raw_data().data(), tensor.raw_data().size());
    return values;
  }
  ADD_FAILURE() << "no int64 tensor " << name;
  return {};
}
Shape extents(const onnx::ValueInfoProto& value) {
  Shape shape;
  for (const auto& extent : value.type().tensor_type().shape().dim())
    shape.push_back(extent.has_dim_value() ? extent.dim_value() : -1);
  return shape;
}

TEST_F(Specialise, TheArithmeticOfShapesBecomesConstants) {
  split_heads();
  const onnx::GraphProto graph = specialised({{{"x", {2, 5, 12}}}});
  EXPECT_THAT(operators(graph), ElementsAre("Reshape", "Relu"));
  EXPECT_THAT(names(graph.initializer()), ElementsAre("target"));
  EXPECT_THAT(elements(graph, "target"), ElementsAre(2, 5, 3, 4));
  EXPECT_EQ(extents(graph.input(0)), (Shape{2, 5, 12}));
  EXPECT_EQ(extents(graph.output(0)), (Shape{2, 5, 3, 4}));
  ASSERT_THAT(names(graph.value_info()), ElementsAre("split"));
  EXPECT_EQ(extents(graph.value_info(0)), (Shape{2, 5, 3, 4}));
  EXPECT_EQ(done_.nodes_before, 5U);
  EXPECT_EQ(done_.nodes, 2U);
  EXPECT_EQ(done_.constants, 1U);
  EXPECT_THAT(done_.inputs, ElementsAre("x"));
  EXPECT_THAT(done_.dynamic, IsEmpty());
}

TEST_F(Specialise, AnInputGivenAsConstantServesAllThatReadIt) {
  input("x", {"n", "4"});
  input("length", {"1"}, TensorProto::INT64);
  for (const char* name : {"first", "spread", "turned"}) output(name);
  output("length", TensorProto::INT64);
  integers("zero", {0});
  integers("four", {4});
  add_node(graph(), "Slice", {"x", "zero", "length"}, {"first"});
  attribute(add_node(graph(), "Concat", {"length", "four"}, {"shape"}), "axis", 0);
  add_floats(graph(), "row", {4});
  add_node(graph(), "Expand", {"row", "shape"}, {"spread"});
  add_node(graph(), "Reshape", {"first", "shape"}, {"turned"});
  SpecialiseRequest request{{{"x", {9, 4}}}};
  request.constants.emplace("length", int64s({1}, {3}));
  const onnx::GraphProto graph = specialised(request);
  EXPECT_THAT(names(graph.input()), ElementsAre("x"));
  EXPECT_THAT(done_.inputs, ElementsAre("x"));
  EXPECT_THAT(operators(graph), ElementsAre("Identity", "Slice", "Expand", "Reshape"));
  EXPECT_THAT(elements(graph, "shape"), ElementsAre(3, 4));
  EXPECT_THAT(elements(graph, "length/constant"), ElementsAre(3)) << "an output is made by a node";
  for (int i = 0; i < 3; ++i) EXPECT_EQ(extents(graph.output(i)), (Shape{3, 4}));
  EXPECT_EQ(extents(graph.output(3)), (Shape{1}));
}

// Values that do not fold become constants all the same.
TEST_F(Specialise, AConstantOfFloats) {
  input("x", {"n"});
  input("scale", {}, TensorProto::FLOAT);
  output("y");
  add_node(graph(), "Mul", {"x", "scale"}, {"y"});
  SpecialiseRequest request{{{"x", {3}}}};
  Tensor scale = Tensor::create(DType::kFloat32, {}).value();
  scale.as<float>()[0] = 0.5F;
  request.constants.emplace("scale", std::move(scale));
  const onnx::GraphProto graph = specialised(request);
  EXPECT_THAT(names(graph.input()), ElementsAre("x"));
  ASSERT_THAT(names(graph.initializer()), ElementsAre("scale"));
  float value = 0;
  std::memcpy(&value, graph.initializer(0).raw_data().data(), sizeof value);
  EXPECT_EQ(value, 0.5F);
}

TEST_F(Specialise, WhatNoOutputNeedsIsGone) {
  model_ = testing::small_model();
  input("unread", {"batch"});
  add_floats(graph(), "spare", {4});
  add_node(graph(), "Neg", {"product"}, {"dead"});
  onnx::ValueInfoProto& stale = *graph().add_value_info();
  stale.set_name("dead");
  add_value(graph().mutable_value_info(), "sum", TensorProto::FLOAT, {"batch", "4"});
  add_value(graph().mutable_value_info(), "sum", TensorProto::FLOAT, {"batch", "4"});
  add_value(graph().mutable_value_info(), "y", TensorProto::FLOAT, {"batch", "4"});
  const onnx::GraphProto graph = specialised({{{"x", {8, 4}}, {"unread", {8}}}});
  EXPECT_THAT(operators(graph), ElementsAre("MatMul", "Add", "Relu"));
  EXPECT_THAT(names(graph.initializer()), ElementsAre("w", "b"));
  EXPECT_THAT(names(graph.input()), ElementsAre("x", "unread"));
  EXPECT_THAT(names(graph.value_info()), ElementsAre("product", "sum"));
  EXPECT_EQ(extents(graph.value_info(1)), (Shape{8, 4}));
  EXPECT_EQ(graph.initializer(0).raw_data(), testing::small_model().graph().initializer(0).raw_data());
}

// The bodies stay as they are, and what they take from around them is there.
TEST_F(Specialise, GraphsInsideNodesAreLeftAlone) {
  input("x", {"n", "4"});
  input("which", {}, TensorProto::BOOL);
  output("y");
  onnx::NodeProto& choice = add_node(graph(), "If", {"which"}, {"y"});
  for (const char* branch : {"then_branch", "else_branch"}) {
    onnx::AttributeProto& body = *choice.add_attribute();
    body.set_name(branch);
    body.set_type(onnx::AttributeProto::GRAPH);
    body.mutable_g()->set_name(branch);
    add_node(*body.mutable_g(), "Shape", {"x"}, {"own_shape"});
    add_node(*body.mutable_g(), "Expand", {"made", "shape"}, {"expanded"});
    add_node(*body.mutable_g(), "Add", {"expanded", "w"}, {branch});
    add_value(body.mutable_g()->mutable_output(), branch, TensorProto::FLOAT, {"n", "4"});
  }
  add_floats(graph(), "w", {4});
  add_node(graph(), "Shape", {"x"}, {"shape"});
  add_node(graph(), "Relu", {"w"}, {"made"});
  add_node(graph(), "Neg", {"x"}, {"dead"});
  const onnx::GraphProto graph = specialised({{{"x", {3, 4}}, {"which", {}}}});
  EXPECT_THAT(operators(graph), ElementsAre("Relu", "If")) << "the body reads what Relu makes";
  EXPECT_EQ(graph.node(1).SerializeAsString(), choice.SerializeAsString());
  EXPECT_THAT(names(graph.initializer()), ElementsAre("w", "shape"));
  EXPECT_THAT(elements(graph, "shape"), ElementsAre(3, 4));
  ASSERT_EQ(done_.dynamic.size(), 1U);
  EXPECT_EQ(done_.dynamic[0].op_type, "If");
}

TEST_F(Specialise, TellsWhereShapesBeginToDependOnData) {
  input("x", {"n"});
  for (const char* name : {"rows", "y"}) output(name);
  add_node(graph(), "Relu", {"x"}, {"y"});
  add_node(graph(), "NonZero", {"y"}, {"places"}).clear_name();
  add_value(graph().mutable_value_info(), "places", TensorProto::INT64, {"1", "found"});
  add_node(graph(), "Transpose", {"places"}, {"rows"});
  add_node(graph(), "com.example", {"x"}, {"unread"});
  const onnx::GraphProto graph = specialised({{{"x", {4}}}});
  ASSERT_EQ(done_.dynamic.size(), 1U) << "Transpose only follows";
  EXPECT_EQ(done_.dynamic[0].name, "places");
  EXPECT_EQ(done_.dynamic[0].op_type, "NonZero");
  EXPECT_THAT(operators(graph), ElementsAre("Relu", "NonZero", "Transpose"));
  EXPECT_THAT(names(graph.value_info()), ElementsAre("places")) << "as the file declares it";
  EXPECT_EQ(extents(graph.output(1)), (Shape{4}));
}

// What a local function is called like an operator of ONNX's, it is not.
TEST_F(Specialise, LocalFunctionsAreLeftAlone) {
  onnx::FunctionProto& function = *model_.add_functions();
  function.set_name("Shape");
  function.set_domain("own");
  function.add_input("a");
  function.add_output("b");
  function.add_opset_import()->set_version(17);
  onnx::NodeProto& inside = *function.add_node();
  inside.set_op_type("Neg");
  inside.add_input("a");
  inside.add_output("b");
  onnx::OperatorSetIdProto& own = *model_.add_opset_import();
  own.set_domain("own");
  own.set_version(1);
  input("x", {"n"});
  output("y");
  add_node(graph(), "Shape", {"x"}, {"y"}).set_domain("own");
  const onnx::GraphProto graph = specialised({{{"x", {4}}}});
  EXPECT_THAT(operators(graph), ElementsAre("Shape"));
  ASSERT_EQ(written_.functions_size(), 1);
  EXPECT_EQ(written_.functions(0).SerializeAsString(), function.SerializeAsString());
  ASSERT_EQ(done_.dynamic.size(), 1U);
  EXPECT_EQ(done_.dynamic[0].op_type, "own:Shape");
}

// Opset 11 has axes as attributes; files of IR version 3 list initialisers as inputs, which have values then.
TEST_F(Specialise, OlderFiles) {
  model_.set_ir_version(3);
  model_.mutable_opset_import(0)->set_version(11);
  input("x", {"n", "4"});
  input("w", {"4"});
  output("y");
  add_floats(graph(), "w", {4});
  add_node(graph(), "Shape", {"x"}, {"shape"});
  onnx::NodeProto& unsqueeze = add_node(graph(), "Unsqueeze", {"x"}, {"wide"});
  onnx::AttributeProto& axes = *unsqueeze.add_attribute();
  axes.set_name("axes");
  axes.set_type(onnx::AttributeProto::INTS);
  axes.add_ints(0);
  add_node(graph(), "Add", {"wide", "w"}, {"sum"});
  add_node(graph(), "Reshape", {"sum", "shape"}, {"y"});
  const onnx::GraphProto graph = specialised({{{"x", {3, 4}}}});
  EXPECT_EQ(written_.ir_version(), 4);
  EXPECT_EQ(written_.opset_import(0).version(), 11);
  EXPECT_THAT(names(graph.input()), ElementsAre("x"));
  EXPECT_THAT(names(graph.initializer()), ElementsAre("w", "shape"));
  EXPECT_EQ(extents(graph.value_info(0)), (Shape{1, 3, 4}));

  SpecialiseRequest request{{{"x", {3, 4}}}};
  request.constants.emplace("w", Tensor::create(DType::kFloat32, {4}).value());
  const onnx::GraphProto replaced = specialised(request);
  ASSERT_THAT(names(replaced.initializer()), UnorderedElementsAre("w", "shape"));
  EXPECT_EQ(replaced.initializer(0).raw_data(), std::string(16, '\0')) << "the request's value, not the file's";
}

TEST_F(Specialise, OutputsThatNoArithmeticMakes) {
  input("x", {"n"});
  for (const char* name : {"x", "w", "y"}) output(name);
  output("shape", TensorProto::INT64);
  add_floats(graph(), "w", {4});
  add_node(graph(), "Shape", {"x"}, {"shape"});
  add_node(graph(), "Expand", {"w", "shape"}, {"y"});
  const onnx::GraphProto graph = specialised({{{"x", {4}}}});
  EXPECT_THAT(operators(graph), ElementsAre("Identity", "Expand"));
  EXPECT_EQ(graph.node(0).output(0), "shape");
  EXPECT_THAT(elements(graph, "shape/constant"), ElementsAre(4));
  for (const onnx::ValueInfoProto& each : graph.output())
    EXPECT_EQ(extents(each), each.name() == "shape" ? Shape{1} : Shape{4}) << each.name();
}

// Nodes may stand in any order in a file that checks; runtimes expect sorted nodes, captured values included.
TEST_F(Specialise, NodesFollowThoseThatTheyRead) {
  input("x", {"n"});
  output("y");
  onnx::NodeProto& loop = add_node(graph(), "Loop", {"", "", "x"}, {"y"});
  onnx::AttributeProto& body = *loop.add_attribute();
  body.set_name("body");
  body.set_type(onnx::AttributeProto::GRAPH);
  add_node(*body.mutable_g(), "Add", {"carried", "late"}, {"next"});
  for (const char* name : {"round", "go", "carried"})
    add_value(body.mutable_g()->mutable_input(), name, TensorProto::FLOAT, {});
  add_value(body.mutable_g()->mutable_output(), "go", TensorProto::BOOL, {});
  add_value(body.mutable_g()->mutable_output(), "next", TensorProto::FLOAT, {});
  add_node(graph(), "Relu", {"early"}, {"late"});
  add_node(graph(), "Neg", {"x"}, {"early"});
  EXPECT_THAT(operators(specialised({{{"x", {4}}}})), ElementsAre("Neg", "Relu", "Loop"));
}

// Those of large nodes are not in the parsed message.
TEST_F(Specialise, LargeConstantsInNodesStayWhole) {
  input("x", {"n"});
  for (const char* name : {"y", "z"}) output(name);
  const auto constant = [&](const char* name, std::int32_t type, std::int64_t count, std::size_t width) {
    onnx::NodeProto& node = add_node(graph(), "Constant", {}, {name});
    onnx::AttributeProto& value = *node.add_attribute();
    value.set_name("value");
    value.set_type(onnx::AttributeProto::TENSOR);
    value.mutable_t()->set_data_type(type);
    value.mutable_t()->add_dims(count);
    value.mutable_t()->set_raw_data(std::string(static_cast<std::size_t>(count) * width, '\1'));
  };
  constant("floats", TensorProto::FLOAT, 5000, sizeof(float));
  constant("indices", TensorProto::BOOL, 5000, 1);
  add_node(graph(), "Add", {"x", "floats"}, {"y"});
  add_node(graph(), "Where", {"indices", "x", "floats"}, {"z"});
  const onnx::GraphProto graph = specialised({{{"x", {5000}}}});
  EXPECT_THAT(operators(graph), ElementsAre("Constant", "Add", "Where"));
  EXPECT_EQ(graph.node(0).attribute(0).t().raw_data().size(), 20000U);
  ASSERT_THAT(names(graph.initializer()), ElementsAre("indices"));
  EXPECT_EQ(graph.initializer(0).raw_data(), std::string(5000, '\1'));
}

TEST_F(Specialise, ElementsBeyondTheLimitAreComputed) {
  input("x", {"n"});
  output("y", TensorProto::INT64);
  integers("zero", {0});
  integers("one", {1});
  add_node(graph(), "Size", {"x"}, {"size"});
  for (const char* name : {"zero", "one"})
    add_node(graph(), "Squeeze", {name}, {std::string(name) == "zero" ? "from" : "by"});
  add_node(graph(), "Range", {"from", "size", "by"}, {"y"});
  EXPECT_THAT(operators(specialised({{{"x", {65536}}}})), ElementsAre("Identity"));
  const onnx::GraphProto large = specialised({{{"x", {65537}}}});
  EXPECT_THAT(operators(large), ElementsAre("Range"));
  EXPECT_EQ(extents(large.output(0)), (Shape{65537}));
}

TEST_F(Specialise, TheSameRequestGivesTheSameBytes) {
  split_heads();
  const fs::path from = folder_.write(model_);
  const SpecialiseRequest request{{{"x", {2, 5, 12}}}};
  const StaticModel model = StaticModel::open(from).value();
  ASSERT_TRUE(specialise(model, request, folder_.path() / "a.onnx"));
  ASSERT_TRUE(specialise(model, {{{"x", {2, 7, 12}}}}, folder_.path() / "b.onnx"));
  ASSERT_TRUE(specialise(model, request, folder_.path() / "deeper/c.onnx"));
  ASSERT_TRUE(specialise(from, request, from)) << "in place";
  const std::string bytes = read_file(folder_.path() / "a.onnx").value();
  EXPECT_EQ(read_file(folder_.path() / "deeper/c.onnx").value(), bytes);
  EXPECT_EQ(read_file(from).value(), bytes);
  EXPECT_NE(read_file(folder_.path() / "b.onnx").value(), bytes);
  ASSERT_TRUE(specialise(from, request, folder_.path() / "again.onnx"));
  EXPECT_EQ(read_file(folder_.path() / "again.onnx").value(), bytes) << "a static graph is its own";
}

class ExternalData : public Specialise {
 protected:
  void SetUp() override {
    model_ = testing::small_model();
    testing::set_external(*graph().mutable_initializer(0), {{"location", "model.onnx.data"}, {"offset", "64"}});
    folder_.write_bytes(std::string(128, '\2'), "model.onnx.data");
    from_ = folder_.write(model_);
  }
  Result<SpecialisedModel> to(const fs::path& output) { return specialise(from_, {{{"x", {8, 4}}}}, output); }
  fs::path from_;
};

TEST_F(ExternalData, StaysWhereItIsOrIsLinked) {
  ASSERT_TRUE(to(folder_.path() / "static.onnx"));
  ASSERT_TRUE(to(folder_.path() / "other/static.onnx"));
  EXPECT_TRUE(fs::equivalent(folder_.path() / "model.onnx.data", folder_.path() / "other/model.onnx.data"));
  EXPECT_TRUE(inspect_model(folder_.path() / "static.onnx"));
  EXPECT_EQ(inspect_model(folder_.path() / "other/static.onnx").value().weights_hash,
            inspect_model(from_).value().weights_hash);
  ASSERT_TRUE(to(folder_.path() / "other/static.onnx")) << "again";
}

TEST_F(ExternalData, ReplacesNothingOfOthers) {
  folder_.write_bytes(std::string(128, '\3'), "other/model.onnx.data");
  const Result<SpecialisedModel> refused = to(folder_.path() / "other/static.onnx");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("exists and is not the model's data"));
  EXPECT_FALSE(fs::exists(folder_.path() / "other/static.onnx"));
  EXPECT_EQ(read_file(folder_.path() / "other/model.onnx.data").value(), std::string(128, '\3'));
  ASSERT_TRUE(to(folder_.path() / "other/model.onnx")) << "that model's own data";
  EXPECT_EQ(read_file(folder_.path() / "other/model.onnx.data").value(), std::string(128, '\2'));
  folder_.write_bytes(std::string(128, '\2'), "equal/model.onnx.data");
  EXPECT_TRUE(to(folder_.path() / "equal/static.onnx"));
  for (const char* name : {"model.onnx.data", "new/model.onnx.data"}) {
    const Result<SpecialisedModel> onto = to(folder_.path() / name);
    ASSERT_FALSE(onto);
    EXPECT_THAT(onto.error().message, HasSubstr("is the place of the model's data"));
  }
}

TEST_F(ExternalData, OfWeightsThatNobodyNeedsIsNotTaken) {
  graph().mutable_node(0)->set_op_type("Relu");
  graph().mutable_node(0)->mutable_input()->RemoveLast();
  from_ = folder_.write(model_);
  ASSERT_TRUE(to(folder_.path() / "other/static.onnx"));
  EXPECT_FALSE(fs::exists(folder_.path() / "other/model.onnx.data"));
}

TEST_F(Specialise, SaysWhatIsWrongWithARequest) {
  split_heads();
  EXPECT_THAT(refusal({}), HasSubstr("input 'x' has no shape given"));
  EXPECT_THAT(refusal({{{"x", {2, 5, 13}}}}), HasSubstr("input 'x' cannot have the shape [2, 5, 13]"));
  EXPECT_THAT(refusal({{{"x", {2, 5, 12}}, {"z", {1}}}}), HasSubstr("'z', which is not an input of the model"));
  EXPECT_THAT(refusal({{{"x", {2, 5, 12}}, {"zero", {1}}}}), HasSubstr("'zero', which is not an input of the model"));
  SpecialiseRequest request{{{"x", {2, 5, 12}}}};
  request.constants.emplace("x", int64s({2, 5, 12}, {}));
  EXPECT_THAT(refusal(request), HasSubstr("is given as a constant too"));
  request.shapes.clear();
  EXPECT_THAT(refusal(request), HasSubstr("input 'x' cannot be the constant int64 [2, 5, 12]"));
  request.constants.clear();
  request.constants.emplace("shape", int64s({3}, {2, 5, 12}));
  EXPECT_THAT(refusal(request), HasSubstr("the constant 'shape' is not an input"));
  input("zero", {"1"}, TensorProto::INT64);
  EXPECT_THAT(refusal({{{"x", {2, 5, 12}}, {"zero", {1}}}}), HasSubstr("'zero', which has a value in the file"));
  EXPECT_FALSE(fs::exists(folder_.path() / "static.onnx"));
}

}  // namespace
}  // namespace assay
