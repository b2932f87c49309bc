// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/traits/cell.hpp"
#include "history/store/dataset.hpp"
#include "show/chart/cells_in_time.hpp"
#include "show/chart/charts.hpp"
#include "show/chart/layout.hpp"
#include "show/chart/picture.hpp"

namespace assay::chart {
namespace {

constexpr std::size_t kPhases = 6, kToFirstResult = 4;
constexpr double kMsPerS = 1000, kNsPerMs = 1e6;

struct Phase {
  const char *name, *key, *heading, *colour;
};
constexpr std::array<Phase, kPhases> kPhase{{{"load the runtime", "runtime_load_ms", "load the runtime", "heat-6"},
                                             {"load the model", "model_load_ms", "load the model", "heat-5"},
                                             {"compile", "compilation_time_ms", "compile the shape", "heat-4"},
                                             {"first run", "first_inference_ms", "first run", "heat-3"},
                                             {"warm-up", "warmup_time_ms", "warm-up", "heat-2"},
                                             {"steady", "steady_ms", "steady", "heat-1"}}};

constexpr const char* kNoCompile =
    "The compilation time is not known: the runtime compiles when it loads the model, or does not report it.";

using PhaseTimes = std::array<Number, kPhases>;  // ms

// The phases of one launch. In a row load times are medians of the launches, those of the window are sums.
PhaseTimes phase_times(const Record& row) {
  const auto launches = static_cast<double>(std::max<std::int64_t>(row.launches.value_or(1), 1));
  const auto scaled = [](const auto& value, double factor) {
    return value ? Number(static_cast<double>(*value) * factor) : Number();
  };
  return {
      row.runtime_load_ms,    scaled(row.model_load_time, kMsPerS),     row.compilation_time_ms,
      row.first_inference_ms, scaled(row.warmup_time_ms, 1 / launches), scaled(row.window_ns, 1 / kNsPerMs / launches)};
}

struct PhaseLine {
  const Record* cell = nullptr;
  std::string name;
  PhaseTimes times;
};

std::vector<PhaseLine> lines_of(const Source& source) {
  std::vector<const Record*> rows;
  if (!source.input.cell.empty()) {
    for (const Record& row : source.cells.rows)
      if (row.task_key == source.input.cell && shows_values(row)) rows.push_back(&row);
  } else {
    for (const std::string& model : source.cells.models)
      for (const Record* row : source.cells.typical.at(model).time) rows.push_back(row);
  }
  std::vector<PhaseLine> lines;
  for (const Record* row : rows) {
    // The title of a chart of one cell has its model.
    const std::string model = source.input.cell.empty() ? row->model + " on " : "";
    PhaseLine line{row, model + target_key(*row) + (is_simulated(*row) ? ", simulated or software" : ""),
                   phase_times(*row)};
    if (std::ranges::any_of(line.times, [](const Number& time) { return time.value_or(0) > 0; }))
      lines.push_back(std::move(line));
  }
  return lines;
}

// The phases up to `count` of a line, one behind the other, and their sum behind the last one.
void add_line(Picture& picture, int panel, const PhaseLine& line, std::size_t count, const char* unit, double factor) {
  double at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Number& time = line.times.at(i);
    if (!time || *time <= 0) continue;
    Row row;
    row.panel = panel;
    row.group = line.name;
    row.series = kPhase.at(i).name;
    row.x = at;
    row.value = *time * factor;
    at += *row.value;
    picture.add(row);
  }
  Row sum;
  sum.panel = panel;
  sum.group = line.name;
  sum.series = "sum";
  sum.x = at;
  sum.high = at;  // the end of the axis
  sum.text = fmt::format("{}\u2009{}", number_words(at), unit);
  picture.add(sum);
}

void draw(Picture& picture, int panel, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    picture.draw(panel, kPhase.at(i).name, "segment", "category",
                 {{"colour", {{"$colour", kPhase.at(i).colour}}}, {"ink2", {{"$colour", "ink-2"}}}});
  picture.draw(panel, "sum", "segment", "category", {{"ink", {{"$colour", "ink"}}}});
}

}  // namespace

std::vector<Chart> phases(const Source& source) {
  const std::vector<PhaseLine> lines = lines_of(source);
  if (lines.empty()) return {};
  constexpr double kLine = 24, kLabelSize = 12, kWidest = 300, kNumbers = 86;
  constexpr std::size_t kMostLines = 40;
  Table table{{{"model", "model", ""}, {"target", "target", ""}, {"shape", "shape", ""}}, {}};
  for (const Phase& phase : kPhase) table.columns.push_back({phase.key, phase.heading, "ms", Better::kLower});
  Frame frame;
  frame.name = "phases";
  const bool one = !source.input.cell.empty();
  frame.title = one ? "Where does the time of " + cell_words(*lines.front().cell) + " go?"
                    : "Where does the time go, from loading to steady runs?";
  frame.notes = {
      "Of one launch. Load, compile and first run: medians over the launches, without intervals; warm-up "
      "and steady part: their mean."};
  std::vector<const Record*> shown;
  double labels = 40;
  std::size_t without_compile = 0;
  for (const PhaseLine& line : lines) {
    shown.push_back(line.cell);
    labels = std::max(labels, text_width(line.name, kLabelSize));
    std::vector<TableValue> row{line.cell->model, target_key(*line.cell), shape_words(*line.cell)};
    for (const Number& time : line.times) row.push_back(value_of(time));
    table.rows.push_back(std::move(row));
    without_compile += line.times[2] ? 0 : 1;
  }
  labels = std::min(labels, kWidest);
  if (without_compile > 0 && one)
    frame.notes.emplace_back(kNoCompile);
  else if (without_compile > 0)
    frame.notes.push_back(
        fmt::format("The compilation time of {} of {} rows is not known: the runtime compiles when it loads the model, "
                    "or does not report it.",
                    without_compile, lines.size()));
  if (std::ranges::any_of(shown, [](const Record* row) { return is_simulated(*row); }))
    frame.notes.emplace_back(kSimulatedTimes);
  if (!one) frame.notes.insert(frame.notes.end(), source.cells.notes.begin(), source.cells.notes.end());
  const std::string subtitle = common_words(shown);
  for (const Phase& phase : kPhase) frame.legend.push_back({phase.name, phase.colour, "rect", "solid"});
  std::vector<Chart> charts;
  for (std::size_t from = 0; from < lines.size(); from += kMostLines) {
    const std::span<const PhaseLine> page(lines.data() + from, std::min(kMostLines, lines.size() - from));
    frame.subtitle = subtitle;
    if (lines.size() > page.size())
      frame.subtitle += fmt::format(" · rows {} to {} of {}", from + 1, from + page.size(), lines.size());
    Picture picture(frame);
    const double height = kLine * static_cast<double>(page.size()), left = 16 + labels + 10;
    const double pitch = (frame.width - left - 16) / 2;
    for (int number = 0; number < 2; ++number) {
      const bool first = number == 0;
      Panel panel{left + pitch * number,
                  30,
                  pitch - kNumbers,
                  height,
                  first ? "until the first result" : "the whole launch",
                  number_axis(first ? "ms, lower is better" : "s", {"high"}, {number}, "linear", true),
                  group_axis(number, labels)};
      panel.x["$range"]["count"] = 4;
      if (!first) panel.y["axisLabel"]["show"] = false;
      picture.add(panel);
      for (const PhaseLine& line : page)
        add_line(picture, number, line, first ? kToFirstResult : kPhases, first ? "ms" : "s", first ? 1 : 1 / kMsPerS);
      draw(picture, number, first ? kToFirstResult : kPhases);
    }
    charts.push_back(picture.finish(
        30 + height + 52, table,
        page.size() == 1 ? "One bar in two panels, of the phases of a launch."
                         : fmt::format("{} bars in two panels, each of the phases of a launch.", page.size())));
  }
  return charts;
}

}  // namespace assay::chart
