// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <string>

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>

#include "torch_optimise.hpp"

namespace assay::plugin {
namespace jit = torch::jit;
namespace {

std::optional<at::Tensor> constant_tensor(const jit::Value* value) {
  const auto known = jit::toIValue(value);
  if (!known || !known->isTensor()) return std::nullopt;
  return known->toTensor();
}

/// What one of oneDNN's operators says of this processor. False: this libtorch does not have the operator.
bool is_supported(const char* operator_name) {
  const auto found = c10::Dispatcher::singleton().findSchema({operator_name, ""});
  if (!found) return false;
  jit::Stack stack;
  found->callBoxed(&stack);
  return stack.back().toBool();
}

/// Whether oneDNN packs weights of this type on this processor.
bool packs(at::ScalarType type) {
  static const bool bfloat16 = is_supported("mkldnn::_is_mkldnn_bf16_supported");
  static const bool float16 = is_supported("mkldnn::_is_mkldnn_fp16_supported");
  return type == at::kFloat || (type == at::kBFloat16 && bfloat16) || (type == at::kHalf && float16);
}

bool can_be_packed(const at::Tensor& weight) {
  return weight.dim() == 2 && weight.layout() == at::kStrided && weight.device().is_cpu() && weight.numel() > 0 &&
         packs(weight.scalar_type());
}

at::Tensor packed(const at::Tensor& weight) {
  static const auto pack = c10::Dispatcher::singleton().findSchemaOrThrow("mkldnn::_reorder_linear_weight", "");
  jit::Stack stack{weight.contiguous(), c10::IValue()};
  pack.callBoxed(stack);
  return stack.back().toTensor();
}

/// A constant in oneDNN's own layout, which ordinary constants cannot be.
jit::Value* insert_packed(jit::Graph& graph, const at::Tensor& tensor) {
  jit::Node* const node = graph.insertNode(graph.create(jit::prim::ConstantMKLDNNTensor));
  node->t_(jit::attr::value, tensor);
  return node->output()->setType(c10::TensorType::get());
}

/// The only node that reads `value`, if it is a ReLU. oneDNN computes other activations together with the layer, too,
/// but on AVX2 it needs more time for GELU, SiLU and tanh than the layer and PyTorch's own operator one after the other
/// (bench/torch_linear.py).
jit::Node* relu_after(const jit::Value* value) {
  if (value->uses().size() != 1) return nullptr;
  jit::Node* const user = value->uses().front().user;
  return user->kind() == jit::aten::relu ? user : nullptr;
}

void pack_layer(jit::Graph& graph, jit::Node* layer, const at::Tensor& weight) {
  jit::WithInsertPoint before(layer);
  jit::Value* const packed_weight = insert_packed(graph, packed(weight));
  jit::Node* const relu = relu_after(layer->output());
  jit::Value* const made =
      graph.insert(c10::Symbol::fromQualString("mkldnn::_linear_pointwise"),
                   {layer->input(0), packed_weight, layer->input(2), relu != nullptr ? "relu" : "none",
                    c10::IValue(c10::impl::GenericList(c10::OptionalType::create(c10::NumberType::get()))), ""});
  jit::Node* const last = relu != nullptr ? relu : layer;
  last->output()->replaceAllUsesWith(made);
}

void pack_in(jit::Graph& graph, jit::Block* block) {
  for (auto it = block->nodes().begin(); it != block->nodes().end();) {
    jit::Node* const node = *it++;
    for (jit::Block* inner : node->blocks()) pack_in(graph, inner);
    if (node->kind() != jit::aten::linear) continue;
    const auto weight = constant_tensor(node->input(1));
    const bool has_bias = !jit::toIValue(node->input(2)).value_or(c10::IValue(0)).isNone();
    if (!weight || !can_be_packed(*weight) || (has_bias && !constant_tensor(node->input(2)))) continue;
    pack_layer(graph, node, *weight);
  }
}

}  // namespace

void pack_linear_layers(const std::shared_ptr<jit::Graph>& graph) {
  if (!at::globalContext().hasMKLDNN()) return;
  pack_in(*graph, graph->block());
  jit::EliminateDeadCode(graph);
}

}  // namespace assay::plugin
