// SPDX-License-Identifier: Apache-2.0
#include "history/store/schema.hpp"

#include <fmt/format.h>

#include <map>
#include <system_error>

#include "core/base/clock.hpp"
#include "core/base/files.hpp"
#include "core/base/log.hpp"
#include "history/store/replace.hpp"
#include "history/store/results_table.hpp"
#include "history/store/user_objects.hpp"

namespace assay::duckdb {
namespace fs = std::filesystem;
namespace {

constexpr Migration kMigrations[] = {
#include "migrations.inc"
};

fs::path beside(const fs::path& path, std::string_view suffix) { return path.string() + std::string(suffix); }

Status move_file(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error)
    return fail(ErrorCode::kInternal,
                fmt::format("cannot rename '{}' to '{}': {}", from.string(), to.string(), error.message()));
  return sync_directory(to.has_parent_path() ? to.parent_path() : fs::path("."));
}

std::size_t newest_schema(std::span<const Migration> steps) { return kFirstSchema + steps.size() - 1; }

/// Applies the steps from place `from` on. Each is a transaction of its own: DuckDB may refuse to commit changes of
/// rows together with later changes of their table. The file is a copy that nobody uses yet.
Status apply(Database& database, std::span<const Migration> steps, std::size_t from) {
  for (std::size_t i = from; i < steps.size(); ++i) {
    ASSAY_CHECK_OK(database.execute("BEGIN"));
    ASSAY_CHECK_OK(with_context(database.execute(std::string(steps[i].sql)),
                                fmt::format("while applying the migration {}", steps[i].name)));
    const Json parameters[] = {kFirstSchema + i, steps[i].name, ASSAY_VERSION};
    ASSAY_CHECK_OK(database.query("INSERT INTO schema_version VALUES ($1, $2, now()::TIMESTAMP, $3)", parameters)
                       .map([](const Rows&) {}));
    ASSAY_CHECK_OK(database.execute("COMMIT"));
  }
  ASSAY_CHECK_OK(database.execute("BEGIN"));
  ASSAY_CHECK_OK(with_context(refresh_results_tables(database, created_names(steps)),
                              "while refreshing keys, rows of cells and comments"));
  return database.execute("COMMIT");
}

Result<std::size_t> schema_version(Database& database, const fs::path& path) {
  const auto refuse = [&] {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' is a DuckDB database, but not one of assay's", path.string()),
                "name another file with --db-path, or replace it with `assay db init --overwrite`");
  };
  ASSAY_TRY(const bool is_ours, table_exists(database, "schema_version"));
  if (!is_ours) return refuse();
  ASSAY_TRY(const Rows version, database.query("SELECT max(version) FROM schema_version"));
  const Json& newest = version.rows.at(0).at(0);
  if (!newest.is_number_integer() || newest.get<std::int64_t>() < 1) return refuse();
  return newest.get<std::size_t>();
}

Status check_schema(std::size_t version, const fs::path& path, std::span<const Migration> steps) {
  if (version < kFirstSchema)
    return fail(ErrorCode::kUnsupported,
                fmt::format("the database '{}' has schema version {}: it was written by a development version of assay "
                            "before its first release, and this assay reads versions from {} on",
                            path.string(), version, kFirstSchema),
                "make a new database: name its file with --db-path, or move this one and its bundles aside with `assay "
                "db init --overwrite`");
  if (version <= newest_schema(steps)) return {};
  return fail(ErrorCode::kUnsupported,
              fmt::format("the database '{}' has schema version {}, and this assay reads up to {}", path.string(),
                          version, newest_schema(steps)),
              "use the assay that wrote it or a newer one, or make a new database with --db-path");
}

/// The rows of those of the tables `names` that there are, to see that a migration lost none.
Result<std::map<std::string, std::int64_t>> sizes_of(Database& database, const std::set<std::string>& names) {
  ASSAY_TRY(const Rows tables, database.query("SELECT table_name FROM duckdb_tables() WHERE database_name = "
                                              "current_database() AND schema_name = 'main'"));
  std::map<std::string, std::int64_t> sizes;
  for (const auto& row : tables.rows) {
    const auto name = row.at(0).get<std::string>();
    if (!names.contains(name)) continue;
    ASSAY_TRY(const Rows count, database.query(fmt::format("SELECT count(*) FROM main.{}", quoted_name(name))));
    sizes[name] = count.rows.at(0).at(0).get<std::int64_t>();
  }
  return sizes;
}

/// Rows of cells are derived from launches, so their number may change; that of their launches may not.
constexpr const char* kDerivedTable = "benchmark_results";

Status check_no_row_lost(const std::map<std::string, std::int64_t>& before, std::map<std::string, std::int64_t> after) {
  for (const auto& [table, rows] : before)
    if (table != kDerivedTable && after[table] != rows)
      return fail(ErrorCode::kInternal,
                  fmt::format("a migration left {} of the {} rows of table {}", after[table], rows, table));
  return {};
}

Status migrate_copy(const fs::path& copy, std::span<const Migration> steps, std::size_t from) {
  ASSAY_TRY(Database database, Database::open(copy, Access::kReadWrite));
  const std::set<std::string> names = created_names(steps.first(from));
  ASSAY_CHECK_OK(rename_obstacles(database, steps, from));
  ASSAY_TRY(const std::vector<Index> indexes, drop_indexes(database, names));
  ASSAY_TRY(const auto before, sizes_of(database, names));
  ASSAY_CHECK_OK(apply(database, steps, from));
  ASSAY_TRY(auto after, sizes_of(database, created_names(steps)));
  ASSAY_CHECK_OK(check_no_row_lost(before, std::move(after)));
  create_indexes(database, indexes);
  return close_whole(std::move(database), copy);
}

Result<Database> open_or_set_log_aside(const fs::path& path, Access access) {
  Result<Database> database = Database::open(path, access);
  const fs::path log = beside(path, ".wal");
  std::error_code ignored;
  if (database || database.error().code != ErrorCode::kInternal || access == Access::kReadOnly ||
      !fs::exists(log, ignored))
    return database;
  const fs::path aside = beside(log, ".corrupt-" + compact_timestamp(wall_now()));
  ASSAY_CHECK_OK(move_file(log, aside));
  Result<Database> again = Database::open(path, access);
  if (!again) {
    ASSAY_CHECK_OK(move_file(aside, log));
    return database;  // the log was not to blame
  }
  log_warning(
      "the database's log could not be replayed and was moved to '{}' ({}); its results come back when their "
      "bundles are ingested",
      aside.string(), database.error().message);
  return again;
}

}  // namespace

std::span<const Migration> migrations() { return kMigrations; }

Status create_database(const fs::path& path, std::span<const Migration> steps) {
  if (path.has_parent_path()) ASSAY_CHECK_OK(make_directories(path.parent_path()));
  const fs::path fresh = beside(path, ".tmp-new");
  remove_database(fresh);
  const auto build = [&]() -> Status {
    ASSAY_TRY(Database database, Database::open(fresh, Access::kReadWrite));
    // Hundreds of small statements, the comments: handing each to another thread takes as long as the statement.
    ASSAY_CHECK_OK(database.execute("SET threads = 1"));
    ASSAY_CHECK_OK(database.execute(
        "CREATE TABLE schema_version (version BIGINT, name VARCHAR, applied_at TIMESTAMP, tool_version VARCHAR)"));
    ASSAY_CHECK_OK(apply(database, steps, 0));
    return close_whole(std::move(database), fresh);
  };
  Status built = build();
  if (built) built = put_in_place(fresh, path);
  if (!built) remove_database(fresh);
  return built;
}

Result<Database> open_database(const fs::path& path, Access access, std::span<const Migration> steps) {
  ASSAY_TRY(Database database, open_or_set_log_aside(path, access));
  ASSAY_TRY(const std::size_t version, schema_version(database, path));
  ASSAY_CHECK_OK(check_schema(version, path, steps));
  if (version == newest_schema(steps)) return database;
  if (access == Access::kReadOnly)
    return fail(ErrorCode::kUnsupported,
                fmt::format("the database '{}' has schema version {}, and this assay reads version {}", path.string(),
                            version, newest_schema(steps)),
                "`assay db ingest` brings it up to date");

  // What stands in its log would be missing in the copy.
  ASSAY_CHECK_OK(close_whole(std::move(database), path));
  const fs::path copy = beside(path, ".tmp-migrate"), backup = beside(path, fmt::format(".v{}.bak", version));
  remove_database(copy);
  std::error_code error;
  fs::copy_file(path, copy, error);
  if (error)
    return fail(ErrorCode::kInternal, fmt::format("cannot copy the database '{}': {}", path.string(), error.message()));
  if (Status migrated = migrate_copy(copy, steps, version - kFirstSchema + 1); !migrated) {
    remove_database(copy);
    Error& why = migrated.error();
    // The SQL is assay's own, so it is something in this database that does not fit.
    if (why.code == ErrorCode::kInvalidArgument) {
      why.code = ErrorCode::kUnsupported;
      why.message =
          fmt::format("the database '{}' cannot be brought from schema version {} to {}, and is unchanged: {}",
                      path.string(), version, newest_schema(steps), why.message);
      why.hint =
          "drop or rename what the message names, if you added it; or run `assay db rebuild`, which makes a new "
          "database from the bundles and keeps a copy of this one";
    }
    return tl::unexpected<Error>(std::move(why));
  }
  fs::remove(backup, error);
  fs::create_hard_link(path, backup, error);
  if (error) fs::copy_file(path, backup, fs::copy_options::overwrite_existing, error);  // no links here
  if (error)
    return fail(ErrorCode::kInternal,
                fmt::format("cannot keep the old database as '{}': {}", backup.string(), error.message()));
  ASSAY_CHECK_OK(put_in_place(copy, path));
  log_info("the database '{}' was brought from schema version {} to {}; the old one is '{}'", path.string(), version,
           newest_schema(steps), backup.string());
  return Database::open(path, access);
}

Result<bool> is_older(const fs::path& path, std::span<const Migration> steps) {
  ASSAY_TRY(Database database, Database::open(path, Access::kReadOnly));
  ASSAY_TRY(const std::size_t version, schema_version(database, path));
  ASSAY_CHECK_OK(check_schema(version, path, steps));
  return version < newest_schema(steps);
}

}  // namespace assay::duckdb
