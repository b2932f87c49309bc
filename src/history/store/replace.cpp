// SPDX-License-Identifier: Apache-2.0
#include "history/store/replace.hpp"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "core/base/files.hpp"

namespace assay::duckdb {
namespace fs = std::filesystem;
namespace {

constexpr const char* kDiskHint = "check whether the disk is full or fails; the database that is in use is unchanged";

}  // namespace

std::vector<fs::path> logs_of(const fs::path& path) {
  std::vector<fs::path> logs;
  for (const char* suffix : {".wal", ".wal.checkpoint", ".wal.recovery"}) logs.emplace_back(path.string() + suffix);
  return logs;
}

Result<TableSizes> table_sizes(Database& database, const std::string& catalog) {
  const std::string name = catalog.empty() ? std::string("current_database()") : duckdb::quoted(catalog);
  ASSAY_TRY(const Rows tables,
            database.query(fmt::format("SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = {} "
                                       "AND NOT internal AND NOT temporary",
                                       name)));
  TableSizes sizes;
  for (const auto& row : tables.rows) {
    const std::string table =
        quoted_name(row.at(0).get<std::string>()) + "." + quoted_name(row.at(1).get<std::string>());
    const std::string place = catalog.empty() ? table : quoted_name(catalog) + "." + table;
    ASSAY_TRY(const Rows count, database.query("SELECT count(*) FROM " + place));
    sizes[table] = count.rows.at(0).at(0).get<std::int64_t>();
  }
  return sizes;
}

void remove_database(const fs::path& path) {
  std::error_code ignored;
  fs::remove(path, ignored);
  for (const fs::path& log : logs_of(path)) fs::remove(log, ignored);
}

Status check_closed(const fs::path& path, const TableSizes& expected) {
  std::error_code error;
  for (const fs::path& log : logs_of(path))
    if (fs::exists(log, error) || error)
      return fail(ErrorCode::kInternal,
                  fmt::format("the database '{}' is not whole: some rows are only in its log '{}'; DuckDB could not "
                              "write them into the database file",
                              path.string(), log.string()),
                  kDiskHint);
  ASSAY_TRY(Database written, Database::open(path, Access::kReadOnly));
  ASSAY_TRY(TableSizes found, table_sizes(written));
  for (const auto& [table, rows] : expected)
    if (found[table] != rows)
      return fail(ErrorCode::kInternal,
                  fmt::format("the database '{}' is not whole: table {} has {} of its {} rows", path.string(), table,
                              found[table], rows),
                  kDiskHint);
  return sync_file(path);
}

Status close_whole(Database made, const fs::path& path) {
  TableSizes sizes;
  {
    Database database = std::move(made);
    ASSAY_TRY(sizes, table_sizes(database));
    ASSAY_CHECK_OK(database.execute("CHECKPOINT"));
  }
  return check_closed(path, sizes);
}

Status put_in_place(const fs::path& fresh, const fs::path& path) {
  std::error_code error;
  for (const fs::path& log : logs_of(path)) {
    fs::remove(log, error);
    if (error)
      return fail(ErrorCode::kInternal, fmt::format("cannot remove '{}', a log of the database that is replaced: {}",
                                                    log.string(), error.message()));
  }
  fs::rename(fresh, path, error);
  if (error)
    return fail(ErrorCode::kInternal,
                fmt::format("cannot rename '{}' to '{}': {}", fresh.string(), path.string(), error.message()));
  return sync_directory(path.has_parent_path() ? path.parent_path() : fs::path("."));
}

}  // namespace assay::duckdb
