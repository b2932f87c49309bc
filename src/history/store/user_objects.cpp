// SPDX-License-Identifier: Apache-2.0
#include "history/store/user_objects.hpp"

#include <fmt/format.h>

#include <sstream>

#include "core/base/log.hpp"

namespace assay::duckdb {
namespace {

std::vector<std::string> words_without_comments(std::string_view sql) {
  std::vector<std::string> words;
  std::istringstream lines{std::string(sql)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream text(line.substr(0, line.find("--")));
    for (std::string word; text >> word;) words.push_back(std::move(word));
  }
  return words;
}

/// "TABLE", "VIEW", or empty: nothing in `main` has this name.
Result<std::string> kind_of(Database& database, const std::string& name) {
  ASSAY_TRY(const bool is_table, table_exists(database, name));
  if (is_table) return "TABLE";
  const Json parameters[] = {name};
  ASSAY_TRY(const Rows views,
            database.query("SELECT 1 FROM duckdb_views() WHERE database_name = current_database() AND "
                           "schema_name = 'main' AND lower(view_name) = lower($1)",
                           parameters));
  return views.rows.empty() ? "" : "VIEW";
}

}  // namespace

std::set<std::string> created_names(std::span<const Migration> steps) {
  std::set<std::string> names;
  for (const Migration& step : steps) {
    const std::vector<std::string> words = words_without_comments(step.sql);
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (words[i] != "CREATE") continue;
      std::size_t kind = i + 1;
      if (kind + 1 < words.size() && words[kind] == "OR" && words[kind + 1] == "REPLACE") kind += 2;
      if (kind + 1 < words.size() && (words[kind] == "TABLE" || words[kind] == "VIEW")) names.insert(words[kind + 1]);
    }
  }
  return names;
}

Status rename_obstacles(Database& database, std::span<const Migration> steps, std::size_t first) {
  const std::set<std::string> known = created_names(steps.first(first));
  for (const std::string& name : created_names(steps.subspan(first))) {
    if (known.contains(name)) continue;
    ASSAY_TRY(const std::string kind, kind_of(database, name));
    if (kind.empty()) continue;
    std::string other = name + "_own";
    for (int n = 2;; ++n) {
      ASSAY_TRY(const std::string taken, kind_of(database, other));
      if (taken.empty()) break;
      other = fmt::format("{}_own_{}", name, n);
    }
    ASSAY_CHECK_OK(
        database.execute(fmt::format("ALTER {} main.{} RENAME TO {}", kind, quoted_name(name), quoted_name(other))));
    log_warning("this version of assay creates '{}' in the database; your own {} of that name is now called '{}'", name,
                kind == "VIEW" ? "view" : "table", other);
  }
  return {};
}

Result<std::vector<Index>> drop_indexes(Database& database, const std::set<std::string>& tables) {
  ASSAY_TRY(const Rows found,
            database.query("SELECT index_name, sql, table_name FROM duckdb_indexes() WHERE database_name = "
                           "current_database() AND schema_name = 'main' AND sql IS NOT NULL ORDER BY index_name"));
  std::vector<Index> indexes;
  for (const auto& row : found.rows) {
    if (!tables.contains(row.at(2).get<std::string>())) continue;
    indexes.push_back({row.at(0).get<std::string>(), row.at(1).get<std::string>()});
    ASSAY_CHECK_OK(database.execute(fmt::format("DROP INDEX main.{}", quoted_name(indexes.back().name))));
  }
  return indexes;
}

void create_indexes(Database& database, const std::vector<Index>& indexes) {
  for (const Index& index : indexes)
    if (const Status created = database.execute(index.sql); !created)
      log_warning("your index '{}' does not fit the new schema of the database and is left out: {}; it was: {}",
                  index.name, created.error().message, index.sql);
}

}  // namespace assay::duckdb
