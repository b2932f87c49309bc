// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <assay/result.hpp>

#include "models/graph/static_graph.hpp"
#include "models/graph/view.hpp"

namespace assay {

/// Elements of a tensor that are kept at most: shapes have a handful, positions some thousands.
inline constexpr std::int64_t kMostElements = 1 << 16;

/// int64, int32 and bool: the element types that shapes are computed in.
[[nodiscard]] bool folds(DType dtype);

/// The same for the element types that exporters compute sizes in on the way: floating types of 16 to 64 bits.
inline constexpr std::int64_t kMostReals = 16;
[[nodiscard]] bool has_reals(DType dtype);

/// Makes a value's elements what a runtime would compute (int32 wraps around, a bool is 0 or 1, float32 is rounded), or
/// removes them if they are too many, or of a type that does not fold.
void settle_elements(StaticValue& value);

/// A node with what is known of its inputs; a rule fills in its outputs. Outputs that it does not fill in stay unknown.
class Site {
 public:
  /// `value`: what is known of the tensor in the attribute of that name; nullptr if there is none.
  Site(const graph::Node& node, std::int64_t opset, std::vector<const StaticValue*> inputs, const StaticValue* value);

  [[nodiscard]] const graph::Node& node() const { return *node_; }
  [[nodiscard]] const StaticValue* value() const { return value_; }
  [[nodiscard]] std::int64_t opset() const { return opset_; }
  [[nodiscard]] std::size_t inputs() const { return inputs_.size(); }
  [[nodiscard]] bool has(std::size_t i) const { return i < inputs_.size() && inputs_[i] != nullptr; }
  /// An input that the rule requires. If it is missing: an empty scalar, and is_incomplete() is true from then on.
  [[nodiscard]] const StaticValue& in(std::size_t i) const;
  [[nodiscard]] bool is_incomplete() const { return incomplete_; }
  [[nodiscard]] const Shape& shape(std::size_t i) const { return *in(i).shape; }
  [[nodiscard]] std::int64_t rank(std::size_t i) const { return static_cast<std::int64_t>(shape(i).size()); }
  /// Elements of an input that is there and known; nullptr otherwise.
  [[nodiscard]] const std::vector<std::int64_t>* elements(std::size_t i) const;
  [[nodiscard]] const std::vector<double>* reals(std::size_t i) const;

  [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t otherwise) const {
    return node_->integer(name, otherwise);
  }
  [[nodiscard]] std::optional<std::vector<std::int64_t>> integers(std::string_view name) const;
  /// Integers that older opsets have as an attribute and newer ones as an input. `given` is false if the node has
  /// neither. nullopt: they are not known.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> integers_of(std::string_view name, std::size_t input,
                                                                     bool& given) const;
  /// An axis counted from 0. Errors: invalid_argument.
  [[nodiscard]] Result<std::size_t> axis(std::int64_t value, std::int64_t rank) const;

  [[nodiscard]] std::vector<StaticValue>& outputs() { return outputs_; }
  [[nodiscard]] const std::vector<StaticValue>& outputs() const { return outputs_; }
  void give(std::size_t i, DType dtype, Shape shape);
  void give_elements(std::size_t i, std::vector<std::int64_t> elements);
  void give_reals(std::size_t i, std::vector<double> reals);
  /// Gives output 0 the elements of input 0, if they are known, in the same order.
  void keep_elements();
  /// Gives output 0 a shape. Errors: invalid_argument: no tensor can have that shape.
  [[nodiscard]] Status give_checked(DType dtype, const Shape& shape);
  /// Gives output i, which has its shape already, elements of input 0, if they are known: those at `first` plus `steps`
  /// for each step along an axis of the output.
  void pick_elements(std::size_t i, std::int64_t first, const std::vector<std::int64_t>& steps);

  /// invalid_argument: "node 'x' (MatMul): …".
  [[nodiscard]] tl::unexpected<Error> contradiction(const std::string& what) const;

 private:
  const graph::Node* node_;
  std::int64_t opset_;
  std::vector<const StaticValue*> inputs_;
  const StaticValue* value_;
  std::vector<StaticValue> outputs_;
  mutable bool incomplete_ = false;
};

/// Elements that are extents or counts; nullopt: not known. Errors: invalid_argument: one is negative.
[[nodiscard]] Result<std::optional<Shape>> extents_from(const Site& site, const std::vector<std::int64_t>* elements);

using ShapeRule = Status (*)(Site&);

/// nullptr: no rule. A rule may be called only if the shapes of all inputs of the node are known.
[[nodiscard]] ShapeRule find_rule(std::string_view op_type);
// The tables, by what operators do.
[[nodiscard]] ShapeRule find_elementwise_rule(std::string_view op_type);
[[nodiscard]] ShapeRule find_layout_rule(std::string_view op_type);
[[nodiscard]] ShapeRule find_reduce_rule(std::string_view op_type);
[[nodiscard]] ShapeRule find_making_rule(std::string_view op_type);
[[nodiscard]] ShapeRule find_index_rule(std::string_view op_type);
[[nodiscard]] ShapeRule find_linear_rule(std::string_view op_type);
[[nodiscard]] ShapeRule find_attention_rule(std::string_view op_type);
[[nodiscard]] ShapeRule find_image_rule(std::string_view op_type);
[[nodiscard]] ShapeRule find_signal_rule(std::string_view op_type);

/// FLOPs of a node whose outputs have shapes.
[[nodiscard]] double flops_of(const Site& site);

/// The shape that both broadcast to, by NumPy's rule; nullopt: they do not.
[[nodiscard]] std::optional<Shape> broadcast(const Shape& a, const Shape& b);

/// The distance between neighbours along each axis, in elements.
[[nodiscard]] std::vector<std::int64_t> strides_of(const Shape& shape);

/// Places of the elements of a tensor of `shape`, row by row: `first`, and `steps` for each step along an axis.
[[nodiscard]] std::vector<std::size_t> places_along(const Shape& shape, std::int64_t first,
                                                    const std::vector<std::int64_t>& steps);

/// For each element of a tensor of shape `to`, row by row: the place of the element of a tensor of shape `from` that is
/// broadcast to it.
[[nodiscard]] std::vector<std::size_t> broadcast_places(const Shape& from, const Shape& to);

/// a · b and a + b of numbers that are not negative; INT64_MAX if the result is larger. No tensor has such an extent.
[[nodiscard]] std::int64_t times(std::int64_t a, std::int64_t b);
[[nodiscard]] std::int64_t plus(std::int64_t a, std::int64_t b);
[[nodiscard]] std::int64_t count_of(const Shape& shape);

}  // namespace assay
