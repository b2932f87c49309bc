// SPDX-License-Identifier: Apache-2.0
#include "plan/zoo_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/files.hpp"
#include "tensor/compare.hpp"
#include "tensor/safetensors.hpp"
#include "worker/worker.hpp"
#include "zoo/check.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

Status compare_output(const zoo::GoldenCase& golden, const zoo::GoldenOutput& output, const SafetensorsFile& expected,
                      const SafetensorsFile& computed, const std::optional<Tensor>& mask, ZooCheckResult& result) {
  ASSAY_TRY(const TensorView reference, expected.tensor(output.expected));
  if (!computed.contains(output.name))
    return fail(ErrorCode::kMismatch, fmt::format("the graph has no output '{}'", output.name));
  ASSAY_TRY(const TensorView candidate, computed.tensor(output.name));
  const std::optional<TensorView> mask_view = output.masked && mask ? std::optional(mask->view()) : std::nullopt;
  ASSAY_TRY(const Comparison found, with_context(compare(reference, candidate, golden.tolerance, mask_view),
                                                 "while comparing " + output.expected));
  // NaN must not pass for small.
  if (!result.worst || !(found.worst_ratio <= *result.worst)) {
    result.worst = found.worst_ratio;
    result.worst_output = output.expected;
  }
  if (!result.max_abs_error || !(found.max_abs_error <= *result.max_abs_error))
    result.max_abs_error = found.max_abs_error;
  if (found.elements == 0)
    return fail(ErrorCode::kMismatch, output.expected + ": nothing was compared: the mask leaves every position out");
  if (found.exceeding == 0) return {};
  return fail(
      ErrorCode::kMismatch,
      fmt::format("{}: {} of {} elements are outside the tolerance; the worst at {}: {} instead of {}", output.expected,
                  found.exceeding, found.elements, found.worst_index, found.worst_candidate, found.worst_reference));
}

// Runs a model once in a worker of its own and leaves its outputs in `outputs`.
Status run_once(const fs::path& model, const std::vector<InputRecipe>& inputs, const EngineRegistry& registry,
                const ZooCheckRequest& request, const fs::path& outputs) {
  const auto timeout = std::chrono::nanoseconds(static_cast<std::int64_t>(request.timeout_s * 1e9));
  ASSAY_TRY(const EngineLocation location, registry.locate(request.engine));
  Worker::StartOptions start;
  start.executable = registry.places().worker;
  start.cancelled = request.cancelled;
  ASSAY_TRY(const std::unique_ptr<Worker> worker, Worker::start(location, std::move(start)));
  LoadRequest load;
  load.model = model;
  load.precision = "float32";
  load.threads = 1;
  if (request.engine.starts_with("openvino")) load.device_id = "CPU";
  ASSAY_TRY([[maybe_unused]] const LoadReply loaded, worker->load(load, timeout));
  ASSAY_TRY([[maybe_unused]] const BindReply bound, worker->bind({inputs, 0, 1, 1}, timeout));
  ASSAY_TRY([[maybe_unused]] const InferReply run, worker->infer({0, outputs}, timeout));
  return {};
}

Result<std::optional<Tensor>> mask_of(const std::vector<InputRecipe>& inputs, const std::string& name) {
  for (const InputRecipe& recipe : inputs)
    if (!name.empty() && recipe.name == name) {
      ASSAY_TRY(Tensor mask, make_input(recipe, 0, 0));
      return std::optional(std::move(mask));
    }
  return std::nullopt;
}

Status compare_outputs(const zoo::GoldenCase& golden, const std::vector<zoo::GoldenOutput>& outputs,
                       const fs::path& expected_file, const fs::path& computed_file,
                       const std::vector<InputRecipe>& inputs, ZooCheckResult& result) {
  ASSAY_TRY(const SafetensorsFile expected, SafetensorsFile::open(expected_file));
  ASSAY_TRY(const SafetensorsFile computed, SafetensorsFile::open(computed_file));
  ASSAY_TRY(const std::optional<Tensor> mask, mask_of(inputs, golden.mask_input));
  for (const zoo::GoldenOutput& output : outputs)
    ASSAY_CHECK_OK(compare_output(golden, output, expected, computed, mask, result));
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
      return fail(ErrorCode::kInternal, fmt::format("no prefill gives the state '{}'", state.input));
    ASSAY_TRY(const TensorView view, given.tensor(from->output));
    tensors.push_back({state.input, view});
    recipes.push_back({state.input, view.dtype, view.shape, Fill::kFile, 0.0, 1.0, to});
  }
  ASSAY_CHECK_OK(write_safetensors(to, tensors));
  return recipes;
}

// The prefill, then the decode on the states that it left.
Status run_past(const zoo::GoldenCase& golden, const zoo::GoldenPast& past, const EngineRegistry& registry,
                const ZooCheckRequest& request, const fs::path& work, ZooCheckResult& result) {
  const fs::path prefilled = work / "prefill.safetensors";
  ASSAY_CHECK_OK(run_once(past.prefill.path, past.prefill_inputs, registry, request, prefilled));
  ASSAY_CHECK_OK(
      compare_outputs(golden, past.prefill_outputs, past.outputs_file, prefilled, past.prefill_inputs, result));
  ASSAY_TRY(const std::vector<InputRecipe> states, handed_over(past, prefilled, work / "states.safetensors"));
  std::vector<InputRecipe> inputs = past.decode_inputs;
  inputs.insert(inputs.end(), states.begin(), states.end());
  const fs::path decoded = work / "decode.safetensors";
  ASSAY_CHECK_OK(run_once(past.decode.path, inputs, registry, request, decoded));
  return compare_outputs(golden, past.decode_outputs, past.outputs_file, decoded, inputs, result);
}

Status run_golden(const zoo::GoldenCase& golden, const EngineRegistry& registry, const ZooCheckRequest& request,
                  const fs::path& work, ZooCheckResult& result) {
  const fs::path outputs = work / "outputs.safetensors";
  ASSAY_CHECK_OK(run_once(golden.model.path, golden.inputs, registry, request, outputs));
  ASSAY_CHECK_OK(compare_outputs(golden, golden.outputs, golden.outputs_file, outputs, golden.inputs, result));
  if (!golden.past) return {};
  return with_context(run_past(golden, *golden.past, registry, request, work, result), "in past/");
}

}  // namespace

Status check_zoo(const ZooCheckRequest& request, const std::function<void(const ZooCheckResult&)>& each) {
  const EngineRegistry registry(EngineRegistry::default_places());
  ASSAY_TRY([[maybe_unused]] const EngineLocation location, registry.locate(request.engine));
  ASSAY_TRY(const std::vector<fs::path> folders, zoo::find_goldens(request.folder));
  for (const fs::path& folder : folders) {
    if (request.cancelled()) break;
    ZooCheckResult result;
    result.name = folder.filename().string();
    ASSAY_TRY(const TemporaryDirectory work, TemporaryDirectory::create("assay-golden-"));
    const Result<zoo::GoldenCase> golden = zoo::prepare_golden(folder, work.path());
    Status done;
    if (!golden)
      done = tl::unexpected<Error>(golden.error());
    else
      done = run_golden(*golden, registry, request, work.path(), result);
    if (done && golden->refused_part) done = fail(ErrorCode::kUnsupported, *golden->refused_part);
    result.status = done ? "passed" : done.error().code == ErrorCode::kUnsupported ? "unsupported" : "failed";
    if (!done) result.message = done.error().message;
    each(result);
  }
  return {};
}

}  // namespace assay
