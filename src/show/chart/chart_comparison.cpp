// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "core/base/text.hpp"
#include "core/result/newest.hpp"
#include "core/traits/cell.hpp"
#include "history/analyse/analyse.hpp"
#include "history/analyse/groups.hpp"
#include "history/analyse/pairs.hpp"
#include "history/store/dataset.hpp"
#include "show/chart/charts.hpp"
#include "show/chart/layout.hpp"
#include "show/chart/picture.hpp"

namespace assay::chart {
namespace {

constexpr const char* kMeanSeries = "mean";

// A cell that both sides have.
struct ComparedCell {
  std::string name, series;
  const Record* baseline = nullptr;
  const Record* candidate = nullptr;
  Number ratio{}, low{}, high{};  // of the candidate's time over the baseline's
  bool claimed = false, ranked = true;
  bool usable = true;      // neither target computes wrong numbers for the model
  std::string why_none{};  // without a ratio
};

// Two sides and the cells that both have.
struct Sides {
  std::string baseline, candidate;  // "cpu", "before"
  bool of_two_runs = false;         // nothing is claimed
  std::vector<ComparedCell> lines{};
  std::size_t only_baseline = 0, only_candidate = 0;
};

bool has_time(const Record& row) { return shows_values(row) && row.latency_p50_ms.value_or(0) > 0; }

// Whether the interval is on one side of equal times.
bool away_from_one(const ComparedCell& line) { return line.low && line.high && (*line.high < 1 || *line.low > 1); }

// Which side has no time, and why: "after: failed". It has its place right of the panel.
std::string why_none(const Sides& sides, const ComparedCell& line) {
  const bool base = !has_time(*line.baseline);
  const Record& row = base ? *line.baseline : *line.candidate;
  constexpr double kWidest = 172, kSize = 11;
  return cut_to(
      fmt::format("{}: {}", base ? sides.baseline : sides.candidate,
                  row.verification == Verification::kWrong ? to_string(row.verification) : to_string(row.status)),
      kWidest, kSize);
}

void set_ratio(const Sides& sides, ComparedCell& line) {
  const Record &a = *line.baseline, &b = *line.candidate;
  if (!has_time(a) || !has_time(b)) {
    line.why_none = why_none(sides, line);
    return;
  }
  if (!line.usable) {
    line.why_none = "wrong at another shape";
    return;
  }
  line.ranked = a.ranked() && b.ranked();
  line.ratio = *b.latency_p50_ms / *a.latency_p50_ms;
  if (!line.ranked) return;
  const CellComparison found = compare_cells(a, b);
  if (found.evidence == Evidence::kRounds) {
    line.ratio = found.ratio;
    if (found.interval) std::tie(line.low, line.high) = std::pair(found.interval->low, found.interval->high);
    line.claimed = found.claimed() && !sides.of_two_runs;
    return;
  }
  const auto of_launches = [](const Record& row) {
    return row.latency_p50_interval == IntervalScope::kLaunches && row.latency_p50_low_ms.value_or(0) > 0 &&
           row.latency_p50_high_ms;
  };
  if (!of_launches(a) || !of_launches(b)) return;
  line.low = *b.latency_p50_low_ms / *a.latency_p50_high_ms;
  line.high = *b.latency_p50_high_ms / *a.latency_p50_low_ms;
}

// The newest row of each cell, by names, so that folders of two machines and of other tools can be compared.
std::map<std::string, const Record*> newest_of(std::span<const Record> rows) {
  std::map<std::string, const Record*> newest;
  for (const Record& row : rows) {
    const Record*& held = newest[fmt::format("{}\n{}\n{}", row.model, target_key(row), shape_key(row))];
    if (held == nullptr || newness(*held) < newness(row)) held = &row;
  }
  return newest;
}

Sides sides_of_two(std::span<const Record> before, std::span<const Record> after) {
  Sides sides{.baseline = "before", .candidate = "after", .of_two_runs = true};
  const auto old = newest_of(before), now = newest_of(after);
  std::size_t both = 0;
  for (const auto& [key, row] : now) {
    const auto other = old.find(key);
    if (other == old.end()) {
      ++sides.only_candidate;
      continue;
    }
    ++both;
    if (!has_time(*row) && !has_time(*other->second)) continue;
    sides.lines.push_back({.name = fmt::format("{} on {}, {}", row->model, target_key(*row), shape_words(*row)),
                           .series = target_key(*row),
                           .baseline = other->second,
                           .candidate = row});
  }
  sides.only_baseline = old.size() - both;
  return sides;
}

// The two targets with the most cells that both have a time of; the CPU is the baseline if it is one of them.
Sides sides_of_targets(const Cells& cells) {
  std::map<std::string, std::map<std::string, const Record*>> by_target;
  for (const Record& row : cells.rows)
    if (!is_simulated(row) && row.status != CellStatus::kUnavailable && row.status != CellStatus::kSkipped)
      by_target[target_key(row)].emplace(fmt::format("{}\n{}", row.model, shape_key(row)), &row);
  const std::vector<Look> looks = looks_of(cells.rows);
  const WrongTargets wrong(cells.rows);
  Sides best;
  std::size_t most = 0;
  for (std::size_t i = 0; i < looks.size(); ++i)
    for (std::size_t j = i + 1; j < looks.size(); ++j) {
      const auto &a = by_target[looks[i].name], &b = by_target[looks[j].name];
      Sides sides{.baseline = looks[i].name, .candidate = looks[j].name};
      std::size_t timed = 0, shared = 0;
      for (const auto& [key, row] : a) {
        const auto other = b.find(key);
        if (other == b.end()) continue;
        ++shared;
        const bool both = has_time(*row) && has_time(*other->second);
        if (both && !comparable(*row, *other->second)) continue;
        if (!has_time(*row) && !has_time(*other->second)) continue;
        timed += both ? 1 : 0;
        sides.lines.push_back({.name = fmt::format("{}, {}", row->model, shape_words(*row)),
                               .series = looks[j].name,
                               .baseline = row,
                               .candidate = other->second,
                               .usable = !wrong.has_target_of(*row) && !wrong.has_target_of(*other->second)});
      }
      sides.only_baseline = a.size() - shared;
      sides.only_candidate = b.size() - shared;
      if (timed > most) {
        most = timed;
        best = std::move(sides);
      }
    }
  return best;
}

// The geometric mean over the cells: of rounds if it can be compared by them.
struct MeanRatio {
  ComparedCell line;
  std::size_t cells = 0;
};
MeanRatio mean_of(const Sides& sides) {
  std::vector<CellPair> pairs;
  double sum = 0;
  std::size_t count = 0;
  bool ranked = true;
  for (const ComparedCell& line : sides.lines) {
    if (!line.ratio) continue;
    sum += std::log(*line.ratio);
    ++count;
    ranked = ranked && line.ranked;
    if (line.ranked) pairs.push_back({line.baseline, line.candidate});
  }
  MeanRatio mean;
  if (count == 0) return mean;
  const std::vector<CellPair> sure = with_rounds(std::move(pairs));
  if (!sides.of_two_runs && !sure.empty()) {
    const CellComparison found = compare_together(sure);
    mean.line.ratio = found.ratio;
    if (found.interval) std::tie(mean.line.low, mean.line.high) = std::pair(found.interval->low, found.interval->high);
    mean.line.claimed = found.claimed();
    mean.cells = sure.size();
  } else {
    mean.line.ratio = std::exp(sum / static_cast<double>(count));
    mean.line.ranked = ranked;
    mean.cells = count;
  }
  mean.line.name = "geometric mean, " + counted(mean.cells, "cell");
  return mean;
}

std::string ratio_words(const ComparedCell& line) {
  if (!line.ratio) return line.why_none;
  return line.low && line.high ? fmt::format("{} ({} to {})", number_words(*line.ratio), number_words(*line.low),
                                             number_words(*line.high))
                               : number_words(*line.ratio);
}

Row row_of(const ComparedCell& line, int panel) {
  Row row;
  row.panel = panel;
  row.group = line.name;
  row.value = line.ratio;
  row.low = line.low;
  row.high = line.high;
  row.series = line.claimed || away_from_one(line) ? line.series : "no difference";
  row.style = !line.ranked ? kUnranked : line.claimed ? 0 : kHollow;
  row.text = ratio_words(line);
  if (!line.ratio)
    row.mark = !line.usable ? Mark::kWrong : mark_of(has_time(*line.baseline) ? *line.candidate : *line.baseline);
  return row;
}

std::string claim_words(const Sides& sides, const ComparedCell& line) {
  if (!line.ratio) return line.why_none;
  if (!line.ranked) return "not ranked";
  if (sides.of_two_runs) return "not compared: different runs";
  return line.claimed ? (*line.ratio < 1 ? "faster" : "slower") : "no difference shown";
}

Frame frame_of(const Source& source, const Sides& sides, const MeanRatio& mean) {
  Frame frame;
  frame.name = "comparison";
  frame.title = fmt::format("How do {} and {} differ, cell by cell?", sides.baseline, sides.candidate);
  if (mean.line.claimed)
    frame.title = *mean.line.ratio < 1 ? fmt::format("{} is {} times as fast as {}, over {} cells", sides.candidate,
                                                     in_words(1 / *mean.line.ratio), sides.baseline, mean.cells)
                                       : fmt::format("{} is {} times as fast as {}, over {} cells", sides.baseline,
                                                     in_words(*mean.line.ratio), sides.candidate, mean.cells);
  std::vector<const Record*> shown;
  for (const ComparedCell& line : sides.lines)
    if (line.ratio) shown.push_back(line.candidate);
  frame.subtitle = common_words(shown);
  if (sides.of_two_runs)
    frame.subtitle = fmt::format("before: {} · after: {}", source.input.before->source, source.input.data->source);
  frame.notes.emplace_back(
      sides.of_two_runs ? "Nothing is claimed of times of two runs, so all are hollow. Whisker: the 95 % interval "
                          "of one median over that of the other; what else differed between the runs is not in it."
                        : "Filled: paired launches show a difference. Hollow: they do not. Whisker: 95 % interval "
                          "over the rounds.");
  frame.notes.emplace_back(
      "Grey points: the interval reaches 1, or the times have no interval. Grey band: within 1 %.");
  std::vector<Row> rows;
  for (const ComparedCell& line : sides.lines) {
    rows.push_back(row_of(line, 0));
    rows.back().style &= kUnranked;
  }
  for (std::string& note : legend_notes(rows, "")) frame.notes.push_back(std::move(note));
  for (const auto& [count, side] :
       {std::pair(sides.only_baseline, sides.baseline), std::pair(sides.only_candidate, sides.candidate)})
    if (count > 0) frame.notes.push_back(fmt::format("Only {}: {}.", side, counted(count, "cell")));
  for (const std::string& note : source.cells.notes) frame.notes.push_back(note);
  return frame;
}

void draw(Picture& picture, int panel, std::span<const Look> looks) {
  Row band;
  band.panel = panel;
  band.series = "band";
  band.low = 0.99;
  band.high = 1.01;
  picture.add(band);
  picture.draw(panel, "band", "region", "category",
               {{"colour", {{"$colour", "grid"}}}, {"ink2", {{"$colour", "ink-2"}}}});
  picture.rule(panel, "x", 1, "ink-2");
  const auto dots = [&](const std::string& series, const Look& look) {
    picture.draw(panel, series, "dot", "category", arguments_of(look));
    picture.draw(panel, series, "beside", "category", {{"ink", {{"$colour", "ink"}}}});
  };
  for (const Look& look : looks) dots(look.name, look);
  dots(kMeanSeries, {"", "ink", "diamond", "solid"});
  dots("no difference", {"", "ink-2", "circle", "solid"});
}

}  // namespace

std::vector<Chart> comparison(const Source& source) {
  std::vector<Record> before;
  if (source.input.before != nullptr) before = with_names_of_models(source.input.before->cells);
  const std::vector<Record> after =
      source.input.before != nullptr ? with_names_of_models(source.input.data->cells) : std::vector<Record>();
  Sides sides = source.input.before != nullptr ? sides_of_two(before, after) : sides_of_targets(source.cells);
  for (ComparedCell& line : sides.lines) set_ratio(sides, line);
  MeanRatio mean = mean_of(sides);
  if (mean.cells == 0) return {};
  std::ranges::stable_sort(sides.lines, {}, [](const ComparedCell& line) {
    return std::pair(!line.ratio.has_value(), -std::abs(std::log(line.ratio.value_or(1))));
  });

  constexpr double kLine = 22, kLabelSize = 12, kWidest = 340, kNumbers = 190, kMeanHeight = 26;
  constexpr std::size_t kMostLines = 40;
  Table table{{{"cell", "cell", ""},
               {"baseline_ms", sides.baseline, "ms", Better::kLower},
               {"candidate_ms", sides.candidate, "ms", Better::kLower},
               {"ratio", fmt::format("{} / {}", sides.candidate, sides.baseline), "", Better::kLower},
               {"low", "95 % from", ""},
               {"high", "to", ""},
               {"claim", "what is shown", ""}},
              {}};
  double labels = text_width(mean.line.name, kLabelSize, true);
  for (const ComparedCell& line : sides.lines) {
    labels = std::max(labels, text_width(line.name, kLabelSize));
    table.rows.push_back({line.name, value_of(line.baseline->latency_p50_ms), value_of(line.candidate->latency_p50_ms),
                          value_of(line.ratio), value_of(line.low), value_of(line.high), claim_words(sides, line)});
  }
  labels = std::min(labels, kWidest);
  table.rows.insert(table.rows.begin(),
                    {mean.line.name, TableValue(), TableValue(), value_of(mean.line.ratio), value_of(mean.line.low),
                     value_of(mean.line.high), claim_words(sides, mean.line)});
  std::vector<Record> candidates;
  for (const ComparedCell& line : sides.lines)
    if (line.ratio) candidates.push_back(*line.candidate);
  const std::vector<Look> looks = looks_of(candidates);
  mean.line.series = kMeanSeries;
  Frame frame = frame_of(source, sides, mean);
  if (looks.size() > 1) frame.legend = looks;
  const std::string subtitle = frame.subtitle;
  std::vector<Chart> charts;
  for (std::size_t from = 0; from < sides.lines.size(); from += kMostLines) {
    const std::span<const ComparedCell> page(sides.lines.data() + from,
                                             std::min(kMostLines, sides.lines.size() - from));
    frame.subtitle = subtitle;
    if (sides.lines.size() > page.size())
      frame.subtitle += fmt::format(" · cells {} to {} of {}", from + 1, from + page.size(), sides.lines.size());
    Picture picture(frame);
    const double left = 16 + labels + 10, width = frame.width - left - kNumbers;
    const auto add = [&](int number, double top, double height, const std::string& axis) {
      Panel panel{left,
                  top,
                  width,
                  height,
                  "",
                  number_axis(axis, {"value", "low", "high"}, {0, 1}, "log", false, {0.95, 1.05}),
                  group_axis(number, labels)};
      panel.x["axisLabel"]["show"] = !axis.empty();
      picture.add(panel);
    };
    const double height = kLine * static_cast<double>(page.size());
    add(0, 8, kMeanHeight, "");
    picture.add(row_of(mean.line, 0));
    add(1, 8 + kMeanHeight + 10, height,
        fmt::format("time of {} / time of {}; below 1 {} is faster", sides.candidate, sides.baseline, sides.candidate));
    for (const ComparedCell& line : page) picture.add(row_of(line, 1));
    draw(picture, 0, std::span<const Look>());
    draw(picture, 1, looks);
    charts.push_back(picture.finish(
        8 + kMeanHeight + 10 + height + 52, table,
        fmt::format("{} cells: the time of {} over that of {}.", page.size(), sides.candidate, sides.baseline)));
  }
  return charts;
}

}  // namespace assay::chart
