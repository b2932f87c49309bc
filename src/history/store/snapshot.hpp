// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

#include <assay/result.hpp>

#include "history/store/duckdb.hpp"

// The copy of a database for readers (Store::publish_snapshot).
namespace assay {

/// `<name>.snapshot<extension>`, beside the database.
[[nodiscard]] std::filesystem::path snapshot_path(const std::filesystem::path& database);

/// What a query of samples answers in a snapshot, as an error of DuckDB, also to readers that are not assay.
inline constexpr std::string_view kNoSamples = "a snapshot has no samples: query the database itself";

/// Writes the snapshot of the open database, whose file is `path`. Returns its path. In place of the table `samples` it
/// has a view with the same columns, which answers kNoSamples to a query of the samples of any launch. Errors: those of
/// DuckDB, and internal for the file; then an older snapshot stays.
[[nodiscard]] Result<std::filesystem::path> write_snapshot(duckdb::Database& database,
                                                           const std::filesystem::path& path);

}  // namespace assay
