// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "base/files.hpp"
#include "engine/registry.hpp"
#include "prepare/artefact.hpp"
#include "prepare/generation.hpp"
#include "prepare/kv_cache.hpp"
#include "prepare/settings.hpp"
#include "prepare/zoo_source.hpp"

namespace assay {

/// What the zoo would build, described by its graphs alone: files without weights, in a temporary folder.
struct ZooDescription {
  ZooBuild build;                                    ///< makes the whole model
  std::shared_ptr<const TemporaryDirectory> folder;  ///< of the graphs
  zoo::BuiltModel built;                             ///< of a generative model, the prompt's graph
  ModelInfo info;                                    ///< of that graph
  std::optional<GenerationGraphs> generation{};
  std::uint64_t weight_bytes = 0;  ///< of all graphs
};

/// The zoo's build of a source with these settings. Cost: none.
[[nodiscard]] ZooBuild zoo_build(const ZooSource& source, const RunSettings& settings);

/// Bytes of a build's weights. Its graph is made in `folder` (a cache), but not looked into: one tensor alone may be
/// larger than what a file may have on this machine. Errors: those of zoo::build.
[[nodiscard]] Result<std::uint64_t> weight_bytes_of(const ZooBuild& build, const std::filesystem::path& folder);

/// `generation`: describe the graphs for generation, where the class has any. Errors: those of zoo::build and
/// inspect_graph; cancelled.
[[nodiscard]] Result<ZooDescription> describe(ZooBuild build, bool generation, const std::filesystem::path& folder,
                                              const Cancelled& cancelled);

/// A generative model with a static KV cache or the runtime's own.
struct CacheVariant {
  ArtefactSpec artefact;
  ModelInfo info;           ///< of its graph
  Generation generation{};  ///< its lengths are the cell's to set
  std::string config_hash{};
  std::string graph_hash{};  ///< "": known when a converter has written the file
};

/// The variants for a kind of KV cache, by engine; "" is for every engine without an entry. An engine that does not
/// support the kind has an error.
[[nodiscard]] std::map<std::string, Result<CacheVariant>> describe_variants(const ZooDescription& model,
                                                                            zoo::KvCache kv_cache,
                                                                            const std::vector<std::string>& engines,
                                                                            const EngineRegistry& registry);

}  // namespace assay
