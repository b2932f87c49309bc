// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "core/result/record.hpp"
#include "core/samples/measurement.hpp"
#include "history/store/duckdb.hpp"

/// Rows of cells, derived from the launches that the database has. `launches` has a row for each bundle;
/// benchmark_results has one for each cell of a run, which combine_launches() (core/samples/launches.hpp) makes of its
/// launches. A cell's result_id is the launch_id of the launch of it that was ingested first, so it never changes.
namespace assay::duckdb {

/// What makes two bundles launches of one cell, as the database stores it.
struct CellName {
  std::string run_id, task_key, model, model_id;
  auto operator<=>(const CellName&) const = default;
};
[[nodiscard]] CellName cell_name(const Record& record);

/// One row of `launches`, and what the cell's row needs of it.
struct Launch {
  std::int64_t id = 0;
  Record row{};
  bool counted = true;               ///< the stored value, until choose_counted() sets it
  std::optional<Samples> samples{};  ///< the steady ones; read by derive_cell() if they are absent
};

/// The names of all fields of a result, separated by commas.
[[nodiscard]] std::string field_list();
/// The cells of `values` from `first` on, in the order of field_list(). Errors: those of set_field().
[[nodiscard]] Result<Record> record_from_row(const std::vector<Json>& values, std::size_t first);

/// By result_id, then launch_id: the launches of the cells from `first` to `last`.
[[nodiscard]] Result<std::map<std::int64_t, std::vector<Launch>>> read_launches(Database& database, std::int64_t first,
                                                                                std::int64_t last);
/// The steady samples of a launch, in order.
[[nodiscard]] Result<Samples> read_steady_samples(Database& database, std::int64_t launch_id);

/// Sets `counted` of all launches of a cell (counted_launches()). Returns whether a value changed.
bool choose_counted(std::vector<Launch>& launches);

/// The row of the cell with these launches, which have their samples. Thread: any.
[[nodiscard]] Record combine_cell(const std::vector<Launch>& launches);
/// The same. Samples that are absent are read from the database only if several launches count.
[[nodiscard]] Result<Record> derive_cell(Database& database, std::vector<Launch>& launches);

/// A row of benchmark_results, as cells of an appender with the columns result_id and field_list().
[[nodiscard]] std::vector<Json> result_cells(std::int64_t result_id, const Record& record);

/// Makes the whole table benchmark_results again, after keys or the derivation have changed. To be called within a
/// transaction. Errors: those of Database::execute.
[[nodiscard]] Status derive_all_cells(Database& database);

}  // namespace assay::duckdb
