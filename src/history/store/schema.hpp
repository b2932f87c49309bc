// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

#include <assay/result.hpp>

#include "history/store/duckdb.hpp"

/// The database's tables and how they change: src/history/store/migrations/NNNN_*.sql, each applied once, in order,
/// then what code keeps of them (results_table.hpp). A migration never runs in the file that is used: it runs in a
/// copy, which is then renamed. So neither a crash nor DDL in a write-ahead log can spoil a database.
namespace assay::duckdb {

/// The schema that the first migration makes. Development versions before the first release had 1 to 9.
inline constexpr std::size_t kFirstSchema = 11;

struct Migration {
  std::string_view name;  ///< "0011_first"; its number is its place, counted from kFirstSchema
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
/// Errors: those of Database::open; invalid_argument (a database of something else), unsupported (of a newer assay, of
/// a development version before the first release, or something that was added does not fit the newest schema: the
/// message names it).
[[nodiscard]] Result<Database> open_database(const std::filesystem::path& path, Access access,
                                             std::span<const Migration> steps = migrations());

/// Whether open_database() for writing would bring it to a newer schema. Changes nothing. Errors: as there.
[[nodiscard]] Result<bool> is_older(const std::filesystem::path& path, std::span<const Migration> steps = migrations());

}  // namespace assay::duckdb
