// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include <assay/result.hpp>

#include "history/store/duckdb.hpp"

/// The database's tables and how they change: src/history/store/migrations/NNNN_*.sql, each applied once, in order,
/// then what code keeps of them (results_table.hpp). A migration never runs in the file that is used: it runs in a
/// copy, which is then renamed. So neither a crash nor DDL in a write-ahead log can spoil a database.
namespace assay::duckdb {

struct Migration {
  std::string_view name;  ///< "0001_initial"; its number is its place, counted from 1
  std::string_view sql;
};

/// Those of this assay, made from the folder by CMake.
[[nodiscard]] std::span<const Migration> migrations();

/// Creates a new database, whole or not at all. A file at `path` is replaced.
[[nodiscard]] Status create_database(const std::filesystem::path& path,
                                     std::span<const Migration> steps = migrations());

/// Opens a database of assay and, for writing, brings it to the newest schema; the file before that stays beside it
/// as `<path>.v<N>.bak`. A write-ahead log that cannot be replayed is moved to `<path>.wal.corrupt-<time>` with a
/// warning: its results come back when their bundles are ingested.
/// What users added stays (user_objects.hpp).
/// Errors: those of Database::open; invalid_argument (a database of something else), unsupported (of a newer assay, or
/// something that was added does not fit the newest schema: the message names it).
[[nodiscard]] Result<Database> open_database(const std::filesystem::path& path, Access access,
                                             std::span<const Migration> steps = migrations());

/// Refuses (`unsupported`) a database that a newer assay wrote. One that is absent or cannot be read passes.
[[nodiscard]] Status refuse_newer(const std::filesystem::path& path, std::span<const Migration> steps = migrations());

}  // namespace assay::duckdb
