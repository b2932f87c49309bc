// SPDX-License-Identifier: Apache-2.0
#include "models/graph/view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <thread>

#include "models/onnx/onnx_testing.hpp"

namespace assay {
namespace {
using testing::add_floats;
using testing::add_node;
using testing::add_value;
using ::testing::ElementsAre;
using testing::empty_model;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::set_external;
using Type = onnx::AttributeProto;

class View : public ::testing::Test {
 protected:
  View() {
    add_value(proto().mutable_input(), "x", onnx::TensorProto::FLOAT, {"batch", "4", ""});
    add_value(proto().mutable_output(), "y", onnx::TensorProto::FLOAT, {"batch", "4", "2"});
  }
  onnx::GraphProto& proto() { return *model_.mutable_graph(); }
  [[nodiscard]] graph::Model open() {
    Result<graph::Model> opened = graph::Model::open(folder_.write(model_));
    if (!opened) throw std::runtime_error(to_string(opened.error()));
    return std::move(*opened);
  }
  [[nodiscard]] std::string refusal() {
    const Result<graph::Model> opened = graph::Model::open(folder_.write(model_));
    return opened ? "" : to_string(opened.error());
  }
  static onnx::AttributeProto& attribute(onnx::NodeProto& node, const char* name, Type::AttributeType type) {
    onnx::AttributeProto& to = *node.add_attribute();
    to.set_name(name);
    to.set_type(type);
    return to;
  }
  onnx::TensorProto& tensor(const char* name, std::int32_t type, std::initializer_list<std::int64_t> dims) {
    onnx::TensorProto& to = *proto().add_initializer();
    to.set_name(name);
    to.set_data_type(type);
    for (const std::int64_t dim : dims) to.add_dims(dim);
    return to;
  }

  testing::ModelFolder folder_;
  onnx::ModelProto model_ = empty_model();
};

TEST_F(View, HasWhatTheFileDeclaresOfValues) {
  add_value(proto().mutable_value_info(), "middle", onnx::TensorProto::INT64, {});
  proto().mutable_value_info()->Add()->set_name("undeclared");
  add_value(proto().mutable_value_info(), "rankless", onnx::TensorProto::INT64, {})
      .mutable_type()
      ->mutable_tensor_type()
      ->clear_shape();
  onnx::ValueInfoProto& list = *proto().add_value_info();
  list.set_name("list");
  list.mutable_type()->mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(1);
  add_node(proto(), "Relu", {"x"}, {"y"});

  const graph::Model model = open();
  const graph::Graph& graph = model.graph();
  ASSERT_EQ(graph.inputs.size(), 1U);
  const graph::ValueInfo& x = graph.inputs[0];
  EXPECT_EQ(x.name, "x");
  EXPECT_EQ(x.kind, graph::ValueKind::kTensor);
  EXPECT_EQ(x.dtype, DType::kFloat32);
  ASSERT_TRUE(x.shape);
  ASSERT_EQ(x.shape->size(), 3U);
  EXPECT_EQ((*x.shape)[0].symbol, "batch");
  EXPECT_FALSE((*x.shape)[0].extent);
  EXPECT_EQ((*x.shape)[1].extent, 4);
  EXPECT_FALSE((*x.shape)[2].extent);
  EXPECT_EQ((*x.shape)[2].symbol, "");
  ASSERT_EQ(graph.values.size(), 4U);
  EXPECT_THAT(*graph.values[0].shape, IsEmpty()) << "a scalar has a shape";
  EXPECT_EQ(graph.values[1].kind, graph::ValueKind::kUndeclared);
  EXPECT_FALSE(graph.values[2].shape);
  EXPECT_EQ(graph.values[3].kind, graph::ValueKind::kSequence);
  EXPECT_EQ(model.opset(), 17);
  EXPECT_EQ(model.opset("com.microsoft"), std::nullopt);
}

TEST_F(View, HasAttributesAsTypedValues) {
  onnx::NodeProto& made = add_node(proto(), "Relu", {"x", ""}, {"y"});
  attribute(made, "integer", Type::INT).set_i(-3);
  attribute(made, "number", Type::FLOAT).set_f(0.5F);
  attribute(made, "text", Type::STRING).set_s("SAME_UPPER");
  onnx::AttributeProto& integers = attribute(made, "integers", Type::INTS);
  for (const std::int64_t i : {1, 2, 3}) integers.add_ints(i);
  onnx::AttributeProto& numbers = attribute(made, "numbers", Type::FLOATS);
  for (const float f : {0.25F, 4.0F}) numbers.add_floats(f);
  onnx::AttributeProto& texts = attribute(made, "texts", Type::STRINGS);
  texts.add_strings("a");
  texts.add_strings("b");
  attribute(made, "nothing", Type::INTS);
  attribute(made, "zero", Type::INT);
  onnx::AttributeProto& old = attribute(made, "without a type", Type::UNDEFINED);
  old.add_ints(7);
  add_floats(*attribute(made, "inner", Type::GRAPH).mutable_g(), "t", {2});

  const graph::Model model = open();
  const graph::Node& node = model.graph().nodes.at(0);
  EXPECT_THAT(node.inputs, ElementsAre("x", ""));
  EXPECT_EQ(node.integer("integer", 0), -3);
  EXPECT_EQ(node.integer("missing", 9), 9);
  EXPECT_EQ(node.integer("number", 9), 9) << "of another type";
  EXPECT_EQ(node.integer("zero", 9), 0) << "protobuf leaves zeros out";
  EXPECT_EQ(node.number("number", 0), 0.5F);
  EXPECT_EQ(node.text("text", ""), "SAME_UPPER");
  EXPECT_THAT(*node.integers("integers"), ElementsAre(1, 2, 3));
  EXPECT_THAT(*node.integers("nothing"), IsEmpty());
  EXPECT_THAT(*node.integers("without a type"), ElementsAre(7));
  EXPECT_EQ(node.integers("missing"), std::nullopt);
  EXPECT_THAT(*node.attribute("numbers")->get<std::span<const float>>(), ElementsAre(0.25F, 4.0F));
  EXPECT_THAT(*node.attribute("texts")->get<std::vector<std::string_view>>(), ElementsAre("a", "b"));
  const auto* inner = node.attribute("inner")->get<std::shared_ptr<const graph::Graph>>();
  ASSERT_NE(inner, nullptr);
  EXPECT_THAT(*model.elements<float>((*inner)->initializers.at(0)), ElementsAre(0.25F, 1.25F));
}

TEST_F(View, ReadsElementsWhereverTheFileHasThem) {
  add_node(proto(), "Relu", {"x"}, {"y"});
  add_floats(proto(), "raw", {2, 2});
  tensor("fields", onnx::TensorProto::FLOAT, {2}).add_float_data(1.5F);
  proto().mutable_initializer(1)->add_float_data(-2.0F);
  onnx::TensorProto& halves = tensor("halves", onnx::TensorProto::FLOAT16, {2});
  halves.add_int32_data(0x3C00);
  halves.add_int32_data(0xC000);
  tensor("flag", onnx::TensorProto::BOOL, {1}).add_int32_data(1);
  const std::int64_t count = -5;
  tensor("scalar", onnx::TensorProto::INT64, {}).set_raw_data(&count, sizeof count);
  tensor("none", onnx::TensorProto::FLOAT, {0, 3});
  set_external(tensor("outside", onnx::TensorProto::INT32, {2}), {{"location", "model.data"}, {"offset", "4"}});
  const std::int32_t values[] = {9, 10, 11};
  folder_.write_bytes({reinterpret_cast<const char*>(values), sizeof values}, "model.data");

  const graph::Model model = open();
  const std::vector<graph::Constant>& all = model.graph().initializers;
  ASSERT_EQ(all.size(), 7U);
  EXPECT_EQ(all[0].name, "raw");
  EXPECT_EQ(all[0].shape, (Shape{2, 2}));
  EXPECT_EQ(all[0].bytes, 16U);
  EXPECT_THAT(*model.elements<float>(all[0]), ElementsAre(0.25F, 1.25F, 2.25F, 3.25F));
  EXPECT_THAT(*model.elements<float>(all[1]), ElementsAre(1.5F, -2.0F));
  EXPECT_THAT(*model.elements<std::uint16_t>(all[2]), ElementsAre(0x3C00, 0xC000));
  EXPECT_THAT(*model.elements<std::uint8_t>(all[3]), ElementsAre(1));
  EXPECT_THAT(*model.elements<std::int64_t>(all[4]), ElementsAre(-5));
  EXPECT_THAT(*model.elements<float>(all[5]), IsEmpty());
  EXPECT_EQ(all[6].external->location, "model.data");
  EXPECT_EQ(all[6].external->offset, 4U);
  EXPECT_THAT(*model.elements<std::int32_t>(all[6]), ElementsAre(10, 11));
}

// In a file, a tensor's bytes begin anywhere.
TEST_F(View, ElementsAreAlignedWhateverTheFileDoes) {
  add_node(proto(), "Relu", {"x"}, {"y"});
  for (int i = 0; i < 8; ++i) {
    const std::string name(static_cast<std::size_t>(i) + 1, 'n');
    const double value = 0.5 + i;
    tensor(name.c_str(), onnx::TensorProto::DOUBLE, {1}).set_raw_data(&value, sizeof value);
  }
  const graph::Model model = open();
  for (std::size_t i = 0; i < 8; ++i) {
    const auto elements = model.elements<double>(model.graph().initializers[i]);
    ASSERT_TRUE(elements);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(elements->span().data()) % alignof(double), 0U);
    EXPECT_THAT(*elements, ElementsAre(0.5 + static_cast<double>(i)));
  }
}

TEST_F(View, ElementsOfAnotherTypeAreRefused) {
  add_node(proto(), "Relu", {"x"}, {"y"});
  add_floats(proto(), "w", {2});
  tensor("packed", onnx::TensorProto::INT4, {3}).set_raw_data("\x21\x03", 2);
  onnx::TensorProto& words = tensor("words", onnx::TensorProto::STRING, {1});
  words.add_string_data("one");
  onnx::SparseTensorProto& sparse = *proto().add_sparse_initializer();
  sparse.add_dims(100);
  sparse.mutable_values()->set_name("sparse");
  sparse.mutable_values()->set_data_type(onnx::TensorProto::FLOAT);
  sparse.mutable_values()->add_dims(1);
  sparse.mutable_values()->add_float_data(3);
  sparse.mutable_indices()->set_data_type(onnx::TensorProto::INT64);
  sparse.mutable_indices()->add_dims(1);
  sparse.mutable_indices()->add_int64_data(42);

  const graph::Model model = open();
  const std::vector<graph::Constant>& all = model.graph().initializers;
  const auto wrong = model.elements<double>(all[0]);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::kMismatch);
  EXPECT_THAT(wrong.error().message, HasSubstr("tensor 'w' (float32 [2])"));
  EXPECT_FALSE(model.elements<std::int8_t>(all[1])) << "two elements in a byte";
  const auto packed = model.data(all[1]);
  ASSERT_TRUE(packed);
  EXPECT_THAT(packed->bytes, ElementsAre(std::byte{0x21}, std::byte{0x03}));
  EXPECT_THAT(to_string(model.data(all[2]).error()), HasSubstr("has strings"));
  ASSERT_EQ(model.graph().sparse_initializers.size(), 1U);
  const graph::Constant& scattered = model.graph().sparse_initializers[0];
  EXPECT_EQ(scattered.name, "sparse");
  EXPECT_EQ(scattered.shape, (Shape{100}));
  EXPECT_THAT(to_string(model.data(scattered).error()), HasSubstr("is sparse"));
}

TEST_F(View, DataOutlivesTheModel) {
  add_node(proto(), "Relu", {"x"}, {"y"});
  add_floats(proto(), "w", {2});
  Result<graph::Elements<float>> elements = fail(ErrorCode::kInternal, "not read");
  {
    const graph::Model model = open();
    const graph::Model copy = model;
    elements = copy.elements<float>(model.graph().initializers[0]);
  }
  ASSERT_TRUE(elements);
  EXPECT_THAT(*elements, ElementsAre(0.25F, 1.25F));
}

TEST_F(View, ManyThreadsReadTheSameExternalFile) {
  add_node(proto(), "Relu", {"x"}, {"y"});
  set_external(tensor("w", onnx::TensorProto::FLOAT, {1000}), {{"location", "model.data"}});
  folder_.write_bytes(std::string(4000, '\0'), "model.data");
  const graph::Model model = open();
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&model] { EXPECT_EQ(model.elements<float>(model.graph().initializers[0])->size(), 1000U); });
}

TEST_F(View, ExternalFilesThatGoAwayAreAnError) {
  add_node(proto(), "Relu", {"x"}, {"y"});
  set_external(tensor("w", onnx::TensorProto::FLOAT, {2}), {{"location", "model.data"}});
  const auto data = folder_.write_bytes("12345678", "model.data");
  const graph::Model model = open();
  std::filesystem::resize_file(data, 4);
  EXPECT_THAT(to_string(model.data(model.graph().initializers[0]).error()), HasSubstr("became shorter"));
  std::filesystem::remove(data);
  const graph::Model other = model;
  EXPECT_EQ(refusal().empty(), false) << "a fresh look misses the file";
}

// If, Loop and Scan read values of the graph around them without naming them as inputs.
TEST_F(View, OrdersNodesAlsoByWhatInnerGraphsRead) {
  onnx::NodeProto& branch = add_node(proto(), "If", {"switch"}, {"y"});
  for (const char* name : {"then_branch", "else_branch"}) {
    onnx::GraphProto& inner = *attribute(branch, name, Type::GRAPH).mutable_g();
    add_node(inner, "Neg", {"late"}, {"out"});
    add_value(inner.mutable_output(), "out", onnx::TensorProto::FLOAT, {});
  }
  add_node(proto(), "Relu", {"x"}, {"late"});
  tensor("switch", onnx::TensorProto::BOOL, {}).add_int32_data(1);

  const graph::Model model = open();
  EXPECT_THAT(model.graph().order, ElementsAre(1U, 0U));
  EXPECT_THAT(graph::reads_of(model.graph().nodes[0]), ElementsAre("switch", "late"));
  const auto* inner = model.graph().nodes[0].attribute("then_branch")->get<std::shared_ptr<const graph::Graph>>();
  ASSERT_NE(inner, nullptr);
  EXPECT_EQ((*inner)->nodes.at(0).op_type, "Neg");
  EXPECT_EQ((*inner)->outputs.at(0).name, "out");
}

TEST_F(View, NodesReferToTheFunctionsThatTheyCall) {
  onnx::FunctionProto& function = *model_.add_functions();
  function.set_name("Twice");
  function.set_domain("mine");
  function.add_input("a");
  function.add_output("b");
  function.add_attribute("slope");
  onnx::AttributeProto& fallback = *function.add_attribute_proto();
  fallback.set_name("times");
  fallback.set_type(Type::INT);
  fallback.set_i(2);
  function.add_opset_import()->set_version(17);
  onnx::NodeProto& relu = *function.add_node();
  relu.set_op_type("LeakyRelu");
  relu.add_input("a");
  relu.add_output("b");
  attribute(relu, "alpha", Type::FLOAT).set_ref_attr_name("slope");
  onnx::OperatorSetIdProto& import = *model_.add_opset_import();
  import.set_domain("mine");
  import.set_version(1);
  add_node(proto(), "Twice", {"x"}, {"h"}).set_domain("mine");
  add_node(proto(), "Relu", {"h"}, {"y"}).set_domain("ai.onnx");

  const graph::Model model = open();
  ASSERT_EQ(model.functions().size(), 1U);
  const graph::Function& twice = model.functions()[0];
  EXPECT_EQ(model.graph().nodes[0].function, &twice);
  EXPECT_EQ(model.graph().nodes[0].operator_name(), "mine:Twice");
  EXPECT_EQ(model.graph().nodes[1].function, nullptr);
  EXPECT_EQ(model.graph().nodes[1].domain, "") << "ONNX's own domain has two names";
  EXPECT_THAT(twice.attributes, ElementsAre("slope"));
  EXPECT_EQ(*twice.defaults.at(0).get<std::int64_t>(), 2);
  const graph::Attribute& alpha = twice.nodes.at(0).attributes.at(0);
  EXPECT_EQ(alpha.refers_to, "slope");
  EXPECT_EQ(alpha.get<float>(), nullptr);
  EXPECT_EQ(model.opset("mine"), 1);
}

TEST_F(View, WhatIsWrongWithAFileIsRefusedWithAReason) {
  EXPECT_THAT(refusal(), HasSubstr("output 'y' is produced by nothing"));
  onnx::NodeProto& node = add_node(proto(), "Relu", {"x"}, {"y"});
  EXPECT_EQ(refusal(), "");
  node.set_input(0, "y");
  EXPECT_THAT(refusal(), HasSubstr("cycle"));
  node.set_input(0, "x");
  attribute(node, "hidden", Type::INT).mutable_g()->set_name("g");
  EXPECT_THAT(refusal(), HasSubstr("attribute 'hidden' of 'Relu_1' has a graph beside a value of another type"));
  node.clear_attribute();
  onnx::TensorProto& cut = tensor("w", onnx::TensorProto::FLOAT, {4});
  cut.set_raw_data("12345678");
  EXPECT_THAT(refusal(), HasSubstr("initializer 'w' is float32 [4], 16 bytes, but has 8"));
  set_external(cut, {{"location", "../elsewhere"}});
  EXPECT_THAT(refusal(), HasSubstr("leaves the model's folder"));
  set_external(cut, {});
  EXPECT_THAT(refusal(), HasSubstr("w"));

  const std::filesystem::path half = folder_.write_bytes(model_.SerializeAsString().substr(0, 40), "half.onnx");
  EXPECT_EQ(graph::Model::open(half).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(graph::Model::open(folder_.path() / "missing.onnx").error().code, ErrorCode::kNotFound);
}

// A function's default values are not checked: a tensor among them is left out, not read.
TEST_F(View, DefaultsOfFunctionsThatAreTensorsAreLeftOut) {
  onnx::FunctionProto& function = *model_.add_functions();
  function.set_name("F");
  function.set_domain("mine");
  function.add_input("a");
  function.add_output("a");
  onnx::AttributeProto& fallback = *function.add_attribute_proto();
  fallback.set_name("table");
  fallback.set_type(Type::TENSOR);
  fallback.mutable_t()->add_dims(1'000'000'000'000);
  onnx::AttributeProto& body = *function.add_attribute_proto();
  body.set_name("body");
  body.set_type(Type::GRAPH);
  add_node(*body.mutable_g(), "Relu", {"loop"}, {"loop"});
  add_node(proto(), "Relu", {"x"}, {"y"});

  const graph::Model model = open();
  ASSERT_EQ(model.functions().size(), 1U);
  for (const graph::Attribute& left_out : model.functions()[0].defaults)
    EXPECT_TRUE(std::holds_alternative<std::monostate>(left_out.value));
}

}  // namespace
}  // namespace assay
