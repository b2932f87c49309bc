// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <assay/result.hpp>

#include "history/store/duckdb.hpp"

/// Compares tables of a database with those of one that is attached to it, every column of every row.
namespace assay::duckdb {

/// How often something differs, with a few examples of it.
struct Differences {
  static constexpr std::size_t kExamples = 3;
  std::uint64_t count = 0;
  std::vector<std::string> examples{};

  void add(std::string example);
  /// "A; B; C; and 7 more". A shorter list than `count` ends with the number of the others.
  [[nodiscard]] std::string listed() const;
};

/// A finding about a table. `what`: "table launches, column host: 2 values differ from those of the bundles".
[[nodiscard]] Error table_finding(const std::string& what, const Differences& differences);

struct ComparedTable {
  std::string name;
  std::vector<std::string> key;       ///< columns that name a row; their rows need not be unique
  std::string rows = "true";          ///< a condition of SQL: which rows, of both tables, are compared
  std::vector<std::string> except{};  ///< columns that are not compared
  /// Columns that are compared as something else: {name, expression of SQL}.
  std::vector<std::pair<std::string, std::string>> instead{};
};

/// What columns of `table` differ between the database and `other`, in name and type: empty if they agree. More columns
/// than in `other` are allowed: users may have added them. Errors: those of Database::query.
[[nodiscard]] Result<std::vector<Error>> compare_columns(Database& database, const std::string& other,
                                                         const std::string& table);

/// The table must have the columns of the one in `other`. A finding for each column with values that differ between
/// rows of the same key, one for rows that only `other` has, and one for rows that it has not; with the number of rows,
/// and examples. Several equal rows count as several. Errors: those of Database::query.
[[nodiscard]] Result<std::vector<Error>> compare_rows(Database& database, const std::string& other,
                                                      const ComparedTable& table);

}  // namespace assay::duckdb
