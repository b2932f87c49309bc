// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/layers/layers.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/zoo/catalogue/architecture.hpp"
#include "models/zoo/layers/tensors.hpp"

namespace assay::zoo {
namespace {

Value scaled(const Module& layer, const Value& input, const std::string& name, std::int64_t hidden) {
  return name.empty() ? input : layer.node("Mul", {input, layer.parameter(name, {hidden}, Role::kScale)});
}

// Rows [first, first + out) of a stacked [total, in] projection.
Value stacked_linear(const Module& at, const Value& input, std::int64_t hidden, std::int64_t part,
                     std::string_view suffix) {
  const auto first = static_cast<std::size_t>(part * hidden);
  const auto width = static_cast<std::size_t>(hidden);
  const Value weight = at.derived_parameter("in_proj_weight", {3 * hidden, hidden}, Role::kWeight, suffix,
                                            {hidden, hidden}, [first, width](const std::vector<float>& all) {
                                              std::vector<float> transposed(width * width);
                                              for (std::size_t row = 0; row < width; ++row) {
                                                for (std::size_t column = 0; column < width; ++column) {
                                                  transposed[column * width + row] =
                                                      all[(first + row) * width + column];
                                                }
                                              }
                                              return transposed;
                                            });
  const Value bias = at.derived_parameter(
      "in_proj_bias", {3 * hidden}, Role::kBias, suffix, {hidden}, [first, width](const std::vector<float>& all) {
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
        return std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(width));
      });
  return at.node("Add", {at.node("MatMul", {input, weight}), bias});
}

}  // namespace

Result<LayerSizes> layer_sizes(const Config& config) {
  LayerSizes sizes;
  sizes.hidden = config.integer("hidden_size");
  sizes.intermediate = config.has("intermediate_size") ? config.integer("intermediate_size") : 0;
  sizes.heads.count = config.integer("num_attention_heads");
  sizes.epsilon = config.number("layer_norm_eps");
  sizes.act = config.text("hidden_act");
  sizes.act_key = config.path("hidden_act");
  if (config.has("qkv_bias")) {
    sizes.query_bias = sizes.key_bias = sizes.value_bias = config.flag("qkv_bias");
  }
  const std::optional<std::int64_t> width = config.has("head_dim") ? config.optional_integer("head_dim") : std::nullopt;
  if (width) {
    sizes.heads.width = *width;
  } else {
    ASSAY_TRY(sizes.heads.width, head_width(sizes.hidden, sizes.heads.count));
  }
  return sizes;
}

Value self_attention(const Module& layer, const Value& input, const LayerNames& names, const LayerSizes& sizes,
                     const LayerHooks& hooks) {
  const std::int64_t inner = sizes.heads.count * sizes.heads.width;
  const Width in{sizes.hidden, inner};
  Value query = linear(layer.at(names.query), input, in, sizes.query_bias);
  Value key = linear(layer.at(names.key), input, in, sizes.key_bias);
  const Value value = linear(layer.at(names.value), input, in, sizes.value_bias);
  const std::size_t dot = names.query.rfind('.');
  const Module place = dot == std::string::npos ? layer : layer.at(names.query.substr(0, dot));
  if (hooks.rotate) {
    query = hooks.rotate(place, query);
    key = hooks.rotate(place, key);
  }
  const Value mixed = scaled_dot_product(place, query, key, value, sizes.heads, hooks.mask);
  return linear(layer.at(names.out), mixed, {inner, sizes.hidden}, sizes.out_bias);
}

Result<Value> plain_mlp(const Module& layer, const Value& input, const LayerNames& names, const LayerSizes& sizes) {
  const Module up = layer.at(names.up);
  const Value wide = linear(up, input, {sizes.hidden, sizes.intermediate});
  ASSAY_TRY(const Value active, activation(up, wide, sizes.act, sizes.act_key));
  return linear(layer.at(names.down), active, {sizes.intermediate, sizes.hidden});
}

Result<Value> pre_norm_layer(const Module& layer, const Value& input, const LayerNames& names, const LayerSizes& sizes,
                             const LayerHooks& hooks) {
  const Value normed = layer_norm(layer.at(names.norm1), input, sizes.hidden, sizes.epsilon);
  const Value attention = self_attention(layer, normed, names, sizes, hooks);
  const Value attended = layer.node("Add", {scaled(layer, attention, names.scale1, sizes.hidden), input});
  const Value again = layer_norm(layer.at(names.norm2), attended, sizes.hidden, sizes.epsilon);
  ASSAY_TRY(const Value mlp, hooks.mlp ? hooks.mlp(layer, again) : plain_mlp(layer, again, names, sizes));
  return layer.node("Add", {scaled(layer, mlp, names.scale2, sizes.hidden), attended});
}

Value multihead_attention(const Module& at, const Value& query, const Value& memory, std::int64_t hidden, Heads heads) {
  const Value q = stacked_linear(at, query, hidden, 0, "query");
  const Value k = stacked_linear(at, memory, hidden, 1, "key");
  const Value v = stacked_linear(at, memory, hidden, 2, "value");
  return linear(at / "out_proj", scaled_dot_product(at, q, k, v, heads, std::nullopt), {hidden, hidden});
}

}  // namespace assay::zoo
