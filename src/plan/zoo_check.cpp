// SPDX-License-Identifier: Apache-2.0
#include "plan/zoo_check.hpp"

#include <fmt/format.h>

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
  ASSAY_TRY(const TensorView reference, expected.tensor(output.name));
  if (!computed.contains(output.name))
    return fail(ErrorCode::kMismatch, fmt::format("the graph has no output '{}'", output.name));
  ASSAY_TRY(const TensorView candidate, computed.tensor(output.name));
  const std::optional<TensorView> mask_view = output.masked && mask ? std::optional(mask->view()) : std::nullopt;
  ASSAY_TRY(const Comparison found,
            with_context(compare(reference, candidate, golden.tolerance, mask_view), "while comparing " + output.name));
  // NaN must not pass for small.
  if (!result.worst || !(found.worst_ratio <= *result.worst)) {
    result.worst = found.worst_ratio;
    result.worst_output = output.name;
  }
  if (!result.max_abs_error || !(found.max_abs_error <= *result.max_abs_error))
    result.max_abs_error = found.max_abs_error;
  if (found.elements == 0)
    return fail(ErrorCode::kMismatch, output.name + ": nothing was compared: the mask leaves every position out");
  if (found.exceeding == 0) return {};
  return fail(
      ErrorCode::kMismatch,
      fmt::format("{}: {} of {} elements are outside the tolerance; the worst at {}: {} instead of {}", output.name,
                  found.exceeding, found.elements, found.worst_index, found.worst_candidate, found.worst_reference));
}

// Runs the case in a worker of its own and compares every output.
Status run_golden(const zoo::GoldenCase& golden, const EngineRegistry& registry, const ZooCheckRequest& request,
                  const fs::path& work, ZooCheckResult& result) {
  const auto timeout = std::chrono::nanoseconds(static_cast<std::int64_t>(request.timeout_s * 1e9));
  ASSAY_TRY(const EngineLocation location, registry.locate(request.engine));
  Worker::StartOptions start;
  start.executable = registry.places().worker;
  start.cancelled = request.cancelled;
  ASSAY_TRY(const std::unique_ptr<Worker> worker, Worker::start(location, std::move(start)));
  LoadRequest load;
  load.model = golden.model.path;
  load.precision = "float32";
  load.threads = 1;
  if (request.engine.starts_with("openvino")) load.device_id = "CPU";
  ASSAY_TRY([[maybe_unused]] const LoadReply loaded, worker->load(load, timeout));
  ASSAY_TRY([[maybe_unused]] const BindReply bound, worker->bind({golden.inputs, 0, 1, 1}, timeout));
  const fs::path outputs = work / "outputs.safetensors";
  ASSAY_TRY([[maybe_unused]] const InferReply run, worker->infer({0, outputs}, timeout));

  ASSAY_TRY(const SafetensorsFile expected, SafetensorsFile::open(golden.outputs_file));
  ASSAY_TRY(const SafetensorsFile computed, SafetensorsFile::open(outputs));
  std::optional<Tensor> mask;
  for (const InputRecipe& recipe : golden.inputs)
    if (!golden.mask_input.empty() && recipe.name == golden.mask_input) {
      ASSAY_TRY(mask, make_input(recipe, 0, 0));
    }
  for (const zoo::GoldenOutput& output : golden.outputs)
    ASSAY_CHECK_OK(compare_output(golden, output, expected, computed, mask, result));
  return {};
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
