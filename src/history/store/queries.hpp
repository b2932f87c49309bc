// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <assay/result.hpp>

#include "core/base/cancel.hpp"
#include "core/base/json.hpp"
#include "history/store/duckdb.hpp"

/// The queries of src/history/store/queries/: each file begins with what it answers, its parameters and its columns;
/// tests of NAME.sql stand in NAME.sqltest. In their SQL `$name` is a parameter, `$fields` all fields of a result,
/// `$imported` whether a row was imported, `$newest_first` the order of core/result/newest.hpp, for ORDER BY, and
/// `$clock_allowance` its kClockAllowance.
namespace assay::duckdb {

struct QueryFile {
  std::string_view name, sql;
};
/// Those of this assay, made from the folder by CMake.
[[nodiscard]] std::span<const QueryFile> query_files();

struct Query {
  struct Parameter {
    std::string name, type;  ///< type of SQL; VARCHAR[] is a JSON list of strings
  };
  std::vector<Parameter> parameters;
  std::vector<std::string> columns;  ///< the word `fields` has been replaced by all fields
  std::string sql;                   ///< the parameters are $1, $2, …, cast to their types
};
/// A file without the lines `parameters` and `columns` is a bug.
[[nodiscard]] Query read_query(const QueryFile& file);

/// Whether a row was imported, as SQL.
[[nodiscard]] std::string imported_sql();
/// The order of core/result/newest.hpp, as SQL for ORDER BY; `id` is the column that orders rows of the same time.
[[nodiscard]] std::string newest_first_sql(std::string_view id);

/// Store::ask and Store::ask_sql of an open database.
[[nodiscard]] Result<Rows> ask(Database& database, std::string_view query, const Json& parameters);
/// Two threads call `cancelled`.
[[nodiscard]] Result<Rows> ask_sql(Database& database, std::string_view sql, const SqlLimits& limits,
                                   const Cancelled& cancelled = {});

}  // namespace assay::duckdb
