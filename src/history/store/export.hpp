// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <assay/result.hpp>

namespace assay::duckdb {
class Database;
}

namespace assay {

enum class ExportFormat { kParquet, kCsv };

struct ExportedTable {
  std::string name;
  std::uint64_t rows = 0;
  std::optional<std::filesystem::path> file;  ///< absent: left out
};

/// Writes every table of the database into `folder`, a file for each, and `schema.json` with their columns: the file
/// `raw_benchmark_data` has the samples, launch by launch, and only if `samples` is true. The folder gets its name when
/// all of it is written. Errors: invalid_argument (the folder exists and is not empty), internal (disk full; nothing is
/// left).
[[nodiscard]] Result<std::vector<ExportedTable>> export_tables(duckdb::Database& database,
                                                               const std::filesystem::path& folder, ExportFormat format,
                                                               bool samples);

}  // namespace assay
