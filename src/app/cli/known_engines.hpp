// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "bench/engine/registry.hpp"

namespace assay::cli {

/// The engines of this machine, external ones included. They are read once, at the first call. Thread: any.
[[nodiscard]] const EngineRegistry& engine_registry();

/// A framework of the guides and its engine: "pytorch" is libtorch.
struct Framework {
  std::string name, engine;
};
/// The frameworks whose name is not that of their engine, one for each engine. A planned engine is not among them if
/// another engine of its framework has a plug-in.
[[nodiscard]] std::vector<Framework> frameworks(const EngineRegistry& registry);

}  // namespace assay::cli
