// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <unordered_map>

#include <assay/extent_name.hpp>

#include "core/base/text.hpp"
#include "models/graph/view_state.hpp"
#include "models/onnx/function_check.hpp"
#include "models/onnx/graph_check.hpp"

namespace assay::graph {
namespace {

using AttributeType = onnx::AttributeProto::AttributeType;

// Files of the first IR version leave the type out: it is that of the field that has a value.
AttributeType type_of(const onnx::AttributeProto& from) {
  if (from.type() != onnx::AttributeProto::UNDEFINED) return from.type();
  if (from.has_i()) return onnx::AttributeProto::INT;
  if (from.has_f()) return onnx::AttributeProto::FLOAT;
  if (from.has_s()) return onnx::AttributeProto::STRING;
  if (from.has_t()) return onnx::AttributeProto::TENSOR;
  if (from.has_g()) return onnx::AttributeProto::GRAPH;
  if (from.has_sparse_tensor()) return onnx::AttributeProto::SPARSE_TENSOR;
  if (from.ints_size() > 0) return onnx::AttributeProto::INTS;
  if (from.floats_size() > 0) return onnx::AttributeProto::FLOATS;
  if (from.strings_size() > 0) return onnx::AttributeProto::STRINGS;
  if (from.tensors_size() > 0) return onnx::AttributeProto::TENSORS;
  if (from.graphs_size() > 0) return onnx::AttributeProto::GRAPHS;
  if (from.sparse_tensors_size() > 0) return onnx::AttributeProto::SPARSE_TENSORS;
  return onnx::AttributeProto::UNDEFINED;
}

template <class Tensor>
void declare(const Tensor& type, ValueKind kind, ValueInfo& to) {
  to.kind = kind;
  to.dtype = static_cast<DType>(type.elem_type());
  if (!type.has_shape()) return;
  std::vector<Dimension>& shape = to.shape.emplace();
  for (const auto& dim : type.shape().dim()) {
    Dimension& one = shape.emplace_back(Dimension{.symbol = extent_name(dim.dim_param())});
    if (dim.has_dim_value() && dim.dim_value() >= 0) one.extent = dim.dim_value();
  }
}

ValueInfo read(const onnx::ValueInfoProto& from) {
  ValueInfo value{.name = from.name()};
  const onnx::TypeProto& type = from.type();
  switch (type.value_case()) {
    case onnx::TypeProto::kTensorType:
      declare(type.tensor_type(), ValueKind::kTensor, value);
      break;
    case onnx::TypeProto::kSparseTensorType:
      declare(type.sparse_tensor_type(), ValueKind::kSparseTensor, value);
      break;
    case onnx::TypeProto::kSequenceType:
      value.kind = ValueKind::kSequence;
      break;
    case onnx::TypeProto::kMapType:
      value.kind = ValueKind::kMap;
      break;
    case onnx::TypeProto::kOptionalType:
      value.kind = ValueKind::kOptional;
      break;
    case onnx::TypeProto::VALUE_NOT_SET:
      break;
    default:
      value.kind = ValueKind::kOpaque;
  }
  return value;
}

// Places of the nodes, each after those whose outputs it reads; the file's order if that is one.
std::vector<std::size_t> order_of(const std::vector<Node>& nodes) {
  std::unordered_map<std::string_view, std::size_t> maker;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (const std::string_view output : nodes[i].outputs) maker.emplace(output, i);
  std::vector<std::size_t> missing(nodes.size(), 0);
  std::vector<std::vector<std::size_t>> readers(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string_view name : reads_of(nodes[i])) {
      const auto found = maker.find(name);
      if (found == maker.end()) continue;
      readers[found->second].push_back(i);
      ++missing[i];
    }
  }
  std::set<std::size_t> ready;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (missing[i] == 0) ready.insert(i);
  std::vector<std::size_t> order;
  order.reserve(nodes.size());
  while (!ready.empty()) {
    const std::size_t next = *ready.begin();
    ready.erase(ready.begin());
    order.push_back(next);
    for (const std::size_t reader : readers[next])
      if (--missing[reader] == 0) ready.insert(reader);
  }
  ASSAY_CHECK(order.size() == nodes.size(), "the graph was checked to have no cycle");
  return order;
}

}  // namespace

/// Reads a checked file into a Model's state.
class ViewReader {
 public:
  explicit ViewReader(Model::State& state) : state_(state) {
    for (std::size_t i = 0; i < state.tensors.size(); ++i) places_.emplace(state.tensors[i].proto, i);
  }

  Status run() {
    const onnx::ModelProto& model = state_.file.model();
    for (const onnx::OperatorSetIdProto& import : model.opset_import())
      state_.opsets[std::string(normal_domain(import.domain()))] = import.version();
    // All before their nodes: nodes refer to the functions that they call.
    state_.functions.resize(static_cast<std::size_t>(model.functions_size()));
    for (int i = 0; i < model.functions_size(); ++i)
      functions_.emplace(function_key(model.functions(i)), &state_.functions[static_cast<std::size_t>(i)]);
    for (int i = 0; i < model.functions_size(); ++i)
      ASSAY_CHECK_OK(read(model.functions(i), state_.functions[static_cast<std::size_t>(i)]));
    return read(model.graph(), state_.graph);
  }

 private:
  template <class List>
  static std::vector<std::string_view> names(const List& from) {
    return {from.begin(), from.end()};
  }

  Status read(const onnx::GraphProto& from, Graph& to) {
    to.name = from.name();
    for (const onnx::ValueInfoProto& input : from.input()) to.inputs.push_back(graph::read(input));
    for (const onnx::ValueInfoProto& output : from.output()) to.outputs.push_back(graph::read(output));
    for (const onnx::ValueInfoProto& value : from.value_info()) to.values.push_back(graph::read(value));
    for (const onnx::TensorProto& tensor : from.initializer()) to.initializers.push_back(read(tensor));
    for (const auto& tensor : from.sparse_initializer()) to.sparse_initializers.push_back(read(tensor));
    return read(from.node(), to.nodes, to.order);
  }

  Status read(const onnx::FunctionProto& from, Function& to) {
    to.name = from.name();
    to.domain = normal_domain(from.domain());
    to.overload = from.overload();
    to.inputs = names(from.input());
    to.outputs = names(from.output());
    to.attributes = names(from.attribute());
    for (const onnx::AttributeProto& attribute : from.attribute_proto()) {
      Attribute& one = to.defaults.emplace_back(Attribute{.name = attribute.name()});
      set_plain_value(attribute, one);
    }
    return read(from.node(), to.nodes, to.order);
  }

  Status read(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& from, std::vector<Node>& to,
              std::vector<std::size_t>& order) {
    to.reserve(static_cast<std::size_t>(from.size()));
    for (const onnx::NodeProto& node : from) {
      Node& one = to.emplace_back(Node{.name = node.name(),
                                       .op_type = node.op_type(),
                                       .domain = normal_domain(node.domain()),
                                       .inputs = names(node.input()),
                                       .outputs = names(node.output())});
      if (const auto called = functions_.empty() ? functions_.end() : functions_.find(function_key(node));
          called != functions_.end())
        one.function = called->second;
      for (const onnx::AttributeProto& attribute : node.attribute()) {
        ASSAY_TRY(Attribute read_one, read(attribute, one.shown_name()));
        one.attributes.push_back(std::move(read_one));
      }
    }
    order = order_of(to);
    return {};
  }

  // Numbers and strings. Whether the attribute's type is one of them.
  static bool set_plain_value(const onnx::AttributeProto& from, Attribute& to) {
    switch (type_of(from)) {
      case onnx::AttributeProto::INT:
        to.value = std::int64_t{from.i()};
        return true;
      case onnx::AttributeProto::FLOAT:
        to.value = from.f();
        return true;
      case onnx::AttributeProto::STRING:
        to.value = std::string_view(from.s());
        return true;
      case onnx::AttributeProto::INTS:
        to.value = std::span<const std::int64_t>(from.ints().data(), static_cast<std::size_t>(from.ints_size()));
        return true;
      case onnx::AttributeProto::FLOATS:
        to.value = std::span<const float>(from.floats().data(), static_cast<std::size_t>(from.floats_size()));
        return true;
      case onnx::AttributeProto::STRINGS:
        to.value = names(from.strings());
        return true;
      default:
        return false;
    }
  }

  Result<Attribute> read(const onnx::AttributeProto& from, std::string_view whose) {
    Attribute to{.name = from.name(), .refers_to = from.ref_attr_name()};
    const AttributeType type = type_of(from);
    const bool refers = !from.ref_attr_name().empty();
    // A graph that the view does not have could still read values, which must then be kept.
    if ((from.has_g() && (refers || type != onnx::AttributeProto::GRAPH)) ||
        (from.graphs_size() > 0 && (refers || type != onnx::AttributeProto::GRAPHS))) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("attribute {} of {} has a graph beside a value of another type", shown(from.name()),
                              shown(whose)));
    }
    if (refers || set_plain_value(from, to)) return to;
    if (type == onnx::AttributeProto::TENSOR) to.value = read(from.t());
    if (type == onnx::AttributeProto::SPARSE_TENSOR) to.value = read(from.sparse_tensor());
    if (type == onnx::AttributeProto::TENSORS) to.value = read_all(from.tensors());
    if (type == onnx::AttributeProto::SPARSE_TENSORS) to.value = read_all(from.sparse_tensors());
    if (type == onnx::AttributeProto::GRAPH) {
      ASSAY_TRY(to.value, inner(from.g()));
    }
    if (type == onnx::AttributeProto::GRAPHS) {
      std::vector<std::shared_ptr<const Graph>> graphs;
      for (const onnx::GraphProto& graph : from.graphs()) {
        ASSAY_TRY(std::shared_ptr<const Graph> one, inner(graph));
        graphs.push_back(std::move(one));
      }
      to.value = std::move(graphs);
    }
    return to;
  }

  Result<std::shared_ptr<const Graph>> inner(const onnx::GraphProto& from) {
    auto graph = std::make_shared<Graph>();
    ASSAY_CHECK_OK(read(from, *graph));
    return graph;
  }

  template <class List>
  std::vector<Constant> read_all(const List& from) const {
    std::vector<Constant> all;
    for (const auto& tensor : from) all.push_back(read(tensor));
    return all;
  }

  Constant read(const onnx::TensorProto& from) const {
    Constant to;
    to.place_ = places_.at(&from);
    const CheckedTensor& checked = state_.tensors[to.place_];
    to.name = from.name();
    to.dtype = checked.dtype;
    to.shape = checked.shape;
    to.bytes = checked.bytes;
    to.external = checked.external;
    return to;
  }

  static Constant read(const onnx::SparseTensorProto& from) {
    Constant to;
    to.name = from.values().name();
    to.dtype = static_cast<DType>(from.values().data_type());
    to.shape.assign(from.dims().begin(), from.dims().end());
    to.sparse = true;
    return to;
  }

  Model::State& state_;
  std::unordered_map<const onnx::TensorProto*, std::size_t> places_;
  std::unordered_map<std::string, const Function*> functions_;
};

Result<Model> Model::open(const std::filesystem::path& path) {
  ASSAY_TRY(OnnxFile file, OnnxFile::open(path));
  const auto state = std::make_shared<State>(std::move(file));
  ASSAY_TRY(CheckedGraph checked, check_graph(state->file, physical_memory()));
  state->tensors = std::move(checked.initializers);
  state->initializers = state->tensors.size();
  std::ranges::move(checked.constants, std::back_inserter(state->tensors));
  ASSAY_CHECK_OK(ViewReader(*state).run());
  return Model(state);
}

}  // namespace assay::graph
