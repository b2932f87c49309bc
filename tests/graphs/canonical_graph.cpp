// SPDX-License-Identifier: Apache-2.0
#include "canonical_graph.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/hash.hpp"
#include "core/tensor/dtype.hpp"

namespace assay::testing {
namespace {

constexpr std::size_t kShownDigits = 32;  ///< number of digits of a hash inside the text
constexpr std::size_t kShownBytes = 64;   ///< a constant of at most this size is shown as numbers

std::string short_hash(std::string_view text) { return sha256_hex(text).substr(0, kShownDigits); }

std::string type_text(const onnx::TypeProto& type) {
  const onnx::TypeProto_Tensor& tensor = type.tensor_type();
  std::vector<std::string> extents;
  for (const onnx::TensorShapeProto_Dimension& extent : tensor.shape().dim())
    extents.push_back(extent.has_dim_value() ? std::to_string(extent.dim_value()) : '"' + extent.dim_param() + '"');
  return fmt::format("{} [{}]", to_string(static_cast<DType>(tensor.elem_type())), fmt::join(extents, ", "));
}

template <class T>
std::vector<T> elements_of(const std::string& bytes) {
  std::vector<T> elements(bytes.size() / sizeof(T));
  std::memcpy(elements.data(), bytes.data(), elements.size() * sizeof(T));
  return elements;
}

// Few numbers are printed, more of them are hashed.
std::string content_text(const onnx::TensorProto& tensor) {
  const std::string& bytes = tensor.raw_data();
  if (bytes.size() <= kShownBytes && tensor.data_type() == onnx::TensorProto_DataType_INT64)
    return fmt::format("{{{}}}", fmt::join(elements_of<std::int64_t>(bytes), ", "));
  if (bytes.size() <= kShownBytes && tensor.data_type() == onnx::TensorProto_DataType_FLOAT)
    return fmt::format("{{{}}}", fmt::join(elements_of<float>(bytes), ", "));
  return short_hash(bytes);
}

std::string initializer_text(const onnx::TensorProto& tensor) {
  const std::string type =
      fmt::format("{} [{}]", to_string(static_cast<DType>(tensor.data_type())), fmt::join(tensor.dims(), ", "));
  if (tensor.data_location() == onnx::TensorProto_DataLocation_EXTERNAL)
    return fmt::format("weight \"{}\" {}", tensor.name(), type);
  return fmt::format("constant {} {}", type, content_text(tensor));
}

Result<std::string> attribute_text(const onnx::AttributeProto& attribute) {
  switch (attribute.type()) {
    case onnx::AttributeProto_AttributeType_INT:
      return fmt::format("{}={}", attribute.name(), attribute.i());
    case onnx::AttributeProto_AttributeType_FLOAT:
      return fmt::format("{}={:a}f", attribute.name(), attribute.f());
    case onnx::AttributeProto_AttributeType_STRING:
      return fmt::format("{}=\"{}\"", attribute.name(), attribute.s());
    case onnx::AttributeProto_AttributeType_INTS:
      return fmt::format("{}=[{}]", attribute.name(), fmt::join(attribute.ints(), ", "));
    case onnx::AttributeProto_AttributeType_FLOATS: {
      std::vector<std::string> numbers;
      for (const float number : attribute.floats()) numbers.push_back(fmt::format("{:a}f", number));
      return fmt::format("{}=[{}]", attribute.name(), fmt::join(numbers, ", "));
    }
    default:
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("attribute '{}' has the type {}", attribute.name(), static_cast<int>(attribute.type())),
                  "add it to canonical_graph.cpp");
  }
}

// The operation of a node, without its inputs: "Gather axis=1 -> 1".
Result<std::string> operation_text(const onnx::NodeProto& node) {
  std::vector<std::string> attributes;
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    ASSAY_TRY(attributes.emplace_back(), attribute_text(attribute));
  }
  std::sort(attributes.begin(), attributes.end());
  attributes.insert(attributes.begin(), node.domain().empty() ? node.op_type() : node.domain() + ":" + node.op_type());
  attributes.push_back(fmt::format("-> {}", node.output_size()));
  return fmt::format("{}", fmt::join(attributes, " "));
}

class Canonical {
 public:
  explicit Canonical(const onnx::ModelProto& model) : model_(model), graph_(model.graph()) {}

  Result<CanonicalGraph> run() {
    if (model_.functions_size() > 0 || graph_.sparse_initializer_size() > 0)
      return fail(ErrorCode::kInvalidArgument, "the model has local functions or sparse initialisers");
    write_head();
    ASSAY_CHECK_OK(find_producers());
    for (const onnx::ValueInfoProto& output : graph_.output()) ASSAY_CHECK_OK(visit(output.name()));
    for (const int node : unused_nodes()) ASSAY_CHECK_OK(visit_node(node));
    write_sorted_values();
    for (const onnx::ValueInfoProto& output : graph_.output())
      line(fmt::format("output \"{}\" {} = {}", output.name(), type_text(output.type()), names_.at(output.name())));
    return CanonicalGraph{static_cast<std::size_t>(graph_.node_size()), std::move(text_)};
  }

 private:
  void line(const std::string& text) { text_ += text + "\n"; }

  void write_head() {
    std::vector<std::string> opsets;
    for (const onnx::OperatorSetIdProto& opset : model_.opset_import())
      opsets.push_back(fmt::format("opset \"{}\" {}", opset.domain(), opset.version()));
    std::sort(opsets.begin(), opsets.end());
    line(fmt::format("ir {}", model_.ir_version()));
    for (const std::string& opset : opsets) line(opset);
    for (const onnx::ValueInfoProto& input : graph_.input()) {
      line(fmt::format("input \"{}\" {}", input.name(), type_text(input.type())));
      names_[input.name()] = '"' + input.name() + '"';
    }
    std::vector<std::string> initializers;
    for (const onnx::TensorProto& tensor : graph_.initializer()) {
      names_[tensor.name()] = initializers.emplace_back(initializer_text(tensor));
    }
    std::sort(initializers.begin(), initializers.end());
    for (const std::string& initializer : initializers) line(initializer);
    names_[""] = "-";
    structures_ = names_;
  }

  Status find_producers() {
    for (int i = 0; i < graph_.node_size(); ++i) {
      ASSAY_TRY(operations_.emplace_back(), operation_text(graph_.node(i)));
      for (const std::string& output : graph_.node(i).output()) producers_[output] = i;
    }
    written_.assign(operations_.size(), false);
    return {};
  }

  // The nodes that a node needs, then the node itself, without recursion: graphs are deep. `ready` says that a node is
  // done, `finish` does it.
  template <class Ready, class Finish>
  Status in_order(int root, Ready ready, Finish finish) {
    std::vector<std::pair<int, int>> open{{root, 0}};  // a node, and how many of its inputs were visited
    while (!open.empty()) {
      auto& [node, seen] = open.back();
      if (ready(node)) {
        open.pop_back();
      } else if (seen == graph_.node(node).input_size()) {
        finish(node);
        open.pop_back();
      } else {
        const std::string& input = graph_.node(node).input(seen++);
        const auto producer = producers_.find(input);
        if (producer == producers_.end()) {
          if (!structures_.contains(input))
            return fail(ErrorCode::kInvalidArgument, fmt::format("nothing produces the value '{}'", input));
        } else if (!ready(producer->second)) {
          if (open.size() > operations_.size()) return fail(ErrorCode::kInvalidArgument, "the graph has a cycle");
          open.emplace_back(producer->second, 0);
        }
      }
    }
    return {};
  }

  Status visit(const std::string& value) {
    const auto producer = producers_.find(value);
    if (producer != producers_.end()) return visit_node(producer->second);
    if (names_.contains(value)) return {};
    return fail(ErrorCode::kInvalidArgument, fmt::format("nothing produces the output '{}'", value));
  }

  Status visit_node(int root) {
    return in_order(
        root, [&](int node) { return written_[static_cast<std::size_t>(node)]; }, [&](int node) { write(node); });
  }

  void write(int index) {
    const onnx::NodeProto& node = graph_.node(index);
    written_[static_cast<std::size_t>(index)] = true;
    const std::string name = fmt::format("{}_{}", node.op_type(), counts_[node.op_type()]++);
    for (int i = 0; i < node.output_size(); ++i)
      names_[node.output(i)] = node.output_size() == 1 ? name : fmt::format("{}:{}", name, i);
    std::vector<std::string> inputs;
    for (const std::string& input : node.input()) inputs.push_back(names_.at(input));
    line(fmt::format("{} = {} ({})", name, operations_[static_cast<std::size_t>(index)], fmt::join(inputs, ", ")));
  }

  // Nodes that no output needs, in an order that follows from their operations.
  std::vector<int> unused_nodes() {
    std::vector<std::pair<std::string, int>> unused;
    for (int i = 0; i < graph_.node_size(); ++i)
      if (!written_[static_cast<std::size_t>(i)]) unused.emplace_back(structure_of(i), i);
    std::sort(unused.begin(), unused.end());
    std::vector<int> nodes;
    nodes.reserve(unused.size());
    for (const auto& [structure, node] : unused) nodes.push_back(node);
    return nodes;
  }

  // A hash of a node's operation and of the hashes of its inputs.
  std::string structure_of(int root) {
    static_cast<void>(in_order(
        root, [&](int node) { return hashes_.contains(node); },
        [&](int node) {
          std::string text = operations_[static_cast<std::size_t>(node)];
          for (const std::string& input : graph_.node(node).input()) text += "\n" + structures_[input];
          hashes_[node] = short_hash(text);
          for (int i = 0; i < graph_.node(node).output_size(); ++i)
            structures_[graph_.node(node).output(i)] = fmt::format("{}:{}", hashes_[node], i);
        }));
    return hashes_[root];
  }

  // Declared shapes of values.
  void write_sorted_values() {
    std::vector<std::string> shapes;
    for (const onnx::ValueInfoProto& info : graph_.value_info())
      shapes.push_back(fmt::format("shape {} {}", names_[info.name()], type_text(info.type())));
    std::sort(shapes.begin(), shapes.end());
    for (const std::string& shape : shapes) line(shape);
  }

  const onnx::ModelProto& model_;
  const onnx::GraphProto& graph_;
  std::string text_;
  std::map<std::string, std::string> names_;       ///< name of a value in the file → its name in the text
  std::map<std::string, std::string> structures_;  ///< name of a value → a text that identifies it, for unused_nodes()
  std::map<int, std::string> hashes_;              ///< index of a node → its hash, for unused_nodes()
  std::map<std::string, int> producers_;           ///< name of a value → index of the node that computes it
  std::map<std::string, int> counts_;              ///< operator → number of nodes written so far
  std::vector<std::string> operations_;            ///< text of each node's operation
  std::vector<bool> written_;
};

}  // namespace

std::string CanonicalGraph::sha256() const { return sha256_hex(text); }

Result<CanonicalGraph> canonical_graph(const onnx::ModelProto& model) { return Canonical(model).run(); }

}  // namespace assay::testing
