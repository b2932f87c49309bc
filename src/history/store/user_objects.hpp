// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "history/store/duckdb.hpp"
#include "history/store/schema.hpp"

/// What users add to the database (views, indexes, tables, schemas) must survive migrations and must not stop them.
namespace assay::duckdb {

/// The names of the tables and views that these steps create, in the schema `main`.
[[nodiscard]] std::set<std::string> created_names(std::span<const Migration> steps);

/// Renames a user's table or view whose name a step from `first` on creates, to `<name>_own`, with a warning. To be
/// called outside of a transaction. Errors: those of Database::execute.
[[nodiscard]] Status rename_obstacles(Database& database, std::span<const Migration> steps, std::size_t first);

struct Index {
  std::string name;
  std::string sql;  ///< creates it again
};

/// Drops the indexes on these tables, because DuckDB alters no table that has one, and returns them. To be called
/// outside of a transaction. Errors: those of Database::execute.
[[nodiscard]] Result<std::vector<Index>> drop_indexes(Database& database, const std::set<std::string>& tables);

/// One that cannot be created any more, such as that of a renamed column, is left out with a warning.
void create_indexes(Database& database, const std::vector<Index>& indexes);

}  // namespace assay::duckdb
