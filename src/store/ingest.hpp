// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include <assay/result.hpp>

#include "base/clock.hpp"
#include "store/bundle.hpp"
#include "store/duckdb.hpp"
#include "store/store.hpp"

namespace assay::duckdb {

/// Corrects the times of a bundle, ingested at `now`, that cannot be true (result/newest.hpp). The bundle on the disk
/// keeps them.
void correct_times(Bundle& bundle, WallTime now);

/// Store::ingest into an open database; there must be enough free space on the disk of `database_path`.
[[nodiscard]] Result<IngestReport> ingest_spool(Database& database, const std::filesystem::path& database_path,
                                                const std::filesystem::path& spool);

}  // namespace assay::duckdb
