// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <onnx/onnx-ml.pb.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <assay/result.hpp>

#include "graph/static_graph.hpp"

namespace assay {

/// Elements of a tensor that are kept at most: shapes have a handful, positions some thousands.
inline constexpr std::int64_t kMostElements = 1 << 16;

/// int64, int32 and bool: the element types that shapes are computed in.
[[nodiscard]] bool folds(DType dtype);

/// Likewise of numbers that sizes are computed with on the way: float32 and float64.
inline constexpr std::int64_t kMostReals = 16;
[[nodiscard]] bool has_reals(DType dtype);

/// Makes a value's elements what a runtime would hold (int32 wraps around, a bool is 0 or 1, float32 is rounded), or
/// drops them: too many, or of a type that does not fold.
void settle_elements(StaticValue& value);

/// A node with what is known of its inputs; a rule fills in its outputs. What it leaves stays unknown.
class Site {
 public:
  Site(const onnx::NodeProto& node, std::int64_t opset, std::vector<const StaticValue*> inputs);

  [[nodiscard]] const onnx::NodeProto& node() const { return *node_; }
  [[nodiscard]] std::int64_t opset() const { return opset_; }
  [[nodiscard]] std::size_t inputs() const { return inputs_.size(); }
  [[nodiscard]] bool has(std::size_t i) const { return i < inputs_.size() && inputs_[i] != nullptr; }
  /// An input that the rule cannot do without. Where it is missing: an empty scalar, and lacks() is true from then on.
  [[nodiscard]] const StaticValue& in(std::size_t i) const;
  [[nodiscard]] bool lacks() const { return lacks_; }
  [[nodiscard]] const Shape& shape(std::size_t i) const { return *in(i).shape; }
  [[nodiscard]] std::int64_t rank(std::size_t i) const { return static_cast<std::int64_t>(shape(i).size()); }
  /// Elements of an input that is there and known; nullptr otherwise.
  [[nodiscard]] const std::vector<std::int64_t>* elements(std::size_t i) const;
  [[nodiscard]] const std::vector<double>* reals(std::size_t i) const;

  [[nodiscard]] const onnx::AttributeProto* attribute(std::string_view name) const;
  [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  [[nodiscard]] std::optional<std::vector<std::int64_t>> integers(std::string_view name) const;
  [[nodiscard]] std::string text(std::string_view name, const std::string& otherwise) const;
  /// Integers that older opsets have as an attribute and newer ones as an input; `given` false: neither is there.
  /// nullopt: they are there and not known.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> integers_of(std::string_view name, std::size_t input,
                                                                     bool& given) const;
  /// An axis counted from 0. Errors: invalid_argument.
  [[nodiscard]] Result<std::size_t> axis(std::int64_t value, std::int64_t rank) const;

  [[nodiscard]] std::vector<StaticValue>& outputs() { return outputs_; }
  [[nodiscard]] const std::vector<StaticValue>& outputs() const { return outputs_; }
  void give(std::size_t i, DType dtype, Shape shape);
  void give_elements(std::size_t i, std::vector<std::int64_t> elements);
  void give_reals(std::size_t i, std::vector<double> reals);
  /// Output 0's: those of input 0, where they are known, in the same order.
  void keep_elements();
  /// Output 0. Errors: invalid_argument, for a shape that no tensor can have.
  [[nodiscard]] Status give_checked(DType dtype, const Shape& shape);
  /// Those of output i, whose shape is given: those of input 0, where they are known, at `first` plus `steps` for
  /// each step along an axis of the output.
  void pick_elements(std::size_t i, std::int64_t first, const std::vector<std::int64_t>& steps);

  /// invalid_argument: "node 'x' (MatMul): …".
  [[nodiscard]] tl::unexpected<Error> contradiction(const std::string& what) const;

 private:
  const onnx::NodeProto* node_;
  std::int64_t opset_;
  std::vector<const StaticValue*> inputs_;
  std::vector<StaticValue> outputs_;
  mutable bool lacks_ = false;
};

/// Extents or counts given as elements, each from 0; nullopt: not known. Errors: invalid_argument.
[[nodiscard]] Result<std::optional<Shape>> extents_from(const Site& site, const std::vector<std::int64_t>* elements);

using ShapeRule = Status (*)(Site&);

/// nullptr: there is none. Rules want the shapes of all inputs that are there.
[[nodiscard]] ShapeRule find_rule(std::string_view op_type);
// The tables, by what operators do.
[[nodiscard]] ShapeRule find_elementwise_rule(std::string_view op_type);
[[nodiscard]] ShapeRule find_layout_rule(std::string_view op_type);
[[nodiscard]] ShapeRule find_reduce_rule(std::string_view op_type);
[[nodiscard]] ShapeRule find_making_rule(std::string_view op_type);
[[nodiscard]] ShapeRule find_index_rule(std::string_view op_type);
[[nodiscard]] ShapeRule find_linear_rule(std::string_view op_type);

/// FLOPs of a node whose outputs have shapes.
[[nodiscard]] double flops_of(const Site& site);

/// The shape that both broadcast to, by NumPy's rule; nullopt: they do not.
[[nodiscard]] std::optional<Shape> broadcast(const Shape& a, const Shape& b);

/// How far elements lie apart along each axis, in elements.
[[nodiscard]] std::vector<std::int64_t> strides_of(const Shape& shape);

/// Places of the elements of a tensor of `shape`, row by row: `first`, and `steps` for each step along an axis.
[[nodiscard]] std::vector<std::size_t> places_along(const Shape& shape, std::int64_t first,
                                                    const std::vector<std::int64_t>& steps);

/// Where the elements of a tensor of `from` lie for each place of one of `to`, row by row. `from` broadcasts to `to`.
[[nodiscard]] std::vector<std::size_t> broadcast_places(const Shape& from, const Shape& to);

/// a · b and a + b of numbers from 0; INT64_MAX where that is too small, which no tensor's extent may be.
[[nodiscard]] std::int64_t times(std::int64_t a, std::int64_t b);
[[nodiscard]] std::int64_t plus(std::int64_t a, std::int64_t b);
[[nodiscard]] std::int64_t count_of(const Shape& shape);

}  // namespace assay
