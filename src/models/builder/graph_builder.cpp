// SPDX-License-Identifier: Apache-2.0
#include "models/builder/graph_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "models/builder/graph_builder_impl.hpp"

namespace assay {
namespace {

void set_type(onnx::ValueInfoProto& value, const std::string& name, DType dtype, const Extents& extents) {
  value.set_name(name);
  onnx::TypeProto_Tensor& tensor = *value.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(static_cast<std::int32_t>(dtype));
  onnx::TensorShapeProto& shape = *tensor.mutable_shape();  // present even for scalars
  for (const Extent& extent : extents) {
    onnx::TensorShapeProto_Dimension& dimension = *shape.add_dim();
    if (const auto* symbol = std::get_if<std::string>(&extent)) {
      dimension.set_dim_param(*symbol);
    } else {
      dimension.set_dim_value(std::get<std::int64_t>(extent));
    }
  }
}

void set_attribute(onnx::AttributeProto& to, const Attribute& from) {
  to.set_name(from.name);
  if (const auto* integer = std::get_if<std::int64_t>(&from.value)) {
    to.set_type(onnx::AttributeProto_AttributeType_INT);
    to.set_i(*integer);
  } else if (const auto* number = std::get_if<float>(&from.value)) {
    to.set_type(onnx::AttributeProto_AttributeType_FLOAT);
    to.set_f(*number);
  } else if (const auto* text = std::get_if<std::string>(&from.value)) {
    to.set_type(onnx::AttributeProto_AttributeType_STRING);
    to.set_s(*text);
  } else if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&from.value)) {
    to.set_type(onnx::AttributeProto_AttributeType_INTS);
    to.mutable_ints()->Add(integers->begin(), integers->end());
  } else {
    const auto& numbers = std::get<std::vector<float>>(from.value);
    to.set_type(onnx::AttributeProto_AttributeType_FLOATS);
    to.mutable_floats()->Add(numbers.begin(), numbers.end());
  }
}

}  // namespace

GraphBuilder::GraphBuilder(std::string name, std::int64_t opset) : impl_(std::make_unique<Impl>()) {
  impl_->graph.set_name(std::move(name));
  impl_->opset = opset;
}
GraphBuilder::GraphBuilder(GraphBuilder&&) noexcept = default;
GraphBuilder& GraphBuilder::operator=(GraphBuilder&&) noexcept = default;
GraphBuilder::~GraphBuilder() = default;

Value GraphBuilder::input(const std::string& name, DType dtype, const Extents& extents) {
  set_type(*impl_->graph.add_input(), name, dtype, extents);
  impl_->inputs.insert(name);
  return {name, dtype};
}

void GraphBuilder::move_input_last(const std::string& name) {
  auto& inputs = *impl_->graph.mutable_input();
  const auto found =
      std::find_if(inputs.begin(), inputs.end(), [&](const auto& input) { return input.name() == name; });
  ASSAY_CHECK(found != inputs.end(), "an input of the graph");
  std::rotate(found, found + 1, inputs.end());
}

void GraphBuilder::output(const std::string& name, const Value& value, const Extents& extents) {
  Value produced = value;
  // Only a node's output can take the output's name, and only one name.
  const bool named = impl_->renamed.contains(value.name) || impl_->inputs.contains(value.name) ||
                     impl_->initializer_names.contains(value.name);
  if (named) produced = node("", "Identity", {value});
  impl_->renamed.emplace(produced.name, name);
  set_type(*impl_->graph.add_output(), name, value.dtype, extents);
  impl_->outputs.emplace_back(name, extents);
}

const std::vector<std::pair<std::string, Extents>>& GraphBuilder::outputs() const { return impl_->outputs; }

std::vector<std::string> GraphBuilder::input_names() const {
  std::vector<std::string> names;
  for (const onnx::ValueInfoProto& input : impl_->graph.input()) names.push_back(input.name());
  return names;
}

Value GraphBuilder::node(std::string_view path, const std::string& op_type, const std::vector<Value>& inputs,
                         const std::vector<Attribute>& attributes, DType dtype) {
  return std::move(nodes(path, op_type, inputs, 1, attributes, dtype).front());
}

std::vector<Value> GraphBuilder::nodes(std::string_view path, const std::string& op_type,
                                       const std::vector<Value>& inputs, std::size_t outputs,
                                       const std::vector<Attribute>& attributes, DType dtype) {
  const std::size_t colon = op_type.find(':');
  const std::string domain = colon == std::string::npos ? std::string() : op_type.substr(0, colon);
  const std::string operation = colon == std::string::npos ? op_type : op_type.substr(colon + 1);
  std::string name = fmt::format("{}/{}", path, operation);
  if (const std::size_t before = impl_->node_names[name]++; before > 0) name += fmt::format("_{}", before);
  onnx::NodeProto& node = *impl_->graph.add_node();
  node.set_name(name);
  node.set_op_type(operation);
  if (!domain.empty()) {
    node.set_domain(domain);
    impl_->domains.insert(domain);
  }
  for (const Value& input : inputs) node.add_input(input.name);
  for (const Attribute& attribute : attributes) set_attribute(*node.add_attribute(), attribute);
  if (dtype == DType::kUndefined && !inputs.empty()) dtype = inputs.front().dtype;
  std::vector<Value> values;
  for (std::size_t i = 0; i < outputs; ++i) {
    values.push_back({fmt::format("{}_output_{}", name, i), dtype});
    node.add_output(values.back().name);
  }
  return values;
}

void GraphBuilder::declare(const Value& value, const Extents& extents) {
  set_type(*impl_->graph.add_value_info(), value.name, value.dtype, extents);
}

Value GraphBuilder::Impl::constant(DType dtype, const Shape& shape, std::string bytes) {
  const auto key = std::make_tuple(dtype, shape, bytes);
  const auto [at, added] = constants.try_emplace(key, fmt::format("constant_{}", constants.size()));
  if (added) {
    const auto source = [bytes = std::move(bytes)](const ByteSink& sink) {
      return sink(std::as_bytes(std::span(bytes)));
    };
    initializer_names.insert(at->second);
    initializers.push_back({at->second, dtype, shape, source, Initializer::Origin::kConstant});
  }
  return {at->second, dtype};
}

Value GraphBuilder::integers(const std::vector<std::int64_t>& values) {
  std::string bytes(values.size() * sizeof(std::int64_t), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return impl_->constant(DType::kInt64, {static_cast<std::int64_t>(values.size())}, std::move(bytes));
}

Value GraphBuilder::integer(std::int64_t value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return impl_->constant(DType::kInt64, {}, std::move(bytes));
}

Value GraphBuilder::number(float value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return impl_->constant(DType::kFloat32, {}, std::move(bytes));
}

Value GraphBuilder::numbers(const std::vector<float>& values, const Shape& shape) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return impl_->constant(DType::kFloat32, shape, std::move(bytes));
}

Value GraphBuilder::Impl::named(const std::string& name, DType dtype, const Shape& shape, ByteSource source,
                                Initializer::Origin origin) {
  if (initializer_names.insert(name).second) initializers.push_back({name, dtype, shape, std::move(source), origin});
  return {name, dtype};
}

Value GraphBuilder::initializer(const std::string& name, DType dtype, const Shape& shape, ByteSource source) {
  return impl_->named(name, dtype, shape, std::move(source), Initializer::Origin::kWeight);
}

Value GraphBuilder::table(const std::string& name, DType dtype, const Shape& shape, ByteSource source) {
  return impl_->named(name, dtype, shape, std::move(source), Initializer::Origin::kTable);
}

void GraphBuilder::metadata(const std::string& key, const std::string& value) { impl_->metadata[key] = value; }

Result<std::uint64_t> GraphBuilder::weight_bytes() const {
  std::uint64_t total = 0;
  for (const Initializer& tensor : impl_->initializers) {
    const Result<std::uint64_t> size = byte_size(tensor.dtype, tensor.shape);
    if (!size || __builtin_add_overflow(total, *size, &total)) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("tensor '{}' of shape {} is too large", tensor.name, to_string(tensor.shape)));
    }
  }
  return total;
}

}  // namespace assay
