// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>

#include <assay/result.hpp>

#include "history/exchange/results_file.hpp"

namespace assay::exchange {

struct Imported {
  std::size_t added = 0;
  std::size_t known = 0;
};

/// Which rows of a file the history has already: those of the same run and the same cell.
using KnownRow = std::function<bool(const Record&)>;

/// Writes a bundle (history/store/bundle.hpp) for each row that is not known, so that results of files are in the spool
/// like all others, and `db rebuild` keeps them. Each has the flag `imported` and the attempt id that its file's
/// content gives it; the bundle's environment says which file it came from. A row of our own that stands for several
/// launches becomes one bundle. Errors: those of BundleWriter and SamplesWriter; the rows before are written then, and
/// are known the next time.
[[nodiscard]] Result<Imported> write_bundles(const ResultsFile& file, const std::filesystem::path& spool,
                                             const KnownRow& known);

/// What write_bundles() would do.
[[nodiscard]] Imported plan_import(const ResultsFile& file, const KnownRow& known);

}  // namespace assay::exchange
