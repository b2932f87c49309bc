// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "history/store/duckdb.hpp"

/// A database that is made under another name and then takes the place of the one that is used: a new, migrated,
/// rebuilt or compacted one, and the snapshot. Its rows may stand in a write-ahead log beside it, which is not renamed
/// with it; so none of these files is used before it was closed, found without a log, and its rows were counted.
namespace assay::duckdb {

/// DuckDB's logs of a database, beside it: of what is not in its file yet, and of a checkpoint that did not end.
[[nodiscard]] std::vector<std::filesystem::path> logs_of(const std::filesystem::path& path);

/// The rows of each table, by "schema"."table".
using TableSizes = std::map<std::string, std::int64_t>;
/// `catalog`: the name under which the database is attached; empty: the one that is open.
[[nodiscard]] Result<TableSizes> table_sizes(Database& database, const std::string& catalog = "");

/// The file, and its logs. Whether they are there does not matter.
void remove_database(const std::filesystem::path& path);

/// Checks the file of a database that was closed: that it has no log, and these rows. Then it is on the disk.
/// Errors: internal, which says what is missing.
[[nodiscard]] Status check_closed(const std::filesystem::path& path, const TableSizes& expected);

/// Writes all of `made` into its file `path`, and closes and checks it. Errors: those of DuckDB and check_closed().
[[nodiscard]] Status close_whole(Database made, const std::filesystem::path& path);

/// Renames a file that was checked. The logs of the file that is replaced are removed first: they must not be replayed
/// into the new one. Errors: internal.
[[nodiscard]] Status put_in_place(const std::filesystem::path& fresh, const std::filesystem::path& path);

}  // namespace assay::duckdb
