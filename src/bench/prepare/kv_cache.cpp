// SPDX-License-Identifier: Apache-2.0
#include "bench/prepare/kv_cache.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "bench/worker/process.hpp"
#include "core/base/hash.hpp"
#include "core/base/text.hpp"
#include "models/inputs/input_axes.hpp"
#include "models/onnx/inspect.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kPositions = "cache_position", kCache = "cache";

tl::unexpected<Error> no_such_cache(KvCache kv_cache) {
  return fail(ErrorCode::kUnsupported, fmt::format("unsupported: kv_cache = {}", to_string(kv_cache)),
              "models that generate have a static KV cache, and decoders whose prompt needs no graph of its own a "
              "runtime one; use --kv-cache growing");
}

// This assay's converter does not run with this release of the runtime.
tl::unexpected<Error> no_stateful(const std::string& engine, const std::string& why) {
  return fail(ErrorCode::kUnsupported,
              fmt::format("unsupported: kv_cache = runtime: the stateful model for {0} is made by a program for the "
                          "release of {0} that assay was built with: {1}",
                          engine, why),
              fmt::format("build assay with this release of {}, or use --kv-cache growing", engine));
}

// From the last line of the converter, "fused N of M". Empty if all are fused. A decoder has attentions: 0 of 0 says
// that the converter did not recognise them.
std::string fusion_note(const std::string& engine, const std::vector<std::string>& words) {
  unsigned fused = 0, attentions = 0;
  const bool counted = !words.empty() && std::sscanf(words.back().c_str(), "fused %u of %u", &fused, &attentions) == 2;
  if (!counted || attentions == 0 || fused > attentions)
    return fmt::format("whether {} fuses attention and cache is unknown", engine);
  if (fused == attentions) return {};
  return fmt::format("{} fuses {} of {} attentions with their caches", engine, fused, attentions);
}

// The mask over all places of a cache; "": the graph has none.
std::string whole_mask(const ModelInfo& info) {
  for (const ModelValue& input : info.inputs)
    if (role_of(input) == InputRole::kMask && !input.symbols.empty() && input.symbols.back() == kCache)
      return input.name;
  return {};
}

}  // namespace

fs::path cache_step_file(const fs::path& prompt) { return fs::path(prompt).replace_extension(".step.onnx"); }

Result<CacheGraph> build_cache_graph(zoo::BuildRequest& request, KvCache kv_cache, const std::filesystem::path& file) {
  ASSAY_TRY(const zoo::Generates kind, zoo::generates(request.config, request.model_class));
  const bool alone = kind == zoo::Generates::kFromEmptyPast;
  if (!alone && (kind == zoo::Generates::kNothing || kv_cache != KvCache::kStatic)) return no_such_cache(kv_cache);
  const auto build = [&](zoo::Part part, KvCache cache, const fs::path& to) {
    request.part = part;
    request.last_logits_only = true;
    request.kv_cache = cache;
    Result<zoo::BuiltModel> built = zoo::build(request, to);
    request.part = zoo::Part::kWhole;
    request.last_logits_only = false;
    request.kv_cache = KvCache::kGrowing;
    return built;
  };
  CacheGraph graph;
  if (!alone) {
    ASSAY_TRY(graph.prompt, build(zoo::Part::kPrefill, KvCache::kGrowing, file));
  }
  ASSAY_TRY(graph.model, build(zoo::Part::kDecode, kv_cache, alone ? file : cache_step_file(file)));
  ASSAY_TRY(graph.info, inspect_graph(graph.model.path));
  graph.generation = describe_generation(graph.prompt ? *graph.prompt : graph.model, graph.model, graph.info);
  if (!alone && graph.generation.mask.empty()) graph.generation.mask = whole_mask(graph.info);
  const auto places = std::ranges::find(graph.info.inputs, kPositions, &ModelValue::name);
  if (places != graph.info.inputs.end()) graph.generation.positions = kPositions;
  return graph;
}

Result<CacheGraph> describe_stateful(const GenerationGraphs& growing) {
  if (growing.step) return no_such_cache(KvCache::kRuntime);
  CacheGraph graph{.model = growing.prompt, .info = growing.step_info, .generation = growing.generation};
  graph.model.path.clear();
  graph.model.kv_cache = KvCache::kRuntime;
  graph.model.states.clear();
  graph.generation.states.clear();
  const auto kept = [&](const ModelValue& value) {
    return std::ranges::any_of(growing.generation.states, [&](const Generation::State& state) {
      return state.step_input == value.name || state.step_output == value.name;
    });
  };
  std::erase_if(graph.info.inputs, kept);
  std::erase_if(graph.info.outputs, kept);
  graph.info.path.clear();
  graph.info.graph_hash.clear();
  graph.info.file_bytes = 0;
  return graph;
}

Result<CacheGraph> make_stateful(const GenerationGraphs& growing, const Stateful& with, const fs::path& file) {
  ASSAY_TRY(CacheGraph graph, describe_stateful(growing));
  ChildProcess::Options options;
  options.arguments = {with.program.string(), growing.prompt.path.string(), file.string(), growing.generation.tokens};
  for (const Generation::State& state : growing.generation.states)
    options.arguments.push_back(state.step_input + "=" + state.step_output);
  const char* libraries = std::getenv("LD_LIBRARY_PATH");
  options.environment = {
      {"LD_LIBRARY_PATH", with.runtime.home.string() + (libraries != nullptr ? std::string(":") + libraries : "")}};
  Result<ChildProcess> process = ChildProcess::spawn(options);
  if (!process) return no_stateful(with.engine, process.error().message);
  const auto until = std::chrono::steady_clock::now() + with.timeout;
  std::optional<ProcessEnd> end;
  while (!end && check_cancelled(with.cancelled) && std::chrono::steady_clock::now() < until)
    end = process->wait(std::chrono::milliseconds(200));
  if (!end) ASSAY_CHECK_OK(check_cancelled(with.cancelled));
  if (!end)
    return fail(ErrorCode::kTimeout,
                fmt::format("the stateful model for {} was not made within --timeout", with.engine), "give more time");
  constexpr int kNotLoaded = 127;  // what the system's loader exits with
  const std::string words = join(process->last_words(), "; ");
  if (end->exit_status == kNotLoaded) return no_stateful(with.engine, words);
  if (end->exit_status != 0 || end->signal != 0)
    return fail(ErrorCode::kInternal, fmt::format("the stateful model for {} was not made: {}", with.engine, words));
  graph.model.path = file;
  graph.info.path = file;
  graph.note = fusion_note(with.engine, process->last_words(1));
  ASSAY_TRY(graph.info.graph_hash, sha256_file(file));
  return graph;
}

Result<std::map<std::string, Shape>> cache_graph_shapes(const ModelInfo& info, const Generation& generation,
                                                        const ModelInfo& prompt_info,
                                                        const std::vector<InputRecipe>& prompt, std::int64_t tokens) {
  std::map<std::string, std::int64_t> extents{{std::string(kCache), generation.cache_tokens}};
  for (const ModelValue& input : prompt_info.inputs) {
    const auto recipe = std::ranges::find(prompt, input.name, &InputRecipe::name);
    for (std::size_t axis = 0; recipe != prompt.end() && axis < input.symbols.size(); ++axis)
      extents.emplace(input.symbols[axis], recipe->shape[axis]);
  }
  // The axis of the new tokens may have the symbol of the prompt's.
  for (const ModelValue& input : info.inputs)
    if (input.name == generation.tokens && !input.symbols.empty()) extents[input.symbols.back()] = tokens;
  std::map<std::string, Shape> shapes;
  for (const ModelValue& input : info.inputs) {
    Shape& shape = shapes[input.name] = input.shape;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (shape[axis] >= 0) continue;
      const auto known = axis < input.symbols.size() ? extents.find(input.symbols[axis]) : extents.end();
      if (known == extents.end())
        return fail(ErrorCode::kInternal,
                    fmt::format("the extent of axis {} of the input {} is unknown", axis, shown(input.name)));
      shape[axis] = known->second;
    }
  }
  return shapes;
}

std::vector<InputRecipe> cache_graph_inputs(const ModelInfo& info, const Generation& generation,
                                            const std::vector<InputRecipe>& growing) {
  std::vector<InputRecipe> made;
  for (const ModelValue& input : info.inputs) {
    const auto recipe = std::ranges::find(growing, input.name, &InputRecipe::name);
    const auto state = std::ranges::find(generation.states, input.name, &Generation::State::step_input);
    if (recipe == growing.end() || state != generation.states.end()) continue;
    made.push_back(*recipe);
    // A mask over the whole cache: what lies ahead is hidden by its place, only the prompt's part may be padding.
    for (std::size_t axis = 0; axis < input.symbols.size(); ++axis) {
      if (input.symbols[axis] != kCache) continue;
      if (made.back().fill == Fill::kPaddingMask) made.back().high = static_cast<double>(made.back().shape[axis]);
      made.back().shape[axis] = generation.cache_tokens;
    }
  }
  return made;
}

}  // namespace assay
