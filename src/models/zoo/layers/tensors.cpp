// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/layers/tensors.hpp"

#include <fmt/format.h>

#include <limits>
#include <utility>

namespace assay::zoo {
namespace {

template <class Element>
Value own_constant(const Module& at, std::string_view name, DType dtype, const Shape& shape,
                   std::vector<Element> values) {
  const ByteSource source = [values = std::move(values)](const ByteSink& sink) {
    return sink(std::as_bytes(std::span(values)));
  };
  return at.graph().table(at.name_of(name), dtype, shape, source);
}

}  // namespace

Value reshape(const Module& at, const Value& input, const Integers& shape) {
  return at.node("Reshape", {input, at.graph().integers(shape)});
}

Value transpose(const Module& at, const Value& input, const Integers& order) {
  return at.node("Transpose", {input}, {{"perm", order}});
}

Value slice(const Module& at, const Value& input, std::int64_t axis, std::int64_t first, std::int64_t last,
            std::int64_t step) {
  GraphBuilder& graph = at.graph();
  return at.node("Slice", {input, graph.integers({first}), graph.integers({last}), graph.integers({axis}),
                           graph.integers({step})});
}

Value pick(const Module& at, const Value& input, std::int64_t axis, std::int64_t index) {
  return at.node("Gather", {input, at.graph().integer(index)}, {{"axis", axis}});
}

Value concat(const Module& at, const std::vector<Value>& inputs, std::int64_t axis) {
  return at.node("Concat", inputs, {{"axis", axis}});
}

std::vector<Value> split(const Module& at, const Value& input, std::int64_t axis, std::size_t parts) {
  return at.nodes("Split", {input}, parts, {{"axis", axis}});
}

Value cast(const Module& at, const Value& input, DType to) {
  if (input.dtype == to) return input;
  return at.node("Cast", {input}, {{"to", static_cast<std::int64_t>(to)}}, to);
}

Value mean(const Module& at, const Value& input, const Integers& axes, bool keep) {
  return at.node("ReduceMean", {input}, {{"axes", axes}, {"keepdims", std::int64_t{keep ? 1 : 0}}});
}

Value add(const Module& at, const Value& a, const Value& b) { return at.node("Add", {a, b}); }
Value multiply(const Module& at, const Value& a, const Value& b) { return at.node("Mul", {a, b}); }
Value multiply(const Module& at, const Value& a, float b) { return at.node("Mul", {a, at.graph().number(b)}); }

Value extents(const Module& at, const Value& input, std::int64_t first, std::int64_t last) {
  return at.node("Shape", {input}, {{"start", first}, {"end", last}}, DType::kInt64);
}

Value extent(const Module& at, const Value& input, std::int64_t axis) { return extents(at, input, axis, axis + 1); }

Value scalar_extent(const Module& at, const Value& input, std::int64_t axis) {
  const Value shape = at.node("Shape", {input}, {}, DType::kInt64);
  return at.node("Gather", {shape, at.graph().integer(axis)}, {{"axis", std::int64_t{0}}});
}

Value count_up(const Module& at, const Value& length) {
  GraphBuilder& graph = at.graph();
  const Value end = at.node("Squeeze", {length, graph.integers({0})});
  return at.node("Range", {graph.integer(0), end, graph.integer(1)});
}

Value for_each_row(const Module& at, const Value& constant, const Value& like, const Integers& rest) {
  const Value shape = at.node("Concat", {extent(at, like, 0), at.graph().integers(rest)}, {{"axis", std::int64_t{0}}});
  return at.node("Expand", {constant, shape});
}

Value constant(const Module& at, std::string_view name, const Shape& shape, std::vector<float> values) {
  return own_constant(at, name, DType::kFloat32, shape, std::move(values));
}

Value constant_ids(const Module& at, std::string_view name, const Shape& shape, Integers values) {
  return own_constant(at, name, DType::kInt64, shape, std::move(values));
}

}  // namespace assay::zoo
