// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/base/json.hpp"

namespace assay {

struct Dataset;
struct Analysis;

namespace chart {
struct Chart;
}

namespace dashboard {

/// A chart of the page: {"title", "subtitle", "summary", "notes", "width", "height", "option", "table"}; `option` is
/// that of chart::Chart, which the page draws with the same script as the program, `table` is {"columns": [{"heading",
/// "unit"}], "rows"}. Of a chart without data: {"title", "missing": what is missing, and the command that measures it}.
struct PageChart {
  /// KIND or KIND_2: a chart of the whole history, with its rows.
  /// KIND/MODEL/TOKENS/PRECISION: of one model, with its rows; /MACHINE follows if there are several.
  /// KIND/TARGET/N, history/TARGET, phases/TARGET: of one cell with N launches, of one series, of one cell, without
  /// rows and table: the page fills them in from the shapes and the history that it has, and its own words
  /// (web/src/cell_charts.ts).
  std::string name;
  Json chart;
};

/// {"title", "subtitle", "summary", "notes", "width", "height", "option"} of a chart with data; numbers have seven
/// digits.
[[nodiscard]] Json picture_json(const chart::Chart& made);

/// {"light", "dark"}: the colours of charts by name.
[[nodiscard]] Json themes_json();

/// Every chart of the page that the data allow.
/// Cost: 20 ms for a thousand cells.
[[nodiscard]] std::vector<PageChart> page_charts(const Dataset& data, const Analysis& analysis);

}  // namespace dashboard
}  // namespace assay
