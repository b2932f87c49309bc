// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "bench/engine/registry.hpp"
#include "bench/hardware/hardware.hpp"
#include "core/result/run_info.hpp"

namespace assay {

/// The facts about an invocation that starts now on this machine; without the run_id.
[[nodiscard]] RunInfo make_run_info(const std::string& command, const Hardware& machine,
                                    const EngineRegistry& registry);

}  // namespace assay
