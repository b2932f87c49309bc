// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/base/files.hpp"
#include "models/builder/builder_testing.hpp"
#include "models/builder/graph_builder.hpp"
#include "onnx/onnx-ml.pb.h"

namespace assay {
namespace {
using ::testing::ElementsAre;
using testing::floats;
constexpr auto kHalf = static_cast<std::int32_t>(DType::kFloat16);
constexpr auto kFloat = static_cast<std::int32_t>(DType::kFloat32);
constexpr std::int64_t kTwo = 2;

onnx::GraphProto written(const GraphBuilder& graph) {
  const auto folder = TemporaryDirectory::create().value();
  EXPECT_TRUE(graph.write(folder.path() / "m.onnx"));
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(read_file(folder.path() / "m.onnx").value()));
  return model.graph();
}

const onnx::TensorProto* tensor(const onnx::GraphProto& graph, const std::string& name) {
  const auto found = std::ranges::find(graph.initializer(), name, [](const auto& t) { return t.name(); });
  return found == graph.initializer().end() ? nullptr : &*found;
}

std::vector<float> halves(const onnx::TensorProto& tensor) {
  std::vector<float> values;
  for (std::size_t i = 0; i + 1 < tensor.raw_data().size(); i += 2) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, tensor.raw_data().data() + i, sizeof bits);
    values.push_back(half_to_float(bits));
  }
  return values;
}

std::vector<std::string> operators(const onnx::GraphProto& graph) {
  std::vector<std::string> all;
  for (const onnx::NodeProto& node : graph.node()) {
    all.push_back(node.op_type());
    if (node.op_type() == "Cast") all.back() += std::to_string(node.attribute(0).i());
  }
  return all;
}

TEST(GraphPrecision, LowersInputsOutputsAndWeights) {
  GraphBuilder graph("g");
  const Value x = graph.input("x", DType::kFloat32, {"batch", kTwo});
  const Value ids = graph.input("ids", DType::kInt64, {"batch"});
  const Value w = graph.initializer("w", DType::kFloat32, {2, 2}, floats({1, -0.1F, 3, 70000}));
  const Value y = graph.node("/dense", "MatMul", {x, w});
  graph.output("y", y, {"batch", kTwo});
  graph.output("same", ids, {"batch"});
  graph.lower_floats(DType::kFloat16);
  const onnx::GraphProto lowered = written(graph);
  EXPECT_THAT(operators(lowered), ElementsAre("MatMul", "Identity"));
  EXPECT_EQ(lowered.input(0).type().tensor_type().elem_type(), kHalf);
  EXPECT_EQ(lowered.input(1).type().tensor_type().elem_type(), static_cast<std::int32_t>(DType::kInt64));
  EXPECT_EQ(lowered.output(0).type().tensor_type().elem_type(), kHalf);
  EXPECT_THAT(halves(*tensor(lowered, "w")),
              ElementsAre(1, half_to_float(float_to_half(-0.1F)), 3, std::numeric_limits<float>::infinity()));
}

TEST(GraphPrecision, BoundsConstantsSoThatTwoOfThemStayFinite) {
  GraphBuilder graph("g");
  const Value kept = graph.input("kept", DType::kBool, {"batch"});
  const float lowest = std::numeric_limits<float>::lowest();
  const Value mask = graph.node("", "Where", {kept, graph.number(0.0F), graph.number(lowest)}, {}, DType::kFloat32);
  graph.output("mask", mask, {"batch"});
  graph.lower_floats(DType::kFloat16);
  const onnx::GraphProto lowered = written(graph);
  EXPECT_THAT(operators(lowered), ElementsAre("Where"));
  EXPECT_THAT(halves(*tensor(lowered, lowered.node(0).input(2))), ElementsAre(-65504.0F / 4));
}

// Positions beyond 2048 have no float16, and frequencies too few digits for the angles of large ones.
TEST(GraphPrecision, KeepsAnglesOfPositionsInFloat32UntilTheyMeetActivations) {
  GraphBuilder graph("g");
  const Value x = graph.input("x", DType::kFloat32, {"batch", kTwo});
  const Value positions = graph.input("positions", DType::kInt64, {"batch", std::int64_t{1}});
  const Value beyond = graph.node("", "Greater", {positions, graph.integer(7)}, {}, DType::kBool);
  const Value numbers = graph.node("/rope", "Cast", {positions}, {{"to", std::int64_t{kFloat}}}, DType::kFloat32);
  const Value far = graph.numbers({0.1F, 0.001F}, {2}), near = graph.numbers({0.3F, 0.003F}, {2});
  const Value frequencies = graph.node("/rope", "Where", {beyond, far, near}, {}, DType::kFloat32);
  const Value angles = graph.node("/rope", "Mul", {numbers, frequencies});
  const Value turned = graph.node("/attention", "Mul", {x, graph.node("/rope", "Cos", {angles})});
  graph.output("y", turned, {"batch", kTwo});
  graph.output("angles", angles, {"batch", kTwo});
  graph.lower_floats(DType::kFloat16);
  const onnx::GraphProto lowered = written(graph);
  EXPECT_THAT(operators(lowered), ElementsAre("Greater", "Cast1", "Where", "Mul", "Cos", "Cast10", "Mul", "Cast10"));
  EXPECT_EQ(lowered.node(5).name(), "/attention/Cast");
  for (const std::string& name : {lowered.node(2).input(1), lowered.node(2).input(2)})
    EXPECT_EQ(tensor(lowered, name)->data_type(), kFloat) << name;
  EXPECT_EQ(lowered.initializer_size(), 3) << "no constant that nothing uses";
  EXPECT_EQ(lowered.node(7).output(0), "angles");
}

TEST(GraphPrecision, ComputesSquaresInFloat32OnTheSameRoundedWeights) {
  GraphBuilder graph("g");
  const Value x = graph.input("x", DType::kFloat32, {"batch", kTwo});
  const Value scale = graph.initializer("scale", DType::kFloat32, {2}, floats({1, 2}));
  const Value square = graph.node("/norm", "Pow", {x, graph.number(2.0F)});
  const Value scaled = graph.node("/norm", "Mul", {square, scale});
  const Value mean = graph.node("/norm", "Add", {scaled, graph.number(1e-6F)});
  graph.output("y", graph.node("", "Div", {x, graph.node("/norm", "Sqrt", {mean})}), {"batch", kTwo});
  graph.lower_floats(DType::kFloat16);
  const onnx::GraphProto lowered = written(graph);
  EXPECT_THAT(operators(lowered), ElementsAre("Cast1", "Pow", "Cast1", "Mul", "Add", "Sqrt", "Cast10", "Div"));
  EXPECT_EQ(tensor(lowered, "scale")->data_type(), kHalf);
  EXPECT_EQ(lowered.node(2).input(0), "scale");
  EXPECT_EQ(tensor(lowered, lowered.node(4).input(1))->data_type(), kFloat);
}

TEST(GraphPrecision, ComputesInFloat32WhatHasNoBfloat16) {
  const auto convolution = [](DType precision) {
    GraphBuilder graph("g");
    const Value x = graph.input("x", DType::kFloat32, {"batch", kTwo, std::int64_t{4}, std::int64_t{4}});
    const Value w = graph.initializer("w", DType::kFloat32, {1, 2, 1, 1}, floats({1, 2}));
    const Value y = graph.node("/conv", "Relu", {graph.node("/conv", "Conv", {x, w})});
    const Value dense = graph.initializer("dense", DType::kFloat32, {4, 4}, floats(std::vector<float>(16, 0.5F)));
    const Value z = graph.node("/dense", "Relu", {graph.node("/dense", "MatMul", {y, dense})});
    graph.output("z", z, {"batch", std::int64_t{1}, std::int64_t{4}, std::int64_t{4}});
    graph.lower_floats(precision);
    return operators(written(graph));
  };
  EXPECT_THAT(convolution(DType::kFloat16), ElementsAre("Conv", "Relu", "MatMul", "Relu"));
  // What follows stays there, one cast instead of two, until it meets weights.
  EXPECT_THAT(convolution(DType::kBFloat16), ElementsAre("Cast1", "Cast1", "Conv", "Relu", "Cast16", "MatMul", "Relu"));
}

TEST(GraphPrecision, LeavesTheScalesOfAResize) {
  GraphBuilder graph("g");
  const Value x = graph.input("x", DType::kFloat32, {std::int64_t{1}, kTwo});
  const Value scales = graph.numbers({1, 2}, {2});
  graph.output("y", graph.node("", "Resize", {x, {}, scales}), {std::int64_t{1}, std::int64_t{4}});
  graph.output("z", graph.node("", "Mul", {x, scales}), {std::int64_t{1}, kTwo});
  graph.lower_floats(DType::kFloat16);
  const onnx::GraphProto lowered = written(graph);
  EXPECT_THAT(operators(lowered), ElementsAre("Resize", "Mul"));
  EXPECT_EQ(tensor(lowered, lowered.node(0).input(2))->data_type(), kFloat);
  EXPECT_EQ(tensor(lowered, lowered.node(1).input(1))->data_type(), kHalf);
}

TEST(GraphPrecision, RoundsWeightsAndNotTables) {
  GraphBuilder graph("g");
  const Value w = graph.initializer("w", DType::kFloat32, {1}, floats({0.1F}));
  const Value t = graph.table("t", DType::kFloat32, {1}, floats({0.1F}));
  graph.output("y", graph.node("", "Add", {w, t}), {std::int64_t{1}});
  graph.round_weights(DType::kBFloat16);
  const onnx::GraphProto rounded = written(graph);
  const auto value = [&](const char* name) {
    float number = 0.0F;
    std::memcpy(&number, tensor(rounded, name)->raw_data().data(), sizeof number);
    return number;
  };
  EXPECT_EQ(value("w"), bfloat16_to_float(float_to_bfloat16(0.1F)));
  EXPECT_EQ(value("t"), 0.1F);
}

}  // namespace
}  // namespace assay
