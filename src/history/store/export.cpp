// SPDX-License-Identifier: Apache-2.0
#include "history/store/export.hpp"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "core/base/files.hpp"
#include "core/base/json.hpp"
#include "core/result/record.hpp"
#include "history/store/duckdb.hpp"

namespace assay {
namespace fs = std::filesystem;
using duckdb::Database;
using duckdb::Rows;
namespace {

constexpr std::string_view kSamplesTable = "raw_benchmark_data";

Status check_folder(const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(folder, error) || (fs::is_directory(folder, error) && fs::is_empty(folder, error))) return {};
  return fail(ErrorCode::kInvalidArgument, fmt::format("{} exists and is not an empty folder", shown_path(folder)),
              "name a new folder");
}

/// The tables, and the samples, which may be a view on one of them.
Result<std::vector<std::string>> tables_of(Database& database) {
  ASSAY_TRY(const Rows rows,
            database.query("SELECT table_name FROM duckdb_tables() WHERE database_name = current_database() AND "
                           "schema_name = 'main' AND NOT internal AND NOT temporary ORDER BY table_oid"));
  std::vector<std::string> names;
  for (const auto& row : rows.rows) {
    const auto name = row.at(0).get<std::string>();
    if (name != "samples" && name != kSamplesTable) names.push_back(name);
  }
  names.emplace_back(kSamplesTable);
  return names;
}

Result<Json> columns_of(Database& database, const std::string& table) {
  // Not duckdb_columns(): it looks at every view, and one of the user's may be of columns that are gone.
  ASSAY_TRY(const Rows rows, database.query(fmt::format("SELECT name, type FROM pragma_table_info({})",
                                                        duckdb::quoted("main." + duckdb::quoted_name(table)))));
  Json columns = Json::array();
  for (const auto& row : rows.rows) {
    const Field* field = find_field(row.at(0).get<std::string>());
    columns.push_back({{"name", row.at(0)},
                       {"type", row.at(1)},
                       {"unit", field == nullptr || field->unit.empty() ? Json() : Json(std::string(field->unit))},
                       {"meaning", field == nullptr ? Json() : Json(std::string(field->meaning))}});
  }
  return columns;
}

Status copy_table(Database& database, const std::string& table, const fs::path& file, ExportFormat format) {
  const bool samples = table == kSamplesTable;
  // Samples are in order already, which one thread keeps; sorting a hundred million takes 7 GB of memory.
  if (samples) ASSAY_CHECK_OK(database.execute("SET threads = 1"));
  Status copied = database.execute(
      fmt::format("COPY (SELECT * FROM main.{} {}) TO {} ({})", duckdb::quoted_name(table),
                  samples ? "" : "ORDER BY ALL", duckdb::quoted(file.string()),
                  format == ExportFormat::kParquet ? "FORMAT parquet, COMPRESSION zstd" : "FORMAT csv, HEADER true"));
  if (samples && copied) return database.execute("RESET threads");
  return copied;
}

}  // namespace

Result<std::vector<ExportedTable>> export_tables(Database& database, const fs::path& folder, ExportFormat format,
                                                 bool samples) {
  ASSAY_CHECK_OK(check_folder(folder));
  const fs::path absolute = fs::absolute(folder).lexically_normal();
  const fs::path target = absolute.has_filename() ? absolute : absolute.parent_path();
  ASSAY_TRY(TemporaryDirectory work, TemporaryDirectory::create(".assay-export-", target.parent_path()));
  ASSAY_TRY(const std::vector<std::string> names, tables_of(database));
  ASSAY_TRY(const Rows version, database.query("SELECT max(version) FROM schema_version"));
  const char* extension = format == ExportFormat::kParquet ? ".parquet" : ".csv";
  std::vector<ExportedTable> tables;
  Json described = Json::array();
  for (const std::string& name : names) {
    // A snapshot has no samples, but knows how many there are.
    const bool left_out = !samples && name == kSamplesTable;
    ASSAY_TRY(const Rows count,
              database.query(left_out ? "SELECT coalesce(sum(samples), 0)::BIGINT FROM main.bundles"
                                      : fmt::format("SELECT count(*) FROM main.{}", duckdb::quoted_name(name))));
    ExportedTable table{name, count.rows.at(0).at(0).get<std::uint64_t>(), std::nullopt};
    if (!left_out) {
      ASSAY_CHECK_OK(with_context(copy_table(database, name, work.path() / (name + extension), format),
                                  fmt::format("while exporting the table {}", name)));
      table.file = target / (name + extension);
    }
    ASSAY_TRY(Json columns, columns_of(database, name));
    described.push_back({{"name", name},
                         {"rows", table.rows},
                         {"file", table.file ? Json(name + extension) : Json(nullptr)},
                         {"columns", std::move(columns)}});
    tables.push_back(std::move(table));
  }
  ASSAY_CHECK_OK(write_file_atomically(
      work.path() / "schema.json",
      json_text({{"schema_version", version.rows.at(0).at(0)}, {"tables", std::move(described)}}, 2) + "\n"));
  std::error_code error;
  fs::permissions(work.path(),
                  fs::perms::group_read | fs::perms::group_exec | fs::perms::others_read | fs::perms::others_exec,
                  fs::perm_options::add, error);
  if (!std::move(work).keep_as(target))
    return fail(ErrorCode::kInvalidArgument, fmt::format("cannot rename the finished export to {}", shown_path(target)),
                "name a new folder");
  return tables;
}

}  // namespace assay
