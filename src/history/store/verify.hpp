// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include <assay/result.hpp>

#include "history/store/duckdb.hpp"

namespace assay::duckdb {

/// Store::verify: ingests the bundles that the database should have into an empty one, under their ids, and compares
/// each column of each row of each table, both ways. Writes neither into the database nor into the spool. Memory and
/// disk: for a database without its samples, which are compared launch by launch.
[[nodiscard]] Result<std::vector<Error>> verify_against_bundles(Database& database, const std::filesystem::path& spool);

}  // namespace assay::duckdb
