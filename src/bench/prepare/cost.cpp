// SPDX-License-Identifier: Apache-2.0
#include "bench/prepare/cost.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/log.hpp"

namespace assay {

double RunCost::counted() const {
  return steps > 0 && steps_known ? std::min(first.counted, step.counted) : first.counted;
}

std::uint64_t RunCost::activation_bytes() const {
  return std::max(first.peak_activation_bytes, step.peak_activation_bytes);
}

const Result<StaticModel>& GraphCosts::graph(const std::filesystem::path& file) {
  const auto known = graphs_.find(file);
  return known != graphs_.end() ? known->second : graphs_.emplace(file, StaticModel::open(file)).first->second;
}

const Result<StaticGraph>& GraphCosts::inferred(const std::filesystem::path& file,
                                                const std::map<std::string, Shape>& shapes) {
  if (latest_ && latest_->file == file && latest_->shapes == shapes) return latest_->graph;
  const Result<StaticModel>& opened = graph(file);
  Result<StaticGraph> graph = opened ? opened->infer(shapes) : tl::unexpected<Error>(opened.error());
  return latest_.emplace(Inferred{file, shapes, std::move(graph)}).graph;
}

const Result<StaticCost>& GraphCosts::at(const std::filesystem::path& file, const std::vector<InputRecipe>& inputs) {
  std::string key = file.string();
  for (const InputRecipe& input : inputs) key += fmt::format(" {}{}", input.name, to_string(input.shape));
  if (const auto known = costs_.find(key); known != costs_.end()) return known->second;
  std::map<std::string, Shape> shapes;
  for (const InputRecipe& input : inputs) shapes[input.name] = input.shape;
  const Result<StaticGraph>& graph = inferred(file, shapes);
  Result<StaticCost> cost = StaticCost{};
  if (graph)
    cost = graph->cost();
  else
    cost = tl::unexpected<Error>(graph.error());
  if (!cost) log_debug("{}: no FLOPs: {}", file.string(), cost.error().message);
  return costs_.emplace(key, std::move(cost)).first->second;
}

Result<RunCost> GraphCosts::run(const std::filesystem::path& file, const std::vector<InputRecipe>& inputs,
                                const InputAxes& axes, const GenerationGraphs* graphs, std::int64_t prompt_tokens,
                                std::int64_t output_tokens) {
  RunCost cost;
  ASSAY_TRY(cost.first, at(file, inputs));
  if (graphs == nullptr || output_tokens < 2) return cost;
  cost.steps = output_tokens - 1;
  cost.steps_known = false;
  // Each token of the past adds the same: the mean step is that of the mean past, between two where their number is
  // even.
  std::vector<StaticCost> middle;
  for (const std::int64_t past : {(cost.steps - 1) / 2, cost.steps / 2}) {
    const Result<ModelInputs> made = step_inputs(*graphs, axes, prompt_tokens + past);
    if (!made) return cost;
    const Result<StaticCost>& step = at(graphs->step_info.path, made->recipes);
    if (!step) return cost;
    middle.push_back(*step);
  }
  cost.step = middle.back();
  cost.step.flops = (middle[0].flops + middle[1].flops) / 2;
  cost.step.bytes = (middle[0].bytes + middle[1].bytes) / 2;
  cost.steps_known = true;
  return cost;
}

}  // namespace assay
