// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/clock.hpp"
#include "core/base/text.hpp"
#include "core/result/run_info.hpp"
#include "history/analyse/analysis.hpp"
#include "history/store/dataset.hpp"
#include "show/chart/cells_in_time.hpp"
#include "show/chart/charts.hpp"
#include "show/chart/layout.hpp"
#include "show/chart/picture.hpp"

namespace assay::chart {
namespace {

std::string utc_words(double seconds) {
  return iso8601(WallTime(std::chrono::duration_cast<WallTime::duration>(std::chrono::duration<double>(seconds))))
             .substr(0, 19) +
         "Z";
}

// What became of the cells since the run before: "2 of 12 cells compute wrong numbers now; 1 of 12 cells moved …".
std::string changes_words(std::span<const Change> changes, std::span<const Record* const> cells) {
  struct ChangeWords {
    Change::What what;
    const char *one, *several;
  };
  constexpr ChangeWords kChanges[] = {
      {Change::What::kNewlyWrong, "computes wrong numbers now", "compute wrong numbers now"},
      {Change::What::kNewlyFailed, "does not run now", "do not run now"},
      {Change::What::kGone, "cannot be tried any more", "cannot be tried any more"},
      {Change::What::kFixed, "runs again", "run again"},
      {Change::What::kMoved, "moved beyond the spread of its earlier runs, not confirmed",
       "moved beyond the spread of their earlier runs, not confirmed"}};
  std::vector<std::string> found;
  for (const ChangeWords& kind : kChanges) {
    const Record* last = nullptr;
    std::size_t count = 0;
    for (const Record* cell : cells)
      for (const Change& change : changes) {
        const bool counts =
            change.what != Change::What::kMoved || (change.beyond_spread && change.quantity != "memory_mb");
        if (change.what != kind.what || !counts || std::ranges::find(change.rows, cell) == change.rows.end()) continue;
        last = cell;
        ++count;
      }
    if (count == 1) found.push_back(fmt::format("{} {}", cell_words(*last), kind.one));
    if (count > 1) found.push_back(fmt::format("{} of {} cells {}", count, cells.size(), kind.several));
  }
  return join(found, "; ");
}

// Consecutive results that the same disturbed.
struct Incident {
  double from = 0, to = 0;
  std::string words;
};
std::vector<Incident> incidents_of(std::span<const HistoryPoint* const> points, const Disturbances& disturbances) {
  std::vector<Incident> incidents;
  std::string before;
  for (const HistoryPoint* point : points) {
    std::string words = disturbances.words(*point);
    if (!words.empty() && words == before)
      incidents.back().to = point->time_s;
    else if (!words.empty())
      incidents.push_back({point->time_s, point->time_s, words});
    before = std::move(words);
  }
  return incidents;
}

std::string incident_note() {
  return fmt::format(
      "Shaded: the machine was disturbed; its score before the run (`assay doctor`) was {} of 100 or less, or other "
      "activity disturbed the result.",
      kUnreliableScore);
}

}  // namespace

std::vector<Chart> history(const Source& source) {
  const Dataset& data = *source.input.data;
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
    if (!source.input.series.empty() && key != source.input.series) continue;
    const auto cell = std::ranges::find(data.cells, key, &Record::series_key);
    if (cell != data.cells.end() && source.input.series.empty() && cell->hardware_id != source.cells.hardware_id)
      continue;
    if (cell == data.cells.end() ||
        (!source.input.model.empty() && cell->model != source.input.model && cell->model_id != source.input.model))
      continue;
    if (points.size() < 2 ||
        std::ranges::none_of(points, [](const HistoryPoint* point) { return point->p50_ms.has_value(); }))
      continue;
    lines.push_back({&*cell, std::move(points)});
  }
  const CellOrder order(data.cells);
  std::ranges::stable_sort(lines, {}, [&](const Line& line) {
    return std::pair(std::numeric_limits<std::size_t>::max() - line.points.size(), order.place_of(*line.cell));
  });
  constexpr std::size_t kMost = 12;
  const std::size_t all = lines.size();
  if (lines.size() > kMost) lines.resize(kMost);
  if (lines.empty()) return {};
  Frame frame;
  frame.name = "history";
  frame.title = lines.size() == 1 ? "How did " + cell_words(*lines.front().cell) + " change?"
                                  : "How did the times of these cells change?";
  if (source.input.analysis != nullptr) {
    std::vector<const Record*> cells_shown;
    for (const Line& line : lines) cells_shown.push_back(line.cell);
    if (std::string finding = changes_words(source.input.analysis->since_last_run, cells_shown); !finding.empty())
      frame.title = std::move(finding);
  }
  std::vector<Record> results;  // with what the second line says of them
  for (const Line& line : lines)
    for (const HistoryPoint* point : line.points) {
      if (!point->p50_ms) continue;
      results.push_back(*line.cell);
      results.back().launches = point->launches;
      results.back().timestamp = utc_words(point->time_s);
    }
  std::vector<const Record*> shown;
  for (const Record& result : results) shown.push_back(&result);
  frame.subtitle = common_words(shown) + " · median in ms, lower is better";
  if (all > lines.size())
    frame.notes.push_back(
        fmt::format("The {} series with the most results of {}; --series KEY shows another one.", lines.size(), all));
  frame.notes.emplace_back(
      "Band: 95 % interval of the median. Times of different runs are shown, but never claimed different. Dotted "
      "lines: the version of the runtime or of assay changed. Hollow: no interval over launches.");
  Table table{{{"cell", "cell", ""},
               {"time", "time", ""},
               {"p50_ms", "median", "ms", Better::kLower},
               {"low", "95 % from", "ms"},
               {"high", "to", "ms"},
               {"status", "status", ""},
               {"version", "version", ""},
               {"disturbed_by", "disturbed by", ""}},
              {}};
  std::vector<Row> rows;
  const Disturbances disturbances(data);
  bool disturbed = false;
  const std::size_t columns = lines.size() == 1 ? 1 : 2;
  constexpr double kGap = 78, kLeft = 60;
  const double height = columns == 1 ? 260 : 150;
  const PanelGrid grid(columns, frame.width, height + kGap);
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
        const bool simulated = is_simulated(*lines[i].cell);
        row.style = (simulated ? kHatched : 0) | (!point->ranked && !simulated ? kUnranked
                                                  : point->launches < 2        ? kHollow
                                                                               : 0);
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
                            value_of(row.high), std::string(to_string(point->status)), version_text,
                            disturbances.words(*point)});
    }
    for (Incident& incident : incidents_of(lines[i].points, disturbances)) {
      Row row;
      row.panel = static_cast<int>(i);
      row.series = "incidents";
      row.low = incident.from;
      row.high = incident.to;
      row.text = std::move(incident.words);
      rows.push_back(std::move(row));
      disturbed = true;
    }
  }
  if (disturbed) frame.notes.push_back(incident_note());
  if (source.input.series.empty())
    frame.notes.insert(frame.notes.end(), source.cells.other_machines.begin(), source.cells.other_machines.end());
  for (std::string& note : legend_notes(rows, "")) frame.notes.push_back(std::move(note));
  Picture picture(frame);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto number = static_cast<int>(i);
    Panel panel{grid.left(i) + kLeft,
                grid.top(i),
                grid.column() - kLeft - 36,
                height,
                columns == 1 ? "" : cut_to(cell_words(*lines[i].cell), grid.column() - kLeft - 16, 11),
                number_axis("", {"x"}, {number}, "time"),
                number_axis("", {"value", "low", "high"}, {number}, "auto")};
    panel.x["splitLine"]["show"] = false;
    panel.y["$range"]["unit"] = "ms";
    panel.y["$range"]["series"] = "points";
    picture.add(panel);
  }
  for (Row& row : rows) picture.add(std::move(row));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto number = static_cast<int>(i);
    const Look look = look_of(*lines[i].cell);
    picture.draw(number, "incidents", "incident", "point",
                 {{"colour", {{"$colour", "ink-3"}}}, {"ink2", {{"$colour", "ink-2"}}}});
    picture.draw(number, "versions", "event", "point",
                 {{"colour", {{"$colour", "ink-3"}}}, {"ink2", {{"$colour", "ink-2"}}}});
    picture.draw(number, "points", "band", "point", {{"colour", {{"$colour", look.colour}}}});
    picture.plain_line(number, "points", look.colour.c_str(), look.dash);
    Json arguments = arguments_of(look);
    arguments["size"] = 3.5;
    picture.draw(number, "points", "point", "point", std::move(arguments));
    picture.draw(number, "points", "absent", "point", {{"ink2", {{"$colour", "ink-2"}}}});
  }
  return {picture.finish(grid.height(lines.size()), std::move(table),
                         fmt::format("The medians of {} cells over time.", lines.size()))};
}

}  // namespace assay::chart
