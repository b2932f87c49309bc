// SPDX-License-Identifier: Apache-2.0
#include "history/store/snapshot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <system_error>

#include "core/base/log.hpp"
#include "history/store/replace.hpp"

namespace assay {
namespace fs = std::filesystem;
using duckdb::Database;
using duckdb::Rows;
namespace {

// The name under which the snapshot is attached; no file of a user is called so.
constexpr const char* kSnapshot = "assay_snapshot_in_the_making";

constexpr std::array kPublished{"schema_version", "benchmark_runs",       "hardware_info", "benchmark_results",
                                "launches",       "sample_distributions", "bundles"};

// Rows of the tables that users added. One that cannot be copied stays empty: it must not cost the snapshot.
Status copy_own_tables(Database& database, const std::string& source) {
  ASSAY_TRY(
      const Rows tables,
      database.query("SELECT replace(schema_name, '\"', '\"\"'), replace(table_name, '\"', '\"\"') FROM "
                     "duckdb_tables() WHERE database_name = current_database() AND NOT internal AND NOT temporary "
                     "ORDER BY table_oid"));
  for (const auto& row : tables.rows) {
    const auto schema = row.at(0).get<std::string>(), table = row.at(1).get<std::string>();
    const bool ours =
        schema == "main" && (table == "samples" || std::ranges::find(kPublished, table) != kPublished.end());
    if (ours) continue;
    const Status copied = database.execute(fmt::format(
        "INSERT INTO {0}.\"{1}\".\"{2}\" SELECT * FROM {3}.\"{1}\".\"{2}\"", kSnapshot, schema, table, source));
    if (!copied) log_warning("the snapshot has table '{}' without its rows: {}", table, copied.error().message);
  }
  return {};
}

// In place of the samples, a view with their columns that says so: an empty table would answer 0, and be believed.
Status stand_in_for_samples(Database& database) {
  constexpr const char* kColumns =
      "SELECT string_agg(format('{}::{} AS {}', if(name = 'launch_id', name, $1), type, name), ', ' ORDER BY cid) "
      "FROM pragma_table_info('samples')";
  const std::string refusal = fmt::format("error({})", duckdb::quoted(kNoSamples));
  const Json parameters[] = {refusal};
  ASSAY_TRY(const Rows columns, database.query(kColumns, parameters));
  return database.execute(fmt::format(
      "DROP TABLE {0}.main.samples; CREATE VIEW {0}.main.samples AS SELECT {1} FROM launches WHERE {2}::BOOLEAN",
      kSnapshot, columns.rows.at(0).at(0).get<std::string>(), refusal));
}

}  // namespace

fs::path snapshot_path(const fs::path& database) {
  return database.parent_path() / (database.stem().string() + ".snapshot" + database.extension().string());
}

Result<fs::path> write_snapshot(Database& database, const fs::path& path) {
  fs::path snapshot = snapshot_path(path);
  const fs::path fresh = snapshot.string() + ".tmp-publish";
  duckdb::remove_database(fresh);  // of a process that was killed
  ASSAY_TRY(const Rows name, database.query("SELECT replace(current_database(), '\"', '\"\"')"));
  const std::string own = fmt::format("\"{}\"", name.rows.at(0).at(0).get<std::string>());
  duckdb::TableSizes sizes;
  const auto fill = [&]() -> Status {
    // Tables, views and comments as they are here: that takes a tenth of the time of all migrations.
    ASSAY_CHECK_OK(database.execute(fmt::format("COPY FROM DATABASE {} TO {} (SCHEMA)", own, kSnapshot)));
    ASSAY_CHECK_OK(database.execute("BEGIN"));
    for (const char* table : kPublished)
      ASSAY_CHECK_OK(database.execute(
          fmt::format("INSERT INTO {0}.{1} BY NAME SELECT * FROM {2}.main.{1}", kSnapshot, table, own)));
    ASSAY_CHECK_OK(database.execute("COMMIT"));
    ASSAY_CHECK_OK(copy_own_tables(database, own));
    ASSAY_CHECK_OK(stand_in_for_samples(database));
    ASSAY_TRY(sizes, duckdb::table_sizes(database, kSnapshot));
    return database.execute(fmt::format("CHECKPOINT {}", kSnapshot));
  };
  Status filled =
      database.execute(fmt::format("ATTACH {} AS {} (READ_WRITE)", duckdb::quoted(fresh.string()), kSnapshot));
  if (filled) {
    filled = fill();
    if (!filled) static_cast<void>(database.execute("ROLLBACK"));
    if (const Status detached = database.execute(fmt::format("DETACH {}", kSnapshot)); filled) filled = detached;
  }
  if (filled) filled = duckdb::check_closed(fresh, sizes);
  if (filled) filled = duckdb::put_in_place(fresh, snapshot);
  if (!filled) {
    duckdb::remove_database(fresh);
    return tl::unexpected<Error>(with_context(std::move(filled), "while publishing the snapshot").error());
  }
  return snapshot;
}

}  // namespace assay
