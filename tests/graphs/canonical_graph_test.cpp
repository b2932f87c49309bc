// SPDX-License-Identifier: Apache-2.0
#include "canonical_graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "models/onnx/onnx_testing.hpp"
#include "models/zoo/fake_checkpoint.hpp"

namespace assay::testing {
namespace {
using ::testing::HasSubstr;

class CanonicalGraphs : public zoo::ZooTest {
 protected:
  /// BERT with random weights: 200 nodes, weights outside the file.
  [[nodiscard]] onnx::ModelProto bert(const std::string& model_class = "BertModel") const {
    zoo::BuildRequest request;
    request.config = zoo::golden_config("bert");
    request.model_class = model_class;
    request.weights_left_out = true;
    EXPECT_TRUE(zoo::build(request, path("model.onnx")));
    onnx::ModelProto model;
    EXPECT_TRUE(model.ParseFromString(read_file(path("model.onnx")).value()));
    return model;
  }
};

std::string text_of(const onnx::ModelProto& model) {
  const Result<CanonicalGraph> canonical = canonical_graph(model);
  EXPECT_TRUE(canonical) << to_string(canonical.error());
  return canonical ? canonical->text : "";
}

// Renames every node and every value except the inputs and outputs.
void rename_values(onnx::GraphProto& graph) {
  std::map<std::string, std::string> names{{"", ""}};
  for (const auto& value : graph.input()) names[value.name()] = value.name();
  for (const auto& value : graph.output()) names[value.name()] = value.name();
  for (auto& tensor : *graph.mutable_initializer()) {
    if (tensor.data_location() == onnx::TensorProto_DataLocation_EXTERNAL) {
      names[tensor.name()] = tensor.name();
    } else {
      tensor.set_name(names[tensor.name()] = "constant-" + std::to_string(names.size()));
    }
  }
  const auto rename = [&](std::string& name) {
    name = names.emplace(name, "value-" + std::to_string(names.size())).first->second;
  };
  for (auto& node : *graph.mutable_node()) {
    node.set_name("node-" + std::to_string(names.size()));
    for (std::string& name : *node.mutable_input()) rename(name);
    for (std::string& name : *node.mutable_output()) rename(name);
  }
  for (auto& value : *graph.mutable_value_info()) rename(*value.mutable_name());
}

// Another topological order of the nodes.
void shuffle_nodes(onnx::GraphProto& graph, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<onnx::NodeProto> left(graph.node().begin(), graph.node().end());
  std::set<std::string> made{""};
  for (const auto& value : graph.input()) made.insert(value.name());
  for (const auto& tensor : graph.initializer()) made.insert(tensor.name());
  graph.clear_node();
  while (!left.empty()) {
    std::shuffle(left.begin(), left.end(), random);
    const auto next = std::find_if(left.begin(), left.end(), [&](const onnx::NodeProto& node) {
      return std::all_of(node.input().begin(), node.input().end(),
                         [&](const auto& name) { return made.contains(name); });
    });
    ASSERT_NE(next, left.end());
    made.insert(next->output().begin(), next->output().end());
    *graph.add_node() = *next;
    left.erase(next);
  }
}

TEST_F(CanonicalGraphs, StayTheSameWhenNodesChangeTheirOrder) {
  const onnx::ModelProto model = bert();
  for (const unsigned seed : {1U, 2U, 3U}) {
    onnx::ModelProto other = model;
    shuffle_nodes(*other.mutable_graph(), seed);
    ASSERT_NE(other.graph().SerializeAsString(), model.graph().SerializeAsString());
    EXPECT_EQ(text_of(other), text_of(model));
  }
}

TEST_F(CanonicalGraphs, StayTheSameWhenInternalNamesChange) {
  const onnx::ModelProto model = bert();
  onnx::ModelProto other = model;
  rename_values(*other.mutable_graph());
  std::reverse(other.mutable_graph()->mutable_initializer()->begin(),
               other.mutable_graph()->mutable_initializer()->end());
  other.mutable_graph()->set_name("other");
  other.mutable_graph()->set_doc_string("words");
  other.set_producer_name("other");
  other.clear_metadata_props();
  ASSERT_NE(other.graph().SerializeAsString(), model.graph().SerializeAsString());
  EXPECT_EQ(text_of(other), text_of(model));
}

TEST_F(CanonicalGraphs, StayTheSameWhereNothingUsesANode) {
  onnx::ModelProto model = bert();
  for (const char* input : {"one", "two", "three"}) {
    add_node(*model.mutable_graph(), "Relu", {"last_hidden_state"}, {input});
    add_node(*model.mutable_graph(), input == std::string_view("two") ? "Abs" : "Neg", {input},
             {(input + std::string("x")).c_str()});
  }
  onnx::ModelProto other = model;
  shuffle_nodes(*other.mutable_graph(), 1);
  EXPECT_EQ(text_of(other), text_of(model));
  EXPECT_THAT(text_of(model), HasSubstr("Abs_0 = Abs -> 1 (Relu_"));
}

TEST_F(CanonicalGraphs, ChangeWithAnAttributeAnInputAConstantAndAShape) {
  const onnx::ModelProto model = bert();
  const std::string text = text_of(model);
  const auto changed = [&](const std::function<void(onnx::GraphProto&)>& change) {
    onnx::ModelProto other = model;
    change(*other.mutable_graph());
    return text_of(other);
  };
  const auto first = [](onnx::GraphProto& graph, const std::string& op_type) {
    return std::find_if(graph.mutable_node()->begin(), graph.mutable_node()->end(),
                        [&](const onnx::NodeProto& node) { return node.op_type() == op_type; });
  };
  EXPECT_NE(text, changed([&](auto& graph) { first(graph, "Softmax")->mutable_attribute(0)->set_i(1); }));
  EXPECT_NE(text, changed([&](auto& graph) {
              first(graph, "LayerNormalization")->mutable_attribute(1)->set_f(1e-6F);
              first(graph, "LayerNormalization")->mutable_attribute(1)->set_i(1);
            }));
  EXPECT_NE(text, changed([&](auto& graph) { first(graph, "MatMul")->mutable_input()->SwapElements(0, 1); }));
  EXPECT_NE(text, changed([&](auto& graph) { first(graph, "Softmax")->set_domain("other"); }));
  EXPECT_NE(text, changed([&](auto& graph) { graph.mutable_output()->SwapElements(0, 1); }));
  EXPECT_NE(
      text, changed([&](auto& graph) {
        graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_value(
            1);
      }));
  bool weight_changed = false, constant_changed = false;
  for (int i = 0; i < model.graph().initializer_size(); ++i) {
    const bool weight = model.graph().initializer(i).data_location() == onnx::TensorProto_DataLocation_EXTERNAL;
    if (weight ? weight_changed : constant_changed) continue;
    (weight ? weight_changed : constant_changed) = true;
    EXPECT_NE(text, changed([&](auto& graph) {
                onnx::TensorProto& tensor = *graph.mutable_initializer(i);
                if (weight) {
                  tensor.set_dims(0, 17);
                } else {
                  ++tensor.mutable_raw_data()->front();
                }
              }));
  }
  EXPECT_TRUE(weight_changed && constant_changed);
}

TEST_F(CanonicalGraphs, RefuseWhatTheyCannotCompare) {
  onnx::ModelProto model = bert();
  model.mutable_graph()->mutable_node(0)->set_input(0, "nowhere");
  const Result<CanonicalGraph> canonical = canonical_graph(model);
  ASSERT_FALSE(canonical);
  EXPECT_THAT(canonical.error().message, HasSubstr("'nowhere'"));
  model.mutable_graph()->mutable_node(0)->set_input(0, model.graph().node(0).output(0));
  EXPECT_FALSE(canonical_graph(model));
  model = bert();
  onnx::AttributeProto& attribute = *model.mutable_graph()->mutable_node(0)->add_attribute();
  attribute.set_type(onnx::AttributeProto_AttributeType_GRAPH);
  EXPECT_FALSE(canonical_graph(model));
}

}  // namespace
}  // namespace assay::testing
