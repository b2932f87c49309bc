// SPDX-License-Identifier: Apache-2.0
#include "store/shapes_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "measure/samples_file.hpp"
#include "store/bundle.hpp"
#include "store/cells.hpp"
#include "store/shape_codec.hpp"

namespace assay::duckdb {
namespace {

Json binary(const std::string& bytes) { return Json::binary({bytes.begin(), bytes.end()}); }

std::string described(const LaunchShape& shape) {
  return fmt::format("{} {} {} {} {} {} {} {} {}", static_cast<int>(shape.kind), shape.samples, shape.steady,
                     shape.low_ns, shape.high_ns, shape.window_ns, shape.first_steady_bin,
                     fmt::join(shape.quantiles, ","), fmt::join(shape.bins, ","));
}

Result<std::set<std::string>> stored_shapes(Database& database, const Json& launch_id) {
  const Json id[] = {launch_id};
  ASSAY_TRY(const Rows rows,
            database.query("SELECT kind::BIGINT, samples, steady, low_ns, high_ns, window_ns, first_steady_bin, "
                           "hex(quantiles), hex(bins) FROM launch_shapes WHERE launch_id = $1::INTEGER",
                           id));
  std::set<std::string> shapes;
  for (const auto& row : rows.rows) {
    const auto number = [&](std::size_t i) { return row[i].get<std::int64_t>(); };
    LaunchShape shape;
    shape.kind = static_cast<SampleKind>(number(0));
    shape.samples = number(1);
    shape.steady = number(2);
    shape.low_ns = number(3);
    shape.high_ns = number(4);
    shape.window_ns = number(5);
    shape.first_steady_bin = number(6);
    shape.quantiles = codes_of_hex(row[7].get<std::string>());
    shape.bins = codes_of_hex(row[8].get<std::string>());
    shapes.insert(described(shape));
  }
  return shapes;
}

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

Result<std::vector<Error>> check_shapes(Database& database, const std::filesystem::path& spool) {
  ASSAY_TRY(
      const Rows launches,
      database.query("SELECT b.launch_id, b.path, coalesce(l.steady_from, 0) FROM bundles AS b JOIN launches AS l "
                     "USING (launch_id) WHERE b.samples > 0 AND b.launch_id NOT IN (SELECT launch_id FROM "
                     "launch_shapes WHERE NOT whole_window) ORDER BY b.launch_id"));
  std::vector<Error> findings;
  for (const auto& row : launches.rows) {
    const auto name = row[1].get<std::string>();
    const auto file = read_samples(spool / name / bundle_file::kSamples);
    if (!file) continue;
    const auto steady_from = static_cast<std::size_t>(std::max<std::int64_t>(row[2].get<std::int64_t>(), 0));
    std::set<std::string> expected;
    for (const LaunchShape& shape : make_shapes(file->samples, steady_from, true)) expected.insert(described(shape));
    ASSAY_TRY(const std::set<std::string> found, stored_shapes(database, row[0]));
    if (found != expected)
      findings.push_back({ErrorCode::kMismatch,
                          fmt::format("the shapes of the launch '{}' {}", name,
                                      found.empty() ? "are missing" : "are not those of its samples"),
                          {},
                          "run `assay db rebuild`"});
  }
  return findings;
}

}  // namespace assay::duckdb
