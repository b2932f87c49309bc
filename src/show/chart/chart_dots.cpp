// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/traits/cell.hpp"
#include "show/chart/charts.hpp"
#include "show/chart/dots.hpp"
#include "show/chart/layout.hpp"
#include "show/chart/picture.hpp"

namespace assay::chart {
namespace {

constexpr double kLeastShare = 0.001;  // of the limit: smaller errors are drawn there
constexpr double kFarthest = 0.05;     // of the limit: where the axis begins if there are none

// The larger of the largest error and the root mean square, each over its limit.
Number share_of_limit(const Record& row) {
  if (row.status != CellStatus::kCompleted && row.status != CellStatus::kWrong) return {};
  Number share;
  for (const auto& [error, limit] :
       {std::pair(row.max_abs_error, row.error_limit), std::pair(row.rms_error, row.rms_limit)})
    if (error && limit && *limit > 0 && std::isfinite(*error)) share = std::max(share.value_or(0), *error / *limit);
  return share;
}

}  // namespace

std::vector<Chart> model_performance(const Source& source) {
  const Cells& cells = source.cells;
  std::vector<DotLine> lines;
  Table table{dot_columns(), {}};
  for (const std::string& model : cells.models) {
    DotLine line;
    line.name = model;
    for (const Record* row : cells.typical.at(model).time) {
      if (!row->latency_p50_ms) continue;
      line.facet = group_words(row->family);
      Row dot;
      dot.series = target_key(*row);
      dot.value = row->latency_p50_ms;
      dot.low = row->latency_p50_low_ms;
      dot.high = row->latency_p50_high_ms;
      dot.style = style_of(*row);
      dot.text = status_words(*row);
      line.dots.push_back(dot);
    }
    if (line.dots.empty()) continue;
    add_marks(line, cells, model);
    line.best = least(line);
    add_dots(table, line, 1);
    lines.push_back(std::move(line));
  }
  if (lines.empty()) return {};
  return dot_plots(frame_of(cells, "model_performance", "How do the models of a family compare?"), std::move(lines),
                   table);
}

std::vector<Chart> verification(const Source& source) {
  const Cells& cells = source.cells;
  std::vector<DotLine> lines;
  std::vector<const Record*> shown;
  Table table{{{"model", "model", ""},
               {"target", "target", ""},
               {"shape", "shape", ""},
               {"share_of_limit", "error / limit", "", Better::kLower},
               {"max_abs_error", "largest error", ""},
               {"error_limit", "its limit", ""},
               {"rms_error", "root mean square of the error", ""},
               {"rms_limit", "its limit", ""},
               {"worst_output", "output", ""},
               {"status", "status", ""}},
              {}};
  bool equal = false;
  std::set<std::pair<std::string, std::string>> wrong, all;  // models and targets
  for (const std::string& model : cells.models) {
    DotLine line;
    line.name = model;
    std::map<std::string, Row> worst;  // by target
    for (const Record& row : cells.rows) {
      if (row.model != model) continue;
      const Number share = share_of_limit(row);
      if (!share) continue;
      shown.push_back(&row);
      all.emplace(model, target_key(row));
      if (mark_of(row) == Mark::kWrong) wrong.emplace(model, target_key(row));
      line.facet = group_words(row.category);
      table.rows.push_back({model, target_key(row), row.batch_size ? shape_words(row) : std::string(), *share,
                            value_of(row.max_abs_error), value_of(row.error_limit), value_of(row.rms_error),
                            value_of(row.rms_limit), row.worst_output, status_words(row)});
      Row dot;
      dot.series = target_key(row);
      dot.value = std::max(*share, kLeastShare);
      equal |= *share < kLeastShare;
      dot.style = is_simulated(row) ? kHatched : 0;
      dot.text = fmt::format("{}, {}", row.batch_size ? shape_words(row) : "", status_words(row));
      const auto [place, added] = worst.try_emplace(dot.series, dot);
      if (!added && *place->second.value < *dot.value) place->second = dot;
    }
    for (auto& [target, dot] : worst) line.dots.push_back(std::move(dot));
    if (line.dots.empty()) continue;
    add_marks(line, cells, model, MeasuredElsewhere::kIsUnverified);
    for (const Row& dot : line.dots) line.best = std::min(line.best, -dot.value.value_or(0));  // the worst first
    lines.push_back(std::move(line));
  }
  if (lines.empty()) return {};
  Frame frame;
  frame.name = "verification";
  frame.title =
      wrong.empty() ? "How close are the outputs to those of the reference?"
      : wrong.size() == 1
          ? fmt::format("{} computes wrong numbers for {}", wrong.begin()->second, wrong.begin()->first)
          : fmt::format("{} of {} pairs of a model and a target have wrong numbers", wrong.size(), all.size());
  frame.subtitle = common_words(shown) + " · the cell with the largest error of each model and target; 1 is the limit";
  frame.legend = looks_of(cells.rows);
  frame.notes = cells.notes;
  if (equal) frame.notes.emplace_back("At 0.001: a thousandth of the limit or less, down to no error at all.");
  return dot_plots(std::move(frame), std::move(lines), table,
                   {.name = "error / limit, lower is better; beyond 1 the numbers are wrong",
                    .include = {1, equal ? kLeastShare / 2 : kFarthest, 2},
                    .rule = true});
}

std::vector<Chart> memory_scaling(const Source& source) {
  const Cells& cells = source.cells;
  Frame frame;
  frame.name = "memory_scaling";
  frame.title = "How does memory grow with the size of the model and the batch?";
  std::vector<const Record*> shown;
  std::vector<Row> rows;
  std::map<std::string, Row> names;  // by model: the point with the most memory
  Table table{{{"model", "model", ""},
               {"target", "target", ""},
               {"batch_size", "batch", ""},
               {"parameter_count", "parameters", ""},
               {"memory_mb", "peak memory", "MB", Better::kLower},
               {"status", "status", ""}},
              {}};
  for (const Record& record : cells.rows) {
    if (!record.parameter_count || *record.parameter_count <= 0) continue;
    Row row;
    row.group = record.model;
    row.series = target_key(record);
    row.x = static_cast<double>(*record.parameter_count);
    if (shows_values(record) && record.memory_mb) {
      row.value = record.memory_mb;
      constexpr double kSmallest = 3, kStep = 1.1;
      row.high =
          kSmallest + kStep * std::log2(static_cast<double>(std::max<std::int64_t>(record.batch_size.value_or(1), 1)));
      row.style =
          (record.memory_source == MemorySource::kWarmProcess ? kHollow : 0) | (is_simulated(record) ? kHatched : 0);
      shown.push_back(&record);
      const auto [place, added] = names.try_emplace(record.model, row);
      if (!added && *place->second.value < *row.value) place->second = row;
    } else if (mark_of(record) != Mark::kNone) {
      row.mark = mark_of(record);
    } else {
      continue;
    }
    table.rows.push_back(
        {record.model, row.series, value_of(record.batch_size), *row.x, value_of(row.value), status_words(record)});
    rows.push_back(std::move(row));
  }
  if (shown.empty()) return {};
  frame.subtitle = common_words(shown) + " · MB, lower is better";
  frame.legend = looks_of(cells.rows);
  leave_out_absent(frame, rows);
  frame.notes.emplace_back("The larger the marker, the larger the batch.");
  if (std::ranges::any_of(rows, [](const Row& row) { return row.value && (row.style & kHollow) != 0; }))
    frame.notes.emplace_back("Hollow: at most; the worker had already run another shape.");
  for (std::string& note : legend_notes(rows, "")) frame.notes.push_back(std::move(note));
  for (const std::string& note : cells.notes) frame.notes.push_back(note);
  Picture picture(frame);
  Panel panel{76,
              8,
              890,
              420,
              "",
              number_axis("parameters", {"x"}, {0}, "log"),
              number_axis("peak memory, MB, lower is better", {"value"}, {0}, "log")};
  panel.y["nameGap"] = 52;
  panel.x["$range"]["count_words"] = true;
  picture.add(panel);
  for (Row& row : rows) picture.add(std::move(row));
  for (auto& [model, row] : names) {
    row.series = "name";
    row.text = cut_to(model, 180, 11);
    picture.add(row);
  }
  constexpr double kApart = 5;  // px between the targets, so that equal values do not hide each other
  const double widest = kApart * static_cast<double>(frame.legend.size() - 1) / 2;
  double shift = -widest;
  for (const Look& look : frame.legend) {
    Json arguments = arguments_of(look);
    arguments.update({{"sized", true}, {"shift", shift}});
    shift += kApart;
    picture.draw(0, look.name, "point", "point", std::move(arguments));
  }
  picture.draw(0, "", "absent", "point", {{"ink2", {{"$colour", "ink-2"}}}, {"once", true}});
  picture.draw(0, "name", "name", "point",
               {{"ink", {{"$colour", "ink"}}}, {"sized", true}, {"apart", true}, {"shift", widest}});
  return {picture.finish(
      480, std::move(table),
      fmt::format("{} cells of {} models: peak memory against the number of parameters.", shown.size(), names.size()))};
}

}  // namespace assay::chart
