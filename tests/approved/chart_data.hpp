// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "history/analyse/analysis.hpp"
#include "history/store/dataset.hpp"

/// Invented results, of which the approved charts are.
namespace assay {

/// By name: "one" (a single cell), "normal" (five models on five targets), "thirty" (models), "unranked" (as a first
/// try on a busy machine), "two_runs" (normal), "long" (long_names()), "empty".
[[nodiscard]] std::optional<Dataset> dataset_of(const std::string& name);

/// "normal" with what needs much room: long names of targets, six that do not support one model, and versions that
/// changed with the last two runs.
[[nodiscard]] Dataset long_names();

/// What a comparison of "two_runs" has on its other side: an older run, without one of the models.
[[nodiscard]] Dataset before_normal();

/// The analysis of the data, with efficiencies as if peaks were known.
[[nodiscard]] Analysis analysis_of(const Dataset& data);

}  // namespace assay
