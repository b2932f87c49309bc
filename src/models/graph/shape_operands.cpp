// SPDX-License-Identifier: Apache-2.0
#include "models/graph/shape_operands.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <span>
#include <string_view>

namespace assay {
namespace {

struct ShapeOperands {
  std::string_view op_type;
  std::array<bool, 5> inputs;
};

constexpr ShapeOperands first_of(std::string_view op) { return {op, {true}}; }
constexpr ShapeOperands second_of(std::string_view op) { return {op, {false, true}}; }

// Of ONNX's own operators, in all versions.
constexpr ShapeOperands kShapeOperands[] = {
    second_of("AffineGrid"),
    first_of("BlackmanWindow"),
    second_of("CenterCropPad"),
    {"Col2Im", {false, true, true}},
    first_of("ConstantOfShape"),
    second_of("CumProd"),
    second_of("CumSum"),
    {"DFT", {false, true, true}},
    second_of("Expand"),
    first_of("HammingWindow"),
    first_of("HannWindow"),
    {"MaxUnpool", {false, false, true}},
    {"MelWeightMatrix", {true, true, true, true, true}},
    {"NonMaxSuppression", {false, false, true}},
    second_of("OneHot"),
    {"Pad", {false, true, false, true}},
    {"Range", {true, true, true}},
    second_of("ReduceL1"),
    second_of("ReduceL2"),
    second_of("ReduceLogSum"),
    second_of("ReduceLogSumExp"),
    second_of("ReduceMax"),
    second_of("ReduceMean"),
    second_of("ReduceMin"),
    second_of("ReduceProd"),
    second_of("ReduceSum"),
    second_of("ReduceSumSquare"),
    second_of("Reshape"),
    {"Resize", {false, true, true, true}},
    {"STFT", {false, true, false, true}},
    {"Slice", {false, true, true, true, true}},
    second_of("Split"),
    second_of("SplitToSequence"),
    second_of("Squeeze"),
    second_of("Tile"),
    second_of("TopK"),
    second_of("Trilu"),
    second_of("Unsqueeze"),
    second_of("Upsample"),
};

bool is_shape_operand(const graph::Node& node, std::size_t input) {
  if (!node.domain.empty() || input >= ShapeOperands{}.inputs.size()) return false;
  const auto* found = std::ranges::find(kShapeOperands, node.op_type, &ShapeOperands::op_type);
  return found != std::end(kShapeOperands) && found->inputs[input];
}

// What only the shape of its input decides.
bool reads_shape_only(const graph::Node& node) {
  return node.domain.empty() && (node.op_type == "Shape" || node.op_type == "Size");
}

}  // namespace

std::vector<std::string> shape_inputs(const graph::Model& model) {
  const graph::Graph& graph = model.graph();
  std::set<std::string_view> wanted;
  for (auto place = graph.order.rbegin(); place != graph.order.rend(); ++place) {
    const graph::Node& node = graph.nodes[*place];
    const bool all = std::ranges::any_of(node.outputs, [&](auto name) { return wanted.contains(name); });
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if ((all && !reads_shape_only(node)) || is_shape_operand(node, i)) wanted.insert(node.inputs[i]);
  }
  std::vector<std::string> names;
  for (const graph::ValueInfo& input : graph.inputs)
    if (wanted.contains(input.name)) names.emplace_back(input.name);
  return names;
}

}  // namespace assay
