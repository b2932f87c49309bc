// SPDX-License-Identifier: Apache-2.0
#include "prepare/forms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "worker/process.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kPositions = "cache_position", kCache = "cache";

tl::unexpected<Error> no_form(zoo::Form form) {
  return fail(ErrorCode::kUnsupported, fmt::format("unsupported: form = {}", zoo::form_name(form)),
              "other forms than the portable one are of decoders whose prompt needs no graph of its own");
}

// This assay's converter does not run with this OpenVINO.
tl::unexpected<Error> no_stateful(const std::string& why) {
  return fail(ErrorCode::kUnsupported,
              fmt::format("unsupported: form = native: OpenVINO's stateful model is made by a program for the release "
                          "that assay was built with: {}",
                          why),
              "build assay with this release of OpenVINO, or take --form portable");
}

}  // namespace

Result<FormGraph> build_form(zoo::BuildRequest& request, zoo::Form form, const std::filesystem::path& file) {
  ASSAY_TRY(const zoo::Generates kind, zoo::generates(request.config, request.model_class));
  if (kind != zoo::Generates::kFromEmptyPast) return no_form(form);
  request.part = zoo::Part::kDecode;
  request.last_logits_only = true;
  request.form = form;
  Result<zoo::BuiltModel> built = zoo::build(request, file);
  request.part = zoo::Part::kWhole;
  request.last_logits_only = false;
  request.form = zoo::Form::kPortable;
  if (!built) return tl::unexpected<Error>(std::move(built).error());
  FormGraph graph{std::move(*built), {}, {}};
  ASSAY_TRY(graph.info, inspect_graph(graph.model.path));
  graph.generation = describe_generation(graph.model, graph.model, graph.info);
  const auto places = std::ranges::find(graph.info.inputs, kPositions, &ModelValue::name);
  if (places != graph.info.inputs.end()) graph.generation.positions = kPositions;
  return graph;
}

Result<FormGraph> stateful_form(const GenerationGraphs& portable) {
  if (portable.step) return no_form(zoo::Form::kNative);
  FormGraph graph{portable.prompt, portable.step_info, portable.generation};
  graph.model.path.clear();
  graph.model.form = zoo::form_name(zoo::Form::kNative);
  graph.model.states.clear();
  graph.generation.states.clear();
  const auto kept = [&](const ModelValue& value) {
    return std::ranges::any_of(portable.generation.states, [&](const Generation::State& state) {
      return state.step_input == value.name || state.step_output == value.name;
    });
  };
  std::erase_if(graph.info.inputs, kept);
  std::erase_if(graph.info.outputs, kept);
  graph.info.path.clear();
  graph.info.graph_hash.clear();
  return graph;
}

Result<FormGraph> make_stateful(const GenerationGraphs& portable, const Stateful& with, const fs::path& file) {
  ASSAY_TRY(FormGraph graph, stateful_form(portable));
  ChildProcess::Options options;
  options.arguments = {with.program.string(), portable.prompt.path.string(), file.string(), portable.generation.tokens};
  for (const Generation::State& state : portable.generation.states)
    options.arguments.push_back(state.step_input + "=" + state.step_output);
  const char* libraries = std::getenv("LD_LIBRARY_PATH");
  options.environment = {
      {"LD_LIBRARY_PATH", with.runtime.home.string() + (libraries != nullptr ? std::string(":") + libraries : "")}};
  Result<ChildProcess> process = ChildProcess::spawn(options);
  if (!process) return no_stateful(process.error().message);
  const auto until = std::chrono::steady_clock::now() + with.timeout;
  std::optional<ProcessEnd> end;
  while (!end && check_cancelled(with.cancelled) && std::chrono::steady_clock::now() < until)
    end = process->wait(std::chrono::milliseconds(200));
  if (!end) ASSAY_CHECK_OK(check_cancelled(with.cancelled));
  if (!end)
    return fail(ErrorCode::kTimeout, "OpenVINO's stateful model was not made within --timeout", "give more time");
  constexpr int kNotLoaded = 127;  // what the system's loader exits with
  const std::string words = join(process->last_words(), "; ");
  if (end->exit_status == kNotLoaded) return no_stateful(words);
  if (end->exit_status != 0 || end->signal != 0)
    return fail(ErrorCode::kInternal, fmt::format("OpenVINO's stateful model was not made: {}", words));
  graph.model.path = file;
  graph.info.path = file;
  ASSAY_TRY(graph.info.graph_hash, sha256_file(file));
  std::error_code unknown;
  graph.info.file_bytes =
      fs::file_size(file, unknown) + fs::file_size(fs::path(file).replace_extension(".bin"), unknown);
  return graph;
}

std::vector<InputRecipe> form_inputs(const ModelInfo& info, const Generation& generation,
                                     const std::vector<InputRecipe>& portable) {
  std::vector<InputRecipe> made;
  for (const ModelValue& input : info.inputs) {
    const auto recipe = std::ranges::find(portable, input.name, &InputRecipe::name);
    const auto state = std::ranges::find(generation.states, input.name, &Generation::State::step_input);
    if (recipe == portable.end() || state != generation.states.end()) continue;
    made.push_back(*recipe);
    // A mask over the whole cache: what lies ahead is hidden by its place.
    for (std::size_t axis = 0; axis < input.symbols.size(); ++axis)
      if (input.symbols[axis] == kCache) made.back().shape[axis] = generation.cache_tokens;
  }
  return made;
}

}  // namespace assay
