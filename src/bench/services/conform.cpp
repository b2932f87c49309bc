// SPDX-License-Identifier: Apache-2.0
#include "bench/services/conform.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.hpp"
#include "models/graph/specialise.hpp"
#include "models/lower/program.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

// Runtimes name whole paths, which differ between machines and runs.
ConformityResult without_path(ConformityResult result, const std::string& path, const std::string& instead) {
  for (std::size_t at = 0; (at = result.message.find(path, at)) != std::string::npos;)
    result.message.replace(at, path.size(), instead);
  return result;
}

bool is_shape_input(const NodeTest& test, const std::string& name) {
  return std::ranges::find(test.shape_inputs, name) != test.shape_inputs.end();
}

Result<SpecialiseRequest> request_of(const NodeTest& test, const NodeTestData& data) {
  SpecialiseRequest request;
  for (const NamedTensor& input : data.inputs) {
    if (!is_shape_input(test, input.name)) {
      request.shapes.emplace(input.name, input.tensor.shape());
      continue;
    }
    ASSAY_TRY(Tensor copy, Tensor::copy_of(input.tensor.view()));
    request.constants.emplace(input.name, std::move(copy));
  }
  return request;
}

}  // namespace

std::string_view to_string(Conformity status) {
  switch (status) {
    case Conformity::kPassed:
      return "passed";
    case Conformity::kUnsupported:
      return "unsupported";
    case Conformity::kWrong:
      return "wrong";
    case Conformity::kFailed:
      break;
  }
  return "failed";
}

ConformityResult conformity_of(const Error& error) {
  const bool refused = error.code == ErrorCode::kUnsupported;
  return {refused ? Conformity::kUnsupported : Conformity::kFailed,
          refused ? error.message : fmt::format("{}: {}", to_string(error.code), error.message)};
}

Result<ConformanceRun> ConformanceRun::create(ConformSubject subject) {
  ASSAY_TRY(TemporaryDirectory folder, TemporaryDirectory::create("assay-conform-"));
  return ConformanceRun(std::move(subject), std::move(folder));
}

Result<fs::path> ConformanceRun::model_for(const NodeTest& test, const NodeTestData& data) const {
  const bool lowers = !subject_.entry.lowered_to.empty();
  if (!lowers && !subject_.specialise && !subject_.entry.static_shapes) return test.model;
  ASSAY_TRY(const SpecialiseRequest request, request_of(test, data));
  ASSAY_TRY(const StaticModel model, StaticModel::open(test.model));
  if (lowers) {
    const std::optional<lowering::Dialect> dialect = lowering::dialect_from(subject_.entry.lowered_to);
    ASSAY_CHECK(dialect, "engine.json has only dialects that are known");
    fs::path file = folder_.path() / fmt::format("model.{}", subject_.entry.lowered_to);
    ASSAY_CHECK_OK(lowering::lower_to_file(model, request, *dialect, file));
    return file;
  }
  ASSAY_TRY(const SpecialisedModel done, specialise(model, request, folder_.path() / "model.onnx"));
  if (done.dynamic.empty()) return done.path;
  return fail(ErrorCode::kUnsupported, no_static_shape(done.dynamic.front()));
}

Status ConformanceRun::compute(const NodeTest& test, const NodeTestData& data, const fs::path& outputs) {
  ASSAY_TRY(const fs::path model, model_for(test, data));
  const fs::path file = folder_.path() / "inputs.safetensors";
  std::vector<NamedView> views;
  for (const NamedTensor& input : data.inputs) views.push_back({input.name, input.tensor.view()});
  ASSAY_CHECK_OK(write_safetensors(file, views, {}, Persistence::kScratch));
  if (!worker_ || !worker_->alive()) {
    ASSAY_TRY(worker_, subject_.start());
  }
  LoadRequest load;
  load.model = model;
  load.device_id = subject_.entry.cpu_device;
  load.threads = 1;
  ASSAY_TRY(const LoadReply loaded, worker_->load(load, subject_.timeout));
  version_ = loaded.engine_version;
  BindRequest bind;
  for (const NamedTensor& input : data.inputs)
    if (std::ranges::find(loaded.inputs, input.name, &ValueSignature::name) != loaded.inputs.end())
      bind.inputs.push_back({.name = input.name,
                             .dtype = input.tensor.dtype(),
                             .shape = input.tensor.shape(),
                             .fill = Fill::kFile,
                             .file = file});
  ASSAY_TRY([[maybe_unused]] const BindReply bound, worker_->bind(bind, subject_.timeout));
  ASSAY_TRY([[maybe_unused]] const InferReply run, worker_->infer({0, outputs}, subject_.timeout));
  return {};
}

Result<ConformityResult> ConformanceRun::run(const NodeTest& test) {
  const Result<NodeTestData> data = read_node_test_data(test);
  if (!data) return conformity_of(data.error());
  const fs::path outputs = folder_.path() / "outputs.safetensors";
  std::error_code none;
  fs::remove(outputs, none);  // those of the test before
  if (const Status done = compute(test, *data, outputs); !done) {
    if (done.error().code == ErrorCode::kCancelled) return tl::unexpected<Error>(done.error());
    // After an error the state of the runtime is unknown; a refusal changes nothing.
    if (done.error().code != ErrorCode::kUnsupported) worker_.reset();
    return without_path(without_path(conformity_of(done.error()), test.model.string(), "model.onnx"),
                        folder_.path().string() + "/", "");
  }
  return judge_node_test(test, *data, outputs);
}

ConformityResult judge_node_test(const NodeTest& test, const NodeTestData& data, const fs::path& computed) {
  const Result<SafetensorsFile> file = SafetensorsFile::open(computed);
  if (!file) return conformity_of(file.error());
  for (const NamedTensor& expected : data.outputs) {
    const Result<TensorView> output = file->tensor(expected.name);
    if (!output) return conformity_of(output.error());
    const Result<Comparison> compared =
        compare(expected.tensor.view(), *output, tolerance_of(test, expected.tensor.view()));
    const std::string name = shown(expected.name);
    if (!compared && compared.error().code == ErrorCode::kUnsupported) return conformity_of(compared.error());
    if (!compared) return {Conformity::kWrong, fmt::format("output {}: {}", name, compared.error().message)};
    if (compared->exceeding == 0) continue;
    if (test.random)
      return {Conformity::kUnsupported,
              fmt::format("output {}: its values are random, those of the test are from another generator", name)};
    return {Conformity::kWrong,
            fmt::format("output {}: element {} is {:.7g}, expected {:.7g}; {} of {} elements differ", name,
                        compared->worst_index, compared->worst_candidate, compared->worst_reference,
                        compared->exceeding, compared->elements)};
  }
  return {};
}

}  // namespace assay
