// SPDX-License-Identifier: Apache-2.0
// Faults along the tokens.
#include <algorithm>
#include <cmath>

#include "fault_places.hpp"

namespace assay::faults {
namespace {

bool is_mask(const onnx::ValueInfoProto& input) { return input.name().find("mask") != std::string::npos; }

// Whether an axis of a value is longer than `length`, as a list of one bool.
std::string is_longer(GraphEditor& graph, const std::string& value, std::int64_t axis, double length) {
  const std::string extent = graph.add("Gather", {graph.add("Shape", {value}), graph.list({axis})});
  return graph.add("Greater", {extent, graph.list({static_cast<std::int64_t>(length)})});
}

bool is_past(const onnx::ValueInfoProto& input) {
  return input.name().starts_with("past") && input.type().tensor_type().shape().dim_size() == 4;
}

// The Mul of positions and frequencies before Cos and Sin; -1: none.
int angle_product(const GraphEditor& graph, int cosine) {
  std::string value = graph.node(cosine).input(0);
  for (int step = 0; step < 6; ++step) {
    const int made = graph.producer(value);
    if (made < 0) return -1;
    const onnx::NodeProto& node = graph.node(made);
    if ((node.op_type() == "Mul" || node.op_type() == "MatMul") && node.input_size() == 2 &&
        (graph.initializer(node.input(0)) != nullptr || graph.initializer(node.input(1)) != nullptr))
      return made;
    value = node.input(0);
  }
  return -1;
}

std::vector<int> angle_products(const GraphEditor& graph) {
  std::vector<int> found;
  for (int i = 0; i < graph.size(); ++i)
    if (graph.node(i).op_type() == "Cos")
      if (const int product = angle_product(graph, i); product >= 0 && std::ranges::find(found, product) == found.end())
        found.push_back(product);
  return found;
}

}  // namespace

Places masks(const GraphEditor& graph, bool late) {
  Places places;
  for (const onnx::ValueInfoProto& input : graph.graph().input()) {
    if (!is_mask(input)) continue;
    places.emplace_back([name = input.name(), late](GraphEditor& g, double strength) {
      const int first_new = g.size();
      const std::string ones = g.add("ConstantOfShape", {g.add("Shape", {name})});
      onnx::AttributeProto& value = new_attribute(g.last(), "value");
      value.set_type(onnx::AttributeProto::TENSOR);
      value.mutable_t()->set_data_type(onnx::TensorProto::FLOAT);
      value.mutable_t()->add_dims(1);
      value.mutable_t()->add_float_data(1.0F);
      const std::string wrong = g.add("CastLike", {ones, name});
      g.replace(name, late ? g.add("Where", {is_longer(g, name, 1, strength), wrong, name}) : wrong, first_new);
    });
  }
  return places;
}

// Frequencies are base^(-2i/d): a power of them has another base. Strength 1: 50 times the base of 10,000.
Places rope_bases(const GraphEditor& graph) {
  Places places;
  for (const int product : angle_products(graph)) {
    places.emplace_back([product](GraphEditor& g, double strength) {
      const int input = g.initializer(g.node(product).input(0)) != nullptr ? 0 : 1;
      const std::string right = g.node(product).input(input);
      const double exponent = 1.0 + strength * std::log(50.0) / std::log(10000.0);
      g.read(product, input, g.add("Pow", {right, g.scalar_like(exponent, right)}));
    });
  }
  return places;
}

// Learnt positions: the table's rows move by one. Rotary ones: the angles of steps after the prompt; a shift of all
// positions would change nothing there.
Places positions(const GraphEditor& graph) {
  Places places;
  const auto shift_table = [&](int index, int input, std::int64_t axis) {
    places.emplace_back([index, input, axis](GraphEditor& g, double strength) {
      const std::string right = g.node(index).input(input);
      const std::string axes = g.list({axis}), end = g.list({std::int64_t{1} << 40});
      const std::string tail = g.add("Slice", {right, g.list({1}), end, axes});
      const std::string last = g.add("Slice", {right, g.list({-1}), end, axes});
      const std::string wrong = g.add("Concat", {tail, last});
      set_integer(g.last(), "axis", axis);
      g.read(index, input, g.mix(right, wrong, strength));
    });
  };
  for (int i = 0; i < graph.size(); ++i) {
    const onnx::NodeProto& node = graph.node(i);
    const bool looks_up = node.op_type() == "Gather" || node.op_type() == "Slice";
    for (int k = 0; k < node.input_size(); ++k) {
      const onnx::TensorProto* table = graph.initializer(node.input(k));
      if (table == nullptr || table->dims_size() < 2 || table->data_type() == onnx::TensorProto::INT64) continue;
      const bool named = table->name().find("position") != std::string::npos;
      if (looks_up && k == 0 && table->dims_size() == 2 && table->dims(0) > 2 &&
          (named || (node.op_type() == "Gather" && graph.depends_on(node.input(1), "Range"))))
        shift_table(i, k, 0);
      else if (node.op_type() == "Add" && named && table->dims(table->dims_size() - 2) > 2)
        shift_table(i, k, table->dims_size() - 2);
    }
  }
  const auto past = std::ranges::find_if(graph.graph().input(), is_past);
  if (past == graph.graph().input().end()) return places;
  for (const int product : angle_products(graph)) {
    places.emplace_back([product, past = past->name()](GraphEditor& g, double strength) {
      const int input = g.initializer(g.node(product).input(0)) != nullptr ? 1 : 0;
      const std::string right = g.node(product).input(input);
      const std::string length = g.add("Gather", {g.add("Shape", {past}), g.list({2})});
      const std::string one = g.add("CastLike", {g.add("Min", {length, g.list({1})}), right});
      g.read(product, input, g.add("Add", {right, g.add("Mul", {one, g.scalar_like(strength, right)})}));
    });
  }
  return places;
}

// The newest slot of every cache that a step reads is zero.
Places cache_slots(const GraphEditor& graph, bool late) {
  if (std::ranges::none_of(graph.graph().input(), is_past)) return {};
  return {[late](GraphEditor& g, double strength) {
    std::vector<std::string> names;
    for (const onnx::ValueInfoProto& input : g.graph().input())
      if (is_past(input)) names.push_back(input.name());
    for (const std::string& past : names) {
      const int first_new = g.size();
      const std::string axes = g.list({2}), start = g.list({0}), last = g.list({-1}),
                        end = g.list({std::int64_t{1} << 40});
      const std::string kept = g.add("Slice", {past, start, last, axes});
      const std::string slot = g.add("Slice", {past, last, end, axes});
      const std::string lost = late ? g.add("Where", {is_longer(g, past, 2, strength), scaled(g, slot, 0.0), slot})
                                    : scaled(g, slot, 1.0 - strength);
      const std::string wrong = g.add("Concat", {kept, lost});
      set_integer(g.last(), "axis", 2);
      g.replace(past, wrong, first_new);
    }
  }};
}

}  // namespace assay::faults
