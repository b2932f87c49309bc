// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include <assay/result.hpp>

#include "core/base/clock.hpp"
#include "history/store/bundle.hpp"
#include "history/store/duckdb.hpp"
#include "history/store/fresh_bundles.hpp"
#include "history/store/sample_appender.hpp"
#include "history/store/store.hpp"

namespace assay::duckdb {

/// Corrects the times of a bundle, ingested at `now`, that cannot be true (core/result/newest.hpp). The bundle on the
/// disk keeps them.
void correct_times(Bundle& bundle, WallTime now);

/// Store::ingest into an open database; there must be enough free space on the disk of `database_path`.
[[nodiscard]] Result<IngestReport> ingest_spool(Database& database, const std::filesystem::path& database_path,
                                                const std::filesystem::path& spool);

/// The rows of these bundles, in one transaction and in this order. Their samples go into the table, or to `samples`. A
/// bundle that cannot be read is refused in `report`. Errors: those of DuckDB; then nothing was added.
[[nodiscard]] Status ingest_bundles(Database& database, const std::vector<FreshBundle>& bundles, IngestReport& report,
                                    SampleSink* samples = nullptr);

}  // namespace assay::duckdb
