// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

#include <assay/result.hpp>

#include "store/duckdb.hpp"

namespace assay::duckdb {

/// Brings what code keeps of the table benchmark_results up to date, after its migrations: the keys of all rows, from
/// their fields, as ingesting their bundles computes them; and the comments of its columns, and of the columns of the
/// same name in those of `views` that there are, from result_fields(). Other views are the user's and stay as they are,
/// and so does a database without that table.
/// To be called within a transaction. Errors: those of Database::execute.
[[nodiscard]] Status refresh_results_table(Database& database, const std::set<std::string>& views);

}  // namespace assay::duckdb
