// SPDX-License-Identifier: Apache-2.0
#include "torch_optimise.hpp"

#include <algorithm>
#include <utility>

#include <torch/csrc/jit/passes/common_subexpression_elimination.h>
#include <torch/csrc/jit/passes/constant_pooling.h>
#include <torch/csrc/jit/passes/constant_propagation.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/csrc/jit/passes/freeze_module.h>
#include <torch/csrc/jit/passes/frozen_graph_optimizations.h>
#include <torch/csrc/jit/passes/frozen_ops_to_mkldnn.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/passes/peephole.h>

#include "torch_values.hpp"

namespace assay::plugin {
namespace jit = torch::jit;
namespace {

void simplify(std::shared_ptr<jit::Graph>& graph) {
  jit::PeepholeOptimize(graph);
  jit::ConstantPropagation(graph);
  jit::EliminateCommonSubexpression(graph);
  jit::EliminateDeadCode(graph);
}

}  // namespace

std::vector<Donation> scatter_in_place(jit::Graph& graph, std::size_t count) {
  std::vector<Donation> donated;
  if (graph.outputs().size() != 1 || graph.outputs()[0]->node()->kind() != jit::prim::TupleConstruct) return donated;
  const auto returned = graph.outputs()[0]->node()->inputs();
  // With a list or None in it, the numbers of the outputs are others.
  if (std::ranges::any_of(returned,
                          [](const jit::Value* each) { return each->type()->kind() != c10::TypeKind::TensorType; }))
    return donated;
  const auto inputs = graph.inputs().slice(1, count);
  for (std::size_t output = 0; output < returned.size(); ++output) {
    jit::Node* const scatter = returned[output]->node();
    if (!scatter->matches("aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor") ||
        scatter->owningBlock() != graph.block())
      continue;
    const auto input = std::ranges::find(inputs, scatter->input(0));
    if (input == inputs.end() || (*input)->uses().size() != 1) continue;
    jit::WithInsertPoint before(scatter);
    jit::Value* const written =
        graph.insert(jit::aten::scatter_, {scatter->input(0), scatter->input(1), scatter->input(2), scatter->input(3)});
    scatter->output()->replaceAllUsesWith(written);
    scatter->destroy();
    donated.push_back({static_cast<std::size_t>(input - inputs.begin()), output});
  }
  return donated;
}

Result<TorchCode> compile(const jit::Module& module, const std::string& how) {
  try {
    jit::Module ready = how == "none" ? module : jit::freeze_module(module);
    std::shared_ptr<jit::Graph> graph = ready.get_method("forward").graph()->copy();
    jit::Inline(*graph);
    if (how != "none") {
      simplify(graph);
      jit::OptimizeFrozenGraph(graph);
    }
    if (how == "inference") {
      pack_linear_layers(graph);
      jit::ConvertFrozenOpsToMKLDNN(graph);
      simplify(graph);
    }
    jit::ConstantPooling(graph);
    std::vector<c10::IValue> defaults;
    for (const c10::Argument& argument : module.get_method("forward").function().getSchema().arguments())
      if (argument.default_value()) defaults.push_back(*argument.default_value());
    std::vector<Donation> donated;
    if (how != "none") donated = scatter_in_place(*graph, graph->inputs().size() - 1 - defaults.size());
    return TorchCode{jit::Code(graph, "forward"), ready._ivalue(), std::move(defaults), std::move(donated)};
  } catch (const std::exception& thrown) {
    return torch_error(thrown, ErrorCode::kInternal, "libtorch cannot prepare the model");
  }
}

}  // namespace assay::plugin
