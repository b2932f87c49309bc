// SPDX-License-Identifier: Apache-2.0
#include "history/store/results_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result/keys.hpp"
#include "history/store/cells.hpp"

namespace assay::duckdb {
namespace {

Status refresh_keys(Database& database) {
  std::vector<const Field*> hashed;
  std::string columns;
  for (const Field& field : result_fields()) {
    if (!field.key.in_task_key) continue;
    hashed.push_back(&field);
    columns += fmt::format(", {}", field.name);
  }
  ASSAY_TRY(const Rows rows, database.query(fmt::format("SELECT launch_id{} FROM launches", columns)));
  ASSAY_CHECK_OK(
      database.execute("CREATE TEMP TABLE refreshed_keys (id BIGINT, task_key VARCHAR, series_key VARCHAR)"));
  const std::array<std::string, 3> names{"id", "task_key", "series_key"};
  ASSAY_TRY(Appender appender, Appender::create(database, "refreshed_keys", names));
  for (const auto& row : rows.rows) {
    Record record;
    for (std::size_t i = 0; i < hashed.size(); ++i) ASSAY_CHECK_OK(set_field(record, *hashed[i], row.at(i + 1)));
    const Json cells[] = {row.at(0), task_key(record), series_key(record)};
    ASSAY_CHECK_OK(appender.append(cells));
  }
  ASSAY_CHECK_OK(appender.close());
  return database.execute(
      "UPDATE launches AS l SET task_key = k.task_key, series_key = k.series_key FROM refreshed_keys AS k WHERE "
      "l.launch_id = k.id; DROP TABLE refreshed_keys");
}

// Columns that only the database has, and what they mean.
constexpr std::pair<std::string_view, std::string_view> kOwnColumns[] = {
    {"result_id", "key of the result in this database; other tables name it"},
    {"launch_id", "key of the launch in this database; its samples name it"},
    {"counted", "whether the samples of the launch are part of the result"}};

Status comment_columns(Database& database, const std::string& name) {
  const std::string table = "main." + duckdb::quoted_name(name);
  // Not duckdb_columns(): it looks at every view, and one of the user's may be of columns that are gone.
  ASSAY_TRY(const Rows columns,
            database.query(fmt::format("SELECT name FROM pragma_table_info({})", duckdb::quoted(table))));
  for (const auto& row : columns.rows) {
    const auto column = row.at(0).get<std::string>();
    const Field* field = find_field(column);
    std::string meaning;
    if (field != nullptr)
      meaning = std::string(field->meaning) + (field->unit.empty() ? "" : fmt::format(" ({})", field->unit));
    else if (const auto* own =
                 std::ranges::find(kOwnColumns, column, &std::pair<std::string_view, std::string_view>::first);
             own != std::end(kOwnColumns))
      meaning = own->second;
    else
      continue;
    ASSAY_CHECK_OK(database.execute(
        fmt::format("COMMENT ON COLUMN {}.{} IS {}", table, duckdb::quoted_name(column), duckdb::quoted(meaning))));
  }
  return {};
}

Status refresh_comments(Database& database, const std::set<std::string>& views) {
  for (const char* table : {"benchmark_results", "launches"}) ASSAY_CHECK_OK(comment_columns(database, table));
  ASSAY_TRY(const Rows found,
            database.query("SELECT view_name FROM duckdb_views() WHERE NOT internal AND database_name "
                           "= current_database() AND schema_name = 'main'"));
  for (const auto& row : found.rows)
    if (const auto name = row.at(0).get<std::string>(); views.contains(name))
      ASSAY_CHECK_OK(comment_columns(database, name));
  return {};
}

}  // namespace

Status refresh_results_tables(Database& database, const std::set<std::string>& views) {
  ASSAY_CHECK_OK(refresh_keys(database));
  ASSAY_CHECK_OK(derive_all_cells(database));
  return refresh_comments(database, views);
}

}  // namespace assay::duckdb
