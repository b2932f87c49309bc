// SPDX-License-Identifier: Apache-2.0
#include "bench/services/zoo_show.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/prepare/zoo_source.hpp"
#include "core/base/files.hpp"
#include "models/inputs/fixed_extents.hpp"
#include "models/onnx/inspect.hpp"
#include "models/zoo/zoo.hpp"

namespace assay {
namespace {

// Builds the graph into `file` without its weights.
Status build_graph(const ModelReference& reference, const std::string& model_class, const std::string& size,
                   const std::filesystem::path& file, hub::Hub& hub, ModelFacts& facts) {
  ASSAY_TRY(const ZooSource named, find_zoo_source(reference, hub, /*allow_random_weights=*/true));
  ASSAY_TRY(const ZooSource source, source_of_size(named, size));
  if (source.planned) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("the architecture '{}' is not part of this version of assay", source.architecture),
                "`assay zoo list` shows what is built");
  }
  zoo::BuildRequest request;
  request.config = source.config;
  request.model_class = model_class.empty() ? source.model_class : model_class;
  request.weights = source.weights;
  request.weights_left_out = true;
  ASSAY_TRY(const zoo::BuiltModel built, zoo::build(request, file));
  facts.model_id = source.model_id;
  facts.architecture = built.architecture;
  facts.model_class = built.model_class;
  facts.size = source.size.empty() ? "as_is" : source.size;
  facts.source = built.seeded ? "seeded" : "checkpoint";
  facts.note = source.note;
  for (const zoo::KnownModel& known : zoo::published(built.architecture))
    facts.published.emplace_back(known.model_id, known.size);
  return {};
}

// The usual length, or the model's positions if fewer, unless the user gives one; likewise the batch.
Result<InputAxes> axes_for(const ModelInfo& model, InputAxes axes) {
  ASSAY_TRY(const FixedExtents fixed, fix_extents(with_given_ranks(model, axes.given), axes.given));
  if (fixed.sequence && axes.sequence == 0) axes.sequence = *fixed.sequence;
  if (axes.batch == 0) {
    ASSAY_TRY(const std::optional<std::int64_t> batch, fixed_batch(model, axes));
    axes.batch = batch.value_or(1);
  }
  const std::int64_t usual = InputAxes{}.sequence;
  if (axes.sequence == 0) axes.sequence = std::min(usual, model.max_sequence.value_or(usual));
  if (!model.max_sequence || axes.sequence <= *model.max_sequence) return axes;
  return fail(
      ErrorCode::kUnsupported,
      fmt::format("sequence length {} is beyond the {} positions of the model", axes.sequence, *model.max_sequence),
      "use a shorter one with --sequence-lengths");
}

// Shapes that contradict each other in the graph, and how to give others.
tl::unexpected<Error> with_other_shapes(Error error, const ModelFacts& facts) {
  const std::string options = shape_options(with_given_ranks(facts.info, facts.axes.given), {}, OpenExtents::kEvery);
  if (!options.empty())
    error.hint +=
        fmt::format("{}the file leaves extents open; other sizes: {}", error.hint.empty() ? "" : "; ", options);
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace

Result<ModelFacts> describe_model(const std::string& model, const std::string& model_class, const std::string& size,
                                  const InputAxes& axes, hub::Hub& hub) {
  ASSAY_TRY(const ModelReference reference, identify_model(model));
  ASSAY_TRY(const TemporaryDirectory scratch, TemporaryDirectory::create("assay-show-"));
  ModelFacts facts;
  std::filesystem::path file = reference.path;
  switch (reference.kind) {
    case ModelReference::Kind::kOnnxFile:
      facts.model_id = model;
      facts.size = "as_is";
      facts.source = "file";
      break;
    case ModelReference::Kind::kName:
    case ModelReference::Kind::kConfigFolder:
      file = scratch.path() / "model.onnx";
      ASSAY_CHECK_OK(build_graph(reference, model_class, size, file, hub, facts));
      break;
    default:
      return fail(ErrorCode::kUnsupported, fmt::format("'{}' is in a format that only its runtime reads", model),
                  "use an .onnx file, a folder with config.json, or a name");
  }
  ASSAY_TRY(facts.info, inspect_graph(file));
  facts.what = classify(facts.info);
  ASSAY_TRY(facts.axes, axes_for(facts.info, axes));
  ASSAY_TRY(const ModelInputs inputs, make_inputs(facts.info, facts.axes));
  std::map<std::string, Shape> shapes;
  for (const InputRecipe& input : inputs.recipes) {
    shapes[input.name] = input.shape;
    facts.shapes.emplace_back(input.name, input.shape);
  }
  Result<StaticGraph> inferred = StaticGraph::infer(file, shapes);
  if (!inferred) return with_other_shapes(std::move(inferred).error(), facts);
  const StaticGraph& graph = *inferred;
  facts.cost = graph.cost();
  facts.unknown_operators = graph.unknown_operators();
  // Some exporters leave out the shapes of outputs.
  for (ModelValue& output : facts.info.outputs) {
    const auto value = graph.values().find(output.name);
    if (value == graph.values().end() || !value->second.shape || output.has_rank) continue;
    output.shape = *value->second.shape;
    output.dtype = value->second.dtype;
    output.symbols.clear();
    output.has_rank = true;
  }
  return facts;
}

}  // namespace assay
