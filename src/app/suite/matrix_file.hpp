// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include <assay/result.hpp>

#include "core/base/json.hpp"
#include "core/result/record.hpp"

namespace assay::suite {

/// Writes the compatibility matrix that was `made` of `rows`. If the file exists, and it or one in its list `earlier`
/// has what `rows` lack, that one is in the list `earlier` of the new file, unchanged: nothing is mixed, so each keeps
/// its units, its machine and its words. Rows lack a shape of a model on a hardware that they did not try (what another
/// program measured replaces what another program measured), what another machine has (by its hardware_id; by its host
/// if a matrix has none), and a matrix of another program.
/// Returns what was kept and why, for a note; "" if nothing was. Errors: mismatch (the file is not a matrix, with its
/// place; it stays as it is); those of reading and writing files.
[[nodiscard]] Result<std::string> write_matrix_file(const std::filesystem::path& file, Json made,
                                                    std::span<const Record> rows);

}  // namespace assay::suite
