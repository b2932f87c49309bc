// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "bench/engine/registry.hpp"
#include "bench/prepare/artefact.hpp"
#include "bench/prepare/generation.hpp"
#include "bench/prepare/kv_cache.hpp"
#include "bench/prepare/zoo_source.hpp"
#include "bench/settings/settings.hpp"
#include "core/base/files.hpp"

namespace assay {

/// What the zoo would build, described by its graphs alone: files without weights, in a temporary folder.
struct ZooDescription {
  ZooBuild build;                                    ///< makes the whole model
  std::shared_ptr<const TemporaryDirectory> folder;  ///< contains the graphs
  zoo::BuiltModel built;                             ///< the model; for a generative model, the prompt's graph
  ModelInfo info;                                    ///< describes the graph of `built`
  std::optional<GenerationGraphs> generation{};
  std::uint64_t weight_bytes = 0;  ///< total of all graphs
};

/// The zoo's build of a source with these settings. Cost: none.
[[nodiscard]] ZooBuild zoo_build(const ZooSource& source, const RunSettings& settings);

/// Why weights of so many bytes do not fit; nullopt: they fit.
using Shortfall = std::function<std::optional<std::string>(std::uint64_t weight_bytes)>;

/// `generation`: describe the graphs for generation, where the class has any. `shortfall` is asked before the first
/// graph is looked into: one tensor alone may be larger than what a file may have on this machine. Each graph is built
/// once. Errors: those of zoo::build and inspect_graph; out_of_memory, with the answer of `shortfall`; cancelled, which
/// is checked before each graph.
[[nodiscard]] Result<ZooDescription> describe(ZooBuild build, bool generation, const std::filesystem::path& folder,
                                              const Cancelled& cancelled, const Shortfall& shortfall = {});

/// A generative model with a static KV cache or the runtime's own.
struct CacheVariant {
  ArtefactSpec artefact;
  ModelInfo info;           ///< describes the graph of the steps, which is also the prompt's if `own_prompt` is false
  Generation generation{};  ///< its lengths are the cell's to set
  std::string config_hash{};
  std::string graph_hash{};  ///< "": known when a converter has written the file
  KvCache kv_cache = KvCache::kStatic;
  bool own_prompt = false;  ///< the prompt has the graph that it has with a growing cache
};

/// The variants for a kind of KV cache, by engine; "" is for every engine without an entry. An engine that does not
/// support the kind has an error. nullopt: no kind was requested; the caches grow, except on engines that run static
/// ones only.
[[nodiscard]] std::map<std::string, Result<CacheVariant>> describe_variants(const ZooDescription& model,
                                                                            std::optional<KvCache> requested,
                                                                            const std::vector<std::string>& engines,
                                                                            const EngineRegistry& registry);

}  // namespace assay
