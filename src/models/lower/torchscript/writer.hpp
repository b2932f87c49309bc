// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "models/lower/operators.hpp"

namespace assay::lowering {

/// Writes the text of a TorchScript method, a statement at a time. Tensors are Python names (`x0`, `v7`) or weights
/// (`self.w2`). Operators are written as `torch.NAME`, and element types as the numbers that libtorch has for them,
/// because its compiler knows neither types nor modules by name.
class TorchWriter {
 public:
  TorchWriter(const StaticProgram& program, Program& into);

  [[nodiscard]] const StaticProgram& program() const { return program_; }
  [[nodiscard]] std::int64_t opset(const graph::Node& node) const { return program_.opset(node); }

  /// The tensor `name`, an ONNX name; a constant becomes a weight. "None" if there is none; fault() says so.
  [[nodiscard]] std::string value(std::string_view name);
  /// Errors: internal: a value was read that no node's function has written.
  [[nodiscard]] Status fault() const;
  /// Input i of a node, which has it.
  [[nodiscard]] std::string in(const graph::Node& node, std::size_t i) { return value(node.inputs[i]); }
  [[nodiscard]] std::vector<std::string> ins(const graph::Node& node);
  [[nodiscard]] const Shape& shape(const graph::Node& node, std::size_t i) const {
    return program_.shape(node.inputs[i]);
  }
  [[nodiscard]] std::int64_t rank(const graph::Node& node, std::size_t i) const {
    return static_cast<std::int64_t>(shape(node, i).size());
  }
  [[nodiscard]] DType dtype(const graph::Node& node, std::size_t i) const { return program_.dtype(node.inputs[i]); }
  [[nodiscard]] const Shape& out_shape(const graph::Node& node, std::size_t i = 0) const {
    return program_.shape(node.outputs[i]);
  }
  [[nodiscard]] DType out_dtype(const graph::Node& node, std::size_t i = 0) const {
    return program_.dtype(node.outputs[i]);
  }
  /// A place of `rank` ones, counted from 0. Not checked: axis_of() does that.
  [[nodiscard]] static std::int64_t axis(std::int64_t axis, std::int64_t rank) { return axis < 0 ? axis + rank : axis; }

  /// Input i of a node, which has one element, as a number: a literal if it is a constant.
  [[nodiscard]] std::string scalar(const graph::Node& node, std::size_t i);

  /// `expression` is output i of the node, if the node has that many.
  void out(const graph::Node& node, std::size_t i, const std::string& expression) {
    define(i < node.outputs.size() ? node.outputs[i] : std::string_view(), expression);
  }
  void out(const graph::Node& node, const std::string& expression) { out(node, 0, expression); }
  /// `expression` is the tensor `name`.
  void define(std::string_view name, const std::string& expression);
  /// A new Python name for `expression`: a tensor or anything else. `depth`: the number of loops around the statement.
  [[nodiscard]] std::string let(const std::string& expression, std::size_t depth = 0);
  /// A new weight that no file has.
  [[nodiscard]] std::string weight(Weight weight);
  /// A new weight of these packed elements.
  [[nodiscard]] std::string held(DType dtype, Shape shape, std::span<const std::byte> elements);
  /// A new weight of these int64 elements, of rank 1.
  [[nodiscard]] std::string integers(std::span<const std::int64_t> values);
  /// A new weight of these float32 elements.
  [[nodiscard]] std::string floats(std::span<const float> values, Shape shape);
  /// The tensor `name` is the Python name `variable`.
  void is(std::string_view name, std::string variable);
  /// A statement.
  void line(const std::string& statement);

  /// What is left to do of `into`: the signature's names, the tuple that is returned.
  void finish();

 private:
  const StaticProgram& program_;
  Program& into_;
  std::map<std::string, std::string, std::less<>> names_;  ///< Python names, by ONNX name
  std::size_t variables_ = 0;
  std::optional<std::string> missing_;  ///< the first value that was read too early
};

/// libtorch's number of an element type; nullopt: it has none.
[[nodiscard]] std::optional<int> torch_type(DType dtype);
/// The number that TorchScript reads back to the same double: "1.0", "1e-05", "-inf".
[[nodiscard]] std::string torch_number(double value);
/// "[1, 2]"
[[nodiscard]] std::string torch_list(std::span<const std::int64_t> values);
[[nodiscard]] std::string torch_list(std::span<const std::string> expressions);
[[nodiscard]] inline const char* torch_bool(bool value) { return value ? "True" : "False"; }

/// torch.NAME(arguments), each written by fmt.
template <class... Arguments>
[[nodiscard]] std::string torch_call(std::string_view name, const Arguments&... arguments) {
  std::string text = fmt::format("torch.{}(", name);
  std::size_t written = 0;
  ((text += fmt::format("{}{}", written++ == 0 ? "" : ", ", arguments)), ...);
  return text + ")";
}

}  // namespace assay::lowering
