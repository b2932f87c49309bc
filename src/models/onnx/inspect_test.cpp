// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/base/hash.hpp"
#include "models/onnx/inspect.hpp"
#include "models/onnx/onnx_testing.hpp"

namespace assay {
namespace {

using onnx::TensorProto;
using testing::add_floats;
using testing::add_node;
using testing::add_value;
using ::testing::ElementsAre;
using testing::empty_model;
using testing::ModelFolder;
using ::testing::Pair;
using testing::set_external;
using testing::small_model;

TEST(InspectModel, TellsSignatureSizeAndOperators) {
  const ModelFolder folder;
  const auto path = folder.write(small_model());
  const Result<ModelInfo> info = inspect_model(path);
  ASSERT_TRUE(info) << to_string(info.error());
  EXPECT_EQ(info->format, "onnx");
  EXPECT_EQ(info->opset, 17);
  EXPECT_EQ(info->producer, "assay's tests");
  EXPECT_EQ(info->parameter_count, 20);
  EXPECT_EQ(info->weight_bytes, 80U);
  EXPECT_EQ(info->file_bytes, std::filesystem::file_size(path));
  ASSERT_EQ(info->inputs.size(), 1U);
  EXPECT_EQ(info->inputs[0].name, "x");
  EXPECT_EQ(info->inputs[0].dtype, DType::kFloat32);
  EXPECT_THAT(info->inputs[0].shape, ElementsAre(-1, 4));
  EXPECT_THAT(info->inputs[0].symbols, ElementsAre("batch", ""));
  ASSERT_EQ(info->outputs.size(), 1U);
  EXPECT_THAT(info->operators, ElementsAre(Pair("", "Add"), Pair("", "MatMul"), Pair("", "Relu")));
}

TEST(InspectModel, WhatExportersWriteForAnUnknownExtentIsNotAName) {
  const ModelFolder folder;
  onnx::ModelProto model = small_model();
  auto& shape = *model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  for (const char* name : {"?", "-1"}) {
    shape.mutable_dim(0)->set_dim_param(name);
    const auto info = inspect_model(folder.write(model));
    ASSERT_TRUE(info) << to_string(info.error());
    EXPECT_THAT(info->inputs[0].symbols, ElementsAre("", "")) << name;
    EXPECT_THAT(info->inputs[0].shape, ElementsAre(-1, 4)) << name;
  }
}

TEST(InspectModel, BelievesTheZooAboutItsParametersAndNothingThatIsNoCount) {
  const ModelFolder folder;
  for (const auto& [text, expected] : {std::pair("7", 7), std::pair("-7", 20), std::pair("many", 20)}) {
    onnx::ModelProto model = small_model();
    auto& property = *model.add_metadata_props();
    property.set_key("assay.parameter_count");
    property.set_value(text);
    const auto info = inspect_model(folder.write(model));
    ASSERT_TRUE(info) << to_string(info.error());
    EXPECT_EQ(info->parameter_count, expected) << text;
  }
}

TEST(InspectModel, LeavesInitializersThatAreListedAsInputsOut) {
  onnx::ModelProto model = small_model();
  add_value(model.mutable_graph()->mutable_input(), "w", TensorProto::FLOAT, {"4", "4"});
  const ModelFolder folder;
  const auto info = inspect_model(folder.write(model));
  ASSERT_TRUE(info) << to_string(info.error());
  EXPECT_EQ(info->inputs.size(), 1U);
}

TEST(InspectModel, FindsHowManyRowsTheIdsSelectFrom) {
  onnx::ModelProto model = empty_model();
  onnx::GraphProto& graph = *model.mutable_graph();
  add_value(graph.mutable_input(), "input_ids", TensorProto::INT32, {"batch", "sequence"});
  add_value(graph.mutable_output(), "y", TensorProto::FLOAT, {"batch", "sequence", "2"});
  add_floats(graph, "table", {30, 2});
  add_node(graph, "Cast", {"input_ids"}, {"ids"});
  add_node(graph, "Identity", {"table"}, {"same_table"});
  add_node(graph, "Gather", {"same_table", "ids"}, {"y"});
  const ModelFolder folder;
  const auto info = inspect_model(folder.write(model));
  ASSERT_TRUE(info) << to_string(info.error());
  EXPECT_EQ(info->inputs[0].index_limit, 30);
}

TEST(InspectModel, HashesWeightsAlikeWhereverTheyAreStoredAndApartFromTheGraph) {
  const ModelFolder folder;
  onnx::ModelProto model = small_model();
  const auto raw = inspect_model(folder.write(model, "raw.onnx"));
  TensorProto& w = *model.mutable_graph()->mutable_initializer(0);
  const std::string bytes = w.raw_data();
  w.clear_raw_data();
  for (int i = 0; i < 16; ++i) w.add_float_data(0.25F + static_cast<float>(i));
  const auto typed = inspect_model(folder.write(model, "typed.onnx"));
  w.clear_float_data();
  set_external(w, {{"location", "w.bin"}, {"offset", "8"}, {"length", "64"}});
  folder.write_bytes("12345678" + bytes + "more", "w.bin");
  const auto external = inspect_model(folder.write(model, "external.onnx"));
  ASSERT_TRUE(raw && typed) << "both are sound";
  ASSERT_TRUE(external) << to_string(external.error());
  EXPECT_EQ(raw->weights_hash, typed->weights_hash);
  EXPECT_EQ(raw->weights_hash, external->weights_hash);
  EXPECT_EQ(raw->graph_hash, external->graph_hash);
  EXPECT_EQ(external->file_bytes, std::filesystem::file_size(folder.path() / "external.onnx") + 8 + 64 + 4);

  w.Clear();
  w = add_floats(*model.mutable_graph(), "w", {4, 4});
  model.mutable_graph()->mutable_initializer()->RemoveLast();
  (*w.mutable_raw_data())[0] = 'X';
  const auto changed = inspect_model(folder.write(model, "changed.onnx"));
  ASSERT_TRUE(changed) << to_string(changed.error());
  EXPECT_NE(raw->weights_hash, changed->weights_hash);
  EXPECT_EQ(raw->graph_hash, changed->graph_hash);
  model.mutable_graph()->mutable_node(2)->set_op_type("Tanh");
  EXPECT_NE(raw->graph_hash, inspect_model(folder.write(model, "other.onnx"))->graph_hash);
}

TEST(InspectModel, ReadsLargeConstantsOfNodesInPlace) {
  onnx::ModelProto model = empty_model();
  onnx::GraphProto& graph = *model.mutable_graph();
  add_value(graph.mutable_output(), "y", TensorProto::FLOAT, {"64", "64"});
  add_node(graph, "Constant", {}, {"c"});
  auto& attribute = *graph.mutable_node(0)->add_attribute();
  attribute.set_name("value");
  attribute.set_type(onnx::AttributeProto::TENSOR);
  *attribute.mutable_t() = add_floats(graph, "", {64, 64});
  graph.clear_initializer();
  add_node(graph, "Relu", {"c"}, {"y"});
  const ModelFolder folder;
  const auto info = inspect_model(folder.write(model));
  ASSERT_TRUE(info) << to_string(info.error());
  EXPECT_EQ(info->weights_hash, sha256_hex(attribute.t().raw_data()));
  attribute.mutable_t()->mutable_raw_data()->pop_back();
  EXPECT_FALSE(inspect_model(folder.write(model)));
}

TEST(InspectModel, AcceptsNodesInAnyOrderAndNamesFromOuterGraphs) {
  onnx::ModelProto model = small_model();
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.mutable_node()->SwapElements(0, 2);
  add_value(graph.mutable_input(), "c", TensorProto::BOOL, {});
  add_value(graph.mutable_output(), "z", TensorProto::FLOAT, {"batch", "4"});
  onnx::NodeProto& node = add_node(graph, "If", {"c"}, {"z"});
  for (const char* name : {"then_branch", "else_branch"}) {
    auto& branch = *node.add_attribute();
    branch.set_name(name);
    branch.set_type(onnx::AttributeProto::GRAPH);
    add_node(*branch.mutable_g(), "Add", {"x", "sum"}, {"same_name"});
    branch.mutable_g()->add_output()->set_name("same_name");
  }
  const ModelFolder folder;
  const auto info = inspect_model(folder.write(model));
  EXPECT_TRUE(info) << to_string(info.error());
}

TEST(InspectModel, AcceptsLocalFunctions) {
  onnx::ModelProto model = small_model();
  onnx::FunctionProto& function = *model.add_functions();
  function.set_domain("mine");
  function.set_name("Twice");
  function.add_input("a");
  function.add_output("b");
  function.add_opset_import()->set_version(17);
  onnx::GraphProto body;
  add_node(body, "Add", {"a", "a"}, {"b"});
  *function.mutable_node() = body.node();
  add_node(*model.mutable_graph(), "Twice", {"y"}, {"z"}).set_domain("mine");
  const ModelFolder folder;
  const auto info = inspect_model(folder.write(model));
  ASSERT_TRUE(info) << to_string(info.error());
  EXPECT_THAT(info->operators, ::testing::Not(::testing::Contains(Pair("mine", "Twice"))));
}

// Every cut is refused, or leaves a model that is still whole: what follows the graph and its imports is optional.
TEST(InspectModel, NeverTakesATruncatedFileForAModel) {
  onnx::ModelProto model = small_model();
  model.add_metadata_props()->set_key("assay.family");
  const std::string whole = model.SerializeAsString();
  const ModelFolder folder;
  int accepted = 0;
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::string cut = whole.substr(0, length);
    onnx::ModelProto parsed;
    const bool still_whole = parsed.ParseFromString(cut) && parsed.has_graph() && parsed.opset_import_size() == 1 &&
                             parsed.opset_import(0).version() == 17;
    const auto info = inspect_model(folder.write_bytes(cut, "cut.onnx"));
    EXPECT_EQ(static_cast<bool>(info), still_whole) << "cut to " << length << " of " << whole.size();
    if (!info) {
      EXPECT_FALSE(info.error().message.empty());
    }
    accepted += info ? 1 : 0;
  }
  EXPECT_LE(accepted, 2);
}

// Flipping bits anywhere must never crash or hang; asan and ubsan watch.
TEST(InspectModel, SurvivesEveryFlippedBit) {
  const std::string whole = small_model().SerializeAsString();
  const ModelFolder folder;
  for (std::size_t i = 0; i < whole.size() * 8; ++i) {
    std::string broken = whole;
    broken[i / 8] = static_cast<char>(broken[i / 8] ^ (1 << (i % 8)));
    const auto info = inspect_model(folder.write_bytes(broken, "broken.onnx"));
    if (!info) {
      EXPECT_FALSE(info.error().message.empty());
    }
  }
}

// ONNX's own operator tests, written by onnx_node_tests.py: what is refused there is a bug of ours.
TEST(InspectModel, AcceptsOnnxsOwnOperatorTests) {
  const char* folder = std::getenv("ASSAY_ONNX_NODE_TESTS");
  if (folder == nullptr) GTEST_SKIP() << "ASSAY_ONNX_NODE_TESTS is not set";
  int accepted = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".onnx") continue;
    const auto info = inspect_model(entry.path());
    accepted += info ? 1 : 0;
    if (!info) {
      EXPECT_EQ(info.error().code, ErrorCode::kUnsupported) << to_string(info.error());
    }
  }
  EXPECT_GT(accepted, 1000);
}

}  // namespace
}  // namespace assay
