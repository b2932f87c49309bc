// SPDX-License-Identifier: Apache-2.0
#include "graph/static_model.hpp"

#include <algorithm>
#include <cstring>

#include "graph/node_order.hpp"
#include "graph/shape_rules.hpp"

namespace assay {
namespace {

template <class T, class As>
std::vector<As> read(Bytes bytes) {
  std::vector<As> elements;
  elements.reserve(bytes.size() / sizeof(T));
  for (std::size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    elements.push_back(static_cast<As>(value));
  }
  return elements;
}

bool may_be_known(DType dtype, std::int64_t elements) {
  return (folds(dtype) && elements <= kMostElements) || (has_reals(dtype) && elements <= kMostReals);
}

// Reads the small tensors among `tensors`; the others are known by shape.
Status take(TensorReader& reader, const std::string& name, const CheckedTensor& tensor,
            std::map<std::string, StaticValue>& to) {
  Bytes bytes;
  if (may_be_known(tensor.dtype, tensor.elements)) {
    ASSAY_TRY(bytes, reader.bytes(tensor));
  }
  to[name] = known_value(tensor.dtype, tensor.shape, bytes);
  return {};
}

Status read_constants(StaticModel::State& state) {
  TensorReader reader(state.file);
  for (const CheckedTensor& tensor : state.checked.initializers) {
    ASSAY_CHECK_OK(take(reader, tensor.proto->name(), tensor, state.initializers));
    state.weight_bytes += tensor.bytes;
  }
  const onnx::GraphProto& graph = state.file.model().graph();
  for (const onnx::SparseTensorProto& sparse : graph.sparse_initializer()) {
    const Shape dense(sparse.dims().begin(), sparse.dims().end());
    const auto dtype = static_cast<DType>(sparse.values().data_type());
    state.initializers[sparse.values().name()] = {dtype, dense};
  }
  std::unordered_map<const onnx::TensorProto*, const CheckedTensor*> of_nodes;
  for (const CheckedTensor& tensor : state.checked.constants) of_nodes.emplace(tensor.proto, &tensor);
  for (const onnx::NodeProto& node : graph.node()) {
    if (node.op_type() != "Constant" || !normal_domain(node.domain()).empty() || node.output_size() != 1) continue;
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      const auto tensor = attribute.name() == "value" ? of_nodes.find(&attribute.t()) : of_nodes.end();
      if (tensor != of_nodes.end()) ASSAY_CHECK_OK(take(reader, node.output(0), *tensor->second, state.constants));
    }
  }
  return {};
}

}  // namespace

StaticValue known_value(DType dtype, const Shape& shape, Bytes bytes) {
  StaticValue known{dtype, shape};
  if (!may_be_known(dtype, count_of(shape))) return known;
  if (dtype == DType::kInt64) known.elements = read<std::int64_t, std::int64_t>(bytes);
  if (dtype == DType::kInt32) known.elements = read<std::int32_t, std::int64_t>(bytes);
  if (dtype == DType::kBool) known.elements = read<std::uint8_t, std::int64_t>(bytes);
  if (dtype == DType::kFloat32) known.reals = read<float, double>(bytes);
  if (dtype == DType::kFloat64) known.reals = read<double, double>(bytes);
  settle_elements(known);
  return known;
}

Result<StaticModel> StaticModel::open(const std::filesystem::path& model) {
  ASSAY_TRY(OnnxFile file, OnnxFile::open(model));
  auto state = std::make_shared<State>(std::move(file));
  ASSAY_TRY(state->checked, check_graph(state->file, physical_memory()));
  for (const onnx::OperatorSetIdProto& import : state->file.model().opset_import())
    if (normal_domain(import.domain()).empty()) state->opset = import.version();
  for (const onnx::FunctionProto& function : state->file.model().functions())
    state->functions.insert(std::string(normal_domain(function.domain())) + ":" + function.name());
  state->order = in_order(state->file.model().graph());
  ASSAY_CHECK_OK(read_constants(*state));
  StaticModel opened;
  opened.state_ = std::move(state);
  return opened;
}

}  // namespace assay
