// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <assay/result.hpp>

#include "bench/engine/registry.hpp"
#include "bench/prepare/prepare.hpp"
#include "bench/rate/rate.hpp"
#include "bench/run/session.hpp"

namespace assay {

/// Resolves and describes all models of a session for the targets in `out`, and puts notes and usage errors there.
/// Errors: those of prepare_model, if there is one model only; cancelled.
[[nodiscard]] Result<std::vector<PreparedModel>> prepare_models(const SessionRequest& request,
                                                                const EngineRegistry& registry, RateKeeper& rates,
                                                                SessionResult& out);

/// Notes "NAME: words" that have the same words become one: "A, B: words"; of many models the first twelve are named.
[[nodiscard]] std::vector<std::string> grouped_notes(const std::vector<std::string>& notes);

}  // namespace assay
