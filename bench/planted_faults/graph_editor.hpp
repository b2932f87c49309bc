// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <onnx/onnx-ml.pb.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace assay::faults {

/// Changes the main graph of a model: finds nodes by what they compute, and inserts nodes between a value and those
/// that read it. Positions of nodes stay valid until sort(): nodes are only appended.
class GraphEditor {
 public:
  explicit GraphEditor(onnx::ModelProto& model);

  [[nodiscard]] int size() const { return graph_.node_size(); }
  [[nodiscard]] onnx::NodeProto& node(int index) { return *graph_.mutable_node(index); }
  [[nodiscard]] const onnx::NodeProto& node(int index) const { return graph_.node(index); }
  [[nodiscard]] const onnx::GraphProto& graph() const { return graph_; }

  /// The node that computes a value; -1 for inputs and initialisers.
  [[nodiscard]] int producer(const std::string& value) const;
  /// nullptr if the value is not an initialiser.
  [[nodiscard]] const onnx::TensorProto* initializer(const std::string& value) const;
  /// The initialiser behind a value: itself, or what Identity, Cast or DequantizeLinear makes of one.
  [[nodiscard]] const onnx::TensorProto* constant(const std::string& value) const;
  /// The elements of a constant of int64.
  [[nodiscard]] std::vector<std::int64_t> integers(const std::string& value) const;
  /// Whether a matrix product or a convolution is on a way from `from` to `to`.
  [[nodiscard]] bool computes_between(const std::string& from, const std::string& to) const;
  /// Whether a value depends on a node of this operator, through any number of nodes.
  [[nodiscard]] bool depends_on(const std::string& value, std::string_view op_type) const;
  /// Whether a value reaches a Softmax through sums, masks and other operators element by element alone.
  [[nodiscard]] bool leads_to_softmax(const std::string& value) const;

  /// A new node with one output, whose name is returned.
  std::string add(const char* op_type, std::vector<std::string> inputs);
  [[nodiscard]] onnx::NodeProto& last() { return *graph_.mutable_node(graph_.node_size() - 1); }
  std::string scalar(double value);  ///< float32
  std::string list(const std::vector<std::int64_t>& values);
  /// A scalar in the type of another value.
  std::string scalar_like(double value, const std::string& like);
  /// (1 - strength) * right + strength * wrong.
  std::string mix(const std::string& right, const std::string& wrong, double strength);

  /// Makes input `input` of a node read another value.
  void read(int index, int input, const std::string& value) { *node(index).mutable_input(input) = value; }
  /// Makes every reader of a value, and the graph's outputs, read another one. The nodes appended since `first_new`
  /// keep reading the value itself.
  void replace(const std::string& value, const std::string& by, int first_new);

  /// Puts each node after those that it reads.
  void sort();

 private:
  onnx::GraphProto& graph_;
  std::unordered_map<std::string, int> producers_;
  std::unordered_map<std::string, const onnx::TensorProto*> initializers_;
  int made_ = 0;

  [[nodiscard]] std::string fresh();
  onnx::TensorProto& add_initializer(const std::string& name);
};

/// Whether an operator multiplies matrices or convolves.
[[nodiscard]] bool is_heavy(std::string_view op_type);

}  // namespace assay::faults
