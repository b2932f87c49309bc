// SPDX-License-Identifier: Apache-2.0
#include "show/chart/dots.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/traits/cell.hpp"
#include "show/chart/layout.hpp"

namespace assay::chart {
namespace {

// The words for the targets of a line without a value, as the runtime's `absentees` writes them.
double absent_width(const DotLine& line) {
  constexpr double kSize = 11;
  std::string words;
  for (const Row& dot : line.dots)
    if (!dot.value && dot.mark != Mark::kNone) words += (words.empty() ? "≠\u2009" : "  ≠\u2009") + dot.series;
  return words.empty() ? 0 : text_width(words, kSize) + 12;
}

}  // namespace

std::vector<Chart> dot_plots(Frame frame, std::vector<DotLine> lines, const Table& table, const DotAxis& axis) {
  constexpr double kLine = 24, kBetween = 34, kAxis = 52, kLabelSize = 12, kWidest = 320, kWidestAbsent = 250;
  constexpr std::size_t kMostLines = 40;
  std::vector<Row> all;
  for (const DotLine& line : lines) all.insert(all.end(), line.dots.begin(), line.dots.end());
  leave_out_absent(frame, all);
  double labels = 40, absent = 0;
  for (DotLine& line : lines) {
    std::erase_if(line.dots, [&](const Row& dot) {
      return std::ranges::find(frame.legend, dot.series, &Look::name) == frame.legend.end();
    });
    const auto with_value =
        static_cast<double>(std::ranges::count_if(line.dots, [](const Row& dot) { return dot.value.has_value(); }));
    double place = -(with_value - 1) / 2;
    for (Row& dot : line.dots)
      if (dot.value) dot.x = place++;
    labels = std::max(labels, text_width(line.name, kLabelSize));
    absent = std::max(absent, absent_width(line));
  }
  labels = std::min(labels, kWidest);
  absent = std::min(absent, kWidestAbsent);
  std::map<std::string, double> first;  // a facet's place is that of its fastest line
  for (const DotLine& line : lines) {
    const auto [place, added] = first.try_emplace(line.facet, line.best);
    if (!added) place->second = std::min(place->second, line.best);
  }
  std::ranges::stable_sort(lines, [&](const DotLine& a, const DotLine& b) {
    return a.facet != b.facet ? std::pair(first.at(a.facet), a.facet) < std::pair(first.at(b.facet), b.facet)
                              : a.best < b.best;
  });
  std::vector<Chart> charts;
  const std::string subtitle = frame.subtitle;
  const std::vector<std::string> notes = frame.notes;
  for (std::size_t from = 0; from < lines.size(); from += kMostLines) {
    const std::size_t to = std::min(lines.size(), from + kMostLines);
    const std::span<const DotLine> page(lines.data() + from, to - from);
    frame.subtitle = subtitle;
    if (lines.size() > page.size()) frame.subtitle += fmt::format(" · rows {} to {} of {}", from + 1, to, lines.size());
    all.clear();
    for (const DotLine& line : page) all.insert(all.end(), line.dots.begin(), line.dots.end());
    frame.notes = legend_notes(all, axis.hollow);
    frame.notes.insert(frame.notes.end(), notes.begin(), notes.end());
    std::vector<std::span<const DotLine>> facets;
    for (std::size_t at = 0; at < page.size();) {
      const std::size_t begin = at;
      while (at < page.size() && page[at].facet == page[begin].facet) ++at;
      facets.push_back(page.subspan(begin, at - begin));
    }
    std::vector<int> panels;
    for (std::size_t i = 0; i < facets.size(); ++i) panels.push_back(static_cast<int>(i));
    Picture picture(frame);
    double top = 30;
    for (const int number : panels) {
      const std::span<const DotLine> facet = facets[static_cast<std::size_t>(number)];
      const bool last = number == panels.back();
      Panel panel{16 + labels + 10,
                  top,
                  frame.width - 16 - labels - 10 - std::max(30.0, absent),
                  kLine * static_cast<double>(facet.size()),
                  facet.front().facet,
                  number_axis(last ? axis.name : "", {"value", "low", "high"}, panels, "log", false, axis.include),
                  group_axis(number, labels)};
      panel.x["axisLabel"]["show"] = last;
      picture.add(panel);
      for (const DotLine& line : facet)
        for (Row dot : line.dots) {
          dot.panel = number;
          dot.group = line.name;
          picture.add(dot);
        }
      if (axis.rule) picture.rule(number, "x", axis.include.front(), "ink-2");
      picture.draw(number, "", "span", "category", {{"colour", {{"$colour", "ink-3"}}}});
      for (const Look& look : frame.legend) {
        Json arguments = arguments_of(look);
        arguments["slots"] = frame.legend.size();
        picture.draw(number, look.name, "dot", "category", std::move(arguments));
      }
      picture.draw(number, "", "absentees", "category", {{"ink2", {{"$colour", "ink-2"}}}, {"width", absent - 8}});
      top += panel.height + kBetween;
    }
    charts.push_back(
        picture.finish(top - kBetween + kAxis, table,
                       fmt::format("{} rows with a point for each of {} targets.", page.size(), frame.legend.size())));
  }
  return charts;
}

std::vector<Column> dot_columns() {
  return {{"name", "name", ""},       {"group", "group", ""},
          {"target", "target", ""},   {"latency_ms", "latency", "ms", Better::kLower},
          {"low", "95 % from", "ms"}, {"high", "to", "ms"},
          {"models", "models", ""},   {"status", "status", ""}};
}

double least(const DotLine& line) {
  double best = 1e300;
  for (const Row& dot : line.dots)
    if (dot.value) best = std::min(best, *dot.value);
  return best;
}

void add_dots(Table& table, const DotLine& line, std::size_t models) {
  for (const Row& dot : line.dots)
    table.rows.push_back({line.name, line.facet, dot.series, value_of(dot.value), value_of(dot.low), value_of(dot.high),
                          static_cast<double>(models), dot.text});
}

void add_marks(DotLine& line, const Cells& cells, const std::string& model, MeasuredElsewhere measured) {
  const auto add_where = [&](auto accepts) {
    for (const Record& row : cells.rows) {
      if (row.model != model || !accepts(row)) continue;
      Row dot;
      dot.series = target_key(row);
      if (std::ranges::find(line.dots, dot.series, &Row::series) != line.dots.end()) continue;
      const bool elsewhere = shows_values(row) && measured == MeasuredElsewhere::kIsNoCommonCell;
      dot.mark = elsewhere ? Mark::kNoCommonCell : mark_of(row);
      dot.text = elsewhere ? "no common cell" : status_words(row);
      line.dots.push_back(dot);
    }
  };
  add_where([](const Record& row) { return mark_of(row) == Mark::kWrong; });
  add_where([](const Record& row) { return !shows_values(row); });
  add_where([&](const Record& row) {
    return measured == MeasuredElsewhere::kIsNoCommonCell ? row.latency_p50_ms && !is_simulated(row)
                                                          : mark_of(row) != Mark::kNone;
  });
}

Frame frame_of(const Cells& cells, const char* name, const char* title) {
  Frame frame;
  frame.name = name;
  frame.title = title;
  std::vector<const Record*> shown;
  for (const std::string& model : cells.models)
    for (const Record* row : cells.typical.at(model).time) shown.push_back(row);
  frame.subtitle = common_words(shown);
  frame.legend = looks_of(cells.rows);
  frame.notes = cells.notes;
  return frame;
}

}  // namespace assay::chart
