// SPDX-License-Identifier: Apache-2.0
#include "models/graph/shape_operands.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/onnx/onnx_testing.hpp"

namespace assay {
namespace {
using testing::add_node;
using testing::add_value;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> inputs_of(const onnx::ModelProto& model) {
  const testing::ModelFolder folder;
  return shape_inputs(graph::Model::open(folder.write(model)).value());
}

TEST(ShapeInputs, AreThoseThatShapesAreComputedFrom) {
  onnx::ModelProto model = testing::empty_model();
  onnx::GraphProto& graph = *model.mutable_graph();
  for (const char* name : {"x", "a", "b", "unused"})
    add_value(graph.mutable_input(), name, onnx::TensorProto::INT64, {"4"});
  add_value(graph.mutable_output(), "y", onnx::TensorProto::INT64, {"", ""});
  add_node(graph, "Concat", {"a", "b"}, {"target"});
  add_node(graph, "Reshape", {"x", "target"}, {"y"});
  EXPECT_THAT(inputs_of(model), ElementsAre("a", "b"));
}

TEST(ShapeInputs, AShapeIsKnownWithoutTheValue) {
  onnx::ModelProto model = testing::empty_model();
  onnx::GraphProto& graph = *model.mutable_graph();
  for (const char* name : {"x", "like"}) add_value(graph.mutable_input(), name, onnx::TensorProto::FLOAT, {"4"});
  add_value(graph.mutable_output(), "y", onnx::TensorProto::FLOAT, {"4"});
  add_node(graph, "Shape", {"like"}, {"target"});
  add_node(graph, "Expand", {"x", "target"}, {"y"});
  EXPECT_THAT(inputs_of(model), IsEmpty());
}

TEST(ShapeInputs, AnotherDomainHasOperatorsOfItsOwn) {
  onnx::ModelProto model = testing::empty_model();
  auto& domain = *model.add_opset_import();
  domain.set_domain("com.example");
  domain.set_version(1);
  onnx::GraphProto& graph = *model.mutable_graph();
  for (const char* name : {"x", "shape"}) add_value(graph.mutable_input(), name, onnx::TensorProto::INT64, {"4"});
  add_value(graph.mutable_output(), "y", onnx::TensorProto::INT64, {"4"});
  add_node(graph, "Reshape", {"x", "shape"}, {"y"}).set_domain("com.example");
  EXPECT_THAT(inputs_of(model), IsEmpty());
}

}  // namespace
}  // namespace assay
