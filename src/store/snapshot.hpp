// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include <assay/result.hpp>

#include "store/duckdb.hpp"

// The copy of a database for readers (Store::publish_snapshot).
namespace assay {

/// `<name>.snapshot<extension>`, beside the database.
[[nodiscard]] std::filesystem::path snapshot_path(const std::filesystem::path& database);

/// Writes the snapshot of the open database, whose file is `path`. Returns its path. Errors: those of DuckDB, and
/// internal for the file; then an older snapshot stays.
[[nodiscard]] Result<std::filesystem::path> write_snapshot(duckdb::Database& database,
                                                           const std::filesystem::path& path);

}  // namespace assay
