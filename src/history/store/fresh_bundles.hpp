// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "history/store/store.hpp"

namespace assay::duckdb {

/// What a database chose when it ingested a bundle, and what does not follow from the bundle.
struct StoredChoice {
  std::int64_t launch_id = 0;
  std::string ingested_at;  ///< This is the text that DuckDB prints. "" is NULL.
  auto operator<=>(const StoredChoice&) const = default;
};

/// A bundle that is not in the database yet. Ordered by time.
struct FreshBundle {
  std::string timestamp, attempt;
  std::filesystem::path folder;
  std::string run_id;
  std::optional<StoredChoice> stored{};  ///< ingested as a database has it; else with the next free number
  auto operator<=>(const FreshBundle&) const = default;
};

/// Oldest first. Of a manifest only the beginning is parsed, and nothing is checked: one that cannot be read is the
/// first.
[[nodiscard]] std::vector<FreshBundle> in_order_of_time(const std::vector<std::filesystem::path>& folders);

/// The bundles whose attempts are not in `attempts`, oldest first, so that result ids follow time; the others are
/// counted as known. Folders that cannot be listed are refused.
[[nodiscard]] Result<std::vector<FreshBundle>> fresh_bundles(const std::filesystem::path& spool,
                                                             const std::set<std::string>& attempts,
                                                             IngestReport& report);

}  // namespace assay::duckdb
