// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include <assay/result.hpp>

#include "base/json.hpp"
#include "result/record.hpp"

namespace assay::suite {

/// Writes the compatibility matrix that was `made` of `rows`, and keeps what an earlier file has beyond it: results of
/// other histories and of other programs, each with its `source` (docs/formats.md, "Compatibility matrix"), other
/// families, hardware and keys. What assay wrote of a model and hardware of `rows` is replaced.
/// Returns what was kept, for a note; "" if nothing was. Errors: internal (the earlier file is not a matrix, with line
/// and column; it stays as it is); those of reading and writing files.
[[nodiscard]] Result<std::string> write_matrix_file(const std::filesystem::path& file, Json made,
                                                    std::span<const Record> rows);

}  // namespace assay::suite
