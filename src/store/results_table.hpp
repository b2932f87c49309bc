// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <assay/result.hpp>

#include "store/duckdb.hpp"

namespace assay::duckdb {

/// Brings what code keeps of the table benchmark_results up to date, after its migrations: the keys of all rows, from
/// their fields, as ingesting their bundles computes them; and the comments of its columns, and of the columns of the
/// same name in views, from result_fields(). A database without that table is left as it is.
/// To be called within a transaction. Errors: those of Database::execute.
[[nodiscard]] Status refresh_results_table(Database& database);

}  // namespace assay::duckdb
