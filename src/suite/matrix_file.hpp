// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include <assay/result.hpp>

#include "base/json.hpp"
#include "result/record.hpp"

namespace assay::suite {

/// Writes the compatibility matrix that was `made` of `rows`. If the file exists, and it or one in its list `earlier`
/// has what `rows` lack (a model on a hardware that was tried, another machine, another program), that one is in the
/// list `earlier` of the new file, unchanged: nothing is mixed, so each keeps its units, its machine and its words.
/// Returns what was kept, for a note; "" if nothing was. Errors: internal (the file is not a matrix, with its place; it
/// stays as it is); those of reading and writing files.
[[nodiscard]] Result<std::string> write_matrix_file(const std::filesystem::path& file, Json made,
                                                    std::span<const Record> rows);

}  // namespace assay::suite
