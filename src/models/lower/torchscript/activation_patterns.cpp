// SPDX-License-Identifier: Apache-2.0
// Activations that exporters write as several nodes.
#include <cmath>
#include <numbers>

#include "models/lower/torchscript/groups.hpp"
#include "models/lower/torchscript/patterns.hpp"

namespace assay::lowering {
namespace torchscript::activation_patterns {
namespace {

using graph::Node;

struct Matcher {
  const StaticProgram& program;
  const Readers& readers;
  std::vector<const Node*> nodes{};

  /// Whether `name` is a constant with one element, `expected` as its type has it.
  bool is(std::string_view name, double expected) const {
    const auto number = program.number(name);
    if (!number) return false;
    const double error = bit_width(program.dtype(name)) > 16 ? 1e-6 : 4e-3;
    return std::abs(*number - expected) <= error * std::abs(expected);
  }

  /// The node of that operator that makes `name` for one reader; it is then a part of the group.
  const Node* inner(std::string_view name, std::string_view op_type) {
    const Node* node = readers.maker_for_one(name, op_type);
    if (node != nullptr) nodes.push_back(node);
    return node;
  }

  /// The other input of a node that has two, one of which is `expected`.
  std::optional<std::string_view> beside(const Node& node, double expected) const {
    for (const std::size_t i : {0U, 1U})
      if (is(node.inputs[i], expected)) return node.inputs[1 - i];
    return std::nullopt;
  }

  /// Whether `name` is x times `factor`, by a product or a quotient.
  bool is_multiple(std::string_view name, std::string_view x, double factor) {
    if (const Node* quotient = inner(name, "Div"))
      return quotient->inputs[0] == x && is(quotient->inputs[1], 1 / factor);
    const Node* product = inner(name, "Mul");
    return product != nullptr && beside(*product, factor) == x;
  }

  /// The three factors of two products, the first of which only the second reads. Empty: more or fewer.
  std::vector<std::string_view> three_factors(const Node& product) {
    std::vector<std::string_view> factors;
    const Node* before = nullptr;
    for (const std::string_view factor : product.inputs) {
      const Node* maker = readers.maker_for_one(factor, "Mul");
      if (maker == nullptr) {
        factors.push_back(factor);
      } else if (before == nullptr) {
        before = maker;
      } else {
        return {};
      }
    }
    if (before == nullptr) return {};
    nodes.push_back(before);
    for (const std::string_view factor : before->inputs) {
      if (readers.maker_for_one(factor, "Mul") != nullptr) return {};
      factors.push_back(factor);
    }
    return factors;
  }
};

// 1 + erf(x / √2)
bool is_erf_part(Matcher& matcher, std::string_view name, std::string_view x) {
  const Node* sum = matcher.inner(name, "Add");
  const auto inner = sum == nullptr ? std::nullopt : matcher.beside(*sum, 1.0);
  const Node* erf = inner ? matcher.inner(*inner, "Erf") : nullptr;
  return erf != nullptr && matcher.is_multiple(erf->inputs[0], x, 1 / std::numbers::sqrt2);
}

// x³
bool is_cube(Matcher& matcher, std::string_view name, std::string_view x) {
  if (const Node* power = matcher.inner(name, "Pow")) return power->inputs[0] == x && matcher.is(power->inputs[1], 3.0);
  return false;
}

// 1 + tanh(√(2/π) (x + 0.044715 x³))
bool is_tanh_part(Matcher& matcher, std::string_view name, std::string_view x) {
  const Node* sum = matcher.inner(name, "Add");
  const auto inner = sum == nullptr ? std::nullopt : matcher.beside(*sum, 1.0);
  const Node* tanh = inner ? matcher.inner(*inner, "Tanh") : nullptr;
  const Node* scaled = tanh == nullptr ? nullptr : matcher.inner(tanh->inputs[0], "Mul");
  const auto bracket = scaled == nullptr ? std::nullopt : matcher.beside(*scaled, std::sqrt(2 * std::numbers::inv_pi));
  const Node* terms = bracket ? matcher.inner(*bracket, "Add") : nullptr;
  if (terms == nullptr || (terms->inputs[0] != x && terms->inputs[1] != x)) return false;
  const Node* cubic = matcher.inner(terms->inputs[terms->inputs[0] == x ? 1 : 0], "Mul");
  const auto cube = cubic == nullptr ? std::nullopt : matcher.beside(*cubic, 0.044715);
  return cube && is_cube(matcher, *cube, x);
}

TorchGroup group_of(const Matcher& matcher, const Node& node, std::string_view x, std::string_view name,
                    std::string_view more) {
  return {matcher.nodes, [&node, x, name, more](TorchWriter& writer) {
            writer.out(node,
                       more.empty() ? torch_call(name, writer.value(x)) : torch_call(name, writer.value(x), more));
          }};
}

// 0.5 · x · (1 + …)
TorchGroup gelu(const StaticProgram& program, const Readers& readers, const Node& node) {
  Matcher product{program, readers, {&node}};
  const std::vector<std::string_view> factors = product.three_factors(node);
  if (factors.empty()) return {};
  for (std::size_t half = 0; half < 3; ++half) {
    if (!product.is(factors[half], 0.5)) continue;
    for (const std::size_t turn : {1U, 2U}) {
      const std::string_view x = factors[(half + turn) % 3], part = factors[(half + 3 - turn) % 3];
      Matcher by_erf = product, by_tanh = product;
      if (is_erf_part(by_erf, part, x)) return group_of(by_erf, node, x, "gelu", "approximate=\"none\"");
      if (is_tanh_part(by_tanh, part, x)) return group_of(by_tanh, node, x, "gelu", "approximate=\"tanh\"");
    }
  }
  return {};
}

// x · sigmoid(x)
TorchGroup silu(const StaticProgram& program, const Readers& readers, const Node& node) {
  for (const std::size_t i : {0U, 1U}) {
    Matcher matcher{program, readers, {&node}};
    const Node* sigmoid = matcher.inner(node.inputs[i], "Sigmoid");
    if (sigmoid != nullptr && sigmoid->inputs[0] == node.inputs[1 - i])
      return group_of(matcher, node, node.inputs[1 - i], "silu", "");
  }
  return {};
}

}  // namespace
}  // namespace torchscript::activation_patterns

TorchGroup find_activation(const StaticProgram& program, const Readers& readers, const graph::Node& node) {
  if (!is_operator(node, "Mul") || !is_floating(program.dtype(node.outputs[0]))) return {};
  TorchGroup found = torchscript::activation_patterns::gelu(program, readers, node);
  return found.nodes.empty() ? torchscript::activation_patterns::silu(program, readers, node) : found;
}

}  // namespace assay::lowering
