// SPDX-License-Identifier: Apache-2.0
#include "bench/run/complete.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "bench/measure/environment.hpp"
#include "bench/plan/row.hpp"
#include "bench/prepare/estimate.hpp"
#include "core/base/text.hpp"
#include "core/result/hardware_words.hpp"
#include "models/inputs/fixed_extents.hpp"

namespace assay {
namespace {

bool same_shapes(const std::vector<InputRecipe>& a, const std::vector<InputRecipe>& b) {
  return std::ranges::equal(a, b, [](const InputRecipe& x, const InputRecipe& y) {
    return x.name == y.name && x.dtype == y.dtype && x.shape == y.shape;
  });
}

// The extents of the inputs by the symbols of the model's file. A symbol that could not be written as "NAME=1", or that
// stands for two extents, stays open.
std::map<std::string, std::int64_t> extents_of(const ModelInfo& info, const std::vector<InputRecipe>& inputs,
                                               bool& all) {
  std::map<std::string, std::int64_t> extents;
  std::set<std::string> refused;
  for (const ModelValue& value : info.inputs) {
    const auto input = std::ranges::find(inputs, value.name, &InputRecipe::name);
    if (input == inputs.end() || !value.has_rank || input->shape.size() != value.shape.size()) {
      all = false;
      continue;
    }
    for (std::size_t axis = 0; axis < value.shape.size(); ++axis) {
      if (value.shape[axis] >= 0) continue;
      const std::string symbol = axis < value.symbols.size() ? value.symbols[axis] : "";
      if (symbol.empty() || symbol.find_first_of("=;") != std::string::npos) {
        all = false;
      } else if (!extents.emplace(symbol, input->shape[axis]).second && extents[symbol] != input->shape[axis]) {
        refused.insert(symbol);
      }
    }
  }
  for (const std::string& symbol : refused) extents.erase(symbol);
  all = all && refused.empty();
  return extents;
}

constexpr double kCostlyFlops = 30e9;
constexpr std::size_t kSetsOfCostly = 2;

}  // namespace

std::size_t input_sets_of(std::size_t wanted, std::optional<double> flops) {
  return flops.value_or(0) > kCostlyFlops ? std::min(wanted, kSetsOfCostly) : wanted;
}

void TaskCompleter::complete(Task& task) {
  if (!task.runs()) return;
  if (const Status added = add_inputs(task); !added) set_failure(task.row, task, added.error());
}

std::string TaskCompleter::images_note() const {
  if (images_ == 0) return {};
  return fmt::format(
      "{}: the inputs are images of '{}', the first {} of {} in the order of their paths, preprocessed {}",
      model_.choice.name, axes_.data.string(), images_, images_found_,
      images_as_.empty() ? std::string("as for ImageNet: the model has no preprocessor_config.json")
                         : fmt::format("as '{}' says", images_as_.string()));
}

Status TaskCompleter::add_inputs(Task& task) {
  const Result<Signature>* signature = model_.signature_for(task.engine, task.load.device_id);
  ASSAY_CHECK(signature != nullptr && *signature, "tasks that run are planned with a signature");
  const ModelInfo& info = (*signature)->info;
  const InputAxes axes = axes_of(task.shape);
  ASSAY_TRY(ModelInputs inputs, task.generation ? prompt_inputs(info, axes) : make_inputs(info, axes));
  task.inputs = std::move(inputs.recipes);
  images_ = std::max(images_, inputs.images);
  images_found_ = std::max(images_found_, inputs.images_found);
  if (inputs.images > 0) images_as_ = std::move(inputs.images_as);
  use_given(task);
  set_shape_hint(task, info);
  const std::optional<std::uint64_t> activation_bytes = set_cost(task);
  task.input_sets = input_sets_of(task.input_sets, task.row.flops);
  ASSAY_TRY(const std::string hash, input_hash(task.inputs, task.seed, task.input_sets));
  set_shape(task.row, task.shape, inputs.uses_sequence);
  set_inputs(task.row, task.inputs, hash);
  if (task.variant) {
    const CacheVariant& variant = variant_of(task);
    task.variant->inputs =
        variant.own_prompt ? task.inputs : cache_graph_inputs(variant.info, task.variant->generation, task.inputs);
  }
  if (task.static_shapes && !task.artefact.empty()) ASSAY_CHECK_OK(fix_shapes(task, info));
  ASSAY_CHECK_OK(check_lowered(task));
  if (!task.load.shape_options.empty()) fix_extents(task, info);
  if (activation_bytes) refuse_too_large(task, *activation_bytes);
  return {};
}

const CacheVariant& TaskCompleter::variant_of(const Task& task) const {
  const Result<CacheVariant>* variant = model_.variant_for(task.engine);
  ASSAY_CHECK(variant != nullptr && *variant, "tasks with a variant are planned with one");
  return **variant;
}

// The shapes of the files that a static engine gets: with a static KV cache, one for the prompt and one for the steps.
Status TaskCompleter::fix_shapes(Task& task, const ModelInfo& info) const {
  const bool caches = task.variant && task.variant->generation.cache_tokens > 0;
  for (const InputRecipe& input : task.variant ? task.variant->inputs : task.inputs)
    task.artefact.shapes[input.name] = input.shape;
  if (!caches) return {};
  const CacheVariant& variant = variant_of(task);
  const Generation& generation = task.variant->generation;
  const auto shapes = [&](std::int64_t tokens) {
    return cache_graph_shapes(variant.info, generation, info, task.inputs, tokens);
  };
  ASSAY_TRY(task.artefact.step_shapes, shapes(1));
  if (variant.own_prompt) return {};
  ASSAY_TRY(task.artefact.shapes, shapes(generation.prompt_tokens));
  return {};
}

// Before anything runs: no reference is made for a model with an operator that the dialect lacks.
Status TaskCompleter::check_lowered(const Task& task) {
  if (!task.artefact.lowered_to) return {};
  const auto check = [&](const std::filesystem::path& file, const std::map<std::string, Shape>& shapes) -> Status {
    const Result<StaticModel>& model = costs_.graph(file);
    if (!model) return tl::unexpected<Error>(model.error());
    const Result<StaticGraph>& graph = costs_.inferred(file, shapes);
    if (!graph) return tl::unexpected<Error>(graph.error());
    return lowering::check_lowering(*model, *graph, *task.artefact.lowered_to);
  };
  const CacheVariant* variant = task.variant ? &variant_of(task) : nullptr;
  const bool one_graph = variant != nullptr && !variant->own_prompt;
  ASSAY_CHECK_OK(check(one_graph ? variant->info.path : model_.graph, task.artefact.shapes));
  return task.artefact.step_shapes.empty() ? Status() : check(variant->info.path, task.artefact.step_shapes);
}

void TaskCompleter::fix_extents(Task& task, const ModelInfo& info) {
  bool all = true;
  std::string text;
  for (const auto& [symbol, extent] : extents_of(info, task.inputs, all))
    text += fmt::format("{}{}={}", text.empty() ? "" : ";", symbol, extent);
  if (!all) task.row.shapes = ShapesForm::kOpen;
  if (text.empty())
    task.load.shape_options.clear();
  else
    task.load.shape_options.front().second = std::move(text);
}

// Inputs and outputs that came with the model are used if they fit.
void TaskCompleter::use_given(Task& task) const {
  if (!model_.given) return;
  if (!same_shapes(model_.given->inputs, task.inputs)) {
    task.reference.given_note = fmt::format("the outputs given with the model are for {}, not for this shape",
                                            input_shape_text(model_.given->inputs));
    return;
  }
  task.inputs = model_.given->inputs;
  task.reference.given_outputs = model_.given->outputs;
  task.row.data_source = model_.given->folder.string();
}

// Also of extents that were given: those may be wrong.
void TaskCompleter::set_shape_hint(Task& task, const ModelInfo& info) const {
  if (task.generation || !axes_.data.empty()) return;
  const std::string options = shape_options(with_given_ranks(info, axes_.given), {}, OpenExtents::kEvery);
  if (!options.empty())
    task.shape_hint = fmt::format("the file leaves extents open, and the inputs were {}; other sizes: {}",
                                  input_shape_text(task.inputs), options);
}

// FLOPs and bytes of one inference, if the graph says them; for a generative model, of a whole generation.
std::optional<std::uint64_t> TaskCompleter::set_cost(Task& task) {
  if (model_.graph.empty()) return std::nullopt;
  const bool generates = task.generation.has_value();
  const Result<RunCost> cost =
      costs_.run(model_.graph, task.inputs, axes_of(task.shape), generates ? &*model_.generation : nullptr,
                 generates ? task.generation->prompt_tokens : 0, generates ? task.generation->output_tokens : 0);
  if (!cost) {
    if (cost.error().code == ErrorCode::kInvalidArgument) task.contradiction = cost.error();
    return std::nullopt;
  }
  if (!cost->steps_known) return cost->activation_bytes();
  task.row.flops = cost->flops();
  task.row.bytes = cost->bytes();
  task.row.flops_counted = cost->counted();
  return cost->activation_bytes();
}

// The smallest cell of the model fits into memory, or the model would have been refused; one with a large batch may
// not. It would be stopped by the kernel, or make the machine swap.
void TaskCompleter::refuse_too_large(Task& task, std::uint64_t activation_bytes) const {
  if (!is_any(task.row.hardware, {"cpu", "wasm", kOpenvinoWord})) return;  // the memory of a device is its own
  const std::uint64_t weight_bytes = model_.info ? model_.info->weight_bytes : 0;
  const auto why = memory_shortfall(weight_bytes, activation_bytes, free_memory());
  if (!why) return;
  set_refusal(task.row,
              {CellStatus::kSkipped, Reason::kTooLarge, fmt::format("batch size {}: {}", task.shape.batch, *why),
               "use a smaller batch size or a shorter sequence"});
}

}  // namespace assay
