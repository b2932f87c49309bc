// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "history/analyse/analysis.hpp"
#include "history/analyse/groups.hpp"

/// The parts of analyse(). Used within this module only.
namespace assay {

[[nodiscard]] std::vector<Choice> choices_of(const std::vector<RowGroup>& machines, const Dataset& data, Goal goal);

[[nodiscard]] std::vector<CategoryLine> categories_of(const std::vector<RowGroup>& machines);
/// The same for each architecture; a model without one stands for itself.
[[nodiscard]] std::vector<CategoryLine> architectures_of(const std::vector<RowGroup>& machines);

[[nodiscard]] std::vector<Opportunity> opportunities_of(const std::vector<RowGroup>& machines, const Dataset& data);

/// The share of the measured peak that a row reaches; nullopt without a peak, or if its operators were not counted.
[[nodiscard]] std::optional<double> efficiency_of(const Record& row, const Dataset& data);
[[nodiscard]] std::vector<Efficiency> efficiencies_of(const std::vector<RowGroup>& machines, const Dataset& data,
                                                      std::vector<std::string>& missing);

/// Changes of each series from what it was before. `days`: the newest result that is at least so old; 0: the run
/// before.
[[nodiscard]] std::vector<Change> changes_of(const Dataset& data, int days);

/// The cells whose target cannot be tried any more: "not available since 2026-03-08 (no_hardware); measured on
/// 2026-03-01". The result is still the newest that there is.
[[nodiscard]] std::map<const Record*, std::string> gone_words(const Dataset& data);

}  // namespace assay
