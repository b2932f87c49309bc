// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/builder/graph_builder.hpp"
#include "models/zoo/layers/parameters.hpp"

namespace assay::zoo {

/// Attributes of nodes: axes, strides, permutations.
using Integers = std::vector<std::int64_t>;

/// A place in the model: where parameters are named ("encoder.layer.0.output.dense") and nodes stand
/// ("/encoder/layer.0/output/dense"). A light handle, to be passed by value.
///
///   Module layer = model / "encoder" / "layer.0";
///   Value hidden = linear(layer / "output" / "dense", input, {intermediate, hidden_size});
class Module {
 public:
  Module(GraphBuilder& graph, Parameters& parameters) : graph_(&graph), parameters_(&parameters) {}

  [[nodiscard]] Module operator/(std::string_view child) const;
  /// The place at a dotted path: "self_attn.q_proj"; a number stays with the word before it ("layers.0").
  [[nodiscard]] Module at(std::string_view path) const;
  [[nodiscard]] GraphBuilder& graph() const { return *graph_; }
  [[nodiscard]] Parameters& parameters() const { return *parameters_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string name_of(std::string_view parameter) const;

  /// A parameter as Hugging Face stores it.
  [[nodiscard]] Value parameter(std::string_view name, const Shape& shape, Role role) const;
  /// A parameter of Hugging Face's shape [out, in], stored as [in, out] so that runtimes multiply without a
  /// transposition.
  [[nodiscard]] Value transposed_parameter(std::string_view name, std::int64_t out, std::int64_t in) const;
  /// The weights of several projections beside each other, stored as [in, all of their outputs].
  struct Projection {
    std::string name;  ///< name of a child of this place: "q_proj"
    std::int64_t out = 0;
  };
  [[nodiscard]] Value joined_weights(const std::vector<Projection>& projections, std::int64_t in) const;
  /// Their biases, one after the other.
  [[nodiscard]] Value joined_biases(const std::vector<Projection>& projections) const;
  /// A parameter stored as `stored` that stands in the graph as `shape`: as many elements in the same order.
  [[nodiscard]] Value viewed_parameter(std::string_view name, const Shape& stored, const Shape& shape, Role role) const;
  /// A constant of `shape` that `compute` makes of a parameter's elements when the file is written: a table transformed
  /// into attention biases, positions scaled to another image. `suffix` names it beside the parameter. The parameter
  /// is held whole meanwhile.
  using Compute = std::function<std::vector<float>(const std::vector<float>&)>;
  [[nodiscard]] Value derived_parameter(std::string_view name, const Shape& stored, Role role, std::string_view suffix,
                                        const Shape& shape, Compute compute) const;

  /// A node here; its output has `dtype`, or the type of the first input.
  Value node(const std::string& op_type, const std::vector<Value>& inputs,
             const std::vector<Attribute>& attributes = {}, DType dtype = DType::kUndefined) const {
    return graph_->node(path_, op_type, inputs, attributes, dtype);
  }
  /// The same with several outputs, all of one type.
  std::vector<Value> nodes(const std::string& op_type, const std::vector<Value>& inputs, std::size_t outputs,
                           const std::vector<Attribute>& attributes = {}) const {
    return graph_->nodes(path_, op_type, inputs, outputs, attributes);
  }
  /// The shape that the checkpoint has for a parameter; nullopt when it has none, or the weights are random.
  [[nodiscard]] std::optional<Shape> stored_shape(std::string_view name) const;

 private:
  GraphBuilder* graph_;
  Parameters* parameters_;
  std::string name_;  ///< "encoder.layer.0"
  std::string path_;  ///< "/encoder/layer.0"
};

}  // namespace assay::zoo
