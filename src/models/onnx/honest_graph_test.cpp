// SPDX-License-Identifier: Apache-2.0
#include "models/onnx/honest_graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "models/onnx/inspect.hpp"
#include "models/onnx/onnx_testing.hpp"
#include "models/onnx/value_types.hpp"

namespace assay {
namespace {

using testing::add_floats;
using testing::add_node;
using testing::add_value;
using testing::empty_model;
using testing::ModelFolder;
using testing::read_model;
using testing::set_external;
using testing::small_model;

int count(const onnx::ModelProto& model, std::string_view op) {
  return static_cast<int>(std::ranges::count(model.graph().node(), op, &onnx::NodeProto::op_type));
}

std::int64_t integer(const onnx::NodeProto& node, std::string_view name) {
  for (const onnx::AttributeProto& a : node.attribute())
    if (a.name() == name) return a.i();
  return -1;
}

onnx::ModelProto rounded(const onnx::ModelProto& model, DType dtype, std::uint64_t seed) {
  const ModelFolder folder;
  const auto to = folder.path() / "rounded/model.onnx";
  const Status done = write_rounded_results(folder.write(model), dtype, seed, to);
  EXPECT_TRUE(done) << to_string(done.error());
  const auto info = inspect_model(to);
  EXPECT_TRUE(info) << to_string(info.error());
  return read_model(to);
}

TEST(RoundedResults, EachResultIsRoundedToTheTypeAndMovedElementsAreNot) {
  const onnx::ModelProto model = rounded(small_model(), DType::kBFloat16, 0);
  // MatMul and Add round; Relu chooses elements.
  EXPECT_EQ(count(model, "Cast"), 4);
  EXPECT_EQ(count(model, "Mul") + count(model, "Div"), 0);
  EXPECT_EQ(count(model, "MatMul") + count(model, "Add") + count(model, "Relu"), 3);
  EXPECT_EQ(model.graph().output(0).name(), "y");
  EXPECT_EQ(model.graph().input(0).name(), "x");
  std::vector<std::int64_t> types;
  for (const onnx::NodeProto& node : model.graph().node())
    if (node.op_type() == "Cast") types.push_back(integer(node, "to"));
  EXPECT_THAT(types, ::testing::ElementsAre(16, 1, 16, 1));
}

TEST(RoundedResults, OtherSeedsRoundToOtherNumbers) {
  const onnx::ModelProto model = rounded(small_model(), DType::kFloat16, 1);
  EXPECT_EQ(count(model, "Mul"), 2);
  EXPECT_EQ(count(model, "Div"), 2);
  EXPECT_EQ(count(model, "Min"), 2) << "-3.4e38 of a mask is not to become infinite";
}

TEST(RoundedResults, AGraphOf16BitsComputesInFloat32BetweenItsRoundings) {
  onnx::ModelProto model = empty_model();
  onnx::GraphProto& graph = *model.mutable_graph();
  add_value(graph.mutable_input(), "x", onnx::TensorProto::FLOAT16, {"batch", "4"});
  add_value(graph.mutable_output(), "y", onnx::TensorProto::FLOAT16, {"batch", "4"});
  onnx::TensorProto& w = add_floats(graph, "w", {4, 4});
  w.set_data_type(onnx::TensorProto::FLOAT16);
  w.set_raw_data(std::string(32, '\x3C'));
  add_node(graph, "MatMul", {"x", "w"}, {"product"});
  onnx::NodeProto& wide = add_node(graph, "Cast", {"product"}, {"wide"});
  auto& to = *wide.add_attribute();
  to.set_name("to");
  to.set_type(onnx::AttributeProto_AttributeType_INT);
  to.set_i(1);
  add_node(graph, "Mul", {"wide", "wide"}, {"square"});  // an island of float32: not rounded
  onnx::NodeProto& narrow = add_node(graph, "Cast", {"square"}, {"low"});
  *narrow.add_attribute() = to;
  narrow.mutable_attribute(0)->set_i(10);
  add_node(graph, "Transpose", {"low"}, {"y"});
  const onnx::ModelProto changed = rounded(model, DType::kFloat16, 0);
  const ValueTypes types = value_types(changed.graph());
  for (const onnx::NodeProto& node : changed.graph().node())
    if (node.op_type() == "MatMul" || node.op_type() == "Transpose") {
      for (const std::string& input : node.input()) EXPECT_EQ(types.at(input), DType::kFloat32) << input;
    }
  EXPECT_EQ(types.at("y"), DType::kFloat16);
  EXPECT_EQ(types.at("x"), DType::kFloat16);
  EXPECT_EQ(count(changed, "Cast"), 2 /* x, w */ + 2 /* MatMul */ + 1 + 1 + 2 /* the graph's own */ + 1 /* y */);
}

TEST(RoundedResults, ConvolutionsOfABfloat16GraphAreRoundedAlthoughTheyAreFloat32) {
  onnx::ModelProto model = empty_model();
  onnx::GraphProto& graph = *model.mutable_graph();
  add_value(graph.mutable_input(), "x", onnx::TensorProto::FLOAT, {"batch", "4", "8"});
  add_value(graph.mutable_input(), "low", onnx::TensorProto::BFLOAT16, {"batch", "4"});
  add_value(graph.mutable_output(), "y", onnx::TensorProto::FLOAT, {});
  add_value(graph.mutable_output(), "z", onnx::TensorProto::FLOAT, {});
  add_floats(graph, "w", {4, 4, 1});
  add_node(graph, "Conv", {"x", "w"}, {"convolved"});
  add_node(graph, "Relu", {"convolved"}, {"moved"});
  add_node(graph, "Add", {"moved", "moved"}, {"y"});
  add_node(graph, "Mul", {"x", "x"}, {"z"});
  EXPECT_EQ(count(rounded(model, DType::kBFloat16, 0), "Cast"), 1 /* low */ + 2 /* Conv */ + 2 /* Add */);
  EXPECT_EQ(count(rounded(model, DType::kBFloat16, 1), "Cast"), 1 + 2 + 2 + 2 /* w again, as folded with a norm */);
}

TEST(RoundedResults, WeightsOutsideTheFileStayThere) {
  onnx::ModelProto model = small_model();
  const ModelFolder folder;
  folder.write_bytes(model.graph().initializer(0).raw_data(), "weights.bin");
  set_external(*model.mutable_graph()->mutable_initializer(0), {{"location", "weights.bin"}});
  const auto from = folder.write(model), to = folder.path() / "rounded/model.onnx";
  ASSERT_TRUE(write_rounded_results(from, DType::kFloat16, 0, to));
  EXPECT_EQ(inspect_model(to)->parameter_count, inspect_model(from)->parameter_count);
}

TEST(Quantised, IsKnownFromTheOperators) {
  const auto with = [](const char* op, const char* domain = "") {
    const std::vector<std::pair<std::string, std::string>> operators{{"", "MatMul"}, {domain, op}};
    return is_quantised(operators);
  };
  for (const char* op : {"QuantizeLinear", "DynamicQuantizeLinear", "QLinearConv", "MatMulInteger", "ConvInteger"})
    EXPECT_TRUE(with(op)) << op;
  EXPECT_TRUE(with("MatMulNBits", "com.microsoft"));
  EXPECT_TRUE(with("DynamicQuantizeMatMul", "com.microsoft"));
  EXPECT_FALSE(with("Softmax"));
  EXPECT_FALSE(with("Cast"));
}

TEST(QuantisationNoise, IsAddedBeforeEachQuantisationOfAnActivation) {
  onnx::ModelProto model = small_model();
  onnx::GraphProto& graph = *model.mutable_graph();
  add_floats(graph, "scale", {});
  onnx::TensorProto& zero = add_floats(graph, "zero", {});
  zero.set_data_type(onnx::TensorProto::UINT8);
  zero.set_raw_data(std::string(1, '\0'));
  add_node(graph, "QuantizeLinear", {"y", "scale", "zero"}, {"q"});
  add_node(graph, "QuantizeLinear", {"w", "scale", "zero"}, {"of weights"});
  add_node(graph, "DynamicQuantizeLinear", {"sum"}, {"d", "s", "z"});
  const ModelFolder folder;
  const auto from = folder.write(model), to = folder.path() / "noisy/model.onnx";
  const Result<std::size_t> sites = write_quantisation_noise(from, 3, to);
  ASSERT_TRUE(sites) << to_string(sites.error());
  EXPECT_EQ(*sites, 2U);
  ASSERT_TRUE(inspect_model(to)) << to_string(inspect_model(to).error());
  EXPECT_EQ(count(read_model(to), "RandomUniformLike"), 2);
  const auto plain = folder.path() / "plain/model.onnx";
  EXPECT_EQ(write_quantisation_noise(folder.write(small_model(), "float.onnx"), 3, plain).value(), 0U);
  EXPECT_EQ(read_model(plain).graph().node_size(), small_model().graph().node_size());
}

}  // namespace
}  // namespace assay
