// SPDX-License-Identifier: Apache-2.0
#include "models/lower/recurrent_activations.hpp"

#include <fmt/format.h>

#include <optional>

#include "core/base/text.hpp"
#include "models/lower/static_program.hpp"

namespace assay::lowering {
namespace {

// With the parameters that a node does not state.
std::optional<RecurrentActivation> standard_activation(std::string_view given) {
  const std::string name = assay::lower(given);
  for (const char* const plain : {"relu", "tanh", "sigmoid", "softsign", "softplus"})
    if (name == plain) return RecurrentActivation{name};
  if (name == "affine") return RecurrentActivation{name, 1, 0};
  if (name == "leakyrelu") return RecurrentActivation{name, 0.01};
  if (name == "thresholdedrelu" || name == "elu") return RecurrentActivation{name, 1};
  if (name == "scaledtanh") return RecurrentActivation{name, 1, 1};
  if (name == "hardsigmoid") return RecurrentActivation{name, 0.2, 0.5};
  return std::nullopt;
}

std::vector<std::string_view> usual_names(std::string_view layer) {
  if (layer == "LSTM") return {"Sigmoid", "Tanh", "Tanh"};
  if (layer == "GRU") return {"Sigmoid", "Tanh"};
  return {"Tanh"};
}

std::span<const float> parameters(const graph::Node& node, std::string_view name) {
  const graph::Attribute* attribute = node.attribute(name);
  const auto* given = attribute == nullptr ? nullptr : attribute->get<std::span<const float>>();
  return given == nullptr ? std::span<const float>() : *given;
}

}  // namespace

Result<std::vector<RecurrentActivation>> recurrent_activations(const graph::Node& node, std::size_t directions) {
  const std::vector<std::string_view> usual = usual_names(node.op_type);
  std::vector<std::string_view> names;
  if (const graph::Attribute* attribute = node.attribute("activations"); attribute != nullptr)
    if (const auto* given = attribute->get<std::vector<std::string_view>>()) names = *given;
  while (names.size() < directions * usual.size()) names.push_back(usual[names.size() % usual.size()]);
  const auto alphas = parameters(node, "activation_alpha"), betas = parameters(node, "activation_beta");
  std::vector<RecurrentActivation> all;
  for (std::size_t i = 0; i < directions * usual.size(); ++i) {
    auto known = standard_activation(names[i]);
    if (!known) return refuse(node, fmt::format("the activation {}", shown(names[i])));
    if (i < alphas.size()) known->alpha = double{alphas[i]};
    if (i < betas.size()) known->beta = double{betas[i]};
    all.push_back(*std::move(known));
  }
  return all;
}

}  // namespace assay::lowering
