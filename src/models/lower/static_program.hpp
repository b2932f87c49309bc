// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <assay/result.hpp>

#include "models/graph/specialise.hpp"
#include "models/graph/static_graph.hpp"
#include "models/graph/view.hpp"
#include "models/graph/window.hpp"
#include "models/lower/node_check.hpp"
#include "models/lower/program.hpp"

namespace assay {
struct StaticParts;
}

namespace assay::lowering {

/// What a dialect can lower.
struct NodeCheck {
  /// Whether a node of this version of its operator set can be lowered.
  std::function<Status(const graph::Node& node, std::int64_t opset)> implements;
  TypeCheck has_type;
};

/// What both lowerings read: the nodes that remain of a graph for one set of shapes, with all shapes known.
/// Lifetime: shares the model; names, nodes and spans are valid while the object lives.
class StaticProgram {
 public:
  /// Errors: those of StaticModel::infer and check_parts().
  [[nodiscard]] static Result<StaticProgram> create(const StaticModel& model, const SpecialiseRequest& request,
                                                    const NodeCheck& check);

  [[nodiscard]] const std::vector<Value>& inputs() const { return inputs_; }
  [[nodiscard]] const std::vector<Value>& outputs() const { return outputs_; }
  /// In an order in which each follows those that it reads.
  [[nodiscard]] const std::vector<const graph::Node*>& nodes() const { return nodes_; }
  /// Tensors that exist before the program runs and that kept nodes or outputs read: the file's initialisers, values
  /// folded from shapes and constants, inputs that the request binds.
  [[nodiscard]] const std::vector<Weight>& constants() const { return constants_; }
  /// nullptr: `name` is not a constant.
  [[nodiscard]] const Weight* constant(std::string_view name) const;

  /// Type and shape of a tensor that a kept node reads or makes. `name` is not "".
  [[nodiscard]] const StaticValue& value(std::string_view name) const;
  [[nodiscard]] const Shape& shape(std::string_view name) const { return *value(name).shape; }
  [[nodiscard]] DType dtype(std::string_view name) const { return value(name).dtype; }

  /// The elements of a constant of int64, int32 or bool: axes, pads, repeats. Errors: unsupported, naming `node`: the
  /// tensor is not a constant.
  [[nodiscard]] Result<std::vector<std::int64_t>> integers(const graph::Node& node, std::string_view name) const;
  /// The same for a constant of any real type. Cost: reads it.
  [[nodiscard]] Result<std::vector<double>> numbers(const graph::Node& node, std::string_view name) const;
  /// The number of a constant with one element, of any rank: a float, or an integer that a double has exactly. nullopt:
  /// anything else.
  [[nodiscard]] std::optional<double> number(std::string_view name) const;
  /// The packed elements of a constant.
  [[nodiscard]] Result<graph::ConstantData> elements(std::string_view name) const;

  [[nodiscard]] const graph::Model& model() const { return model_.model(); }
  /// The version of the operator set that a node's operator is from.
  [[nodiscard]] std::int64_t opset(const graph::Node& node) const;

 private:
  StaticProgram(StaticModel model, StaticGraph graph) : model_(std::move(model)), graph_(std::move(graph)) {}
  [[nodiscard]] Status add_constants(const SpecialiseRequest& request, const StaticParts& parts);
  StaticModel model_;
  StaticGraph graph_;
  std::vector<Value> inputs_, outputs_;
  std::vector<const graph::Node*> nodes_;
  std::vector<Weight> constants_;
  std::map<std::string, std::size_t, std::less<>> places_;  ///< indices in constants_, by name
  std::map<std::string, const graph::Constant*, std::less<>> initializers_;
};

/// Whether what remains of a model can be lowered. `check.implements` is called for each node before shapes matter: an
/// operator that it does not know has no shape. `graph` was inferred from `model`, `parts` are those of both.
/// Errors: those of `check.implements` and check_node(); unsupported: a node or an output without a static shape, an
/// output that is unfit(), a sparse tensor.
[[nodiscard]] Status check_parts(const StaticModel& model, const StaticGraph& graph, const StaticParts& parts,
                                 const NodeCheck& check);

/// An input of a node that may be left out.
[[nodiscard]] inline bool has_input(const graph::Node& node, std::size_t index) {
  return index < node.inputs.size() && !node.inputs[index].empty();
}

/// An axis counted from 0. Errors: unsupported: out of range.
[[nodiscard]] Result<std::int64_t> axis_of(const graph::Node& node, std::int64_t axis, std::int64_t rank);

/// Whether it is an integer type of 8 bits or more without a sign.
[[nodiscard]] bool is_unsigned(DType dtype);

/// graph::read_window(). Errors: unsupported, what it says.
[[nodiscard]] Result<graph::Window> window_of(const graph::Node& node, const Shape& in,
                                              std::vector<std::int64_t> kernel);

/// Whether a list of so many numbers, which lowering computes, may become a part of a program. Errors: unsupported:
/// more than 2^24.
[[nodiscard]] Status check_listed(const graph::Node& node, double numbers);

/// unsupported: "WHAT of node 'x' (Conv) is not supported".
[[nodiscard]] tl::unexpected<Error> refuse(const graph::Node& node, std::string_view what);

}  // namespace assay::lowering
