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
#include "prepare/forms.hpp"
#include "prepare/generation.hpp"
#include "prepare/settings.hpp"
#include "prepare/zoo_source.hpp"

namespace assay {

/// What the zoo would build, known from its graphs alone: files whose weights are left out, in a temporary folder.
struct ZooDescription {
  ZooBuild build;                                    ///< makes the whole model
  std::shared_ptr<const TemporaryDirectory> folder;  ///< of the graphs
  zoo::BuiltModel built;                             ///< the prompt's graph, where it generates
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

/// A model that generates, with its cache in another form than the graph's own growing one.
struct CacheVariant {
  ArtefactSpec artefact;
  ModelInfo info;           ///< of its graph
  Generation generation{};  ///< its lengths are the cell's to set
  std::string config_hash{};
  std::string graph_hash{};  ///< "": known when a converter has written the file
};

/// The variants that a form means, by engine; "" is for every engine that has no own. Errors stand in for what an
/// engine does not have.
[[nodiscard]] std::map<std::string, Result<CacheVariant>> describe_variants(const ZooDescription& model, zoo::Form form,
                                                                            const std::vector<std::string>& engines,
                                                                            const EngineRegistry& registry);

}  // namespace assay
