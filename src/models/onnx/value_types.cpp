// SPDX-License-Identifier: Apache-2.0
#include "models/onnx/value_types.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace assay {
namespace {

template <std::size_t N>
bool is_one_of(std::string_view op, const std::array<std::string_view, N>& operators) {
  return std::ranges::find(operators, op) != operators.end();
}

constexpr std::array<std::string_view, 10> kGiveBools{"And",     "Or",   "Xor",         "Not",   "Equal",
                                                      "Greater", "Less", "LessOrEqual", "IsInf", "IsNaN"};
constexpr std::array<std::string_view, 7> kGiveInt64{
    "ArgMax", "ArgMin", "NonZero", "Shape", "Size", "NonMaxSuppression", "StringSplit"};
constexpr std::array<std::string_view, 2> kGiveInt32{"MatMulInteger", "ConvInteger"};
constexpr std::array<std::string_view, 14> kUnknown{"If",
                                                    "Loop",
                                                    "Scan",
                                                    "SequenceAt",
                                                    "SequenceConstruct",
                                                    "SequenceEmpty",
                                                    "SplitToSequence",
                                                    "SequenceErase",
                                                    "SequenceInsert",
                                                    "ConcatFromSequence",
                                                    "OptionalGetElement",
                                                    "Optional",
                                                    "SequenceMap",
                                                    "StringNormalizer"};

const onnx::AttributeProto* attribute(const onnx::NodeProto& node, std::string_view name) {
  const auto found = std::ranges::find(node.attribute(), name, &onnx::AttributeProto::name);
  return found == node.attribute().end() ? nullptr : &*found;
}

std::optional<DType> integer_type(const onnx::AttributeProto* type) {
  if (type == nullptr) return std::nullopt;
  return static_cast<DType>(type->i());
}

std::optional<DType> constant_type(const onnx::NodeProto& node) {
  if (const auto* value = attribute(node, "value")) return static_cast<DType>(value->t().data_type());
  if (attribute(node, "value_float") || attribute(node, "value_floats")) return DType::kFloat32;
  if (attribute(node, "value_int") || attribute(node, "value_ints")) return DType::kInt64;
  return std::nullopt;
}

// The type of one output of a node; nullopt: not known (yet).
std::optional<DType> output_type(const onnx::NodeProto& node, int output, const ValueTypes& types) {
  const std::string_view op = node.op_type();
  const auto input = [&](int i) -> std::optional<DType> {
    if (i >= node.input_size()) return std::nullopt;
    const auto found = types.find(node.input(i));
    return found == types.end() ? std::nullopt : std::optional(found->second);
  };
  if (is_one_of(op, kUnknown)) return std::nullopt;
  if (is_one_of(op, kGiveBools) || op == "GreaterOrEqual") return DType::kBool;
  if (is_one_of(op, kGiveInt64)) return DType::kInt64;
  if (is_one_of(op, kGiveInt32)) return DType::kInt32;
  if (op == "Cast") return integer_type(attribute(node, "to"));
  if (op == "Constant") return constant_type(node);
  if (op == "ConstantOfShape") {
    const auto* value = attribute(node, "value");
    return value == nullptr ? DType::kFloat32 : static_cast<DType>(value->t().data_type());
  }
  if (op.starts_with("Random") || op == "EyeLike" || op == "Bernoulli" || op == "Multinomial" ||
      op.ends_with("Window")) {
    for (const char* name : {"dtype", "output_datatype"})
      if (const auto type = integer_type(attribute(node, name))) return type;
    return op.ends_with("Like") || op == "Bernoulli" ? input(0) : std::nullopt;
  }
  if (op == "CastLike" || op == "Where") return input(1);
  if (op == "OneHot") return input(2);
  if (op == "QuantizeLinear") return node.input_size() > 2 ? input(2) : DType::kUInt8;
  if (op == "DynamicQuantizeLinear") return output == 1 ? DType::kFloat32 : DType::kUInt8;
  if (op == "DequantizeLinear") return input(1);
  if (op == "MatMulIntegerToFloat") return input(2);
  if ((op == "TopK" || op == "MaxPool" || op == "Unique") && output > 0) return DType::kInt64;
  if (op == "Dropout" && output > 0) return DType::kBool;
  if (op == "LayerNormalization" && output > 0) return DType::kFloat32;
  return input(0);
}

void declare(const google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& values, ValueTypes& types) {
  for (const onnx::ValueInfoProto& value : values)
    if (value.type().has_tensor_type() && value.type().tensor_type().elem_type() != 0)
      types.emplace(value.name(), static_cast<DType>(value.type().tensor_type().elem_type()));
}

}  // namespace

ValueTypes value_types(const onnx::GraphProto& graph) {
  ValueTypes types;
  for (const onnx::TensorProto& tensor : graph.initializer())
    types.emplace(tensor.name(), static_cast<DType>(tensor.data_type()));
  for (const auto* values : {&graph.input(), &graph.output(), &graph.value_info()}) declare(*values, types);
  // Nodes may be in any order.
  for (bool more = true; more;) {
    more = false;
    for (const onnx::NodeProto& node : graph.node())
      for (int i = 0; i < node.output_size(); ++i) {
        if (node.output(i).empty() || types.contains(node.output(i))) continue;
        if (const auto type = output_type(node, i, types)) more |= types.emplace(node.output(i), *type).second;
      }
  }
  return types;
}

}  // namespace assay
