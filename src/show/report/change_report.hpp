// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "history/analyse/analysis.hpp"
#include "show/report/document.hpp"

/// What reports say of changes. Used within this module only.
namespace assay {

/// Whether there is nothing that results could have changed from.
[[nodiscard]] bool is_first_run(const Dataset& data, const Analysis& analysis);

/// What changed since the last run, in a week and in a month; one section if there is nothing to compare with.
[[nodiscard]] std::vector<Section> change_sections(const Dataset& data, const Analysis& analysis);

/// The answer of the report `changes`, in a sentence or two.
[[nodiscard]] std::string changes_answer(const Dataset& data, const Analysis& analysis);

/// All changes, for files: a row for each and for each of the three times (`since`: last_run, week, month).
[[nodiscard]] Table change_table(const Analysis& analysis);

}  // namespace assay
