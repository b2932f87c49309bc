// SPDX-License-Identifier: Apache-2.0
// Faults in layers.
#include <cmath>
#include <numbers>
#include <utility>

#include "fault_places.hpp"

namespace assay::faults {
namespace {

const onnx::AttributeProto* attribute(const onnx::NodeProto& node, std::string_view name) {
  for (const onnx::AttributeProto& found : node.attribute())
    if (found.name() == name) return &found;
  return nullptr;
}

// x + f(x), where f contains a product: the place of x among the inputs of the Add, or -1. Scores of attention to which
// a mask or a bias is added are not such a sum, although they depend on the mask of the layers before.
int residual_input(const GraphEditor& graph, int index) {
  const onnx::NodeProto& node = graph.node(index);
  if (node.op_type() != "Add" || node.input_size() != 2 || graph.leads_to_softmax(node.output(0))) return -1;
  for (int i = 0; i < 2; ++i) {
    if (graph.constant(node.input(i)) != nullptr || graph.constant(node.input(1 - i)) != nullptr) return -1;
    if (graph.computes_between(node.input(i), node.input(1 - i))) return i;
  }
  return -1;
}

const double kTanhScale = std::sqrt(2.0 / std::numbers::pi);
constexpr double kTanhCubic = 0.044715;

}  // namespace

onnx::AttributeProto& new_attribute(onnx::NodeProto& node, const char* name) {
  onnx::AttributeProto& made = *node.add_attribute();
  made.set_name(name);
  return made;
}

void set_integer(onnx::NodeProto& node, const char* name, std::int64_t value) {
  onnx::AttributeProto& made = new_attribute(node, name);
  made.set_type(onnx::AttributeProto::INT);
  made.set_i(value);
}

std::string scaled(GraphEditor& graph, const std::string& value, double factor) {
  return graph.add("Mul", {value, graph.scalar_like(factor, value)});
}

Places residual_sums(const GraphEditor& graph, bool branch) {
  Places places;
  for (int i = 0; i < graph.size(); ++i) {
    const int x = residual_input(graph, i);
    if (x < 0) continue;
    const int weaker = branch ? 1 - x : x;
    places.emplace_back([i, weaker](GraphEditor& g, double strength) {
      g.read(i, weaker, scaled(g, g.node(i).input(weaker), 1.0 - strength));
    });
  }
  return places;
}

Places biases(const GraphEditor& graph) {
  Places places;
  const auto add = [&](int index, int input) {
    places.emplace_back([index, input](GraphEditor& g, double strength) {
      g.read(index, input, scaled(g, g.node(index).input(input), 1.0 - strength));
    });
  };
  for (int i = 0; i < graph.size(); ++i) {
    const onnx::NodeProto& node = graph.node(i);
    if ((node.op_type() == "Gemm" || node.op_type() == "Conv") && node.input_size() > 2) add(i, 2);
    if (node.op_type() != "Add" || node.input_size() != 2) continue;
    for (int k = 0; k < 2; ++k) {
      const onnx::TensorProto* bias = graph.constant(node.input(k));
      if (bias == nullptr || bias->dims_size() != 1 || bias->dims(0) < 2) continue;
      if (graph.constant(node.input(1 - k)) == nullptr && graph.producer(node.input(1 - k)) >= 0) add(i, k);
    }
  }
  return places;
}

// Reshape to [., ., heads, .] before a Transpose: heads 0 and 1 change places.
Places heads(const GraphEditor& graph) {
  Places places;
  for (int i = 0; i < graph.size(); ++i) {
    if (graph.node(i).op_type() != "Transpose") continue;
    const int reshape = graph.producer(graph.node(i).input(0));
    if (reshape < 0 || graph.node(reshape).op_type() != "Reshape") continue;
    const std::vector<std::int64_t> shape = graph.integers(graph.node(reshape).input(1));
    const onnx::AttributeProto* perm = attribute(graph.node(i), "perm");
    if (shape.size() != 4 || shape[2] < 2 || perm == nullptr || perm->ints_size() != 4 || perm->ints(1) != 2) continue;
    places.emplace_back([i, count = shape[2]](GraphEditor& g, double strength) {
      std::vector<std::int64_t> order(static_cast<std::size_t>(count));
      for (std::size_t k = 0; k < order.size(); ++k) order[k] = static_cast<std::int64_t>(k);
      std::swap(order[0], order[1]);
      const std::string right = g.node(i).input(0);
      const std::string wrong = g.add("Gather", {right, g.list(order)});
      set_integer(g.last(), "axis", 2);
      g.read(i, 0, g.mix(right, wrong, strength));
    });
  }
  return places;
}

Places square_weights(const GraphEditor& graph) {
  Places places;
  for (int i = 0; i < graph.size(); ++i) {
    const onnx::NodeProto& node = graph.node(i);
    if (node.op_type() != "MatMul" && node.op_type() != "Gemm" && node.op_type() != "MatMulInteger") continue;
    const onnx::TensorProto* weight = graph.constant(node.input(1));
    if (weight == nullptr || weight->dims_size() != 2 || weight->dims(0) != weight->dims(1) || weight->dims(0) < 2)
      continue;
    places.emplace_back([i](GraphEditor& g, double strength) {
      const std::string right = g.node(i).input(1);
      const std::string wrong = g.add("Transpose", {right});
      g.read(i, 1, g.mix(right, wrong, g.node(i).op_type() == "MatMulInteger" ? 1.0 : strength));
    });
  }
  return places;
}

// The other form of GELU: x Φ(x) by erf instead of its approximation by tanh, and the reverse.
Places gelus(const GraphEditor& graph) {
  Places places;
  for (int i = 0; i < graph.size(); ++i) {
    const onnx::NodeProto& node = graph.node(i);
    if (node.op_type() == "Erf") {
      places.emplace_back([i](GraphEditor& g, double strength) {
        const int first_new = g.size();
        const std::string right = g.node(i).output(0), x = scaled(g, g.node(i).input(0), std::numbers::sqrt2);
        const std::string cube = g.add("Mul", {x, g.add("Mul", {x, x})});
        const std::string inner = g.add("Add", {x, scaled(g, cube, kTanhCubic)});
        const std::string wrong = g.add("Tanh", {scaled(g, inner, kTanhScale)});
        g.replace(right, g.mix(right, wrong, strength), first_new);
      });
    } else if (node.op_type() == "Tanh") {
      // Tanh(scale * (x + cubic * Pow(x, 3)))
      const int mul = graph.producer(node.input(0));
      if (mul < 0 || graph.node(mul).op_type() != "Mul") continue;
      int sum = graph.producer(graph.node(mul).input(0));
      if (sum < 0) sum = graph.producer(graph.node(mul).input(1));
      if (sum < 0 || graph.node(sum).op_type() != "Add") continue;
      std::string x;
      for (int k = 0; k < 2; ++k)
        if (graph.depends_on(graph.node(sum).input(1 - k), "Pow") &&
            graph.constant(graph.node(sum).input(k)) == nullptr)
          if (const int cubed = graph.producer(graph.node(sum).input(1 - k));
              cubed >= 0 && graph.node(cubed).op_type() == "Mul" && graph.producer(graph.node(cubed).input(0)) >= 0 &&
              graph.node(graph.producer(graph.node(cubed).input(0))).input(0) == graph.node(sum).input(k))
            x = graph.node(sum).input(k);
      if (x.empty()) continue;
      places.emplace_back([i, x](GraphEditor& g, double strength) {
        const int first_new = g.size();
        const std::string right = g.node(i).output(0);
        const std::string wrong = g.add("Erf", {scaled(g, x, 1.0 / std::numbers::sqrt2)});
        g.replace(right, g.mix(right, wrong, strength), first_new);
      });
    }
  }
  return places;
}

// The epsilon of a normalisation: an attribute, or the constant that is added to the mean of the squares.
Places epsilons(const GraphEditor& graph) {
  Places places;
  for (int i = 0; i < graph.size(); ++i) {
    const onnx::NodeProto& node = graph.node(i);
    if (attribute(node, "epsilon") != nullptr) {
      places.emplace_back([i](GraphEditor& g, double strength) {
        for (onnx::AttributeProto& found : *g.node(i).mutable_attribute())
          if (found.name() == "epsilon") found.set_f(static_cast<float>(found.f() * std::pow(1000.0, strength)));
      });
    } else if (node.op_type() == "Sqrt") {
      const int sum = graph.producer(node.input(0));
      if (sum < 0 || graph.node(sum).op_type() != "Add") continue;
      const int mean = graph.producer(graph.node(sum).input(0));
      if (mean < 0 || graph.node(mean).op_type() != "ReduceMean" ||
          graph.initializer(graph.node(sum).input(1)) == nullptr)
        continue;
      places.emplace_back([sum](GraphEditor& g, double strength) {
        g.read(sum, 1, scaled(g, g.node(sum).input(1), std::pow(1000.0, strength)));
      });
    }
  }
  return places;
}

// Results of products that saturate at a multiple of their root mean square. Strength: that multiple.
Places products(const GraphEditor& graph) {
  Places places;
  for (int i = 0; i < graph.size(); ++i) {
    const onnx::NodeProto& node = graph.node(i);
    // The result of QLinear operators is of 8 bits.
    if (!is_heavy(node.op_type()) || node.op_type().starts_with("QLinear") || graph.constant(node.input(1)) == nullptr)
      continue;
    places.emplace_back([i](GraphEditor& g, double multiple) {
      const int first_new = g.size();
      const std::string right = g.node(i).output(0);
      const std::string wide = g.add("Cast", {right});
      set_integer(g.last(), "to", onnx::TensorProto::FLOAT);
      const std::string mean = g.add("ReduceMean", {g.add("Mul", {wide, wide})});
      set_integer(g.last(), "keepdims", 0);
      const std::string most = g.add("Mul", {g.add("Sqrt", {mean}), g.scalar(multiple)});
      const std::string limit = g.add("CastLike", {most, right});
      const std::string low = g.add("Neg", {limit});
      g.replace(right, g.add("Max", {g.add("Min", {right, limit}), low}), first_new);
    });
  }
  return places;
}

}  // namespace assay::faults
