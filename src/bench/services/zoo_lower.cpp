// SPDX-License-Identifier: Apache-2.0
#include "bench/services/zoo_lower.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <system_error>

#include "bench/prepare/prepare.hpp"
#include "bench/worker/worker.hpp"
#include "core/base/files.hpp"
#include "core/base/text.hpp"
#include "models/onnx/inspect.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

constexpr std::chrono::minutes kTimeToSave{10};

// Loads the lowered model in a worker of the engine, which writes it in its own format.
Status save_by_engine(const std::string& engine, const fs::path& model, const ZooSpecialiseRequest& asked,
                      const EngineRegistry& registry, const Cancelled& cancelled) {
  ASSAY_TRY(const EngineLocation location, registry.locate(engine));
  Worker::StartOptions start;
  start.executable = registry.places().worker;
  start.cancelled = cancelled;
  ASSAY_TRY(const std::unique_ptr<Worker> worker, Worker::start(location, std::move(start)));
  LoadRequest load;
  load.model = model;
  load.precision = asked.precision;
  load.device_id = registry.entry(engine)->cpu_device;
  ASSAY_TRY([[maybe_unused]] const LoadReply loaded, worker->load(load, kTimeToSave));
  // Under another name first: an older output stays until the new one is whole.
  const fs::path made = model.parent_path() / asked.output.filename();
  ASSAY_CHECK_OK(worker->save({made}, kTimeToSave));
  std::error_code error;
  fs::rename(made, asked.output, error);
  if (!error) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("cannot write {}: {}", shown_path(asked.output), error.message()));
}

// A lowered model does not say which of its inputs select rows of tables: the file that it was made of does.
Status add_index_limits(lowering::Program& program, const fs::path& model) {
  ASSAY_TRY(const ModelInfo info, inspect_graph(model));
  for (lowering::Value& input : program.inputs) {
    const auto known = std::ranges::find(info.inputs, input.name, &ModelValue::name);
    if (known != info.inputs.end()) input.index_limit = known->index_limit;
  }
  return {};
}

}  // namespace

Result<std::optional<LoweredFormat>> lowered_format(const fs::path& file, const EngineRegistry& registry) {
  using Found = std::optional<LoweredFormat>;
  const std::string extension = lower(file.extension().string());
  if (extension.size() < 2 || extension == ".onnx") return Found();
  const std::string word = extension.substr(1);
  if (const auto dialect = lowering::dialect_from_extension(word)) return Found({.dialect = *dialect});
  for (const EngineEntry& engine : registry.entries())
    if (std::ranges::find(engine.saves, word) != engine.saves.end())
      return Found({.dialect = *lowering::dialect_from(engine.lowered_to), .engine = engine.name});
  // An ONNX file with another extension could not be read again, or not by others.
  return fail(ErrorCode::kInvalidArgument, fmt::format("--output: assay does not write {} files", extension),
              "give a file with the extension .onnx, .pt, .torchscript, .stablehlo or .mlir");
}

Result<ZooLowered> lower_by_name(const ZooSpecialiseRequest& request, const LoweredFormat& format,
                                 const EngineRegistry& registry, hub::Hub& hub, const Cancelled& cancelled) {
  if (!format.engine.empty()) {  // before minutes of work
    ASSAY_TRY([[maybe_unused]] const EngineLocation location, registry.locate(format.engine));
  }
  ZooSpecialiseRequest asked = request;
  asked.output = fs::absolute(request.output);
  ASSAY_CHECK_OK(make_directories(asked.output.parent_path()));
  // Beside the output: a file is then renamed, not copied.
  ASSAY_TRY(const TemporaryDirectory folder, TemporaryDirectory::create(".assay-lower-", asked.output.parent_path()));
  ZooLowered done;
  ASSAY_TRY(BuiltByName built, build_by_name({.name = asked.model,
                                              .model_class = asked.model_class,
                                              .precision = asked.precision,
                                              .seed = asked.seed,
                                              .allow_random_weights = asked.allow_random_weights,
                                              .size = asked.size},
                                             folder.path() / "model.onnx", hub, cancelled));
  done.built = std::move(built.model);
  asked.positions = built.max_sequence;
  ASSAY_TRY(const SpecialiseRequest extents, extents_for(done.built.path, asked));
  ASSAY_TRY(const StaticModel model, StaticModel::open(done.built.path));
  ASSAY_TRY(lowering::Program program, lowering::lower(model, extents, format.dialect));
  ASSAY_CHECK_OK(add_index_limits(program, done.built.path));
  if (format.engine.empty()) {
    ASSAY_CHECK_OK(lowering::write_program(program, asked.output, lowering::WeightPlace::kCopied));
  } else {
    const fs::path text = folder.path() / fmt::format("lowered.{}", lowering::to_string(format.dialect));
    ASSAY_CHECK_OK(lowering::write_program(program, text));
    ASSAY_CHECK_OK(save_by_engine(format.engine, text, asked, registry, cancelled));
  }
  done.built.path = request.output;
  done.shapes.assign(extents.shapes.begin(), extents.shapes.end());
  return done;
}

}  // namespace assay
