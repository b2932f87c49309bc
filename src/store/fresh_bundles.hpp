// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "store/store.hpp"

namespace assay::duckdb {

/// A bundle that is not in the database yet. Ordered by time.
struct FreshBundle {
  std::string timestamp, attempt;
  std::filesystem::path folder;
  std::string run_id;
  auto operator<=>(const FreshBundle&) const = default;
};

/// The bundles whose attempts are not in `attempts`, oldest first, so that result ids follow time; the others are
/// counted as known. Of a manifest only the beginning is parsed, and nothing is checked. What cannot be read is
/// refused.
[[nodiscard]] Result<std::vector<FreshBundle>> fresh_bundles(const std::filesystem::path& spool,
                                                             const std::set<std::string>& attempts,
                                                             IngestReport& report);

}  // namespace assay::duckdb
