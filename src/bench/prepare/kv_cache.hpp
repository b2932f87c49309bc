// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "bench/engine/registry.hpp"
#include "bench/prepare/generation.hpp"
#include "bench/worker/worker.hpp"
#include "core/tensor/recipe.hpp"
#include "models/onnx/model_info.hpp"
#include "models/zoo/zoo.hpp"

namespace assay {

/// The graph of a generative model whose KV cache is static or the runtime's own. It is verified against the graph with
/// a growing cache.
struct CacheGraph {
  zoo::BuiltModel model;  ///< runs the steps, and also the prompt if `prompt` is absent
  ModelInfo info;         ///< describes `model`
  /// The prompt's own graph, if it needs one: with an encoder, with images. Its states have the prompt's length; the
  /// worker puts them at the beginning of the caches.
  std::optional<zoo::BuiltModel> prompt{};
  Generation generation{};  ///< its lengths are a cell's to set
  std::string note{};       ///< attentions that the runtime does not fuse with their caches; empty: none
};

/// `request` is for a whole model and is not changed. The graph of the steps is written to `file`; if the prompt has
/// its own, that is written to `file`, and the steps' to cache_step_file(). Errors: those of zoo::build; unsupported
/// ("unsupported: kv_cache = …") for a model that does not generate, whose attention this kind of cache cannot express,
/// or, with the runtime's own cache, whose prompt needs a graph of its own.
[[nodiscard]] Result<CacheGraph> build_cache_graph(zoo::BuildRequest& request, KvCache kv_cache,
                                                   const std::filesystem::path& file);

/// Beside the prompt's file: "model.onnx" → "model.step.onnx".
[[nodiscard]] std::filesystem::path cache_step_file(const std::filesystem::path& prompt);

/// How a model is made whose cache is the runtime's own (EngineEntry::RuntimeCache::converter).
struct Stateful {
  std::string engine;             ///< the name for messages
  std::filesystem::path program;  ///< the engine's converter
  EngineLocation runtime;         ///< the release that the converter was built with
  std::chrono::nanoseconds timeout = std::chrono::minutes(10);
  Cancelled cancelled{};
};

/// Describes the stateful model that make_stateful() would write: without states, file, its size and hash. Errors:
/// unsupported, for a model whose prompt needs a graph of its own.
[[nodiscard]] Result<CacheGraph> describe_stateful(const GenerationGraphs& growing);

/// Converts the graphs with a growing cache to the engine's stateful model and writes it to `file`, in the format of
/// EngineEntry::RuntimeCache. Errors: unsupported, for a model whose prompt needs a graph of its own, and if the
/// program does not run with this release of the runtime; timeout; cancelled; internal: what it says.
[[nodiscard]] Result<CacheGraph> make_stateful(const GenerationGraphs& growing, const Stateful& with,
                                               const std::filesystem::path& file);

/// The shapes of all inputs of a graph with a static cache, for a run on `tokens` new tokens of each sequence.
/// `prompt`: the prompt's inputs, `prompt_info`: of its graph; both say the extents that the graphs share. `generation`
/// has the lengths of the cell. Errors: internal: an input has an extent that neither says.
[[nodiscard]] Result<std::map<std::string, Shape>> cache_graph_shapes(const ModelInfo& info,
                                                                      const Generation& generation,
                                                                      const ModelInfo& prompt_info,
                                                                      const std::vector<InputRecipe>& prompt,
                                                                      std::int64_t tokens);

/// The prompt's inputs for a graph with another kind of cache: the same values as for the graph with a growing cache.
/// `generation` has the lengths of the cell.
[[nodiscard]] std::vector<InputRecipe> cache_graph_inputs(const ModelInfo& info, const Generation& generation,
                                                          const std::vector<InputRecipe>& growing);

}  // namespace assay
