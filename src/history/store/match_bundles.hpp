// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "history/store/duckdb.hpp"
#include "history/store/fresh_bundles.hpp"

/// Which row of a database is that of which bundle, also when some of its values were changed.
namespace assay::duckdb {

struct MatchedBundles {
  std::vector<FreshBundle> stored;             ///< each has its StoredChoice; sorted by launch id
  std::vector<std::filesystem::path> unknown;  ///< bundles of the spool that are not in the database
};

/// A bundle is that of the row of `bundles` with its hash, or its attempt; else that of the row of `launches` with its
/// attempt. Where the two tables disagree about its launch_id, that counts which has samples or shapes. A copy of a
/// bundle is known, as when it is ingested. Errors: those of Database::query.
[[nodiscard]] Result<MatchedBundles> match_bundles(Database& database,
                                                   const std::vector<std::filesystem::path>& folders);

}  // namespace assay::duckdb
