// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/result/record.hpp"
#include "show/report/terminal.hpp"

namespace assay {

/// A table with a line for each row of a run. The first column is the model.
struct ResultTable {
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> cells;  ///< one list of cells for each line, in the order of the columns
  std::size_t first_number = 0;                 ///< this column and those after it are right-aligned
  std::vector<std::string> optional;            ///< columns that a narrow terminal may lack, the least important first

  /// Removes columns from `from` on that are empty in every line.
  void drop_empty_columns(std::size_t from);
  /// Whether each line is at most `width` columns wide.
  [[nodiscard]] bool fits(std::size_t width) const;
};

/// The table for a terminal of `width` columns. A message is below the row that it explains. If the lines would be
/// wider than `width`, the model becomes a line of its own, then optional columns are omitted and named below the
/// table. `rows`: those of the lines.
[[nodiscard]] std::string table_text(ResultTable table, std::span<const Record> rows, const Colours& colours,
                                     std::size_t width);

}  // namespace assay
