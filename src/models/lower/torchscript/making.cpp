// SPDX-License-Identifier: Apache-2.0
// Operators that make tensors from no tensor, or from extents.
#include <fmt/format.h>

#include "models/lower/torchscript/groups.hpp"

namespace assay::lowering {
namespace torchscript::making {
namespace {

using graph::Node;

std::string type_argument(DType dtype) { return fmt::format("dtype={}", *torch_type(dtype)); }

Result<std::string> weight_of(TorchWriter& writer, const Node& node, const graph::Constant& constant) {
  if (!torch_type(constant.dtype)) return refuse(node, fmt::format("the type {}", to_string(constant.dtype)));
  ASSAY_TRY(const graph::ConstantData data, writer.program().model().data(constant));
  return writer.held(constant.dtype, constant.shape, data.bytes);
}

Status constant(TorchWriter& writer, const Node& node) {
  if (const graph::Attribute* value = node.attribute("value"); value != nullptr && value->get<graph::Constant>()) {
    ASSAY_TRY(std::string made, weight_of(writer, node, *value->get<graph::Constant>()));
    writer.is(node.outputs[0], std::move(made));
    return {};
  }
  const std::string type = type_argument(writer.out_dtype(node));
  if (const graph::Attribute* value = node.attribute("value_float"); value != nullptr && value->get<float>()) {
    writer.out(node, torch_call("full", "[]", torch_number(double{*value->get<float>()}), type));
    return {};
  }
  if (const graph::Attribute* value = node.attribute("value_int"); value != nullptr && value->get<std::int64_t>()) {
    writer.out(node, torch_call("full", "[]", *value->get<std::int64_t>(), type));
    return {};
  }
  if (const auto values = node.integers("value_ints")) {
    writer.is(node.outputs[0], writer.integers(*values));
    return {};
  }
  const graph::Attribute* values = node.attribute("value_floats");
  if (values == nullptr || !values->get<std::span<const float>>()) return refuse(node, "the kind of constant");
  writer.is(node.outputs[0], writer.floats(*values->get<std::span<const float>>(), writer.out_shape(node)));
  return {};
}

Status constant_of_shape(TorchWriter& writer, const Node& node) {
  const std::string extents = torch_list(writer.out_shape(node));
  const graph::Attribute* value = node.attribute("value");
  if (value == nullptr || !value->get<graph::Constant>()) {
    writer.out(node, torch_call("zeros", extents, type_argument(writer.out_dtype(node))));
    return {};
  }
  ASSAY_TRY(const std::string one, weight_of(writer, node, *value->get<graph::Constant>()));
  writer.out(node, torch_call("clone", torch_call("broadcast_to", torch_call("reshape", one, "[]"), extents)));
  return {};
}

Status eye_like(TorchWriter& writer, const Node& node) {
  const Shape& shape = writer.out_shape(node);
  const std::int64_t diagonal = node.integer("k", 0);
  const DType dtype = writer.out_dtype(node);
  if (!torch_type(dtype)) return refuse(node, fmt::format("the type {}", to_string(dtype)));
  std::vector<std::int64_t> rows(static_cast<std::size_t>(shape[0])), columns(static_cast<std::size_t>(shape[1]));
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int64_t>(i) + diagonal;
  for (std::size_t i = 0; i < columns.size(); ++i) columns[i] = static_cast<std::int64_t>(i);
  const std::string same =
      torch_call("eq", torch_call("unsqueeze", writer.integers(rows), 1), writer.integers(columns));
  writer.out(node, torch_call("to", same, *torch_type(dtype)));
  return {};
}

Status range(TorchWriter& writer, const Node& node) {
  std::string ends[3];
  for (std::size_t i = 0; i < 3; ++i) ends[i] = writer.scalar(node, i);
  writer.out(node, torch_call("arange", ends[0], ends[1], ends[2], type_argument(writer.out_dtype(node))));
  return {};
}

// Extents that were not folded, because something else of the node is read, too.
Status shape_of(TorchWriter& writer, const Node& node) {
  const StaticValue& known = writer.program().value(node.outputs[0]);
  if (!known.elements) return refuse(node, "a shape that is not known");
  writer.is(node.outputs[0], writer.integers(*known.elements));
  return {};
}

}  // namespace
}  // namespace torchscript::making

TorchOperators torch_making() {
  using namespace torchscript::making;
  return {since(1, "Constant", constant, "strings, sparse tensors"),
          since(9, "ConstantOfShape", constant_of_shape, "extents that are not constants"),
          since(9, "EyeLike", eye_like),
          since(11, "Range", range, "a number of elements that is not known"),
          since(1, "Shape", shape_of),
          since(1, "Size", shape_of)};
}

}  // namespace assay::lowering
