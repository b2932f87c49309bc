// SPDX-License-Identifier: Apache-2.0
#include "history/store/shapes_table.hpp"

#include "history/store/cells.hpp"
#include "history/store/shape_codec.hpp"

namespace assay::duckdb {
namespace {

Json binary(const std::string& bytes) { return Json::binary({bytes.begin(), bytes.end()}); }

}  // namespace

std::vector<Json> shape_cells(std::int64_t launch_id, const LaunchShape& shape) {
  return {launch_id,
          static_cast<std::int64_t>(shape.kind),
          shape.samples,
          shape.steady,
          shape.low_ns,
          shape.high_ns,
          shape.window_ns,
          shape.first_steady_bin,
          shape.whole_window,
          binary(code_bytes(shape.quantiles)),
          binary(code_bytes(shape.bins))};
}

Status add_missing_shapes(Database& database) {
  ASSAY_TRY(const Rows missing, database.query("SELECT DISTINCT launch_id FROM samples WHERE "
                                               "launch_id NOT IN (SELECT launch_id FROM "
                                               "launch_shapes) ORDER BY launch_id"));
  if (missing.rows.empty()) return {};
  ASSAY_TRY(Appender appender, Appender::create(database, "launch_shapes", kShapeColumns));
  for (const auto& row : missing.rows) {
    const auto launch_id = row.at(0).get<std::int64_t>();
    ASSAY_TRY(const Samples samples, read_steady_samples(database, launch_id));
    for (const LaunchShape& shape : make_shapes(samples, 0, false))
      ASSAY_CHECK_OK(appender.append(shape_cells(launch_id, shape)));
  }
  return appender.close();
}

}  // namespace assay::duckdb
