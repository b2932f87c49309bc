// SPDX-License-Identifier: Apache-2.0
#include "history/store/distributions_table.hpp"

#include "history/store/distribution_codec.hpp"

namespace assay::duckdb {
namespace {

Json binary(const std::string& bytes) { return Json::binary({bytes.begin(), bytes.end()}); }

}  // namespace

std::vector<Json> distribution_cells(std::int64_t launch_id, const SampleDistribution& distribution) {
  return {launch_id,
          static_cast<std::int64_t>(distribution.kind),
          distribution.samples,
          distribution.steady,
          distribution.low_ns,
          distribution.high_ns,
          distribution.window_ns,
          distribution.first_steady_bin,
          binary(code_bytes(distribution.quantiles)),
          binary(code_bytes(distribution.bins))};
}

}  // namespace assay::duckdb
