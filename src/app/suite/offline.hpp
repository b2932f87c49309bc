// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "core/base/cancel.hpp"

/// What works on result folders alone, those of `run` and `suite` or of the guide's own scripts; nothing is measured.
/// If the user cancels the drawing of charts, the error is `cancelled`, and the other files are there.
namespace assay::suite {

/// What a command wrote.
struct Written {
  std::vector<std::filesystem::path> files;  ///< folders, too
  std::vector<std::string> notes;
};

/// Draws the charts of the folder's results into it again, and its dashboard; a failure of one does not prevent the
/// other. Errors: not_found and invalid_argument (it has no results, or damaged ones); those of writing a file.
[[nodiscard]] Result<Written> plot_only(const std::filesystem::path& folder, const Cancelled& cancelled = {});

/// Writes the compatibility matrix from the folder's results and, if there is a database, from the history of the same
/// machine. Errors: not_found and invalid_argument (it has no results, or damaged ones, or those of several machines);
/// those of Store::open and write_matrix_file(), after which an existing matrix stays.
[[nodiscard]] Result<Written> update_matrix_only(const std::filesystem::path& folder,
                                                 const std::filesystem::path& database);

/// Puts the results of several folders into a new one for each machine that they are of, in `output_dir`. Of a cell
/// that several runs measured the newest result is the row; what was skipped or cut short hides no older one, and runs
/// are not averaged. A folder without all results and the matrix is removed again. Errors: as above.
[[nodiscard]] Result<Written> aggregate(std::span<const std::filesystem::path> folders,
                                        const std::filesystem::path& output_dir, const std::string& command,
                                        const Cancelled& cancelled = {});

/// Compares the results of two folders (app/suite/comparison.hpp) in a new folder comparison_YYYYMMDD_HHMMSS of
/// `output_dir`: comparison.md, .csv and .json, the chart `comparison` in plots, and the charts of each side in
/// plots/before and plots/after. A folder without all documents is removed again. Errors: as above.
[[nodiscard]] Result<Written> plot_comparison(const std::filesystem::path& before, const std::filesystem::path& after,
                                              const std::filesystem::path& output_dir, const Cancelled& cancelled = {});

}  // namespace assay::suite
