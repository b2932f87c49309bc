// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "base/json.hpp"
#include "exchange/results_file.hpp"
#include "result/record.hpp"

/// What is shown of results that were collected from several folders (offline.hpp).
namespace assay::suite {

/// The files of each machine, with its rows alone: tables of results and the matrix are of one machine.
[[nodiscard]] std::vector<std::vector<exchange::ResultsFile>> by_machine(std::vector<exchange::ResultsFile> files);

/// The run that wrote `files`, which are of one machine: the newest that is of this machine; else what the newest row
/// says.
[[nodiscard]] RunInfo run_of(const std::vector<exchange::ResultsFile>& files);

/// The cell of each series and name of a model (cell_of_series()), in the order of time.
[[nodiscard]] std::vector<Record> cells_of(const std::vector<exchange::ResultsFile>& files);

/// That every model and hardware of the compatibility matrix in `file` is in `matrix`, too, or at least in the rows
/// that it was made of (results of files that a model does not have any more are left out). A file that does not exist,
/// or is none, has nothing to lose. Errors: invalid_argument, with one that would be lost.
[[nodiscard]] Status check_nothing_lost(const std::filesystem::path& file, const Json& matrix,
                                        std::span<const Record> rows);

}  // namespace assay::suite
