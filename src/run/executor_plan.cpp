// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/log.hpp"
#include "base/text.hpp"
#include "run/executor_state.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

std::vector<CellShape> shapes_of(const RunSettings& settings, bool sequence, bool generates,
                                 std::optional<std::int64_t> fixed_batch) {
  std::vector<std::int64_t> batches = settings.batch_sizes;
  // A file with a fixed batch runs at that batch; others that somebody asked for are rows that say so.
  if (fixed_batch && settings.default_batches) batches = {*fixed_batch};
  if (fixed_batch && std::find(batches.begin(), batches.end(), *fixed_batch) == batches.end()) {
    batches.push_back(*fixed_batch);
    std::sort(batches.begin(), batches.end());
  }
  std::vector<CellShape> shapes;
  for (const std::int64_t threads : settings.threads)
    for (const std::int64_t streams : settings.streams)
      for (const std::int64_t batch : batches)
        for (const std::int64_t length : sequence ? settings.sequence_lengths : std::vector<std::int64_t>{128})
          for (const std::int64_t tokens : generates ? settings.output_tokens : std::vector<std::int64_t>{0})
            shapes.push_back({batch, length, tokens, streams, threads});
  return shapes;
}

// A model file's own floating type, as engines read it: the first output's that has one, else an input's.
DType own_arithmetic(const ModelInfo& info) {
  for (const auto* values : {&info.outputs, &info.inputs})
    for (const ModelValue& value : *values)
      if (is_floating(value.dtype)) return value.dtype;
  return DType::kFloat32;
}

// Signature as the runtime tells it, for formats that assay does not read and for engines that need no file.
ModelInfo info_from(const LoadReply& loaded, const fs::path& file) {
  ModelInfo info;
  info.path = file;
  const auto convert = [](const std::vector<ValueSignature>& values) {
    std::vector<ModelValue> out;
    out.reserve(values.size());
    for (const ValueSignature& value : values) out.push_back({value.name, value.dtype, value.shape, value.symbols});
    return out;
  };
  info.inputs = convert(loaded.inputs);
  info.outputs = convert(loaded.outputs);
  return info;
}

// What a graph of another form is given of a cell. The last token is given and not taken in again.
Timed timed(const FormGraph& graph, const Planned& cell) {
  Timed made{{}, graph.generation};
  made.generation.output_tokens = cell.generation->output_tokens;
  made.generation.prompt_tokens = cell.generation->prompt_tokens;
  if (!graph.generation.states.empty())  // else the runtime's own
    made.generation.cache_tokens = made.generation.prompt_tokens + made.generation.output_tokens - 1;
  made.recipes = form_inputs(graph, cell.inputs.recipes, made.generation.cache_tokens);
  return made;
}

// Tokens that the states of a model that generates can hold.
std::optional<std::int64_t> most_tokens(const PreparedModel& model) {
  const GenerationGraphs& graphs = *model.generation;
  return graphs.prompt_in_states ? model.max_sequence : graphs.step_info.max_sequence;
}

bool same_shapes(const std::vector<InputRecipe>& a, const std::vector<InputRecipe>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const InputRecipe& x, const InputRecipe& y) {
    return x.name == y.name && x.dtype == y.dtype && x.shape == y.shape;
  });
}

}  // namespace

// Formats that assay does not read, and engines without a file, tell their inputs when they are loaded.
Result<ModelInfo> LocalExecutor::State::signature(const PreparedModel& model, const Target& target) {
  if (model.info) return *model.info;
  const std::string precision = begin_row(run, settings, model, target).precision;
  ASSAY_TRY(WorkerPool::Lease leased, acquire(model, target, {}, precision, settings.timeout));
  ModelInfo info = info_from(leased.loaded(), model.file);
  leased.discard();  // kept, it would make the first cell a later one in a warm worker
  if (info.outputs.empty() && !model.file.empty())
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' has no outputs", model.file.string()));
  return info;
}

Result<Planned> LocalExecutor::State::plan(const PreparedModel& model, const ModelInfo& info, const Target& target,
                                           const CellShape& shape, const Given& given) {
  Planned cell{&target, shape, {}, begin_row(run, settings, model, target)};
  cell.arithmetic =
      cell.row.precision == "as_is" ? own_arithmetic(info) : dtype_from(cell.row.precision).value_or(DType::kFloat32);
  cell.given_note = given.note;
  Result<ModelInputs> inputs =
      model.generation ? prompt_inputs(info, axes_of(shape)) : make_inputs(info, axes_of(shape));
  if (inputs && inputs->uses_sequence && model.max_sequence && shape.sequence > *model.max_sequence)
    inputs = fail(
        ErrorCode::kUnsupported,
        fmt::format("sequence length {} is beyond the {} positions of the model", shape.sequence, *model.max_sequence),
        "give shorter ones with --sequence-lengths");
  if (model.generation) {
    cell.generation = model.generation->generation;
    cell.generation->output_tokens = shape.output_tokens;
    cell.generation->prompt_tokens = model.generation->prompt_tokens(info, shape.sequence);
    // The last token is given and not taken in again.
    const std::int64_t held = cell.generation->prompt_tokens + shape.output_tokens - 1;
    if (const auto most = most_tokens(model); inputs && most && held > *most)
      inputs = fail(ErrorCode::kUnsupported,
                    fmt::format("{} output tokens after {} of the prompt are beyond the {} positions of the model",
                                shape.output_tokens, cell.generation->prompt_tokens, *most),
                    "give shorter ones with --sequence-lengths and --output-tokens");
  }
  if (!inputs) {
    cell.row.batch_size = shape.batch;
    set_failure(cell.row, inputs.error());
  } else {
    cell.inputs = std::move(*inputs);
    if (given.data && same_shapes(given.data->inputs, cell.inputs.recipes)) {
      cell.inputs.recipes = given.data->inputs;
      cell.given_outputs = given.data->outputs;
      cell.row.data_source = given.data->folder.string();
    } else if (given.data) {
      cell.given_note = fmt::format("the outputs given with the model are for {}, not for this shape",
                                    input_shape_text(given.data->inputs));
    }
    ASSAY_TRY(const std::string hash, input_hash(cell.inputs.recipes, settings.seed, settings.input_sets));
    set_shape(cell.row, shape, cell.inputs, hash);
    if (const Result<FormGraph>* formed = model.form_for(target.engine)) cell.formed = timed(**formed, cell);
    set_cost(cell, model);
  }
  name_row(cell.row);
  return cell;
}

// What one inference computes and moves, where the graph tells; of a model that generates, a whole generation.
void LocalExecutor::State::set_cost(Planned& cell, const PreparedModel& model) {
  if (!model.info || model.info->format != "onnx") return;
  const bool generates = cell.generation.has_value();
  const Result<RunCost> cost =
      costs.run(model.file, cell.inputs.recipes, axes_of(cell.shape), generates ? &*model.generation : nullptr,
                generates ? cell.generation->prompt_tokens : 0, generates ? cell.generation->output_tokens : 0);
  if (!cost) {
    if (cost.error().code == ErrorCode::kInvalidArgument) cell.contradiction = cost.error();
    return;
  }
  if (!cost->steps_known) return;
  cell.row.flops = cost->flops();
  cell.row.bytes = cost->bytes();
  cell.row.flops_counted = cost->counted();
}

// The cells of all targets, in their order.
Result<std::vector<Planned>> LocalExecutor::State::plan_all(const PreparedModel& model,
                                                            const std::vector<Target>& targets) {
  costs = {};
  Given given;
  if (model.info && settings.data.empty() && !model.verdict) {
    Result<std::optional<GivenData>> found = find_given_data(*model.info, services.cache / "inputs");
    if (found)
      given.data = std::move(*found);
    else
      given.note = "the outputs given with the model are not used: " + found.error().message;
    if (!given.note.empty()) log_warning("{}: {}", model.choice.name, given.note);
  }
  std::vector<Planned> cells;
  for (const Target& target : targets) {
    // A target that cannot run is a cell of its own, so that rows stay in the targets' order.
    const auto refuse = [&](const auto& set) {
      Planned cell{&target, {}, {}, begin_row(run, settings, model, target)};
      set(cell.row);
      name_row(cell.row);
      cells.push_back(std::move(cell));
    };
    if (model.verdict || target.verdict) {
      refuse([&](Record& row) { set_verdict(row, target.verdict ? *target.verdict : *model.verdict); });
      continue;
    }
    const EngineEntry& engine = target.found.entry;
    if (!model.format.empty() && !engine.reads(model.format)) {
      refuse([&](Record& row) {
        set_failure(
            row, {ErrorCode::kUnsupported,
                  fmt::format("{} reads no .{} file, but: {}", engine.name, model.format, join(engine.formats, ", ")),
                  {},
                  "`assay engines` lists what each engine reads"});
      });
      continue;
    }
    if (const Result<FormGraph>* formed = model.form_for(target.engine); formed != nullptr && !*formed) {
      const Error& error = formed->error();
      refuse([&](Record& row) {
        set_failure(row, error);
        if (error.code == ErrorCode::kOutOfMemory)
          set_verdict(row, {CellStatus::kSkipped, std::string(reason::kTooLarge), error.message, error.hint});
      });
      continue;
    }
    const Result<ModelInfo> info = signature(model, target);
    if (!info) {
      refuse([&](Record& row) { set_failure(row, info.error()); });
      continue;
    }
    InputAxes axes = axes_of({});
    const std::optional<std::int64_t> fixed = fixed_batch(*info, axes).value_or(std::nullopt);
    axes.batch = fixed.value_or(1);
    const Result<ModelInputs> probe = model.generation ? prompt_inputs(*info, axes) : make_inputs(*info, axes);
    for (CellShape shape : shapes_of(settings, probe && probe->uses_sequence, model.generation.has_value(), fixed)) {
      // A length that only a default asks for is cut to what the model has.
      if (settings.default_lengths && model.max_sequence) {
        std::int64_t most = *model.max_sequence;
        if (model.generation && model.generation->prompt_in_states)
          most -= model.generation->prompt_tokens(*info, 0) + shape.output_tokens - 1;
        shape.sequence = std::max<std::int64_t>(1, std::min(shape.sequence, most));
      }

      Result<Planned> cell = plan(model, *info, target, shape, given);
      if (cell) {
        cells.push_back(std::move(*cell));
        continue;
      }
      refuse([&](Record& row) {
        row.batch_size = shape.batch;
        set_failure(row, cell.error());
      });
    }
  }
  costs.close();
  return cells;
}

}  // namespace assay
