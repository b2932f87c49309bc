// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>

#include <assay/result.hpp>

#include "history/exchange/results_file.hpp"
#include "history/store/dataset.hpp"

namespace assay::exchange {

/// The same data as read_dataset() gives, from files of results (read_results()), or folders of them
/// (result_files_in()). A row that several files have is there once. Rows of files have no result id and no shapes.
/// Errors: those of the two functions; invalid_argument (no path is given).
[[nodiscard]] Result<Dataset> dataset_of(std::span<const std::filesystem::path> files_or_folders);
/// The same from files that were read.
[[nodiscard]] Dataset dataset_of(const std::vector<ResultsFile>& files);
/// All files of files or folders.
[[nodiscard]] Result<std::vector<ResultsFile>> read_all(std::span<const std::filesystem::path> files_or_folders);

}  // namespace assay::exchange
