// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/engine/registry.hpp"
#include "core/traits/engine_types.hpp"

namespace assay {

/// The state of an engine on this machine.
struct FoundEngine {
  EngineEntry entry;
  bool available = false;
  std::string why_not;  ///< set if not available: what assay looked for, and how to install it
  EngineLocation location;
  std::string version;  ///< version of the runtime
  std::string found_by;  ///< the rule that found it: "ASSAY_ONNXRUNTIME_HOME", "assay's own folder", "site-packages", …
  std::vector<EngineDevice> devices;
  std::vector<EngineOptionInfo> options;
  EngineOptions notes{};  ///< one sentence for each hardware of which it has no device, about what it found
};

/// Loads the runtime in a separate worker and requests version, devices and options. Never fails: see `why_not`.
[[nodiscard]] FoundEngine probe_engine(const EngineRegistry& registry, std::string_view name);

}  // namespace assay
