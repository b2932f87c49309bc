// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>

#include "bench/engine/registry.hpp"

/// For tests that run real runtimes (assay_add_runtime_test).
namespace assay::testing {

/// The engines and the worker of this build, and the runtimes of this machine.
inline EngineRegistry::Places built_places() {
  EngineRegistry::Places places = EngineRegistry::default_places();
  places.plugins = std::filesystem::path(ASSAY_BINARY_DIR) / "lib/assay/engines";
  places.worker = std::filesystem::path(ASSAY_BINARY_DIR) / "bin/assay-worker";
  if (std::getenv("ASSAY_DEPS_DIR") == nullptr) places.deps = ASSAY_TEST_DEPS_DIR;
  return places;
}

}  // namespace assay::testing
