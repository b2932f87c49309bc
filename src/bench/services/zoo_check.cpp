// SPDX-License-Identifier: Apache-2.0
#include "bench/services/zoo_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "bench/verify/verify.hpp"
#include "bench/worker/worker.hpp"
#include "core/base/files.hpp"
#include "core/tensor/safetensors.hpp"
#include "models/graph/specialise.hpp"
#include "models/lower/program.hpp"
#include "models/zoo/check.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

// Compares computed outputs with the expected ones. Positions that the inputs' masks leave out do not count.
Status compare_outputs(const zoo::GoldenCase& golden, const fs::path& expected, const fs::path& computed,
                       const std::vector<InputRecipe>& recipes, ZooCheckResult& result) {
  std::vector<NamedTensor> kept;
  kept.reserve(recipes.size());  // views point into it
  std::vector<NamedView> inputs;
  for (const InputRecipe& recipe : recipes) {
    if (!matters_to_masks(recipe.name)) continue;
    ASSAY_TRY(Tensor tensor, make_input(recipe, 0, 0));
    kept.push_back({recipe.name, std::move(tensor)});
    inputs.push_back({recipe.name, kept.back().tensor.view()});
  }
  ASSAY_TRY(const Verdict verdict, check_golden(expected, computed, golden.tolerance, inputs));
  // NaN must not pass for small.
  if (verdict.ratio && (!result.worst || !(*verdict.ratio <= *result.worst))) {
    result.worst = verdict.ratio;
    result.worst_output = verdict.worst_output;
    result.max_abs_error = verdict.max_abs_error;
  }
  if (verdict.verification == Verification::kVerified) return {};
  return fail(ErrorCode::kMismatch, verdict.message);
}

SpecialiseRequest shapes_of(const std::vector<InputRecipe>& inputs) {
  SpecialiseRequest request;
  for (const InputRecipe& input : inputs) request.shapes.emplace(input.name, input.shape);
  return request;
}

// The model at these inputs' shapes, beside it.
Result<fs::path> specialised(const fs::path& model, const std::vector<InputRecipe>& inputs) {
  const SpecialiseRequest request = shapes_of(inputs);
  ASSAY_TRY(const SpecialisedModel done, specialise(model, request, fs::path(model).replace_extension(".static.onnx")));
  if (done.dynamic.empty()) return done.path;
  return fail(ErrorCode::kMismatch, no_static_shape(done.dynamic.front()));
}

// The same in the engine's own language.
Result<fs::path> lowered(const fs::path& model, const std::vector<InputRecipe>& inputs, const std::string& language) {
  const lowering::Dialect dialect = *lowering::dialect_from(language);
  ASSAY_TRY(const StaticModel opened, StaticModel::open(model));
  fs::path file = fs::path(model).replace_extension(language);
  ASSAY_CHECK_OK(lowering::lower_to_file(opened, shapes_of(inputs), dialect, file));
  return file;
}

// Runs a model once in a worker of its own and leaves its outputs in `outputs`.
Status run_once(const fs::path& built, const std::vector<InputRecipe>& inputs, const EngineRegistry& registry,
                const ZooCheckRequest& request, const std::string& engine, const fs::path& outputs) {
  fs::path model = built;
  if (request.specialise) {
    ASSAY_TRY(model, specialised(built, inputs));
  }
  if (const std::string& language = registry.entry(engine)->lowered_to; !language.empty()) {
    ASSAY_TRY(model, lowered(model, inputs, language));
  }
  const auto timeout = std::chrono::nanoseconds(static_cast<std::int64_t>(request.timeout_s * 1e9));
  ASSAY_TRY(const EngineLocation location, registry.locate(engine));
  Worker::StartOptions start;
  start.executable = registry.places().worker;
  start.cancelled = request.cancelled;
  ASSAY_TRY(const std::unique_ptr<Worker> worker, Worker::start(location, std::move(start)));
  LoadRequest load;
  load.model = std::move(model);
  load.precision = "float32";
  load.threads = 1;
  load.device_id = registry.entry(engine)->cpu_device;
  ASSAY_TRY([[maybe_unused]] const LoadReply loaded, worker->load(load, timeout));
  ASSAY_TRY([[maybe_unused]] const BindReply bound, worker->bind({inputs, 0, 1, 1}, timeout));
  ASSAY_TRY([[maybe_unused]] const InferReply run, worker->infer({0, outputs}, timeout));
  return {};
}

// The states that a prefill left in `file`, as inputs of its decode.
Result<std::vector<InputRecipe>> handed_over(const zoo::GoldenPast& past, const fs::path& file, const fs::path& to) {
  ASSAY_TRY(const SafetensorsFile given, SafetensorsFile::open(file));
  std::vector<NamedView> tensors;
  std::vector<InputRecipe> recipes;
  for (const zoo::StateTensor& state : past.decode.states) {
    const auto from = std::find_if(past.prefill.states.begin(), past.prefill.states.end(),
                                   [&](const zoo::StateTensor& other) { return other.input == state.input; });
    if (from == past.prefill.states.end())
      return fail(ErrorCode::kInternal, fmt::format("no prefill has the state '{}' as an output", state.input));
    ASSAY_TRY(const TensorView view, given.tensor(from->output));
    tensors.push_back({state.input, view});
    recipes.push_back({state.input, view.dtype, view.shape, Fill::kFile, 0.0, 1.0, to});
  }
  ASSAY_CHECK_OK(write_safetensors(to, tensors, {}, Persistence::kScratch));
  return recipes;
}

// The prefill, then the decode on the states that it left.
Status run_past(const zoo::GoldenCase& golden, const zoo::GoldenPast& past, const EngineRegistry& registry,
                const ZooCheckRequest& request, const std::string& engine, const fs::path& work,
                ZooCheckResult& result) {
  const fs::path prefilled = work / "prefill.safetensors";
  ASSAY_CHECK_OK(run_once(past.prefill.path, past.prefill_inputs, registry, request, engine, prefilled));
  ASSAY_CHECK_OK(compare_outputs(golden, past.prefill_expected, prefilled, past.prefill_inputs, result));
  ASSAY_TRY(const std::vector<InputRecipe> states, handed_over(past, prefilled, work / "states.safetensors"));
  std::vector<InputRecipe> inputs = past.decode_inputs;
  inputs.insert(inputs.end(), states.begin(), states.end());
  const fs::path decoded = work / "decode.safetensors";
  ASSAY_CHECK_OK(run_once(past.decode.path, inputs, registry, request, engine, decoded));
  return compare_outputs(golden, past.decode_expected, decoded, past.decode_inputs, result);
}

Status run_golden(const zoo::GoldenCase& golden, const EngineRegistry& registry, const ZooCheckRequest& request,
                  const std::string& engine, const fs::path& work, ZooCheckResult& result) {
  const fs::path outputs = work / "outputs.safetensors";
  ASSAY_CHECK_OK(run_once(golden.model.path, golden.inputs, registry, request, engine, outputs));
  ASSAY_CHECK_OK(compare_outputs(golden, golden.expected, outputs, golden.inputs, result));
  if (!golden.past) return {};
  return with_context(run_past(golden, *golden.past, registry, request, engine, work, result), "in past/");
}

// Adds one engine's result of a golden to that of the folder: failed before unsupported before passed.
void add(const std::string& engine, const Status& done, bool several, ZooCheckResult& result) {
  const bool unsupported = !done && done.error().code == ErrorCode::kUnsupported;
  const std::string status = done ? "passed" : unsupported ? "unsupported" : "failed";
  result.by_engine.emplace_back(engine, status);
  const auto rank = [](const std::string& word) { return word == "failed" ? 2 : word == "unsupported" ? 1 : 0; };
  if (result.status.empty() || rank(status) > rank(result.status)) result.status = status;
  if (done) return;
  if (!result.message.empty()) result.message += "; ";
  result.message += several ? fmt::format("{}: {}", engine, done.error().message) : done.error().message;
}

}  // namespace

Result<ZooCheckEngines> zoo_check_engines(const std::vector<std::string>& names) {
  const EngineRegistry registry(EngineRegistry::default_places());
  ZooCheckEngines engines;
  for (const std::string& name : names) {
    const EngineEntry* entry = registry.entry(name);
    Result<EngineLocation> found = registry.locate(name);
    if (entry == nullptr) return tl::unexpected<Error>(found.error());
    if (!entry->needs_model)
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("the engine '{}' computes no model: nothing can be checked on it", entry->name),
                  "`assay engines` lists the others");
    if (std::find(engines.usable.begin(), engines.usable.end(), name) != engines.usable.end()) continue;
    if (!entry->built)
      engines.not_built.push_back(name);
    else if (!found)
      engines.unavailable.push_back(found.error());
    else
      engines.usable.push_back(name);
  }
  return engines;
}

Status check_zoo(const ZooCheckRequest& request, const std::function<void(const ZooCheckResult&)>& each) {
  const EngineRegistry registry(EngineRegistry::default_places());
  for (const std::string& engine : request.engines) {
    ASSAY_TRY([[maybe_unused]] const EngineLocation location, registry.locate(engine));
  }
  ASSAY_TRY(const std::vector<fs::path> folders, zoo::find_goldens(request.folder));
  for (const fs::path& folder : folders) {
    if (request.cancelled()) break;
    ZooCheckResult result;
    result.name = folder.filename().string();
    ASSAY_TRY(const TemporaryDirectory scratch, TemporaryDirectory::create("assay-golden-"));
    const fs::path work = request.keep.empty() ? scratch.path() : request.keep;
    ASSAY_CHECK_OK(make_directories(work));
    const Result<zoo::GoldenCase> golden = zoo::prepare_golden(folder, work);
    // What assay itself refuses is the same on every engine, and reported once.
    if (!golden) add("", tl::unexpected<Error>(golden.error()), false, result);
    for (const std::string& engine : request.engines) {
      if (!golden || request.cancelled()) break;
      Status done = run_golden(*golden, registry, request, engine, scratch.path(), result);
      if (done && golden->refused_part) done = fail(ErrorCode::kUnsupported, *golden->refused_part);
      add(engine, done, request.engines.size() > 1, result);
    }
    if (!golden) {
      result.by_engine.clear();
      for (const std::string& engine : request.engines) result.by_engine.emplace_back(engine, result.status);
    }
    if (!result.status.empty()) each(result);
  }
  return {};
}

}  // namespace assay
