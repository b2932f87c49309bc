// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/evaluate/kernel.hpp"
#include "models/onnx/onnx_testing.hpp"

/// One node without a file, to ask a kernel for its results.
namespace assay::evaluate::testing {

inline const graph::Model& any_model() {
  static const assay::testing::ModelFolder folder;
  static const graph::Model model = graph::Model::open(folder.write(assay::testing::small_model())).value();
  return model;
}

inline Value floats(Shape shape, Reals elements) { return {DType::kFloat32, std::move(shape), std::move(elements)}; }
inline Value longs(Shape shape, Integers elements) { return {DType::kInt64, std::move(shape), std::move(elements)}; }
inline Value list(Integers elements) {
  const auto count = static_cast<std::int64_t>(elements.size());
  return longs({count}, std::move(elements));
}

inline graph::Attribute number(std::string_view name, std::int64_t value) { return {name, value}; }
inline graph::Attribute text(std::string_view name, std::string_view value) { return {name, value}; }
/// Lifetime: `values` lives as long as the attribute.
inline graph::Attribute numbers(std::string_view name, const Integers& values) {
  return {name, std::span<const std::int64_t>(values)};
}

/// Operands that are nullptr are not given.
inline Outputs compute(std::string_view op, std::int64_t opset, const std::vector<const Value*>& operands,
                       std::vector<graph::Attribute> attributes = {}, std::string_view domain = "", int threads = 1,
                       std::int64_t most_elements = kMostElements) {
  graph::Node node{.name = "node", .op_type = op, .domain = domain, .attributes = std::move(attributes)};
  for (const Value* one : operands) node.inputs.emplace_back(one == nullptr ? "" : "operand");
  node.outputs = {"a", "b", "c", "d"};
  const RunGraph none = [](const graph::Graph&, Values) -> Outputs {
    return fail(ErrorCode::kInvalidArgument, "no graph");
  };
  const Call call(node, opset, operands, any_model(), none, threads, most_elements);
  return computed(find_operator(domain, op), call);
}

/// The first result, which is there.
inline Value first_of(const Outputs& results) {
  EXPECT_TRUE(results && !results->empty()) << (results ? "no results" : to_string(results.error()));
  return results && !results->empty() ? results->front() : Value();
}
inline Reals reals_of(const Value& value) { return {value.reals().begin(), value.reals().end()}; }
inline Integers integers_of(const Value& value) { return {value.integers().begin(), value.integers().end()}; }

}  // namespace assay::evaluate::testing
