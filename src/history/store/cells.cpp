// SPDX-License-Identifier: Apache-2.0
#include "history/store/cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "core/base/text.hpp"
#include "core/samples/launches.hpp"

namespace assay::duckdb {
namespace {

constexpr std::size_t kCellsAtOnce = 1000;  // a row is some kilobytes

std::vector<std::string> result_columns() {
  std::vector<std::string> columns{"result_id"};
  for (const Field& field : result_fields()) columns.emplace_back(field.name);
  return columns;
}

/// Launches of one cell may have got different keys, or keys that were different may be equal now.
Status regroup(Database& database) {
  return database.execute(
      "CREATE TEMP TABLE cell_of AS SELECT launch_id, min(launch_id) OVER (PARTITION BY run_id, task_key, model, "
      "model_id) AS cell FROM launches; "
      "UPDATE launches AS l SET result_id = c.cell FROM cell_of AS c WHERE c.launch_id = l.launch_id AND "
      "l.result_id <> c.cell; "
      "DROP TABLE cell_of");
}

Status store_counted(Database& database, const std::vector<Launch>& launches) {
  for (const Launch& launch : launches) {
    const Json parameters[] = {launch.counted, launch.id};
    ASSAY_CHECK_OK(
        database.query("UPDATE launches SET counted = $1 WHERE launch_id = $2", parameters).map([](const Rows&) {}));
  }
  return {};
}

Status follow_launches(Database& database) {
  return database.execute(
      "UPDATE bundles AS b SET result_id = l.result_id FROM launches AS l WHERE l.launch_id = b.launch_id AND "
      "b.result_id <> l.result_id");
}

using CellVisitor = std::function<Status(std::int64_t result_id, std::vector<Launch>& launches)>;

Status for_each_cell(Database& database, const CellVisitor& visitor) {
  ASSAY_TRY(const Rows ids, database.query("SELECT DISTINCT result_id FROM launches ORDER BY result_id"));
  for (std::size_t from = 0; from < ids.rows.size(); from += kCellsAtOnce) {
    const std::size_t last = std::min(from + kCellsAtOnce, ids.rows.size()) - 1;
    ASSAY_TRY(auto cells,
              read_launches(database, ids.rows[from][0].get<std::int64_t>(), ids.rows[last][0].get<std::int64_t>()));
    for (auto& [result_id, launches] : cells) ASSAY_CHECK_OK(visitor(result_id, launches));
  }
  return {};
}

}  // namespace

CellName cell_name(const Record& record) {
  return {sanitise(record.run_id), record.task_key, sanitise(record.model), sanitise(record.model_id)};
}

std::string field_list() {
  std::string list;
  for (const Field& field : result_fields()) list += fmt::format("{}{}", list.empty() ? "" : ", ", field.name);
  return list;
}

Result<Record> record_from_row(const std::vector<Json>& values, std::size_t first) {
  Record record;
  for (const Field& field : result_fields()) ASSAY_CHECK_OK(set_field(record, field, values.at(first++)));
  return record;
}

Result<std::map<std::int64_t, std::vector<Launch>>> read_launches(Database& database, std::int64_t first,
                                                                  std::int64_t last) {
  const Json parameters[] = {first, last};
  ASSAY_TRY(const Rows rows,
            database.query(fmt::format("SELECT result_id, launch_id, counted, {} FROM launches WHERE result_id BETWEEN "
                                       "$1 AND $2 ORDER BY launch_id",
                                       field_list()),
                           parameters));
  std::map<std::int64_t, std::vector<Launch>> cells;
  for (const auto& row : rows.rows) {
    ASSAY_TRY(Record record, record_from_row(row, 3));
    cells[row[0].get<std::int64_t>()].push_back({row[1].get<std::int64_t>(), std::move(record), row[2].get<bool>()});
  }
  return cells;
}

Result<Samples> read_steady_samples(Database& database, std::int64_t launch_id) {
  Samples samples;
  const Json id[] = {launch_id};
  ASSAY_CHECK_OK(database.visit(
      "SELECT kind, stream, start_ns, duration_ns FROM samples WHERE launch_id = $1::INTEGER ORDER BY seq", id,
      [&](std::span<const Column> columns, std::size_t rows) {
        for (std::size_t i = 0; i < rows; ++i) {
          samples.kind.push_back(columns[0].at<std::uint8_t>(i));
          samples.stream.push_back(columns[1].at<std::uint32_t>(i));
          samples.start_ns.push_back(columns[2].is_null(i) ? kUnknownStart : columns[2].at<std::int64_t>(i));
          samples.duration_ns.push_back(columns[3].at<std::int64_t>(i));
        }
      }));
  return samples;
}

bool choose_counted(std::vector<Launch>& launches) {
  std::vector<const Record*> rows;
  rows.reserve(launches.size());
  for (const Launch& launch : launches) rows.push_back(&launch.row);
  std::vector<bool> counted(launches.size(), false);
  for (const std::size_t i : counted_launches(rows)) counted[i] = true;
  bool changed = false;
  for (std::size_t i = 0; i < launches.size(); ++i)
    changed |= std::exchange(launches[i].counted, counted[i]) != counted[i];
  return changed;
}

Record combine_cell(const std::vector<Launch>& launches) {
  std::vector<LaunchSamples> inputs;
  inputs.reserve(launches.size());
  for (const Launch& launch : launches) inputs.push_back({&launch.row, launch.samples ? &*launch.samples : nullptr});
  return combine_launches(inputs);
}

Result<Record> derive_cell(Database& database, std::vector<Launch>& launches) {
  const auto measured = [](const Launch& launch) { return launch.counted && launch.row.latency_p50_ms; };
  if (std::ranges::count_if(launches, measured) > 1)
    for (Launch& launch : launches)
      if (measured(launch) && !launch.samples) {
        ASSAY_TRY(launch.samples, read_steady_samples(database, launch.id));
      }
  return combine_cell(launches);
}

std::vector<Json> result_cells(std::int64_t result_id, const Record& record) {
  std::vector<Json> cells{result_id};
  for (const Field& field : result_fields()) cells.push_back(field_value(record, field));
  return cells;
}

Status derive_all_cells(Database& database) {
  ASSAY_CHECK_OK(regroup(database));
  ASSAY_CHECK_OK(database.execute("DELETE FROM benchmark_results"));
  const std::vector<std::string> columns = result_columns();
  ASSAY_TRY(Appender results, Appender::create(database, "benchmark_results", columns));
  const auto derive = [&](std::int64_t result_id, std::vector<Launch>& launches) -> Status {
    if (choose_counted(launches)) ASSAY_CHECK_OK(store_counted(database, launches));
    ASSAY_TRY(const Record cell, derive_cell(database, launches));
    return results.append(result_cells(result_id, cell));
  };
  ASSAY_CHECK_OK(for_each_cell(database, derive));
  ASSAY_CHECK_OK(results.close());
  return follow_launches(database);
}

}  // namespace assay::duckdb
