// SPDX-License-Identifier: Apache-2.0
#include "history/store/shapes_table.hpp"

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
          true,  // of the whole window
          binary(code_bytes(shape.quantiles)),
          binary(code_bytes(shape.bins))};
}

}  // namespace assay::duckdb
