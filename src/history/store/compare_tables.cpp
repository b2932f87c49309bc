// SPDX-License-Identifier: Apache-2.0
#include "history/store/compare_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/text.hpp"

namespace assay::duckdb {
namespace {

// The rows that only one of the two has. Of this connection alone; no user's table is called so.
constexpr const char* kOnlyHere = "temp.assay_only_stored";
constexpr const char* kOnlyThere = "temp.assay_only_expected";
constexpr const char* kRebuild = "`assay db rebuild` makes the database again from the bundles";
constexpr std::size_t kLongest = 80;  // of a value that is shown

std::string shown_value(const Json& value) {
  return value.is_null() ? "NULL" : fmt::format("'{}'", value.get<std::string>());
}

/// The text of a value, or its beginning.
std::string shortened(const std::string& value) {
  return fmt::format("if(length({0}::VARCHAR) > {1}, left({0}::VARCHAR, {1}) || '…', {0}::VARCHAR)", value, kLongest);
}

Result<std::map<std::string, std::string>> types_of_columns(Database& database, const std::string& table) {
  ASSAY_TRY(const Rows rows,
            database.query(fmt::format("SELECT name, type FROM pragma_table_info({})", duckdb::quoted(table))));
  std::map<std::string, std::string> columns;
  for (const auto& row : rows.rows) columns[row.at(0).get<std::string>()] = row.at(1).get<std::string>();
  return columns;
}

class RowComparison {
 public:
  RowComparison(Database& database, std::string other, const ComparedTable& table)
      : database_(database), other_(std::move(other)), table_(table) {}

  Result<std::vector<Error>> run() {
    ASSAY_TRY(columns_, compared_columns());
    ASSAY_CHECK_OK(find_rows());
    ASSAY_CHECK_OK(find_values());
    ASSAY_CHECK_OK(find_lonely(kOnlyThere, kOnlyHere, "rows that the bundles have are missing"));
    ASSAY_CHECK_OK(find_lonely(kOnlyHere, kOnlyThere, "there are rows that no bundle has"));
    ASSAY_CHECK_OK(database_.execute(fmt::format("DROP TABLE {}; DROP TABLE {}", kOnlyHere, kOnlyThere)));
    return std::move(findings_);
  }

 private:
  Result<std::vector<std::string>> compared_columns() {
    ASSAY_TRY(const auto columns, types_of_columns(database_, other_ + ".main." + quoted_name(table_.name)));
    std::vector<std::string> names;
    for (const auto& [name, type] : columns)
      if (std::ranges::find(table_.except, name) == table_.except.end()) names.push_back(name);
    return names;
  }

  Status find_rows() {
    std::vector<std::string> values;
    for (const std::string& name : columns_) {
      const auto instead = std::ranges::find(table_.instead, name, &std::pair<std::string, std::string>::first);
      const std::string value = instead == table_.instead.end() ? quoted_name(name) : instead->second;
      values.push_back(value + " AS " + quoted_name(name));
    }
    const auto rows = [&](const std::string& schema) {
      return fmt::format("SELECT {} FROM {}.{} WHERE {}", join(values, ", "), schema, quoted_name(table_.name),
                         table_.rows);
    };
    const std::string here = rows("main"), there = rows(other_ + ".main");
    ASSAY_CHECK_OK(
        database_.execute(fmt::format("CREATE OR REPLACE TEMP TABLE {} AS {} EXCEPT ALL {}", kOnlyHere, here, there)));
    return database_.execute(
        fmt::format("CREATE OR REPLACE TEMP TABLE {} AS {} EXCEPT ALL {}", kOnlyThere, there, here));
  }

  [[nodiscard]] std::string same_key() const {
    std::vector<std::string> conditions;
    for (const std::string& name : table_.key)
      conditions.push_back(fmt::format("a.{0} IS NOT DISTINCT FROM b.{0}", quoted_name(name)));
    return join(conditions, " AND ");
  }
  /// An expression that says which row `row` is.
  [[nodiscard]] std::string key_of(const std::string& row) const {
    std::vector<std::string> parts;
    for (const std::string& name : table_.key)
      parts.push_back(
          fmt::format("{} || coalesce({}.{}::VARCHAR, 'NULL')", duckdb::quoted(name + " "), row, quoted_name(name)));
    return join(parts, " || ', ' || ");
  }

  Status find_values() {
    std::vector<std::string> counts;
    for (const std::string& name : columns_)
      counts.push_back(fmt::format("count(*) FILTER (WHERE a.{0} IS DISTINCT FROM b.{0})", quoted_name(name)));
    const std::string pairs = fmt::format("FROM {} AS a JOIN {} AS b ON {}", kOnlyHere, kOnlyThere, same_key());
    ASSAY_TRY(const Rows differing, database_.query(fmt::format("SELECT {} {}", join(counts, ", "), pairs)));
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      Differences differences{differing.rows.at(0).at(i).get<std::uint64_t>()};
      if (differences.count == 0) continue;
      const std::string here = "a." + quoted_name(columns_[i]), there = "b." + quoted_name(columns_[i]);
      ASSAY_TRY(const Rows examples,
                database_.query(fmt::format("SELECT {}, {}, {} {} WHERE {} IS DISTINCT FROM {} ORDER BY ALL LIMIT {}",
                                            key_of("a"), shortened(here), shortened(there), pairs, here, there,
                                            Differences::kExamples)));
      for (const auto& row : examples.rows)
        differences.examples.push_back(fmt::format("{} has {}, and its bundle {}", row.at(0).get<std::string>(),
                                                   shown_value(row.at(1)), shown_value(row.at(2))));
      findings_.push_back(table_finding(
          fmt::format("table {}, column {}: values differ from those of the bundles", table_.name, columns_[i]),
          differences));
    }
    return {};
  }

  /// Rows of `a` without a partner in `b`; where a key has several rows, those that are more.
  Status find_lonely(const char* a, const char* b, const char* what) {
    const std::string keys = [&] {
      std::vector<std::string> names;
      for (const std::string& name : table_.key) names.push_back(quoted_name(name));
      return join(names, ", ");
    }();
    const std::string lonely =
        fmt::format("FROM (SELECT {0} FROM {1} EXCEPT ALL SELECT {0} FROM {2}) AS a", keys, a, b);
    ASSAY_TRY(const Rows count, database_.query(fmt::format("SELECT count(*) {}", lonely)));
    Differences differences{count.rows.at(0).at(0).get<std::uint64_t>()};
    if (differences.count == 0) return {};
    ASSAY_TRY(const Rows examples, database_.query(fmt::format("SELECT {} {} ORDER BY ALL LIMIT {}", key_of("a"),
                                                               lonely, Differences::kExamples)));
    for (const auto& row : examples.rows) differences.examples.push_back(row.at(0).get<std::string>());
    findings_.push_back(table_finding(fmt::format("table {}: {}", table_.name, what), differences));
    return {};
  }

  Database& database_;
  const std::string other_;
  const ComparedTable& table_;
  std::vector<std::string> columns_;
  std::vector<Error> findings_;
};

}  // namespace

void Differences::add(std::string example) {
  ++count;
  if (examples.size() < kExamples) examples.push_back(std::move(example));
}

std::string Differences::listed() const {
  std::string text = join(examples, "; ");
  if (count > examples.size()) text += fmt::format("; and {} more", count - examples.size());
  return text;
}

Error table_finding(const std::string& what, const Differences& differences) {
  return {
      ErrorCode::kMismatch, fmt::format("{} ({}): {}", what, differences.count, differences.listed()), {}, kRebuild};
}

Result<std::vector<Error>> compare_columns(Database& database, const std::string& other, const std::string& table) {
  ASSAY_TRY(const auto expected, types_of_columns(database, other + ".main." + quoted_name(table)));
  std::vector<Error> findings;
  ASSAY_TRY(const bool exists, table_exists(database, table));
  if (!exists) {
    findings.push_back({ErrorCode::kMismatch, fmt::format("table {} is missing", table), {}, kRebuild});
    return findings;
  }
  ASSAY_TRY(const auto found, types_of_columns(database, "main." + quoted_name(table)));
  for (const auto& [name, type] : expected) {
    const auto column = found.find(name);
    if (column == found.end())
      findings.push_back(
          {ErrorCode::kMismatch, fmt::format("table {}: the column {} is missing", table, name), {}, kRebuild});
    else if (column->second != type)
      findings.push_back(
          {ErrorCode::kMismatch,
           fmt::format("table {}: the column {} has type {}, and should have {}", table, name, column->second, type),
           {},
           kRebuild});
  }
  return findings;
}

Result<std::vector<Error>> compare_rows(Database& database, const std::string& other, const ComparedTable& table) {
  return RowComparison(database, other, table).run();
}

}  // namespace assay::duckdb
