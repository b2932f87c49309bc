// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "engine/registry.hpp"
#include "onnx/model_info.hpp"
#include "prepare/generation.hpp"
#include "tensor/recipe.hpp"
#include "worker/worker.hpp"
#include "zoo/zoo.hpp"

namespace assay {

/// The graph of a generative model whose KV cache is static or the runtime's own, for the prompt and the steps. It is
/// verified against the graph with a growing cache.
struct CacheGraph {
  zoo::BuiltModel model;
  ModelInfo info;
  Generation generation{};  ///< its lengths are a cell's to set
  std::string note{};       ///< attentions that the runtime does not fuse with their caches; empty: none
};

/// `request` is for a whole model and is not changed. Errors: those of zoo::build; unsupported ("unsupported: kv_cache
/// = …") for a model whose prompt needs a graph of its own, or whose attention this kind of cache cannot express.
[[nodiscard]] Result<CacheGraph> build_cache_graph(zoo::BuildRequest& request, zoo::KvCache kv_cache,
                                                   const std::filesystem::path& file);

/// How a model is made whose cache is the runtime's own (EngineEntry::RuntimeCache::converter).
struct Stateful {
  std::string engine;             ///< in messages
  std::filesystem::path program;  ///< the engine's converter
  EngineLocation runtime;         ///< of the release that the converter was built with
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

/// The prompt's inputs for a graph with another kind of cache: the same values as for the graph with a growing cache.
/// `generation` has the lengths of the cell.
[[nodiscard]] std::vector<InputRecipe> cache_graph_inputs(const ModelInfo& info, const Generation& generation,
                                                          const std::vector<InputRecipe>& growing);

}  // namespace assay
