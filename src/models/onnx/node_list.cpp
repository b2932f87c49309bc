// SPDX-License-Identifier: Apache-2.0
#include "models/onnx/node_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "core/base/files.hpp"
#include "core/base/text.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

std::string bytes_of(float value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

bool has_raw(const OnnxFile& file, const onnx::NodeProto& node) {
  return std::ranges::any_of(node.attribute(),
                             [&](const onnx::AttributeProto& a) { return a.has_t() && file.has_raw(a.t()); });
}

}  // namespace

Status check_movable(const OnnxFile& file, const onnx::NodeProto& node) {
  if (!has_raw(file, node)) return {};
  return fail(ErrorCode::kUnsupported, fmt::format("node '{}' has a large tensor", sanitise(node.name())));
}

onnx::NodeProto NodeList::make(const char* op, const std::vector<std::string>& inputs,
                               const std::string& output) const {
  onnx::NodeProto node;
  node.set_op_type(op);
  node.set_name(fmt::format("{}node:{}", kAddedPrefix, nodes_.size()));
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
  return node;
}

std::string NodeList::op(const char* type, const std::vector<std::string>& inputs) {
  std::string output = fresh();
  add(make(type, inputs, output));
  return output;
}

std::string NodeList::cast(const std::string& from, DType to, std::string output) {
  if (output.empty()) output = fresh();
  onnx::NodeProto node = make("Cast", {from}, output);
  set_integer(node, "to", static_cast<std::int64_t>(to));
  add(node);
  return output;
}

std::string NodeList::constant(float value) {
  std::string name = fmt::format("{}constant:{}", kAddedPrefix, value);
  if (known_.insert(name).second) constants_.push_back({name, DType::kFloat32, {}, bytes_of(value)});
  return name;
}

void NodeList::set_integer(onnx::NodeProto& node, const char* name, std::int64_t value) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto_AttributeType_INT);
  attribute.set_i(value);
}

void NodeList::set_float(onnx::NodeProto& node, const char* name, float value) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto_AttributeType_FLOAT);
  attribute.set_f(value);
}

std::string NodeList::fresh() { return fmt::format("{}value:{}", kAddedPrefix, values_++); }

Status NodeList::write(const CheckedGraph& checked, bool typed, const fs::path& to) const {
  std::vector<ExternalRange> external;
  for (const auto* tensors : {&checked.initializers, &checked.constants})
    for (const CheckedTensor& tensor : *tensors)
      if (tensor.external) external.push_back(*tensor.external);
  ASSAY_CHECK_OK(make_directories(to.has_parent_path() ? to.parent_path() : fs::path(".")));
  return write_nodes(file_, nodes_, constants_, typed, external, to);
}

}  // namespace assay
