// SPDX-License-Identifier: Apache-2.0
#include "bench/prepare/generation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "core/base/files.hpp"
#include "core/base/hash.hpp"
#include "core/tensor/safetensors.hpp"
#include "models/inputs/input_axes.hpp"
#include "models/onnx/inspect.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

// The decoder's ids; for a model without an encoder, the ids.
constexpr const char* kDecoderIds = "decoder_input_ids";
constexpr const char* kIds = "input_ids";
constexpr std::string_view kGrows = "past + ";

bool has_input(const ModelInfo& info, const std::string& name) {
  return std::ranges::find(info.inputs, name, &ModelValue::name) != info.inputs.end();
}

// The mask over past and present tokens: the one input but the states whose last extent grows with the past.
std::string growing_mask(const ModelInfo& info) {
  for (const ModelValue& input : info.inputs)
    if (role_of(input) == InputRole::kMask && !input.symbols.empty() && input.symbols.back().starts_with(kGrows))
      return input.name;
  return {};
}

// Ids that begin with those of the image, as a file: a recipe cannot describe them.
Status put_image(InputRecipe& ids, const ImagePlaces& image, const fs::path& cache) {
  ASSAY_TRY(Tensor tensor, make_input(ids, 0, 0));
  const std::int64_t length = ids.shape[1];
  const auto fill = [&]<class T>(std::span<T> all) {
    for (std::int64_t i = 0; i < std::ssize(all); ++i) {
      T& id = all[static_cast<std::size_t>(i)];
      if (i % length < image.count)
        id = static_cast<T>(image.token);
      else if (id == image.token)
        id = image.token == 0 ? 1 : 0;
    }
  };
  if (ids.dtype == DType::kInt64)
    fill(tensor.as<std::int64_t>());
  else
    fill(tensor.as<std::int32_t>());
  const auto bytes = std::as_const(tensor).bytes();
  const std::string content(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  ASSAY_CHECK(!cache.empty(), "prompts with an image need a folder");
  ASSAY_CHECK_OK(make_directories(cache));
  ids.fill = Fill::kFile;
  ids.file =
      cache / fmt::format("prompt_{}x{}_{}.safetensors", ids.shape[0], length, sha256_hex(content).substr(0, 24));
  const NamedView named{ids.name, tensor.view()};
  return write_safetensors(ids.file, std::span(&named, 1), {}, Persistence::kScratch);
}

}  // namespace

Generation describe_generation(const zoo::BuiltModel& prompt, const zoo::BuiltModel& step, const ModelInfo& info) {
  Generation generation;
  generation.tokens = has_input(info, kDecoderIds) ? kDecoderIds : kIds;
  generation.mask = growing_mask(info);
  for (const zoo::StateTensor& state : step.states) {
    const auto from = std::ranges::find(prompt.states, state.input, &zoo::StateTensor::input);
    generation.states.push_back({from == prompt.states.end() ? state.output : from->output, state.input, state.output});
  }
  return generation;
}

Result<std::optional<GenerationGraphs>> build_generation(zoo::BuildRequest& request, const fs::path& folder,
                                                         const std::function<Status(const zoo::BuiltModel&)>& check) {
  ASSAY_TRY(const zoo::Generates kind, zoo::generates(request.config, request.model_class));
  if (kind == zoo::Generates::kNothing) return std::optional<GenerationGraphs>();
  const auto build = [&](zoo::Part part, const char* name) -> Result<zoo::BuiltModel> {
    ASSAY_CHECK_OK(check_cancelled(request.cancelled));
    request.part = part;
    request.last_logits_only = true;
    Result<zoo::BuiltModel> built = zoo::build(request, folder / name);
    request.part = zoo::Part::kWhole;
    request.last_logits_only = false;
    return built;
  };
  GenerationGraphs graphs;
  const bool alone = kind == zoo::Generates::kFromEmptyPast;
  Result<zoo::BuiltModel> prompt = build(alone ? zoo::Part::kDecode : zoo::Part::kPrefill, "model.onnx");
  // The skeleton, which knows the configuration, has no parts of a decoder without layers.
  if (!prompt && prompt.error().code == ErrorCode::kNotFound) return std::optional<GenerationGraphs>();
  if (!prompt) return tl::unexpected<Error>(std::move(prompt).error());
  graphs.prompt = std::move(*prompt);
  if (check) ASSAY_CHECK_OK(check(graphs.prompt));
  if (!alone) {
    ASSAY_TRY(graphs.step, build(zoo::Part::kDecode, "step.onnx"));
  }
  const zoo::BuiltModel& step = graphs.step ? *graphs.step : graphs.prompt;
  ASSAY_TRY(graphs.step_info, inspect_graph(step.path));
  graphs.generation = describe_generation(graphs.prompt, step, graphs.step_info);
  graphs.prompt_in_states = graphs.generation.tokens == kIds;
  return std::optional(std::move(graphs));
}

Result<ModelInputs> prompt_inputs(const ModelInfo& prompt, InputAxes axes) {
  axes.extents = {{"past", 0}, {"decoder_sequence", 1}};
  if (prompt.image) axes.sequence += prompt.image->count;
  ASSAY_TRY(ModelInputs inputs, make_inputs(prompt, axes));
  for (InputRecipe& recipe : inputs.recipes)
    if (prompt.image && recipe.name == kIds) ASSAY_CHECK_OK(put_image(recipe, *prompt.image, axes.cache));
  return inputs;
}

Result<ModelInputs> step_inputs(const GenerationGraphs& graphs, InputAxes axes, std::int64_t past) {
  axes.input_shape.clear();  // of an input of the prompt, as given shapes are
  axes.given = {};
  axes.extents = {{"past", past}, {"decoder_sequence", 1}};
  axes.extents.emplace("sequence", graphs.prompt_in_states ? 1 : axes.sequence);
  for (const ModelValue& input : graphs.step_info.inputs)
    for (const std::string& symbol : input.symbols)
      if (!symbol.empty() && symbol != "batch" && !symbol.starts_with(kGrows) && !axes.extents.contains(symbol))
        return fail(ErrorCode::kUnsupported, fmt::format("'{}' is known when the prompt has run", symbol));
  return make_inputs(graphs.step_info, axes);
}

}  // namespace assay
