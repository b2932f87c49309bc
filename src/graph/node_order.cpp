// SPDX-License-Identifier: Apache-2.0
#include "graph/node_order.hpp"

#include <set>
#include <unordered_map>
#include <unordered_set>

namespace assay {
namespace {

using Names = std::vector<std::string_view>;

// What a graph inside a node reads and does not make itself.
Names captured_by(const onnx::GraphProto& graph) {
  std::unordered_set<std::string_view> own;
  for (const onnx::ValueInfoProto& input : graph.input()) own.insert(input.name());
  for (const onnx::TensorProto& tensor : graph.initializer()) own.insert(tensor.name());
  for (const onnx::SparseTensorProto& tensor : graph.sparse_initializer()) own.insert(tensor.values().name());
  for (const onnx::NodeProto& node : graph.node()) own.insert(node.output().begin(), node.output().end());
  Names captured;
  const auto take = [&](std::string_view name) {
    if (!own.contains(name)) captured.push_back(name);
  };
  for (const onnx::NodeProto& node : graph.node())
    for (const std::string_view name : reads_of(node)) take(name);
  for (const onnx::ValueInfoProto& output : graph.output()) take(output.name());
  return captured;
}

}  // namespace

Names reads_of(const onnx::NodeProto& node) {
  Names reads;
  std::unordered_set<std::string_view> seen{""};
  const auto take = [&](std::string_view name) {
    if (seen.insert(name).second) reads.push_back(name);
  };
  for (const std::string& input : node.input()) take(input);
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g())
      for (const std::string_view name : captured_by(attribute.g())) take(name);
    for (const onnx::GraphProto& graph : attribute.graphs())
      for (const std::string_view name : captured_by(graph)) take(name);
  }
  return reads;
}

std::vector<int> in_order(const onnx::GraphProto& graph) {
  std::unordered_map<std::string_view, int> maker;
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string& output : graph.node(i).output()) maker.emplace(output, i);
  }
  std::vector<int> missing(static_cast<std::size_t>(graph.node_size()), 0);
  std::vector<std::vector<int>> readers(missing.size());
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string_view name : reads_of(graph.node(i))) {
      const auto found = maker.find(name);
      if (found == maker.end()) continue;
      readers[static_cast<std::size_t>(found->second)].push_back(i);
      ++missing[static_cast<std::size_t>(i)];
    }
  }
  std::set<int> ready;
  for (int i = 0; i < graph.node_size(); ++i)
    if (missing[static_cast<std::size_t>(i)] == 0) ready.insert(i);
  std::vector<int> order;
  while (!ready.empty()) {
    const int next = *ready.begin();
    ready.erase(ready.begin());
    order.push_back(next);
    for (const int reader : readers[static_cast<std::size_t>(next)])
      if (--missing[static_cast<std::size_t>(reader)] == 0) ready.insert(reader);
  }
  return order;
}

}  // namespace assay
