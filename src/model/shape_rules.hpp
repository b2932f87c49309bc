// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <onnx/onnx-ml.pb.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <assay/result.hpp>

#include "model/static_graph.hpp"

namespace assay {

/// Elements of a tensor that are kept at most: shapes have a handful, positions some thousands.
inline constexpr std::int64_t kMostElements = 1 << 16;

/// A node with what is known of its inputs; a rule fills in its outputs. What it leaves stays unknown.
class Site {
 public:
  Site(const onnx::NodeProto& node, std::int64_t opset, std::vector<const StaticValue*> inputs,
       std::vector<std::optional<std::vector<float>>> floats);

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
  /// The same of a small constant of float32.
  [[nodiscard]] const std::vector<float>* floats(std::size_t i) const;

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
  /// Output 0. Errors: invalid_argument, for a shape that no tensor can have.
  [[nodiscard]] Status give_checked(DType dtype, const Shape& shape);
  /// Output 0's elements: those of input 0 at `places`, where they are known.
  void pick_elements(const std::vector<std::size_t>& places);

  /// invalid_argument: "node 'x' (MatMul): …".
  [[nodiscard]] tl::unexpected<Error> contradiction(const std::string& what) const;

 private:
  const onnx::NodeProto* node_;
  std::int64_t opset_;
  std::vector<const StaticValue*> inputs_;
  std::vector<std::optional<std::vector<float>>> floats_;
  std::vector<StaticValue> outputs_;
  mutable bool lacks_ = false;
};

using ShapeRule = Status (*)(Site&);

/// nullptr: there is none. Rules want the shapes of all inputs that are there.
[[nodiscard]] ShapeRule find_rule(std::string_view op_type);
// The tables, by what operators do.
[[nodiscard]] ShapeRule find_elementwise_rule(std::string_view op_type);
[[nodiscard]] ShapeRule find_layout_rule(std::string_view op_type);
[[nodiscard]] ShapeRule find_index_rule(std::string_view op_type);
[[nodiscard]] ShapeRule find_linear_rule(std::string_view op_type);

/// FLOPs of a node whose outputs have shapes.
[[nodiscard]] double flops_of(const Site& site);

/// The shape that both broadcast to, by NumPy's rule; nullopt: they do not.
[[nodiscard]] std::optional<Shape> broadcast(const Shape& a, const Shape& b);

/// Where the elements of a tensor of `from` lie for each place of one of `to`, row by row. `from` broadcasts to `to`.
[[nodiscard]] std::vector<std::size_t> broadcast_places(const Shape& from, const Shape& to);

/// a · b and a + b of numbers from 0; INT64_MAX where that is too small, which no tensor's extent may be.
[[nodiscard]] std::int64_t times(std::int64_t a, std::int64_t b);
[[nodiscard]] std::int64_t plus(std::int64_t a, std::int64_t b);
[[nodiscard]] std::int64_t count_of(const Shape& shape);

}  // namespace assay
