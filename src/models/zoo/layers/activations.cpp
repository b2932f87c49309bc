// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <functional>
#include <map>
#include <numbers>

#include "core/base/text.hpp"
#include "models/zoo/catalogue/config.hpp"
#include "models/zoo/layers/blocks.hpp"

namespace assay::zoo {
namespace {

using EmitActivation = std::function<Value(const Module&, const Value&)>;

// 0.5 x (1 + erf(x / √2)), in the order of nodes that exporters write and runtimes fuse.
Value gelu(const Module& at, const Value& x) {
  GraphBuilder& graph = at.graph();
  const Value erf = at.node("Erf", {at.node("Div", {x, graph.number(std::numbers::sqrt2_v<float>)})});
  const Value product = at.node("Mul", {x, at.node("Add", {erf, graph.number(1.0F)})});
  return at.node("Mul", {product, graph.number(0.5F)});
}

// 0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³)))
Value gelu_tanh(const Module& at, const Value& x) {
  GraphBuilder& graph = at.graph();
  const Value cube = at.node("Mul", {at.node("Pow", {x, graph.number(3.0F)}), graph.number(0.044715F)});
  const Value inner = at.node("Mul", {at.node("Add", {x, cube}), graph.number(0.7978845608F)});
  const Value bracket = at.node("Add", {at.node("Tanh", {inner}), graph.number(1.0F)});
  return at.node("Mul", {at.node("Mul", {x, graph.number(0.5F)}), bracket});
}

Value times_sigmoid(const Module& at, const Value& x, float factor) {
  const Value scaled = factor == 1.0F ? x : at.node("Mul", {x, at.graph().number(factor)});
  return at.node("Mul", {x, at.node("Sigmoid", {scaled})});
}

// 0.5 (1 + erf((x - 0.707107) / (0.282095 √2)))
Value laplace(const Module& at, const Value& x) {
  GraphBuilder& graph = at.graph();
  const Value shifted = at.node("Sub", {x, graph.number(0.707107F)});
  const Value erf = at.node("Erf", {at.node("Div", {shifted, graph.number(0.282095F * std::numbers::sqrt2_v<float>)})});
  return at.node("Mul", {at.node("Add", {erf, graph.number(1.0F)}), graph.number(0.5F)});
}

EmitActivation single(const std::string& op_type, const std::vector<Attribute>& attributes = {}) {
  return [=](const Module& at, const Value& x) { return at.node(op_type, {x}, attributes); };
}

EmitActivation clipped(const EmitActivation& before, float low, float high) {
  return [=](const Module& at, const Value& x) {
    return at.node("Clip", {before(at, x), at.graph().number(low), at.graph().number(high)});
  };
}

const std::map<std::string, EmitActivation>& activations() {
  static const std::map<std::string, EmitActivation> all = {
      {"gelu", gelu},
      {"gelu_10", clipped(gelu, -10.0F, 10.0F)},
      {"gelu_accurate", gelu_tanh},
      {"gelu_fast", gelu_tanh},
      {"gelu_new", gelu_tanh},
      {"gelu_python", gelu},
      {"gelu_python_tanh", gelu_tanh},
      {"gelu_pytorch_tanh", gelu_tanh},
      {"hardswish", single("HardSwish")},
      {"laplace", laplace},
      {"leaky_relu", single("LeakyRelu", {{"alpha", 0.01F}})},
      {"linear", [](const Module&, const Value& x) { return x; }},
      {"mish",
       [](const Module& at, const Value& x) {
         return at.node("Mul", {x, at.node("Tanh", {at.node("Softplus", {x})})});
       }},
      {"quick_gelu", [](const Module& at, const Value& x) { return times_sigmoid(at, x, 1.702F); }},
      {"relu", single("Relu")},
      {"relu2",
       [](const Module& at, const Value& x) {
         const Value positive = at.node("Relu", {x});
         return at.node("Mul", {positive, positive});
       }},
      {"relu6", clipped([](const Module&, const Value& x) { return x; }, 0.0F, 6.0F)},
      {"sigmoid", single("Sigmoid")},
      {"silu", [](const Module& at, const Value& x) { return times_sigmoid(at, x, 1.0F); }},
      {"swish", [](const Module& at, const Value& x) { return times_sigmoid(at, x, 1.0F); }},
      {"tanh", single("Tanh")},
  };
  return all;
}

}  // namespace

Result<Value> activation(const Module& at, const Value& input, const std::string& name, const std::string& key) {
  const auto found = activations().find(name);
  if (found != activations().end()) return found->second(at, input);
  std::vector<std::string> names;
  for (const auto& [known, emit] : activations()) names.push_back(known);
  return unsupported(key, sanitise(name), "built are " + join(names, ", "));
}

}  // namespace assay::zoo
