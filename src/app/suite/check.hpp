// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <assay/result.hpp>

#include "bench/hardware/hardware.hpp"
#include "bench/run/session_plan.hpp"
#include "core/base/json.hpp"

namespace assay::suite {

/// One thing that a suite needs.
struct Prerequisite {
  std::string kind;  ///< model, hardware, runtime, disk, database
  std::string name;
  bool met = false;
  std::string words;  ///< a description: what is there, or what is missing and how to get it
};

/// What `assay suite --check` looks at, without running a model: whether each model is known, built and fits into
/// memory, whether each hardware and its runtime is there, whether the output folder has space, and whether the
/// database can be written.
[[nodiscard]] std::vector<Prerequisite> check_prerequisites(const SessionRequest& request, const SessionPlan& plan);

[[nodiscard]] std::string check_text(const std::vector<Prerequisite>& found);
[[nodiscard]] Json check_json(const std::vector<Prerequisite>& found);

}  // namespace assay::suite
