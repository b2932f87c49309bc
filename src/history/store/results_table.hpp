// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

#include <assay/result.hpp>

#include "history/store/duckdb.hpp"

namespace assay::duckdb {

/// Brings what code keeps of the tables of results up to date, after their migrations: the keys of all launches, from
/// their fields, as ingesting their bundles computes them; the rows of cells, derived from their launches (cells.hpp);
/// and the comments of the columns, and of the columns of the same name in those of `views` that there are, from
/// result_fields(). Other views are the user's and stay as they are. To be called within a transaction that altered
/// none of them. Errors: those of Database::execute.
[[nodiscard]] Status refresh_results_tables(Database& database, const std::set<std::string>& views);

}  // namespace assay::duckdb
