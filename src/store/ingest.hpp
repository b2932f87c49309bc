// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include <assay/result.hpp>

#include "store/duckdb.hpp"
#include "store/store.hpp"

namespace assay::duckdb {

/// Store::ingest into an open database; there must be enough free space on the disk of `database_path`.
[[nodiscard]] Result<IngestReport> ingest_spool(Database& database, const std::filesystem::path& database_path,
                                                const std::filesystem::path& spool);

}  // namespace assay::duckdb
