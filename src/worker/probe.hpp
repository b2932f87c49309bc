// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/engine_types.hpp"
#include "engine/registry.hpp"

namespace assay {

/// What was found of an engine on this machine.
struct FoundEngine {
  EngineEntry entry;
  bool available = false;
  std::string why_not;  ///< when not available: what was looked for, and how to get it
  EngineLocation location;
  std::string version;   ///< of the runtime
  std::string found_by;  ///< which rule found it: "ASSAY_ONNXRUNTIME_HOME", "assay's own folder", "site-packages", …
  std::vector<EngineDevice> devices;
  std::vector<EngineOptionInfo> options;
};

/// Loads the runtime in a worker of its own and asks for version, devices and options. Never fails: `why_not` tells.
[[nodiscard]] FoundEngine probe_engine(const EngineRegistry& registry, std::string_view name);

}  // namespace assay
