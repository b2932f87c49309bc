// SPDX-License-Identifier: Apache-2.0
#include "models/lower/recurrent_activations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/lower/program.hpp"
#include "models/onnx/onnx_testing.hpp"

namespace assay::lowering {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// NOLINTNEXTLINE(readability-identifier-naming): a matcher
MATCHER_P3(IsActivation, name, alpha, beta, "") {
  return arg.name == name && arg.alpha == double{alpha} && arg.beta == double{beta};
}

graph::Node layer(std::string_view op_type, std::vector<std::string_view> names, std::span<const float> alphas = {}) {
  graph::Node node;
  node.op_type = op_type;
  if (!names.empty()) node.attributes.push_back({.name = "activations", .value = std::move(names)});
  if (!alphas.empty()) node.attributes.push_back({.name = "activation_alpha", .value = alphas});
  return node;
}

TEST(RecurrentActivations, AreTheUsualOnesOfEachLayerIfTheNodeHasNone) {
  const auto sigmoid = IsActivation("sigmoid", 0.0F, 0.0F), tanh = IsActivation("tanh", 0.0F, 0.0F);
  EXPECT_THAT(recurrent_activations(layer("RNN", {}), 1).value(), ElementsAre(tanh));
  EXPECT_THAT(recurrent_activations(layer("GRU", {}), 1).value(), ElementsAre(sigmoid, tanh));
  EXPECT_THAT(recurrent_activations(layer("LSTM", {}), 2).value(),
              ElementsAre(sigmoid, tanh, tanh, sigmoid, tanh, tanh));
}

TEST(RecurrentActivations, HaveOnnxsParametersIfTheNodeStatesNone) {
  const float alphas[] = {0.5F, 0.25F};
  const auto made = recurrent_activations(layer("LSTM", {"Affine", "ELU", "HardSigmoid"}, alphas), 1);
  ASSERT_TRUE(made) << to_string(made.error());
  EXPECT_THAT(*made, ElementsAre(IsActivation("affine", 0.5F, 0.0F), IsActivation("elu", 0.25F, 0.0F),
                                 ::testing::Field(&RecurrentActivation::alpha, 0.2)));
}

TEST(RecurrentActivations, OfAnotherNameAreRefused) {
  const auto made = recurrent_activations(layer("RNN", {"Cosine"}), 1);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(made.error().message, HasSubstr("the activation 'Cosine' of node"));
}

// ONNX's RNN has x where x ≥ alpha; libtorch's threshold has it where x > alpha.
TEST(RecurrentActivations, ThresholdedReluKeepsAlphaInBothDialects) {
  onnx::ModelProto model = testing::empty_model();
  onnx::GraphProto& graph = *model.mutable_graph();
  testing::add_value(graph.mutable_input(), "x", onnx::TensorProto::FLOAT, {"4", "1", "3"});
  testing::add_value(graph.mutable_output(), "y", onnx::TensorProto::FLOAT, {});
  testing::add_floats(graph, "w", {1, 2, 3});
  testing::add_floats(graph, "r", {1, 2, 2});
  onnx::AttributeProto& names = *testing::add_node(graph, "RNN", {"x", "w", "r"}, {"y"}).add_attribute();
  names.set_name("activations");
  names.set_type(onnx::AttributeProto::STRINGS);
  names.add_strings("ThresholdedRelu");
  const testing::ModelFolder folder;
  const StaticModel opened = StaticModel::open(folder.write(model)).value();
  const auto text = [&](Dialect dialect) { return lower(opened, {{{"x", {4, 1, 3}}}, {}}, dialect).value().text; };
  EXPECT_THAT(text(Dialect::kTorchScript), HasSubstr("torch.where(torch.ge("));
  EXPECT_THAT(text(Dialect::kStableHlo), HasSubstr("stablehlo.compare GE"));
}

}  // namespace
}  // namespace assay::lowering
