// SPDX-License-Identifier: Apache-2.0
#include "plan/forms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "plan/generation.hpp"

namespace assay {
namespace {

constexpr std::string_view kPositions = "cache_position", kCache = "cache";

}  // namespace

Result<FormGraph> build_form(zoo::BuildRequest& request, zoo::Form form, const std::filesystem::path& file) {
  ASSAY_TRY(const zoo::Generates kind, zoo::generates(request.config, request.model_class));
  if (kind != zoo::Generates::kFromEmptyPast)
    return fail(ErrorCode::kUnsupported, fmt::format("unsupported: form = {}", zoo::form_name(form)),
                "other forms than the portable one are of decoders whose prompt needs no graph of its own");
  request.part = zoo::Part::kDecode;
  request.last_logits_only = true;
  request.form = form;
  Result<zoo::BuiltModel> built = zoo::build(request, file);
  request.part = zoo::Part::kWhole;
  request.last_logits_only = false;
  request.form = zoo::Form::kPortable;
  if (!built) return tl::unexpected<Error>(std::move(built).error());
  FormGraph graph{std::move(*built), {}, {}};
  ASSAY_TRY(graph.info, inspect_model(graph.model.path));
  graph.generation = describe_generation(graph.model, graph.model, graph.info);
  const auto places = std::ranges::find(graph.info.inputs, kPositions, &ModelValue::name);
  if (places != graph.info.inputs.end()) graph.generation.positions = kPositions;
  return graph;
}

std::vector<InputRecipe> form_inputs(const FormGraph& graph, const std::vector<InputRecipe>& portable,
                                     std::int64_t cache_tokens) {
  std::vector<InputRecipe> made;
  for (const ModelValue& input : graph.info.inputs) {
    const auto recipe = std::ranges::find(portable, input.name, &InputRecipe::name);
    const auto state = std::ranges::find(graph.generation.states, input.name, &Generation::State::step_input);
    if (recipe == portable.end() || state != graph.generation.states.end()) continue;
    made.push_back(*recipe);
    // A mask over the whole cache: what lies ahead is hidden by its place.
    for (std::size_t axis = 0; axis < input.symbols.size(); ++axis)
      if (input.symbols[axis] == kCache) made.back().shape[axis] = cache_tokens;
  }
  return made;
}

}  // namespace assay
