// SPDX-License-Identifier: Apache-2.0
#include "stateful_patterns.hpp"

#include <openvino/op/add.hpp>
#include <openvino/op/concat.hpp>
#include <openvino/op/constant.hpp>
#include <openvino/op/convert.hpp>
#include <openvino/op/divide.hpp>
#include <openvino/op/gather.hpp>
#include <openvino/op/matmul.hpp>
#include <openvino/op/multiply.hpp>
#include <openvino/op/negative.hpp>
#include <openvino/op/scaled_dot_product_attention.hpp>
#include <openvino/op/softmax.hpp>
#include <openvino/op/transpose.hpp>
#include <openvino/op/util/read_value_base.hpp>
#include <openvino/op/variadic_split.hpp>

#include <optional>
#include <set>
#include <string_view>
#include <vector>

namespace stateful {
namespace {

constexpr std::int64_t kRank = 4;  // batch, heads, tokens, width

template <class Op>
std::shared_ptr<Op> node_of(const ov::Output<ov::Node>& value) {
  return std::dynamic_pointer_cast<Op>(value.get_node_shared_ptr());
}

bool has_one_use(const ov::Output<ov::Node>& value) { return value.get_target_inputs().size() == 1; }

std::optional<std::vector<double>> constant(const ov::Output<ov::Node>& value) {
  const auto node = node_of<ov::op::v0::Constant>(value);
  if (!node) return std::nullopt;
  return node->cast_vector<double>();
}

bool is_along_last_axis(const std::shared_ptr<ov::Node>& softmax) {
  std::int64_t axis = 0;
  if (const auto newer = std::dynamic_pointer_cast<ov::op::v8::Softmax>(softmax))
    axis = newer->get_axis();
  else if (const auto older = std::dynamic_pointer_cast<ov::op::v1::Softmax>(softmax))
    axis = static_cast<std::int64_t>(older->get_axis());
  else
    return false;
  return softmax->get_output_partial_shape(0).rank() == kRank && (axis == -1 || axis == kRank - 1);
}

// The keys of query · keys^T, [batch, heads, tokens, width]; no node if the product has another form.
ov::Output<ov::Node> keys_of(const ov::op::v0::MatMul& product) {
  ov::Output<ov::Node> keys = product.input_value(1);
  if (product.get_transpose_a()) return {};
  if (product.get_transpose_b()) return keys;
  const auto transposed = node_of<ov::op::v1::Transpose>(keys);
  if (!transposed || constant(transposed->input_value(1)) != std::vector<double>{0, 1, 3, 2}) return {};
  return transposed->input_value(0);
}

struct Scores {
  ov::Output<ov::Node> query, keys;
  double scale = 1;
  std::vector<ov::Output<ov::Node>> biases;
};

// Upwards from the input of a softmax: sums with biases, then factors, then the product.
std::optional<Scores> scores_of(ov::Output<ov::Node> value) {
  Scores scores;
  while (const auto sum = node_of<ov::op::v1::Add>(value)) {
    if (!has_one_use(value)) return std::nullopt;
    scores.biases.insert(scores.biases.begin(), sum->input_value(1));
    value = sum->input_value(0);
  }
  for (;;) {
    const bool product = node_of<ov::op::v1::Multiply>(value) != nullptr;
    if (!has_one_use(value)) return std::nullopt;
    if (!product && !node_of<ov::op::v1::Divide>(value)) break;
    const auto factor = constant(value.get_node()->input_value(1));
    if (!factor || factor->size() != 1) return std::nullopt;
    scores.scale = product ? scores.scale * factor->front() : scores.scale / factor->front();
    value = value.get_node()->input_value(0);
  }
  const auto product = node_of<ov::op::v0::MatMul>(value);
  if (!product) return std::nullopt;
  scores.query = product->input_value(0);
  scores.keys = keys_of(*product);
  if (scores.keys.get_node() == nullptr || scores.query.get_partial_shape().rank() != kRank) return std::nullopt;
  return scores;
}

ov::Output<ov::Node> sum_of(const std::vector<ov::Output<ov::Node>>& biases, const ov::element::Type& type) {
  if (biases.empty()) return ov::op::v0::Constant::create(type, {}, {0.0F});
  ov::Output<ov::Node> all = biases.front();
  for (std::size_t i = 1; i < biases.size(); ++i) all = std::make_shared<ov::op::v1::Add>(all, biases[i]);
  return all;
}

// Whether what follows the softmax is its product with values.
std::shared_ptr<ov::op::v0::MatMul> mixed_by(const std::shared_ptr<ov::Node>& softmax) {
  if (!has_one_use(softmax->output(0))) return nullptr;
  const ov::Input<ov::Node> use = *softmax->output(0).get_target_inputs().begin();
  auto product = std::dynamic_pointer_cast<ov::op::v0::MatMul>(use.get_node()->shared_from_this());
  const bool plain = product && use.get_index() == 0 && !product->get_transpose_a() && !product->get_transpose_b();
  return plain ? product : nullptr;
}

bool is_softmax(const ov::Node& node) {
  return dynamic_cast<const ov::op::v8::Softmax*>(&node) != nullptr ||
         dynamic_cast<const ov::op::v1::Softmax*>(&node) != nullptr;
}
bool is_product(const ov::Node& node) { return dynamic_cast<const ov::op::v0::MatMul*>(&node) != nullptr; }
bool is_variable(const ov::Node& node) { return dynamic_cast<const ov::op::util::ReadValueBase*>(&node) != nullptr; }

// The nodes of a kind that a value is computed from without another product, softmax or variable in between.
template <class Kind>
std::set<const ov::Node*> origins(const ov::Output<ov::Node>& value, Kind kind) {
  std::set<const ov::Node*> seen, found;
  std::vector<const ov::Node*> open{value.get_node()};
  while (!open.empty()) {
    const ov::Node* node = open.back();
    open.pop_back();
    if (!seen.insert(node).second) continue;
    if (kind(*node)) found.insert(node);
    const bool of_a_shape = std::string_view(node->get_type_info().name) == "ShapeOf";
    if (of_a_shape || is_product(*node) || is_softmax(*node) || is_variable(*node)) continue;
    for (const ov::Output<ov::Node>& input : node->input_values()) open.push_back(input.get_node());
  }
  return found;
}

}  // namespace

std::size_t fuse_attention(ov::Model& model) {
  std::size_t replaced = 0;
  for (const auto& softmax : model.get_ordered_ops()) {
    if (!is_along_last_axis(softmax)) continue;
    const auto mixed = mixed_by(softmax);
    const auto scores = scores_of(softmax->input_value(0));
    if (!mixed || !scores) continue;
    const ov::element::Type type = scores->query.get_element_type();
    const auto fused = std::make_shared<ov::op::v13::ScaledDotProductAttention>(
        scores->query, scores->keys, mixed->input_value(1), sum_of(scores->biases, type),
        ov::op::v0::Constant::create(type, {}, {scores->scale}), false);
    fused->set_friendly_name(mixed->get_friendly_name());
    ov::replace_node(mixed, fused);
    ++replaced;
  }
  return replaced;
}

void normalise_rotary(ov::Model& model) {
  for (const auto& node : model.get_ordered_ops()) {
    if (const auto split = std::dynamic_pointer_cast<ov::op::v1::VariadicSplit>(node)) {
      const auto axis = constant(split->input_value(1));
      if (axis == std::vector<double>{-1} && split->get_input_partial_shape(0).rank() == kRank)
        split->set_argument(1, ov::op::v0::Constant::create(ov::element::i64, {}, {kRank - 1}));
    } else if (const auto negative = std::dynamic_pointer_cast<ov::op::v0::Negative>(node)) {
      if (!negative->get_element_type().is_real()) continue;
      const auto product = std::make_shared<ov::op::v1::Multiply>(
          negative->input_value(0), ov::op::v0::Constant::create(negative->get_element_type(), {}, {-1.0F}));
      product->set_friendly_name(negative->get_friendly_name());
      ov::replace_node(negative, product);
    }
  }
}

void reorder_by_beam(ov::Model& model, const ov::Output<ov::Node>& beams) {
  for (const auto& node : model.get_ordered_ops()) {
    const auto read = std::dynamic_pointer_cast<ov::op::util::ReadValueBase>(node);
    if (!read || read->get_output_partial_shape(0).rank() != kRank) continue;
    for (ov::Input<ov::Node> use : read->output(0).get_target_inputs()) {
      if (dynamic_cast<ov::op::v0::Concat*>(use.get_node()) == nullptr || use.get_index() != 0) continue;
      use.replace_source_output(
          std::make_shared<ov::op::v8::Gather>(read, beams, ov::op::v0::Constant::create(ov::element::i64, {}, {0})));
    }
  }
}

std::size_t attentions_with_cache(const ov::Model& model) {
  std::size_t found = 0;
  for (const auto& node : model.get_ordered_ops()) {
    if (!is_softmax(*node)) continue;
    bool cached = false;
    for (const ov::Node* product : origins(node->input_value(0), is_product))
      for (const ov::Output<ov::Node>& factor : product->input_values())
        cached = cached || !origins(factor, is_variable).empty();
    if (cached) ++found;
  }
  return found;
}

std::size_t fused_with_cache(const ov::CompiledModel& compiled) {
  const auto layer_type = [](const ov::Node& node) {
    const auto type = node.get_rt_info().find("layerType");
    return type == node.get_rt_info().end() ? std::string() : type->second.as<std::string>();
  };
  std::size_t fused = 0;
  for (const auto& node : compiled.get_runtime_model()->get_ops()) {
    if (layer_type(*node) != "ScaledDotProductAttention") continue;
    std::size_t caches = 0;
    for (const ov::Output<ov::Node>& input : node->input_values())
      caches += layer_type(*input.get_node()) == "MemoryInput" ? 1 : 0;
    if (caches == 2) ++fused;
  }
  return fused;
}

}  // namespace stateful
