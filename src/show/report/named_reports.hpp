// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "history/analyse/analysis.hpp"
#include "show/report/document.hpp"

/// The parts of make_report(). Used within this module only.
namespace assay {

/// A line for each model: the fastest target, by how much, most items per second, least memory, states.
[[nodiscard]] Table models_table(const Analysis& analysis);
/// Every cell with its verdict, times, memory and date.
[[nodiscard]] Table cells_table(const Dataset& data, const Analysis& analysis);
/// The targets of each category, or of each architecture.
[[nodiscard]] Table groups_table(const std::vector<CategoryLine>& lines, const Analysis& analysis);
[[nodiscard]] Table choices_table(const Analysis& analysis);
[[nodiscard]] Table opportunities_table(const Analysis& analysis);
[[nodiscard]] Table efficiency_table(const Analysis& analysis);
/// How many cells of each architecture have which state on which target.
[[nodiscard]] Table coverage_table(const Dataset& data, const Analysis& analysis);

/// "wrong (mismatch): CAUSE; bert on openvino: batch_8. HINT", one for each cause.
[[nodiscard]] std::vector<std::string> failure_points(const std::vector<Failure>& failures);

/// "openvino is fastest for 3 of 5 models, …": the answer of an overview.
[[nodiscard]] std::string overview_answer(const Analysis& analysis);

}  // namespace assay
