// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "core/traits/cell.hpp"
#include "history/store/dataset.hpp"
#include "show/chart/cells_in_time.hpp"
#include "show/chart/charts.hpp"
#include "show/chart/layout.hpp"
#include "show/chart/picture.hpp"

namespace assay::chart {
namespace {

constexpr std::size_t kMostPanels = 6, kMostTargets = 4;
constexpr const char* kPercentiles = "percentiles";

// The same cell on several targets, the fastest first.
using Group = std::vector<CellDistributions>;

// Each with the first cell that is not in one before, in the order of the cells.
std::vector<Group> groups_of(const std::vector<CellDistributions>& cells) {
  std::vector<Group> groups;
  for (const CellDistributions& entry : cells) {
    const auto own = std::ranges::find_if(groups, [&](const Group& group) {
      return comparable(*group.front().cell, *entry.cell) &&
             std::ranges::none_of(group, [&](const CellDistributions& other) {
               return target_key(*other.cell) == target_key(*entry.cell);
             });
    });
    if (own == groups.end())
      groups.push_back({entry});
    else if (own->size() < kMostTargets)
      own->push_back(entry);
  }
  if (groups.size() > kMostPanels) groups.resize(kMostPanels);
  for (Group& group : groups)
    std::ranges::stable_sort(group, {},
                             [](const CellDistributions& entry) { return entry.cell->latency_p50_ms.value_or(0); });
  return groups;
}

void add_curve(Picture& picture, int panel, const std::string& series, const std::string& group, const Look& look,
               const std::vector<std::pair<double, double>>& points, const Json& dash) {
  for (const auto& [time, share] : points) {
    Row row;
    row.panel = panel;
    row.series = series;
    row.group = group;
    row.x = time;
    row.value = share;
    picture.add(row);
  }
  picture.plain_line(panel, series, look.colour.c_str(), dash, "end");
}

std::vector<std::pair<double, double>> curve_of(const SampleDistribution& distribution) {
  std::vector<std::pair<double, double>> points;
  for (std::size_t q = 0; q < distribution.quantiles.size(); ++q)
    points.emplace_back(time_of(distribution.quantiles[q], distribution),
                        static_cast<double>(q) / static_cast<double>(distribution.quantiles.size() - 1));
  return points;
}

// The distribution of all launches together, each with the weight of its samples; as many points as one launch has.
std::vector<std::pair<double, double>> curve_of_all(std::span<const SampleDistribution* const> distributions) {
  std::vector<std::pair<double, double>> steps;  // time, share that is added there
  double all = 0;
  for (const SampleDistribution* distribution : distributions)
    all += static_cast<double>(std::max<std::int64_t>(distribution->steady, 1));
  for (const SampleDistribution* distribution : distributions) {
    const double weight = static_cast<double>(std::max<std::int64_t>(distribution->steady, 1)) / all;
    const auto count = static_cast<double>(distribution->quantiles.size() - 1);
    for (std::size_t q = 0; q < distribution->quantiles.size(); ++q)
      steps.emplace_back(time_of(distribution->quantiles[q], *distribution), q == 0 ? 0 : weight / count);
  }
  std::ranges::sort(steps);
  const std::size_t most = distributions.front()->quantiles.size() - 1;
  std::vector<std::pair<double, double>> points;
  double share = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    share += steps[i].second;
    const auto next = static_cast<double>(points.size()) / static_cast<double>(most);
    if (i == 0 || i + 1 == steps.size() || share >= next) points.emplace_back(steps[i].first, std::min(share, 1.0));
  }
  points.back().second = 1;
  return points;
}

struct Percentile {
  const char* name;
  double share;
  Number value, low, high;
  std::string quality;
};

std::array<Percentile, 4> percentiles_of(const Record& cell) {
  return {
      {{"p50", 0.5, cell.latency_p50_ms, cell.latency_p50_low_ms, cell.latency_p50_high_ms, cell.latency_p50_quality},
       {"p90", 0.9, cell.latency_p90_ms, cell.latency_p90_low_ms, cell.latency_p90_high_ms, cell.latency_p90_quality},
       {"p95", 0.95, cell.latency_p95_ms, cell.latency_p95_low_ms, cell.latency_p95_high_ms, cell.latency_p95_quality},
       {"p99", 0.99, cell.latency_p99_ms, cell.latency_p99_low_ms, cell.latency_p99_high_ms,
        cell.latency_p99_quality}}};
}

// How many steps below its curve the points of each target stand: as few as keep its intervals apart from those of the
// targets before it.
std::vector<int> steps_of(const Group& group) {
  const auto touch = [](const Record& a, const Record& b) {
    constexpr double kMarker = 1.05;  // about the width of a marker
    const auto of_a = percentiles_of(a), of_b = percentiles_of(b);
    for (std::size_t i = 0; i < of_a.size(); ++i) {
      const Percentile &one = of_a.at(i), &other = of_b.at(i);
      if (one.value && other.value && one.low.value_or(*one.value) < kMarker * other.high.value_or(*other.value) &&
          other.low.value_or(*other.value) < kMarker * one.high.value_or(*one.value))
        return true;
    }
    return false;
  };
  std::vector<int> steps;
  for (std::size_t i = 0; i < group.size(); ++i) {
    std::set<int> taken;
    for (std::size_t j = 0; j < i; ++j)
      if (touch(*group[i].cell, *group[j].cell)) taken.insert(steps[j]);
    int step = 0;
    while (taken.contains(step)) ++step;
    steps.push_back(step);
  }
  return steps;
}

// The points of a cell. `alone`: in a panel of its own, where they have their names; else `step` steps down, with
// whiskers in the colour of the target.
void add_percentiles(Picture& picture, Table& table, int panel, const Record& cell, bool alone, int step) {
  const std::string series = alone ? kPercentiles : target_key(cell) + " " + kPercentiles;
  for (const Percentile& one : percentiles_of(cell)) {
    if (!one.value) continue;
    Row row;
    row.panel = panel;
    row.series = series;
    row.group = alone ? one.name : fmt::format("{}, {}", target_key(cell), one.name);
    row.x = one.value;
    row.value = one.share;
    row.low = one.low;
    row.high = one.high;
    row.style = style_of(cell);
    if (row.style != kUnranked && (stats::has_few_samples(one.quality) || !one.low || !one.high)) row.style |= kHollow;
    if (alone) row.text = fmt::format("{} {}", one.name, number_words(*one.value));
    picture.add(row);
    table.rows.push_back(
        {cell_words(cell), std::string(one.name), value_of(one.value), value_of(one.low), value_of(one.high)});
  }
  constexpr int kStep = 8;  // px
  Json arguments = arguments_of(look_of(cell));
  arguments.update({{"across", true}, {"size", 3.5}});
  if (!alone) arguments.update({{"ink", arguments["colour"]}, {"shift", kStep * step}});
  picture.draw(panel, series, "point", "point", arguments);
  if (alone)
    picture.draw(panel, series, "name", "point",
                 {{"ink", {{"$colour", "ink"}}},
                  {"paper", {{"$colour", "background"}}},
                  {"left", true},
                  {"apart", true},
                  {"always", true}});
}

// The target's name and median beside its curve, each at another height, the fastest at the top.
void add_names(Picture& picture, int panel, const Group& group) {
  constexpr double kTop = 0.72, kBottom = 0.12, kWidest = 130, kSize = 11;
  for (std::size_t i = 0; i < group.size(); ++i) {
    const Record& cell = *group[i].cell;
    const double share = kTop - (kTop - kBottom) * static_cast<double>(i) / static_cast<double>(group.size() - 1);
    const std::vector<std::pair<double, double>> curve = curve_of_all(group[i].distributions);
    const auto at = std::ranges::find_if(curve, [&](const auto& point) { return point.second >= share; });
    Row row;
    row.panel = panel;
    row.series = "names";
    row.group = target_key(cell);
    row.x = at->first;
    row.value = share;
    row.text = cut_to(target_key(cell), kWidest, kSize);
    if (cell.latency_p50_ms) row.text += " " + number_words(*cell.latency_p50_ms);
    picture.add(row);
  }
  picture.draw(
      panel, "names", "beside_curve", "point",
      {{"ink", {{"$colour", "ink"}}}, {"ink2", {{"$colour", "ink-2"}}}, {"paper", {{"$colour", "background"}}}});
}

// Which of the cells with a time are shown; empty if all are.
std::string left_out_words(const Source& source, std::span<const Record* const> shown, std::size_t with_samples) {
  std::set<std::string> models, shown_models;
  std::size_t measured = 0;
  for (const Record& cell : source.cells.rows) {
    if (!shows_values(cell) || !cell.latency_p50_ms) continue;
    ++measured;
    models.insert(cell.model);
  }
  for (const Record* cell : shown) shown_models.insert(cell->model);
  if (measured <= shown.size()) return {};
  std::string words = fmt::format("{} of {} cells", shown.size(), measured);
  if (models.size() > 1) words += fmt::format(" and {} of {} models", shown_models.size(), models.size());
  if (measured > with_samples) words += fmt::format(", {} of the others have no samples", measured - with_samples);
  return words + "; --cell KEY shows another one.";
}

Frame frame_of(const Source& source, std::span<const Group> groups, std::size_t with_samples) {
  std::vector<const Record*> shown;
  bool several = false, single = false;
  for (const Group& group : groups) {
    (group.size() > 1 ? several : single) = true;
    for (const CellDistributions& entry : group) shown.push_back(entry.cell);
  }
  Frame frame;
  frame.name = "latency_distribution";
  const Record& first = *shown.front();
  frame.title = shown.size() == 1 ? "How are the times of " + cell_words(first) + " distributed?"
                : groups.size() == 1
                    ? fmt::format("How are the times of {}, {} distributed?", first.model, shape_words(first))
                    : "How are the times distributed?";
  frame.subtitle = common_words(shown) + " · share of the samples that took at most this time";
  if (!several) frame.subtitle += ", a line for each launch";
  frame.notes = {
      "Points: p50, p90, p95 and p99 over all launches, each with its 95 % interval. Hollow: too few samples for that "
      "percentile, or no interval over launches."};
  if (several)
    frame.notes.emplace_back(single ? "With several targets a line for each, of all launches, and its median in ms; "
                                      "with one target a line for each launch."
                                    : "A line for each target, of all launches, and its median in ms.");
  if (std::string words = source.input.cell.empty() ? left_out_words(source, shown, with_samples) : ""; !words.empty())
    frame.notes.push_back(std::move(words));
  std::vector<Row> looks;
  looks.reserve(shown.size());
  for (const Record* cell : shown) looks.push_back({.value = 1, .style = style_of(*cell) & (kUnranked | kHatched)});
  for (std::string& note : legend_notes(looks)) frame.notes.push_back(std::move(note));
  return frame;
}

}  // namespace

std::vector<Chart> latency_distribution(const Source& source) {
  const std::vector<CellDistributions> cells = cells_with_distributions(source);
  if (cells.empty()) return {};
  const std::vector<Group> groups = groups_of(cells);
  Table table{{{"cell", "cell", ""},
               {"percentile", "percentile", ""},
               {"time_ms", "time", "ms", Better::kLower},
               {"low", "95 % from", "ms"},
               {"high", "to", "ms"}},
              {}};
  Frame frame = frame_of(source, groups, cells.size());
  if (source.input.cell.empty())
    frame.notes.insert(frame.notes.end(), source.cells.other_machines.begin(), source.cells.other_machines.end());
  Picture picture(std::move(frame));
  const std::size_t columns = groups.size() == 1 ? 1 : 2;
  constexpr double kHeight = 210, kGap = 78, kLeft = 56;
  const PanelGrid grid(columns, picture.frame().width, kHeight + kGap);
  std::size_t shown = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto number = static_cast<int>(i);
    const Group& group = groups[i];
    const Record& first = *group.front().cell;
    const bool alone = group.size() == 1;
    const std::string title = alone ? cell_words(first) : fmt::format("{}, {}", first.model, shape_words(first));
    Json times = number_axis("ms, lower is better", {"x", "low", "high"}, {number}, "log");
    times["$range"]["tight"] = true;
    picture.add({grid.left(i) + kLeft, grid.top(i), grid.column() - kLeft - 40, kHeight,
                 columns == 1 ? "" : cut_to(title, grid.column() - kLeft - 16, 11), std::move(times),
                 number_axis("", {"value"}, {number}, "share", true, {0, 1})});
    const std::vector<int> steps = steps_of(group);
    for (std::size_t place = 0; place < group.size(); ++place) {
      const CellDistributions& entry = group[place];
      const Look look = look_of(*entry.cell);
      if (alone)
        for (const SampleDistribution* distribution : entry.distributions)
          add_curve(picture, number, fmt::format("{} {}", i, distribution->launch_number),
                    fmt::format("launch {}", distribution->launch_number), look, curve_of(*distribution), "solid");
      else
        add_curve(picture, number, look.name, look.name, look, curve_of_all(entry.distributions), look.dash);
      add_percentiles(picture, table, number, *entry.cell, alone, steps[place]);
    }
    if (!alone) add_names(picture, number, group);
    shown += group.size();
  }
  return {picture.finish(grid.height(groups.size()), std::move(table),
                         fmt::format("Cumulative distributions of the times of {} cells.", shown))};
}

}  // namespace assay::chart
