// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "core/base/cancel.hpp"
#include "history/store/dataset.hpp"
#include "show/chart/files.hpp"

namespace assay::suite {

/// What write_pictures() wrote.
struct Pictures {
  std::size_t charts = 0;                     ///< SVG files in `folder`/plots
  std::optional<std::filesystem::path> page;  ///< the dashboard; absent: it could not be made
  chart::NotDrawn not_drawn{};                ///< the charts that the data do not allow
  std::vector<std::string> notes;             ///< messages about everything else that is left out, with the reason
  std::vector<Error> failures;                ///< errors that say what could not be written, and where
};

/// The charts that the data allow in `folder`/plots, and the dashboard `folder`/index.html: one of the two is written
/// also if the other cannot be, unless the user cancelled.
[[nodiscard]] Pictures write_pictures(const Dataset& data, const std::filesystem::path& folder,
                                      const Cancelled& cancelled = {});

/// Success, or the first failure; further ones are logged.
[[nodiscard]] Status status_of(const Pictures& pictures);

/// What pictures of a run show: its results in the database with their history and the shapes of their samples. Without
/// the database, or if it does not have the run, `rows` alone.
[[nodiscard]] Dataset dataset_of_run(const std::filesystem::path& database, const std::string& run_id,
                                     const std::vector<Record>& rows);

}  // namespace assay::suite
