// SPDX-License-Identifier: Apache-2.0
#include "bench/plan/choices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/base/text.hpp"
#include "models/inputs/fixed_extents.hpp"
#include "models/inputs/input_axes.hpp"

namespace assay {
namespace {

// "[batch, 3, 224, 224]"; "" if every open extent is the batch or the sequence.
std::string chosen_shape(const ModelValue& input, const FixedExtents& fixed, ExtentBinder& binder) {
  std::vector<std::string> extents;
  bool chosen = false;
  for (std::size_t axis = 0; axis < input.shape.size(); ++axis) {
    const std::optional<BoundExtent> bound = binder.bind(input, axis);
    if (!bound) return {};
    extents.push_back(bound->batch ? "batch" : bound->sequence ? "sequence" : std::to_string(bound->extent));
    chosen |= input.shape[axis] < 0 && !bound->batch && !bound->sequence && fixed.find(input, axis) == nullptr;
  }
  return chosen ? "[" + join(extents, ", ") + "]" : std::string();
}

// Whether --shape or --dim fixes the sequence length.
bool is_given_length(const PreparedModel& model, const Task& task) {
  const Result<Signature>* signature = model.signature_for(task.engine, task.load.device_id);
  return signature != nullptr && *signature && (*signature)->fixed_sequence;
}

// Why a task has a shorter sequence than the default.
std::string why_cut(const PreparedModel& model, const Task& task) {
  std::string positions = fmt::format("the model has {} positions", *model.max_sequence);
  if (!task.generation || !model.generation || !model.generation->prompt_in_states) return positions;
  const std::int64_t image = task.generation->prompt_tokens - task.shape.sequence;
  return fmt::format("{}, and {} output tokens{} need some of them", positions, task.shape.output_tokens,
                     image > 0 ? fmt::format(" and {} image tokens", image) : "");
}

// "128 and 512".
std::string longer_than(std::int64_t length, std::span<const std::int64_t> lengths) {
  std::vector<std::string> words;
  for (const std::int64_t each : lengths)
    if (each > length) words.push_back(std::to_string(each));
  return join(words, " and ");
}

}  // namespace

std::vector<std::string> silent_choices(const PreparedModel& model, std::span<const Task> tasks,
                                        const RunSettings& settings) {
  std::vector<std::string> notes;
  const std::string& name = model.choice.name;
  const bool runs = std::ranges::any_of(tasks, &Task::runs);
  if (!runs) return notes;
  if (model.identity.weights == Weights::kSeeded && !model.note_is_of_weights)
    notes.push_back(name +
                    ": random weights, because no checkpoint was given (a Hugging Face id selects one): times are "
                    "valid, accuracy is unknown");
  const bool has_sequence =
      std::ranges::any_of(model.signatures, [](const auto& each) { return each.second && each.second->uses_sequence; });
  if (settings.default_lengths && model.max_sequence && has_sequence) {
    std::map<std::int64_t, std::string> reasons;  // by length
    for (const Task& task : tasks)
      if (task.runs() && !is_given_length(model, task) &&
          std::ranges::find(settings.sequence_lengths, task.shape.sequence) == settings.sequence_lengths.end())
        reasons.emplace(task.shape.sequence, why_cut(model, task));
    for (const auto& [length, reason] : reasons)
      notes.push_back(fmt::format("{}: sequence length {} instead of {}: {}", name, length,
                                  longer_than(length, settings.sequence_lengths), reason));
  }
  if (settings.kv_cache != KvCache::kGrowing && !model.generation)
    notes.push_back(fmt::format("{}: --kv-cache {} has no effect: no tokens are generated with this model", name,
                                to_string(settings.kv_cache)));
  std::set<std::string> only_static;
  for (const Task& task : tasks)
    if (settings.default_kv_cache && task.runs() && task.variant && task.row.kv_cache == KvCache::kStatic)
      only_static.insert(task.row.engine);
  if (!only_static.empty() && settings.kv_cache == KvCache::kGrowing)
    notes.push_back(fmt::format(
        "{}: {} {} static KV caches only, and the other engines get growing ones: --kv-cache static compares them",
        name, join({only_static.begin(), only_static.end()}, " and "), only_static.size() == 1 ? "runs" : "run"));
  if (model.info && settings.data.empty() && !model.given) {
    const RunSettings own = settings_of(model.choice, settings);
    const FixedExtents fixed =
        fix_extents(*model.info, {own.shapes, own.extents}).value_or(FixedExtents{});  // checked before
    ExtentBinder binder(InputAxes{}, fixed);
    for (const ModelValue& input : model.info->inputs) {
      const std::string shape = chosen_shape(input, fixed, binder);
      if (shape.empty()) continue;
      ModelInfo alone;
      alone.inputs = {input};
      notes.push_back(fmt::format("{}: the input '{}' has open extents; it is given {}; other sizes: {}", name,
                                  one_line(input.name), shape, shape_options(alone, fixed, OpenExtents::kByRule)));
    }
  }
  return notes;
}

}  // namespace assay
