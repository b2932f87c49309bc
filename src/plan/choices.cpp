// SPDX-License-Identifier: Apache-2.0
#include "plan/choices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "inputs/input_axes.hpp"

namespace assay {
namespace {

// "[batch, 3, 224, 224]"; "" if every open extent is the batch or the sequence.
std::string chosen_shape(const ModelValue& input, ExtentBinder& binder) {
  std::vector<std::string> extents;
  bool chosen = false;
  for (std::size_t axis = 0; axis < input.shape.size(); ++axis) {
    const std::optional<BoundExtent> bound = binder.bind(input, axis);
    if (!bound) return {};
    extents.push_back(bound->batch ? "batch" : bound->sequence ? "sequence" : std::to_string(bound->extent));
    chosen |= input.shape[axis] < 0 && !bound->batch && !bound->sequence;
  }
  return chosen ? "[" + join(extents, ", ") + "]" : std::string();
}

}  // namespace

std::vector<std::string> silent_choices(const PreparedModel& model, std::span<const Task> tasks,
                                        const RunSettings& settings) {
  std::vector<std::string> notes;
  const std::string& name = model.choice.name;
  const bool runs = std::ranges::any_of(tasks, &Task::runs);
  if (!runs) return notes;
  if (model.identity.weights == "seeded" && model.note.find("random weights") == std::string::npos)
    notes.push_back(name +
                    ": random weights: the name of an architecture or of a folder without weights stands for no "
                    "checkpoint, a Hugging Face id does; times are valid, accuracy is unknown");
  const bool has_sequence =
      std::ranges::any_of(model.signatures, [](const auto& each) { return each.second && each.second->uses_sequence; });
  if (settings.default_lengths && model.max_sequence && has_sequence) {
    std::set<std::int64_t> lengths;
    for (const Task& task : tasks)
      if (task.runs() &&
          std::ranges::find(settings.sequence_lengths, task.shape.sequence) == settings.sequence_lengths.end())
        lengths.insert(task.shape.sequence);
    for (const std::int64_t length : lengths)
      notes.push_back(fmt::format("{}: sequence length {} instead of {}: the model has {} positions", name, length,
                                  settings.sequence_lengths.front(), *model.max_sequence));
  }
  if (model.info && settings.data.empty() && !model.given) {
    ExtentBinder binder(InputAxes{});
    for (const ModelValue& input : model.info->inputs)
      if (const std::string shape = chosen_shape(input, binder); !shape.empty())
        notes.push_back(
            fmt::format("{}: the input '{}' has open extents; it is given {}", name, one_line(input.name), shape));
  }
  return notes;
}

}  // namespace assay
