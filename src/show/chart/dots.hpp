// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "show/chart/charts.hpp"
#include "show/chart/picture.hpp"

/// Rows of points, for several charts. Used within this module only.
namespace assay::chart {

/// A row of a dot plot: a name, and a value of each target.
struct DotLine {
  std::string facet, name;
  std::vector<Row> dots;  ///< their panel and group are not set
  double best = 0;        ///< the least value; lines are sorted by it
};

/// What the x axis of a dot plot is.
struct DotAxis {
  std::string name = "ms, lower is better";
  std::vector<double> include{};                  ///< values that it shows in any case
  bool rule = false;                              ///< draw a line at the first of these values
  std::string_view hollow = kHollowOfOneProcess;  ///< the meaning of hollow points in this chart
};

/// Facets one below the other, each with its lines, in pages. Facets and lines are in the order of their least value.
/// Targets without any value are named in a note.
[[nodiscard]] std::vector<Chart> dot_plots(Frame frame, std::vector<DotLine> lines, const Table& table,
                                           const DotAxis& axis = {});

/// The columns of add_dots().
[[nodiscard]] std::vector<Column> dot_columns();
/// A row of the table for each target of the line, which is of that many models.
void add_dots(Table& table, const DotLine& line, std::size_t models);
/// The least value of a line, for sorting; lines without one come last.
[[nodiscard]] double least(const DotLine& line);
/// What a target is that was measured, but has no row in a line.
enum class MeasuredElsewhere { kIsNoCommonCell, kIsUnverified };
/// Adds the targets of a model that have no row in the line, with the reason.
void add_marks(DotLine& line, const Cells& cells, const std::string& model,
               MeasuredElsewhere measured = MeasuredElsewhere::kIsNoCommonCell);
/// The frame of a picture of the models' typical cells.
[[nodiscard]] Frame frame_of(const Cells& cells, const char* name, const char* title);

}  // namespace assay::chart
