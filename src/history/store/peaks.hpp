// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include <assay/result.hpp>

#include "core/base/json.hpp"
#include "core/result/run_info.hpp"

/// Peaks that `assay doctor --peak` measured. Like bundles they are files of the spool, from which the database can be
/// made again: `<spool>/.peaks/<run id>.json`. In the database they are the environment of a run without results, which
/// the query machine_peaks reads.
namespace assay {

/// `peaks`: a list of to_json(MeasuredPeak). Returns the file. Errors: those of write_file_atomically.
[[nodiscard]] Result<std::filesystem::path> write_peaks(const std::filesystem::path& spool, const RunInfo& run,
                                                        const Json& peaks);

namespace duckdb {

class Database;

/// Adds the runs of write_peaks() that the database does not have. A file that cannot be read is left out, with a
/// warning. Errors: those of Database::query.
[[nodiscard]] Status ingest_peaks(Database& database, const std::filesystem::path& spool);

}  // namespace duckdb
}  // namespace assay
