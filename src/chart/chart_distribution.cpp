// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "chart/cells_in_time.hpp"
#include "chart/charts.hpp"
#include "chart/layout.hpp"
#include "chart/picture.hpp"
#include "store/dataset.hpp"

namespace assay::chart {

std::vector<Chart> latency_distribution(const Source &source) {
  constexpr std::size_t kMost = 6;
  std::vector<CellShapes> cells = cells_with_shapes(source.input);
  const std::size_t all = cells.size();
  if (cells.size() > kMost)
    cells.resize(kMost);
  if (cells.empty())
    return {};
  Frame frame;
  frame.name = "latency_distribution";
  frame.title = cells.size() == 1
                    ? "How are the times of " +
                          cell_words(*cells.front().cell) + " distributed?"
                    : "How are the times distributed?";
  std::vector<const Record *> shown;
  std::vector<Record> copies;
  for (const CellShapes &entry : cells) {
    shown.push_back(entry.cell);
    copies.push_back(*entry.cell);
  }
  frame.subtitle =
      common_words(shown) + " · share of the samples that took at most this "
                            "time, a line for each launch";
  frame.notes = {"Points: p50, p90, p95 and p99 over all launches, each with "
                 "its 95 % interval. Hollow: too few samples for that "
                 "percentile, or no interval over launches."};
  if (all > cells.size())
    frame.notes.push_back(fmt::format(
        "{} of {} cells; --cell KEY shows another one.", cells.size(), all));
  if (std::ranges::any_of(cells, [](const CellShapes &entry) {
        return is_unranked(*entry.cell);
      }))
    frame.notes.push_back(
        legend_notes(std::vector{Row{.value = 1, .style = kUnranked}}).front());
  Table table{{{"cell", "cell", ""},
               {"percentile", "percentile", ""},
               {"time_ms", "time", "ms", Better::kLower},
               {"low", "95 % from", "ms"},
               {"high", "to", "ms"}},
              {}};
  Picture picture(frame);
  const std::size_t columns = cells.size() == 1 ? 1 : 2;
  constexpr double kHeight = 210, kPitch = kHeight + 78, kLeft = 56;
  const double column =
      static_cast<double>(frame.width - 16) / static_cast<double>(columns);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto number = static_cast<int>(i);
    const Record &cell = *cells[i].cell;
    Panel panel{
        static_cast<double>(i % columns) * column + kLeft,
        static_cast<double>(i / columns) * kPitch + 30,
        column - kLeft - 40,
        kHeight,
        columns == 1 ? "" : cut_to(cell_words(cell), column - kLeft - 16, 11),
        number_axis("ms, lower is better", {"x", "low", "high"}, {number},
                    "log"),
        number_axis("", {"value"}, {number}, "share", true, {0, 1})};
    picture.add(panel);
    const Look look = look_of(cell);
    for (const LaunchShape *shape : cells[i].shapes) {
      const std::string series = fmt::format("{} {}", i, shape->launch_number);
      for (std::size_t q = 0; q < shape->quantiles.size(); ++q) {
        Row row;
        row.panel = number;
        row.series = series;
        row.group = fmt::format("launch {}", shape->launch_number);
        row.x = time_of(shape->quantiles[q], *shape);
        row.value = static_cast<double>(q) /
                    static_cast<double>(shape->quantiles.size() - 1);
        picture.add(row);
      }
      picture.plain_line(number, series, look.colour.c_str(), "solid", "end");
    }
    struct Percentile {
      const char *name;
      double share;
      Number value, low, high;
      std::string quality;
    };
    const std::array<Percentile, 4> percentiles{
        {{"p50", 0.5, cell.latency_p50_ms, cell.latency_p50_low_ms,
          cell.latency_p50_high_ms, cell.latency_p50_quality},
         {"p90", 0.9, cell.latency_p90_ms, cell.latency_p90_low_ms,
          cell.latency_p90_high_ms, cell.latency_p90_quality},
         {"p95", 0.95, cell.latency_p95_ms, cell.latency_p95_low_ms,
          cell.latency_p95_high_ms, cell.latency_p95_quality},
         {"p99", 0.99, cell.latency_p99_ms, cell.latency_p99_low_ms,
          cell.latency_p99_high_ms, cell.latency_p99_quality}}};
    for (const Percentile &one : percentiles) {
      if (!one.value)
        continue;
      Row row;
      row.panel = number;
      row.series = "percentiles";
      row.group = one.name;
      row.x = one.value;
      row.value = one.share;
      row.low = one.low;
      row.high = one.high;
      if (is_unranked(cell))
        row.style = kUnranked;
      else if (one.quality.starts_with("few") || !one.low || !one.high)
        row.style = kHollow;
      // p95 would be over p90 and p99.
      if (std::string_view(one.name) != "p95")
        row.text = fmt::format("{} {}", one.name, number_words(*one.value));
      picture.add(row);
      table.rows.push_back({cell_words(cell), std::string(one.name),
                            value_of(one.value), value_of(one.low),
                            value_of(one.high)});
    }
    Json arguments = arguments_of(look);
    arguments.update({{"across", true}, {"size", 3.5}});
    picture.draw(number, "percentiles", "point", "point", arguments);
    picture.draw(number, "percentiles", "name", "point",
                 {{"ink", {{"$colour", "ink"}}}, {"left", true}});
  }
  const double lines = std::ceil(static_cast<double>(cells.size()) /
                                 static_cast<double>(columns));
  return {picture.finish(
      lines * kPitch, std::move(table),
      fmt::format("Cumulative distributions of the times of {} cells.",
                  cells.size()))};
}

} // namespace assay::chart
