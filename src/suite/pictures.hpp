// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "store/dataset.hpp"

namespace assay::suite {

/// What write_pictures() wrote.
struct Pictures {
  std::size_t charts = 0;                     ///< SVG files in `folder`/plots
  std::optional<std::filesystem::path> page;  ///< the dashboard; absent: it could not be made
  std::vector<std::string> notes;             ///< what could not be made, and why
};

/// The charts that the data allow in `folder`/plots, and the dashboard `folder`/index.html. What cannot be made is a
/// note, so that one of the two never costs the user the other.
[[nodiscard]] Pictures write_pictures(const Dataset& data, const std::filesystem::path& folder);

/// What pictures of a run show: its results in the database with their history and the shapes of their samples. Without
/// the database, or if it does not have the run, `rows` alone.
[[nodiscard]] Dataset dataset_of_run(const std::filesystem::path& database, const std::string& run_id,
                                     const std::vector<Record>& rows);

}  // namespace assay::suite
