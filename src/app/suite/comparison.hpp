// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "history/exchange/results_file.hpp"
#include "show/report/document.hpp"

namespace assay::suite {

/// One side of a comparison: the files of a folder.
struct Side {
  std::string name;  ///< "before"; as the user typed the folder
  std::vector<exchange::ResultsFile> files;
};

/// Compares two folders of results cell by cell: a cell is a model, a target and a shape, by their names, so that
/// folders of two machines and of other tools can be compared. A change of status or verdict is a fact. Times of
/// different runs are shown with their ratio, and none is called different: only rounds of one run can show that
/// (docs/metrics.md, "When two cells are called different"). The first table has every cell, those of one side too.
[[nodiscard]] Document compare_folders(const Side& before, const Side& after, const std::string& made_at);

}  // namespace assay::suite
