// SPDX-License-Identifier: Apache-2.0
#include "bench/services/node_test.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "core/base/text.hpp"
#include "models/graph/shape_operands.hpp"
#include "models/graph/view.hpp"
#include "models/onnx/tensor_pb.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

/// ONNX's own (onnx.backend.test.loader).
constexpr Tolerance kOnnxTolerance{.absolute = 1e-7, .relative = 1e-3};

/// In 16 bits, two units in the last place: one is more than ONNX's.
constexpr double kFloat16Relative = 0x1p-9, kBFloat16Relative = 0x1p-6;
/// Relative to the largest element: sums of a Fourier transform that cancel have the rounding errors of their terms.
constexpr double kTransformAbsolute = 1e-6;

constexpr std::string_view kOfControl[] = {"Adagrad",
                                           "Adam",
                                           "Bernoulli",
                                           "Gradient",
                                           "If",
                                           "Loop",
                                           "Momentum",
                                           "Multinomial",
                                           "Optional",
                                           "OptionalGetElement",
                                           "OptionalHasElement",
                                           "RandomNormal",
                                           "RandomNormalLike",
                                           "RandomUniform",
                                           "RandomUniformLike",
                                           "Scan",
                                           "SplitToSequence",
                                           "ConcatFromSequence"};

bool is_rare(DType dtype) {
  return dtype == DType::kString || (bit_width(dtype) < 8 && dtype != DType::kUndefined) ||
         (is_floating(dtype) && bit_width(dtype) == 8);
}

bool has_rare_types(const graph::Graph& graph) {
  const auto rare_value = [](const graph::ValueInfo& value) { return is_rare(value.dtype); };
  return std::ranges::any_of(graph.inputs, rare_value) || std::ranges::any_of(graph.outputs, rare_value) ||
         std::ranges::any_of(graph.values, rare_value) ||
         std::ranges::any_of(graph.initializers, [](const graph::Constant& each) { return is_rare(each.dtype); }) ||
         std::ranges::any_of(graph.nodes, [](const graph::Node& node) {
           return node.op_type == "Cast" && is_rare(static_cast<DType>(node.integer("to", 0)));
         });
}

bool is_control(const graph::Node& node) {
  const bool trains = node.integer("training_mode", 0) != 0 ||
                      (node.op_type == "Dropout" && node.inputs.size() > 2 && !node.inputs[2].empty());
  return trains || node.op_type.starts_with("Sequence") ||
         std::ranges::find(kOfControl, node.op_type) != std::end(kOfControl);
}

bool is_random(const graph::Node& node) {
  return node.op_type.starts_with("Random") || node.op_type == "Bernoulli" || node.op_type == "Multinomial" ||
         (node.op_type == "Dropout" && is_control(node));
}

bool is_tensor(const graph::ValueInfo& value) {
  return value.kind == graph::ValueKind::kTensor || value.kind == graph::ValueKind::kUndeclared;
}

NodeTestClass class_of(const graph::Graph& graph, const std::vector<std::string>& shape_inputs) {
  if (has_rare_types(graph)) return NodeTestClass::kTypes;
  if (!std::ranges::all_of(graph.inputs, is_tensor) || !std::ranges::all_of(graph.outputs, is_tensor) ||
      std::ranges::any_of(graph.nodes, is_control))
    return NodeTestClass::kControl;
  return shape_inputs.empty() ? NodeTestClass::kPlain : NodeTestClass::kShapes;
}

Status read_values(const NodeTest& test, std::string_view what, const std::vector<graph::ValueInfo>& values,
                   std::vector<NamedTensor>& into) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!is_tensor(values[i]))
      return fail(ErrorCode::kUnsupported, fmt::format("{} {} is not a tensor", what, shown(values[i].name)));
    if (values[i].dtype == DType::kString)
      return fail(ErrorCode::kUnsupported, fmt::format("{} {} has strings", what, shown(values[i].name)));
    if (is_integer(values[i].dtype) && bit_width(values[i].dtype) < 8)
      return fail(ErrorCode::kUnsupported, fmt::format("{} {} is {}, which assay does not pass to engines", what,
                                                       shown(values[i].name), to_string(values[i].dtype)));
    ASSAY_TRY(NamedTensor read,
              read_tensor_pb(test.model.parent_path() / "test_data_set_0" / fmt::format("{}_{}.pb", what, i)));
    read.name = values[i].name;
    into.push_back(std::move(read));
  }
  return {};
}

}  // namespace

std::string_view to_string(NodeTestClass kind) {
  switch (kind) {
    case NodeTestClass::kTypes:
      return "types";
    case NodeTestClass::kControl:
      return "control_flow";
    case NodeTestClass::kShapes:
      return "shapes_as_inputs";
    case NodeTestClass::kPlain:
      break;
  }
  return "plain";
}

Result<NodeTest> open_node_test(const fs::path& folder) {
  NodeTest test;
  test.name = (folder.has_filename() ? folder : folder.parent_path()).filename().string();
  test.model = folder / "model.onnx";
  ASSAY_TRY(const graph::Model model, graph::Model::open(test.model));
  test.shape_inputs = shape_inputs(model);
  test.kind = class_of(model.graph(), test.shape_inputs);
  const auto& nodes = model.graph().nodes;
  test.random = std::ranges::any_of(nodes, is_random);
  test.transforms = std::ranges::any_of(nodes, [](const graph::Node& node) {
    return is_any(node.op_type, {"DFT", "STFT"});
  });
  std::set<std::string> operators;
  for (const graph::Node& node : nodes) operators.insert(node.operator_name());
  test.operators.assign(operators.begin(), operators.end());
  return test;
}

Tolerance tolerance_of(const NodeTest& test, const TensorView& expected) {
  Tolerance tolerance = kOnnxTolerance;
  if (expected.dtype == DType::kFloat16) tolerance.relative = kFloat16Relative;
  if (expected.dtype == DType::kBFloat16) tolerance.relative = kBFloat16Relative;
  if (!test.transforms) return tolerance;
  double largest = 0;
  const std::int64_t count = element_count(expected.shape).value_or(0);
  for (std::int64_t i = 0; i < count; ++i) largest = std::max(largest, std::abs(element_as_double(expected, i)));
  tolerance.absolute = std::max(tolerance.absolute, kTransformAbsolute * largest);
  return tolerance;
}

Result<NodeTestData> read_node_test_data(const NodeTest& test) {
  ASSAY_TRY(const graph::Model model, graph::Model::open(test.model));
  NodeTestData data;
  ASSAY_CHECK_OK(read_values(test, "input", model.graph().inputs, data.inputs));
  ASSAY_CHECK_OK(read_values(test, "output", model.graph().outputs, data.outputs));
  return data;
}

Result<std::vector<fs::path>> find_node_tests(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> found;
  if (fs::is_regular_file(folder / "model.onnx", error)) return std::vector{folder.lexically_normal()};
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (fs::is_regular_file(entry.path() / "model.onnx", error)) found.push_back(entry.path());
  if (!fs::exists(folder, error))
    return fail(ErrorCode::kNotFound, fmt::format("there is no folder {}", shown_path(folder)),
                "give a folder with ONNX's operator tests, or one of them");
  if (found.empty())
    return fail(ErrorCode::kNotFound, fmt::format("there are no operator tests in {}", shown_path(folder)),
                "a test is a folder with model.onnx and test_data_set_0/input_0.pb");
  std::ranges::sort(found);
  return found;
}

}  // namespace assay
