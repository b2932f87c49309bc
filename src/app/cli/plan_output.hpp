// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "bench/run/session_plan.hpp"
#include "core/base/json.hpp"

namespace assay::cli {

/// What --plan prints: the cells with their launches, the expected time and where it comes from; then those that do not
/// run, and why.
[[nodiscard]] std::string plan_text(const PlanList& plan);
[[nodiscard]] Json plan_json(const PlanList& plan);

}  // namespace assay::cli
