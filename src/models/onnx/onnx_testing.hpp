// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <onnx/onnx-ml.pb.h>

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/files.hpp"

namespace assay::testing {

/// Small models to break, and a folder to put them into.
class ModelFolder {
 public:
  std::filesystem::path write(const onnx::ModelProto& model, const std::string& name = "model.onnx") const {
    return write_bytes(model.SerializeAsString(), name);
  }
  std::filesystem::path write_bytes(std::string_view bytes, const std::string& name) const {
    std::filesystem::path path = folder_.path() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return path;
  }
  [[nodiscard]] const std::filesystem::path& path() const { return folder_.path(); }

 private:
  TemporaryDirectory folder_ = TemporaryDirectory::create("assay-model-test-").value();
};

inline onnx::ModelProto read_model(const std::filesystem::path& path) {
  onnx::ModelProto model;
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(model.ParseFromIstream(&in));
  return model;
}

inline onnx::ValueInfoProto& add_value(google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>* values,
                                       const std::string& name, std::int32_t type,
                                       const std::vector<std::string>& extents) {
  onnx::ValueInfoProto& value = *values->Add();
  value.set_name(name);
  auto& tensor = *value.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(type);
  tensor.mutable_shape();
  for (const std::string& extent : extents) {
    auto& dim = *tensor.mutable_shape()->add_dim();
    if (extent.empty()) continue;
    if (extent.find_first_not_of("-0123456789") == std::string::npos)
      dim.set_dim_value(std::stoll(extent));
    else
      dim.set_dim_param(extent);
  }
  return value;
}

inline onnx::NodeProto& add_node(onnx::GraphProto& graph, const std::string& op,
                                 std::initializer_list<const char*> inputs,
                                 std::initializer_list<const char*> outputs) {
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(op);
  node.set_name(op + "_" + std::to_string(graph.node_size()));
  for (const char* input : inputs) node.add_input(input);
  for (const char* output : outputs) node.add_output(output);
  return node;
}

inline onnx::TensorProto& add_integers(onnx::GraphProto& graph, const std::string& name,
                                       const std::vector<std::int64_t>& values) {
  onnx::TensorProto& tensor = *graph.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::INT64);
  tensor.add_dims(static_cast<std::int64_t>(values.size()));
  for (const std::int64_t value : values) tensor.add_int64_data(value);
  return tensor;
}

inline void add_attribute(onnx::NodeProto& node, const char* name, const std::vector<std::int64_t>& values) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INTS);
  for (const std::int64_t value : values) attribute.add_ints(value);
}

inline onnx::TensorProto& add_floats(onnx::GraphProto& graph, const std::string& name,
                                     std::initializer_list<std::int64_t> dims) {
  onnx::TensorProto& tensor = *graph.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  std::int64_t elements = 1;
  for (const std::int64_t dim : dims) {
    tensor.add_dims(dim);
    elements *= dim;
  }
  std::vector<float> values(static_cast<std::size_t>(elements));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.25F + static_cast<float>(i);
  tensor.set_raw_data(values.data(), values.size() * sizeof(float));
  return tensor;
}

inline void set_external(onnx::TensorProto& tensor,
                         std::initializer_list<std::pair<const char*, const char*>> entries) {
  tensor.clear_raw_data();
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  for (const auto& [key, value] : entries) {
    auto& entry = *tensor.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  }
}

inline onnx::ModelProto empty_model() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.set_producer_name("assay's tests");
  model.add_opset_import()->set_version(17);
  model.mutable_graph()->set_name("g");
  return model;
}

/// y [batch, 4] = Relu(x [batch, 4] · w [4, 4] + b [4])
inline onnx::ModelProto small_model() {
  onnx::ModelProto model = empty_model();
  onnx::GraphProto& graph = *model.mutable_graph();
  add_value(graph.mutable_input(), "x", onnx::TensorProto::FLOAT, {"batch", "4"});
  add_value(graph.mutable_output(), "y", onnx::TensorProto::FLOAT, {"batch", "4"});
  add_floats(graph, "w", {4, 4});
  add_floats(graph, "b", {4});
  add_node(graph, "MatMul", {"x", "w"}, {"product"});
  add_node(graph, "Add", {"product", "b"}, {"sum"});
  add_node(graph, "Relu", {"sum"}, {"y"});
  return model;
}

}  // namespace assay::testing
