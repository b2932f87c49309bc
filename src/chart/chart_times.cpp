// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "analyse/analyse.hpp"
#include "base/clock.hpp"
#include "chart/charts.hpp"
#include "chart/layout.hpp"
#include "chart/picture.hpp"
#include "store/dataset.hpp"
#include "store/shape_codec.hpp"

namespace assay::chart {
namespace {

constexpr double kNsPerS = 1e9;

double time_of(std::uint16_t code, const LaunchShape& shape) { return decode_ms(code, shape.low_ns, shape.high_ns); }

struct CellShapes {
  const Record* cell = nullptr;
  std::vector<const LaunchShape*> shapes;  ///< of whole runs, by launch
};

// Orders cells: of each model on each target the smallest first, these by model and target.
auto places_of(const std::vector<Record>& cells) {
  const std::vector<Look> looks = looks_of(cells);
  const auto size_of = [](const Record& row) {
    return std::pair(row.batch_size.value_or(0), row.sequence_length.value_or(0));
  };
  const auto same_place = [](const Record& a, const Record& b) {
    return a.model == b.model && target_key(a) == target_key(b) && a.hardware_id == b.hardware_id;
  };
  return [&cells, looks, size_of, same_place](const Record& cell) {
    const auto smaller = std::ranges::count_if(
        cells, [&](const Record& row) { return same_place(row, cell) && size_of(row) < size_of(cell); });
    const auto look = std::ranges::find(looks, target_key(cell), &Look::name) - looks.begin();
    return std::tuple(smaller, cell.model, look, size_of(cell));
  };
}

// The cells that have shapes: the chosen one, else the first `most` in the order of places_of().
std::vector<CellShapes> cells_with_shapes(const Input& input, std::size_t most, std::size_t& all_of_them) {
  const std::vector<Record>& all = input.data->cells;
  std::map<std::int64_t, std::size_t> places;
  for (std::size_t i = 0; i < input.data->ids.size() && i < all.size(); ++i) places[input.data->ids[i]] = i;
  std::map<std::size_t, CellShapes> found;
  for (const LaunchShape& shape : input.data->shapes) {
    const auto place = places.find(shape.result_id);
    if (place == places.end() || shape.kind != SampleKind::kRun || shape.quantiles.size() < 2) continue;
    const Record& cell = all[place->second];
    if (!input.cell.empty() && cell.task_key != input.cell) continue;
    if (!input.model.empty() && cell.model != input.model && cell.model_id != input.model) continue;
    CellShapes& entry = found[place->second];
    entry.cell = &cell;
    entry.shapes.push_back(&shape);
  }
  all_of_them = found.size();
  const auto place_of = places_of(all);
  std::vector<std::pair<decltype(place_of(all.front())), CellShapes>> ordered;
  ordered.reserve(found.size());
  for (auto& [place, entry] : found) ordered.emplace_back(place_of(*entry.cell), std::move(entry));
  std::ranges::stable_sort(ordered, {}, [](const auto& one) { return one.first; });
  std::vector<CellShapes> list;
  for (auto& [place, entry] : ordered)
    if (list.size() < most) list.push_back(std::move(entry));
  return list;
}

std::string utc_words(double seconds) {
  return iso8601(WallTime(std::chrono::duration_cast<WallTime::duration>(std::chrono::duration<double>(seconds))))
             .substr(0, 19) +
         "Z";
}

std::string cell_words(const Record& cell) {
  return fmt::format("{} on {}, {}", cell.model, target_key(cell), shape_words(cell));
}

Look look_of(const Record& cell) { return looks_of(std::span(&cell, 1)).front(); }

constexpr const char* kOnlySteady =
    "Only the steady part of the samples is stored: `assay db rebuild` reads the whole window from the bundles.";

}  // namespace

std::vector<Chart> latency_distribution(const Input& input) {
  constexpr std::size_t kMost = 6;
  std::size_t all = 0;
  const std::vector<CellShapes> cells = cells_with_shapes(input, kMost, all);
  if (cells.empty()) return {};
  Frame frame;
  frame.name = "latency_distribution";
  frame.title = cells.size() == 1 ? "How are the times of " + cell_words(*cells.front().cell) + " distributed?"
                                  : "How are the times distributed?";
  std::vector<const Record*> shown;
  std::vector<Record> copies;
  for (const CellShapes& entry : cells) {
    shown.push_back(entry.cell);
    copies.push_back(*entry.cell);
  }
  frame.subtitle = common_words(shown) + " · share of the samples that took at most this time, a line for each launch";
  frame.notes = {
      "Points: p50, p90, p95 and p99 over all launches, each with its 95 % interval. Hollow: too few samples for that "
      "percentile, or no interval over launches."};
  if (all > cells.size())
    frame.notes.push_back(fmt::format("{} of {} cells; --cell KEY shows another one.", cells.size(), all));
  if (std::ranges::any_of(cells, [](const CellShapes& entry) { return is_unranked(*entry.cell); }))
    frame.notes.push_back(legend_notes(std::vector{Row{.value = 1, .style = kUnranked}}).front());
  Table table{{{"cell", "cell", ""},
               {"percentile", "percentile", ""},
               {"time_ms", "time", "ms", Better::kLower},
               {"low", "95 % from", "ms"},
               {"high", "to", "ms"}},
              {}};
  Picture picture(frame);
  const std::size_t columns = cells.size() == 1 ? 1 : 2;
  constexpr double kHeight = 210, kPitch = kHeight + 78, kLeft = 56;
  const double column = static_cast<double>(frame.width - 16) / static_cast<double>(columns);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto number = static_cast<int>(i);
    const Record& cell = *cells[i].cell;
    Panel panel{static_cast<double>(i % columns) * column + kLeft,
                static_cast<double>(i / columns) * kPitch + 30,
                column - kLeft - 40,
                kHeight,
                columns == 1 ? "" : cut_to(cell_words(cell), column - kLeft - 16, 11),
                number_axis("ms, lower is better", {"x", "low", "high"}, {number}, "log"),
                number_axis("", {"value"}, {number}, "share", true, {0, 1})};
    picture.add(panel);
    const Look look = look_of(cell);
    for (const LaunchShape* shape : cells[i].shapes) {
      const std::string series = fmt::format("{} {}", i, shape->launch_number);
      for (std::size_t q = 0; q < shape->quantiles.size(); ++q) {
        Row row;
        row.panel = number;
        row.series = series;
        row.group = fmt::format("launch {}", shape->launch_number);
        row.x = time_of(shape->quantiles[q], *shape);
        row.value = static_cast<double>(q) / static_cast<double>(shape->quantiles.size() - 1);
        picture.add(row);
      }
      picture.plain_line(number, series, look.colour.c_str(), "solid", "end");
    }
    struct Percentile {
      const char* name;
      double share;
      Number value, low, high;
      std::string quality;
    };
    const std::array<Percentile, 4> percentiles{
        {{"p50", 0.5, cell.latency_p50_ms, cell.latency_p50_low_ms, cell.latency_p50_high_ms, cell.latency_p50_quality},
         {"p90", 0.9, cell.latency_p90_ms, cell.latency_p90_low_ms, cell.latency_p90_high_ms, cell.latency_p90_quality},
         {"p95", 0.95, cell.latency_p95_ms, cell.latency_p95_low_ms, cell.latency_p95_high_ms,
          cell.latency_p95_quality},
         {"p99", 0.99, cell.latency_p99_ms, cell.latency_p99_low_ms, cell.latency_p99_high_ms,
          cell.latency_p99_quality}}};
    for (const Percentile& one : percentiles) {
      if (!one.value) continue;
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
      if (std::string_view(one.name) != "p95") row.text = fmt::format("{} {}", one.name, number_words(*one.value));
      picture.add(row);
      table.rows.push_back(
          {cell_words(cell), std::string(one.name), value_of(one.value), value_of(one.low), value_of(one.high)});
    }
    Json arguments = arguments_of(look);
    arguments.update({{"across", true}, {"size", 3.5}});
    picture.draw(number, "percentiles", "point", "point", arguments);
    picture.draw(number, "percentiles", "name", "point", {{"ink", {{"$colour", "ink"}}}, {"left", true}});
  }
  const double lines = std::ceil(static_cast<double>(cells.size()) / static_cast<double>(columns));
  return {picture.finish(lines * kPitch, std::move(table),
                         fmt::format("Cumulative distributions of the times of {} cells.", cells.size()))};
}

std::vector<Chart> samples_over_time(const Input& input) {
  std::size_t all = 0;
  const std::vector<CellShapes> cells = cells_with_shapes(input, 1, all);
  if (cells.empty()) return {};
  const Record& cell = *cells.front().cell;
  constexpr std::size_t kMost = 6;
  std::vector<const LaunchShape*> shapes;
  for (const LaunchShape* shape : cells.front().shapes)
    if (shapes.size() < kMost && shape->bins.size() >= 3) shapes.push_back(shape);
  if (shapes.empty()) return {};
  Frame frame;
  frame.name = "samples_over_time";
  frame.title = "Was the measurement of " + cell_words(cell) + " steady?";
  const Record* one = &cell;
  frame.subtitle = common_words(std::span(&one, 1)) +
                   " · ms, lower is better; line: medians, band: from the shortest to the longest sample";
  if (cells.front().shapes.size() > shapes.size())
    frame.notes.push_back(fmt::format("{} of {} launches.", shapes.size(), cells.front().shapes.size()));
  if (std::ranges::any_of(shapes, [](const LaunchShape* shape) { return !shape->whole_window; }))
    frame.notes.emplace_back(kOnlySteady);
  Table table{{{"launch", "launch", ""},
               {"time_s", "from", "s"},
               {"median_ms", "median", "ms", Better::kLower},
               {"least_ms", "shortest", "ms"},
               {"most_ms", "longest", "ms"}},
              {}};
  Picture picture(frame);
  const Look look = look_of(cell);
  const std::size_t columns = std::min<std::size_t>(shapes.size(), 3);
  constexpr double kHeight = 220, kPitch = kHeight + 78, kLeft = 60;
  const double column = static_cast<double>(frame.width - 16) / static_cast<double>(columns);
  std::vector<int> panels;
  for (std::size_t i = 0; i < shapes.size(); ++i) panels.push_back(static_cast<int>(i));
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const auto number = static_cast<int>(i);
    const LaunchShape& shape = *shapes[i];
    Panel panel{static_cast<double>(i % columns) * column + kLeft,
                static_cast<double>(i / columns) * kPitch + 30,
                column - kLeft - 20,
                kHeight,
                fmt::format("launch {} ({} samples, {} steady)", shape.launch_number, shape.samples, shape.steady),
                number_axis("s since the window began", {"x", "low", "high"}, {number}, "linear", true),
                number_axis("", {"value"}, panels, "auto")};
    panel.x["$range"] = {{"columns", {"x"}}, {"panels", {number}}, {"scale", "linear"}, {"zero", true}, {"count", 4}};
    panel.y["$range"]["columns"] = {"value", "low", "high"};
    panel.y["$range"]["series"] = "bins";
    picture.add(panel);
    const std::size_t bins = shape.bins.size() / 3;
    const double width = static_cast<double>(shape.window_ns) / kNsPerS / static_cast<double>(bins);
    if (shape.first_steady_bin > 0) {
      Row region;
      region.panel = number;
      region.series = "steady";
      region.low = static_cast<double>(shape.first_steady_bin) * width;
      region.high = static_cast<double>(bins) * width;
      region.text = "steady";
      picture.add(region);
      picture.draw(number, "steady", "region", "point",
                   {{"colour", {{"$colour", "shade"}}}, {"ink2", {{"$colour", "ink-2"}}}});
    }
    for (std::size_t bin = 0; bin < bins; ++bin) {
      if (shape.bins[3 * bin] > shape.bins[3 * bin + 2]) continue;  // no sample
      Row row;
      row.panel = number;
      row.series = "bins";
      row.group = fmt::format("launch {}", shape.launch_number);
      row.x = (static_cast<double>(bin) + 0.5) * width;
      row.value = time_of(shape.bins[3 * bin + 1], shape);
      row.low = time_of(shape.bins[3 * bin], shape);
      row.high = time_of(shape.bins[3 * bin + 2], shape);
      picture.add(row);
      table.rows.push_back({static_cast<double>(shape.launch_number), *row.x, *row.value, *row.low, *row.high});
    }
    picture.draw(number, "bins", "band", "point", {{"colour", {{"$colour", look.colour}}}});
    picture.plain_line(number, "bins", look.colour.c_str(), "solid");
    constexpr std::size_t kFew = 24;  // bins between which a line alone says too much
    if (bins <= kFew) {
      Json arguments = arguments_of(look);
      arguments["size"] = 3;
      picture.draw(number, "bins", "point", "point", std::move(arguments));
    }
  }
  const double lines = std::ceil(static_cast<double>(shapes.size()) / static_cast<double>(columns));
  return {
      picture.finish(lines * kPitch, std::move(table),
                     fmt::format("The times of {} launches in the order in which they were measured.", shapes.size()))};
}

std::vector<Chart> history(const Input& input) {
  const Dataset& data = *input.data;
  std::map<std::uint32_t, std::vector<const HistoryPoint*>> by_series;
  for (const HistoryPoint& point : data.history) by_series[point.series].push_back(&point);
  struct Line {
    const Record* cell = nullptr;
    std::vector<const HistoryPoint*> points;
  };
  std::vector<Line> lines;
  for (auto& [series, points] : by_series) {
    if (series >= data.series.size()) continue;
    const std::string& key = data.series[series];
    if (!input.series.empty() && key != input.series) continue;
    const auto cell = std::ranges::find(data.cells, key, &Record::series_key);
    if (cell == data.cells.end() ||
        (!input.model.empty() && cell->model != input.model && cell->model_id != input.model))
      continue;
    if (points.size() < 2 ||
        std::ranges::none_of(points, [](const HistoryPoint* point) { return point->p50_ms.has_value(); }))
      continue;
    lines.push_back({&*cell, std::move(points)});
  }
  const auto place_of = places_of(data.cells);
  std::ranges::stable_sort(lines, {}, [&](const Line& line) {
    return std::pair(std::numeric_limits<std::size_t>::max() - line.points.size(), place_of(*line.cell));
  });
  constexpr std::size_t kMost = 12;
  const std::size_t all = lines.size();
  if (lines.size() > kMost) lines.resize(kMost);
  if (lines.empty()) return {};
  Frame frame;
  frame.name = "history";
  frame.title = lines.size() == 1 ? "How did " + cell_words(*lines.front().cell) + " change?"
                                  : "How did the times of these cells change?";
  frame.subtitle =
      "median in ms, lower is better · band: 95 % interval of the median · times of different runs are shown, but "
      "never claimed different";
  if (all > lines.size())
    frame.notes.push_back(
        fmt::format("The {} series with the most results of {}; --series KEY shows another one.", lines.size(), all));
  frame.notes.emplace_back(
      "Dotted lines: the version of the runtime or of assay changed. Hollow: no interval over launches.");
  Table table{{{"cell", "cell", ""},
               {"time", "time", ""},
               {"p50_ms", "median", "ms", Better::kLower},
               {"low", "95 % from", "ms"},
               {"high", "to", "ms"},
               {"status", "status", ""},
               {"version", "version", ""}},
              {}};
  std::vector<Row> rows;
  const std::size_t columns = lines.size() == 1 ? 1 : 2;
  constexpr double kPitchGap = 78, kLeft = 60;
  const double height = columns == 1 ? 260 : 150, pitch = height + kPitchGap;
  const double column = static_cast<double>(frame.width - 16) / static_cast<double>(columns);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::uint32_t version = lines[i].points.front()->version;
    for (const HistoryPoint* point : lines[i].points) {
      Row row;
      row.panel = static_cast<int>(i);
      row.series = "points";
      row.group = cell_words(*lines[i].cell);
      row.x = point->time_s;
      const std::string version_text = point->version < data.versions.size() ? data.versions[point->version] : "";
      if (point->status == CellStatus::kCompleted && point->verification != Verification::kWrong && point->p50_ms) {
        row.value = point->p50_ms;
        row.low = point->p50_low_ms;
        row.high = point->p50_high_ms;
        row.style = !point->ranked ? kUnranked : point->launches < 2 ? kHollow : 0;
      } else {
        row.mark = point->verification == Verification::kWrong ? Mark::kWrong
                   : point->status == CellStatus::kFailed      ? Mark::kFailed
                                                               : Mark::kNoValue;
      }
      rows.push_back(row);
      if (point->version != version) {
        Row event;
        event.panel = static_cast<int>(i);
        event.series = "versions";
        event.x = point->time_s;
        event.text = columns == 1 ? version_text : version_text.substr(0, version_text.find(','));
        rows.push_back(event);
        version = point->version;
      }
      table.rows.push_back({row.group, utc_words(point->time_s), value_of(row.value), value_of(row.low),
                            value_of(row.high), std::string(to_string(point->status)), version_text});
    }
  }
  for (std::string& note : legend_notes(rows, "")) frame.notes.push_back(std::move(note));
  Picture picture(frame);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto number = static_cast<int>(i);
    Panel panel{static_cast<double>(i % columns) * column + kLeft,
                static_cast<double>(i / columns) * pitch + 30,
                column - kLeft - 36,
                height,
                columns == 1 ? "" : cut_to(cell_words(*lines[i].cell), column - kLeft - 16, 11),
                number_axis("", {"x"}, {number}, "time"),
                number_axis("", {"value", "low", "high"}, {number}, "auto")};
    panel.x["splitLine"]["show"] = false;
    picture.add(panel);
  }
  for (Row& row : rows) picture.add(std::move(row));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto number = static_cast<int>(i);
    const Look look = look_of(*lines[i].cell);
    picture.draw(number, "versions", "event", "point",
                 {{"colour", {{"$colour", "ink-3"}}}, {"ink2", {{"$colour", "ink-2"}}}});
    picture.draw(number, "points", "band", "point", {{"colour", {{"$colour", look.colour}}}});
    picture.plain_line(number, "points", look.colour.c_str(), look.dash);
    Json arguments = arguments_of(look);
    arguments["size"] = 3.5;
    picture.draw(number, "points", "point", "point", std::move(arguments));
    picture.draw(number, "points", "absent", "point", {{"ink2", {{"$colour", "ink-2"}}}});
  }
  const double count = std::ceil(static_cast<double>(lines.size()) / static_cast<double>(columns));
  return {
      picture.finish(count * pitch, std::move(table), fmt::format("The medians of {} cells over time.", lines.size()))};
}

}  // namespace assay::chart
