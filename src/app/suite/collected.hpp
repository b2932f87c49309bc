// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/result/record.hpp"
#include "history/exchange/results_file.hpp"

/// What is shown of results that were collected from several folders (offline.hpp).
namespace assay::suite {

/// The files of each machine, with its rows alone: tables of results and the matrix are of one machine.
[[nodiscard]] std::vector<std::vector<exchange::ResultsFile>> by_machine(std::vector<exchange::ResultsFile> files);

/// The run that wrote `files`, which are of one machine: the newest that is of this machine; else what the newest row
/// says.
[[nodiscard]] RunInfo run_of(const std::vector<exchange::ResultsFile>& files);

/// The cell of each series and name of a model (cell_of_series()), in the order of time.
[[nodiscard]] std::vector<Record> cells_of(const std::vector<exchange::ResultsFile>& files);

}  // namespace assay::suite
