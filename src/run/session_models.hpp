// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include <assay/result.hpp>

#include "engine/registry.hpp"
#include "prepare/prepare.hpp"
#include "prepare/rate.hpp"
#include "run/session.hpp"

namespace assay {

/// Resolves, builds and checks all models of a session for the targets in `out`, and tells notes and usage errors
/// there. `rate`: of an interrupted run, else measured where models of any size are among them. Errors: what the user
/// named is at fault, where it is one model alone; cancelled.
[[nodiscard]] Result<std::vector<PreparedModel>> prepare_models(const SessionRequest& request,
                                                                const EngineRegistry& registry,
                                                                std::optional<MachineRate>& rate, SessionResult& out);

}  // namespace assay
