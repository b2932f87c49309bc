// SPDX-License-Identifier: Apache-2.0
#include "bench/plan/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/plan/row.hpp"
#include "core/base/text.hpp"
#include "models/onnx/honest_graph.hpp"

namespace assay {
namespace {

std::vector<CellShape> shapes_of(const RunSettings& settings, const Signature& signature, bool generates) {
  std::vector<std::int64_t> batches = settings.batch_sizes;
  // A file with a fixed batch runs at that batch; each other requested batch has a row that says so.
  if (const auto fixed = signature.fixed_batch) {
    if (settings.default_batches) batches = {*fixed};
    if (std::ranges::find(batches, *fixed) == batches.end()) {
      batches.push_back(*fixed);
      std::ranges::sort(batches);
    }
  }
  const std::vector<std::int64_t> one_length{signature.fixed_sequence.value_or(CellShape{}.sequence)}, no_tokens{0};
  const bool has_lengths = signature.uses_sequence && !signature.fixed_sequence;
  std::vector<CellShape> shapes;
  for (const std::int64_t threads : settings.threads)
    for (const std::int64_t streams : settings.streams)
      for (const std::int64_t batch : batches)
        for (const std::int64_t length : has_lengths ? settings.sequence_lengths : one_length)
          for (const std::int64_t tokens : generates ? settings.output_tokens : no_tokens)
            shapes.push_back({batch, length, tokens, streams, threads});
  return shapes;
}

// A default length is reduced to the positions that the model has: of two that are longer, one remains.
void cut_length(CellShape& shape, const PreparedModel& model, const ModelInfo& info, const RunSettings& settings) {
  if (!settings.default_lengths || !model.max_sequence) return;
  std::int64_t most = *model.max_sequence;
  if (model.generation && model.generation->prompt_in_states)
    most -= model.generation->prompt_tokens(info, 0) + shape.output_tokens - 1;
  shape.sequence = std::max<std::int64_t>(1, std::min(shape.sequence, most));
}

// The floating type of a model file, as engines read it: the least exact one of its inputs and outputs, since a result
// may be converted to a more exact type at the end.
DType own_arithmetic(const ModelInfo& info) {
  for (const DType dtype : {DType::kBFloat16, DType::kFloat16, DType::kFloat32, DType::kFloat64})
    for (const auto* values : {&info.outputs, &info.inputs})
      if (std::ranges::find(*values, dtype, &ModelValue::dtype) != values->end()) return dtype;
  for (const auto* values : {&info.outputs, &info.inputs})
    for (const ModelValue& value : *values)
      if (is_floating(value.dtype)) return value.dtype;
  return DType::kFloat32;
}

// The number of tokens that the states of a generative model can store.
std::optional<std::int64_t> most_tokens(const PreparedModel& model) {
  const GenerationGraphs& graphs = *model.generation;
  return graphs.prompt_in_states ? model.max_sequence : graphs.step_info.max_sequence;
}

Error unsupported(std::string message, std::string hint) {
  return {ErrorCode::kUnsupported, std::move(message), {}, std::move(hint)};
}

std::optional<Error> beyond_positions(const Task& task, const PreparedModel& model, const Signature& signature) {
  if (signature.uses_sequence && model.max_sequence && task.shape.sequence > *model.max_sequence)
    return unsupported(fmt::format("sequence length {} is beyond the {} positions of the model", task.shape.sequence,
                                   *model.max_sequence),
                       "use a shorter one with --sequence-lengths");
  if (!task.generation) return std::nullopt;
  // The last token is an output only, never an input.
  const std::int64_t held = task.generation->prompt_tokens + task.shape.output_tokens - 1;
  const auto most = most_tokens(model);
  if (!most || held <= *most) return std::nullopt;
  return unsupported(fmt::format("{} output tokens after {} of the prompt are beyond the {} positions of the model",
                                 task.shape.output_tokens, task.generation->prompt_tokens, *most),
                     "use shorter ones with --sequence-lengths and --output-tokens");
}

/// Plans the tasks of one model on one target.
class TargetPlan {
 public:
  TargetPlan(const PreparedModel& model, const Target& target, const RunSettings& settings, const RunInfo& run)
      : model_(model), target_(target), settings_(settings), variant_(model.variant_for(target.engine)) {
    common_.row = begin_row(run, settings, model, target);
    common_.engine = target.engine;
    common_.verify = settings.verify;
    common_.benchmark = settings.benchmark;
    common_.default_batch = settings.default_batches;
    common_.measure = settings.measure;
    common_.launches = settings.benchmark ? settings.launches : 1;  // a verdict needs no second process
    if (common_.benchmark) common_.row.planned_launches = common_.launches;
    common_.max_time = settings.max_time;
    common_.seed = settings.seed;
    common_.input_sets = settings.input_sets;
    common_.timeout = settings.timeout;
  }

  void add_to(std::vector<Task>& tasks) const {
    if (std::optional<Task> refused = refusal()) {
      tasks.push_back(std::move(*refused));
      return;
    }
    const Signature& signature = **model_.signature_for(target_.engine, target_.device.id);
    std::vector<CellShape> planned;
    for (CellShape shape : shapes_of(settings_, signature, model_.generation.has_value())) {
      if (!signature.fixed_sequence) cut_length(shape, model_, signature.info, settings_);
      if (std::ranges::find(planned, shape) != planned.end()) continue;
      planned.push_back(shape);
      tasks.push_back(task_for(shape, signature));
    }
  }

 private:
  // Why the model cannot run on the target.
  [[nodiscard]] std::optional<Task> refusal() const {
    Task task = common_;
    const EngineEntry& engine = target_.found.entry;
    const Result<Signature>* signature = model_.signature_for(target_.engine, target_.device.id);
    if (model_.refusal || target_.refusal) {
      set_refusal(task.row, target_.refusal ? *target_.refusal : *model_.refusal);
    } else if (!model_.format.empty() && !engine.takes(model_.format)) {
      set_failure(task.row, unsupported(fmt::format("{} does not read .{} files; it reads {}", engine.name,
                                                    model_.format, join(engine.formats, ", ")),
                                        "`assay engines` lists what each engine reads"));
    } else if (variant_ != nullptr && !*variant_) {
      set_failure(task.row, variant_->error());
    } else if (signature == nullptr || !*signature) {
      set_failure(task.row, signature != nullptr
                                ? signature->error()
                                : Error{ErrorCode::kInternal, "the model's inputs are unknown on this device", {}, ""});
    } else {
      return std::nullopt;
    }
    return task;
  }

  [[nodiscard]] Task task_for(const CellShape& shape, const Signature& signature) const {
    Task task = common_;
    const ModelInfo& info = signature.info;
    task.shape = shape;
    set_shape(task.row, shape, signature.uses_sequence);
    task.row.given_shapes = signature.given_shapes;
    task.arithmetic =
        task.row.precision == "as_is" ? own_arithmetic(info) : dtype_from(task.row.precision).value_or(DType::kFloat32);
    task.artefact = variant_ != nullptr ? (*variant_)->artefact : model_.artefact;
    task.static_shapes = target_.found.entry.fixes_shapes_of(model_.format);
    if (target_.found.entry.needs_model && !target_.found.entry.reads(model_.format))
      task.artefact.lowered_to = lowering::dialect_from(target_.found.entry.lowered_to);
    set_load(task, info);
    task.load.options.insert(task.load.options.end(), signature.options.begin(), signature.options.end());
    set_reference(task);
    if (model_.generation) set_generation(task, info);
    if (const std::optional<Error> error = beyond_positions(task, model_, signature)) set_failure(task.row, *error);
    return task;
  }

  void set_load(Task& task, const ModelInfo& info) const {
    task.load.device_id = target_.device.id;
    task.load.precision = task.row.precision;
    task.load.threads = static_cast<int>(task.shape.threads);
    task.load.streams = static_cast<int>(task.shape.streams);
    task.load.options = settings_.engine_options;
    set_spin(task);
    set_extents(task);
    if (target_.found.entry.needs_model || !model_.info) return;
    const CacheVariant* variant = variant_ != nullptr ? &**variant_ : nullptr;
    if (model_.generation && model_.generation->step) {
      task.load.step_options = task.load.options;
      add_signature(task.load.step_options, variant != nullptr ? variant->info : model_.generation->step_info);
    }
    add_signature(task.load.options, variant != nullptr && !variant->own_prompt ? variant->info : info);
  }

  // Whether the runtime knows the extents when it compiles. What fixes them in which load is added with the inputs.
  void set_extents(Task& task) const {
    const EngineEntry& engine = target_.found.entry;
    const bool fixed = engine.fixes_shapes_of(model_.format);
    const bool generates = task.shape.output_tokens > 0;
    const bool usual = engine.gets_exported_shapes(task.row.family);
    if (settings_.dynamic_shapes && fixed)
      set_failure(task.row, unsupported(fmt::format("{} accepts only models whose extents are all fixed", engine.name),
                                        "omit --dynamic-shapes"));
    if (settings_.dynamic_shapes || (usual && !fixed && !settings_.static_shapes)) {
      task.row.shapes = !usual ? ShapesForm::kDynamic : generates ? ShapesForm::kOpen : ShapesForm::kExported;
      task.load.options.insert(task.load.options.end(), engine.open_extents.begin(), engine.open_extents.end());
      return;
    }
    const KvCache kind = variant_ != nullptr ? (*variant_)->kv_cache : settings_.kv_cache;
    const bool growing = generates && kind != KvCache::kStatic;
    const bool compiles = fixed || !engine.open_extents.empty();
    const bool loads = !engine.fixed_extents.empty() && !generates;  // a prompt and a step have other extents
    task.row.shapes = fixed || (compiles && !growing) || loads ? ShapesForm::kStatic : ShapesForm::kOpen;
    if (loads) task.load.shape_options = {{engine.fixed_extents, ""}};
  }

  // The options of the engine that --spin stands for. An engine without any decides itself, and its row says so.
  void set_spin(Task& task) const {
    if (settings_.spin == Spin::kRuntime) return;
    const EngineEntry& engine = target_.found.entry;
    for (const auto& [key, value] : settings_.spin == Spin::kOn ? engine.spin_on : engine.spin_off) {
      const auto given = std::ranges::find(task.load.options, key, &OptionPairs::value_type::first);
      if (given == task.load.options.end())
        task.load.options.emplace_back(key, value);
      else if (given->second != value)
        set_failure(task.row, {ErrorCode::kInvalidArgument,
                               fmt::format("--spin {} and --engine-option {}={} contradict each other",
                                           to_string(settings_.spin), key, given->second),
                               {},
                               "give one of them"});
    }
  }

  void set_reference(Task& task) const {
    task.reference.graph_hash = model_.identity.graph_hash;
    // One graph may have the constants of two configurations: computed positions are not in its hash.
    task.reference.weights_hash = join({model_.identity.weights_hash, model_.identity.config_hash}, " ");
    task.reference.artefact = model_.artefact;
    task.reference.given_note = model_.given_note;
    task.reference.quantised = model_.info && is_quantised(model_.info->operators);
    if (!target_.found.entry.needs_model) {
      if (model_.info) add_signature(task.reference.signature, *model_.info);
      if (model_.generation && model_.generation->step)
        add_signature(task.reference.step_signature, model_.generation->step_info);
    } else if (!model_.info) {
      task.reference.why_none =
          "there is no reference for files of this format: assay verifies ONNX files and models of the zoo";
    }
  }

  void set_generation(Task& task, const ModelInfo& info) const {
    task.generation = model_.generation->generation;
    task.generation->output_tokens = task.shape.output_tokens;
    task.generation->prompt_tokens = model_.generation->prompt_tokens(info, task.shape.sequence);
    if (variant_ == nullptr) return;
    Generation generation = (*variant_)->generation;
    generation.output_tokens = task.generation->output_tokens;
    generation.prompt_tokens = task.generation->prompt_tokens;
    // The last token is an output only, never an input. A cache without states is managed by the runtime.
    if (!generation.states.empty()) generation.cache_tokens = generation.prompt_tokens + generation.output_tokens - 1;
    task.variant = Task::Variant{{}, std::move(generation)};
  }

  const PreparedModel& model_;
  const Target& target_;
  const RunSettings& settings_;
  const Result<CacheVariant>* variant_;  // nullptr: the engine gets the model as it is
  Task common_;
};

}  // namespace

std::vector<Task> plan_tasks(const PreparedModel& model, const std::vector<Target>& targets, const RunSettings& of_all,
                             const RunInfo& run) {
  const RunSettings settings = settings_of(model.choice, of_all);
  std::vector<Task> tasks;
  for (const Target& target : targets) TargetPlan(model, target, settings, run).add_to(tasks);
  return tasks;
}

}  // namespace assay
