// SPDX-License-Identifier: Apache-2.0
#include "app/cli/known_engines.hpp"

#include <algorithm>

namespace assay::cli {

const EngineRegistry& engine_registry() {
  static const EngineRegistry registry(EngineRegistry::default_places());
  return registry;
}

std::vector<Framework> frameworks(const EngineRegistry& registry) {
  const std::vector<EngineEntry>& engines = registry.entries();
  const auto has_plugin = [&](const std::string& framework) {
    return std::ranges::any_of(engines,
                               [&](const EngineEntry& each) { return each.built && each.framework == framework; });
  };
  std::vector<Framework> found;
  for (const EngineEntry& engine : engines)
    if (engine.framework != engine.name && (engine.built || !has_plugin(engine.framework)))
      found.push_back({engine.framework, engine.name});
  return found;
}

}  // namespace assay::cli
