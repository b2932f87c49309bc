// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/log.hpp"
#include "base/text.hpp"
#include "plan/executor_state.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

std::vector<CellShape> shapes_of(const RunSettings& settings, bool sequence, std::optional<std::int64_t> fixed_batch) {
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
          shapes.push_back({batch, length, streams, threads});
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
  Result<ModelInputs> inputs = make_inputs(info, axes_of(shape));
  if (inputs && inputs->uses_sequence && model.max_sequence && shape.sequence > *model.max_sequence)
    inputs = fail(
        ErrorCode::kUnsupported,
        fmt::format("sequence length {} is beyond the {} positions of the model", shape.sequence, *model.max_sequence),
        "give shorter ones with --sequence-lengths");
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
    set_cost(cell, model);
  }
  name_row(cell.row);
  return cell;
}

// What one inference computes and moves, where the graph tells.
void LocalExecutor::State::set_cost(Planned& cell, const PreparedModel& model) {
  if (!model.info || model.info->format != "onnx") return;
  Record& row = cell.row;
  auto known = costs.find(row.input_shape);
  if (known == costs.end()) {
    std::map<std::string, Shape> shapes;
    for (const InputRecipe& input : cell.inputs.recipes) shapes[input.name] = input.shape;
    const Result<StaticGraph> graph = StaticGraph::infer(model.file, shapes);
    Result<StaticCost> cost = StaticCost{};
    if (graph)
      cost = graph->cost();
    else
      cost = tl::unexpected<Error>(graph.error());
    known = costs.emplace(row.input_shape, std::move(cost)).first;
  }
  if (!known->second) {
    const Error& error = known->second.error();
    log_debug("{}: no FLOPs: {}", model.choice.name, error.message);
    if (error.code == ErrorCode::kInvalidArgument) cell.contradiction = error;
    return;
  }
  row.flops = known->second->flops;
  row.bytes = known->second->bytes;
  row.flops_counted = known->second->counted;
}

// The cells of all targets, in their order.
Result<std::vector<Planned>> LocalExecutor::State::plan_all(const PreparedModel& model,
                                                            const std::vector<Target>& targets) {
  costs.clear();
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
    const std::string engine = target.engine.substr(0, target.engine.find('@'));
    const std::vector<std::string>& formats = services.registry->entry(engine)->formats;
    if (!model.format.empty() && std::find(formats.begin(), formats.end(), model.format) == formats.end()) {
      refuse([&](Record& row) {
        set_failure(row, {ErrorCode::kUnsupported,
                          fmt::format("{} reads no .{} file, but: {}", engine, model.format, join(formats, ", ")),
                          {},
                          "`assay engines` lists what each engine reads"});
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
    const Result<ModelInputs> probe = make_inputs(*info, axes);
    for (CellShape shape : shapes_of(settings, probe && probe->uses_sequence, fixed)) {
      // A length that only a default asks for is cut to what the model has.
      if (settings.default_lengths && model.max_sequence)
        shape.sequence = std::min(shape.sequence, *model.max_sequence);

      ASSAY_TRY(Planned cell, plan(model, *info, target, shape, given));
      cells.push_back(std::move(cell));
    }
  }
  return cells;
}

}  // namespace assay
