// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/traits/cell.hpp"
#include "history/analyse/analyse.hpp"
#include "history/analyse/groups.hpp"
#include "show/chart/charts.hpp"
#include "show/chart/dots.hpp"
#include "show/chart/layout.hpp"
#include "show/chart/picture.hpp"

namespace assay::chart {
namespace {

std::string architecture_of(const Record& row) { return row.architecture.empty() ? row.model : row.architecture; }

// The geometric mean of an architecture's models on each target, over the models that all its targets have.
struct ArchitectureLine {
  std::string architecture, category;
  std::vector<std::string> models;
  /// The key is the target; one row for each model, in the same order.
  std::map<std::string, std::vector<const Record*>> rows;
};

std::vector<ArchitectureLine> architectures_of(const Cells& cells) {
  std::vector<ArchitectureLine> lines;
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::string>> models;
  std::map<std::string, std::string> categories;
  for (const Record& row : cells.rows) {
    const std::string name = architecture_of(row);
    if (!models.contains(name)) order.push_back(name);
    std::vector<std::string>& own = models[name];
    if (std::ranges::find(own, row.model) == own.end()) own.push_back(row.model);
    if (!row.category.empty()) categories[name] = row.category;
  }
  for (const std::string& name : order) {
    ArchitectureLine line{name, group_words(categories[name]), {}, {}};
    const bool ranked =
        std::ranges::any_of(models[name], [&](const std::string& model) { return cells.typical.at(model).ranked; });
    std::map<std::string, std::map<std::string, const Record*>> found, unranked;  // by target, model
    for (const std::string& model : models[name])
      for (const Record* row : cells.typical.at(model).time)
        (ranked && !row->ranked() ? unranked : found)[target_key(*row)][model] = row;
    const auto add = [&](const auto& entry) {
      for (const std::string& model : line.models) line.rows[entry.first].push_back(entry.second.at(model));
    };
    for (const std::string& model : models[name])
      if (!found.empty() && std::ranges::all_of(found, [&](const auto& entry) { return entry.second.contains(model); }))
        line.models.push_back(model);
    for (const auto& entry : found) add(entry);
    for (const auto& entry : unranked)
      if (!line.rows.contains(entry.first) &&
          std::ranges::all_of(line.models, [&](const std::string& model) { return entry.second.contains(model); }))
        add(entry);
    lines.push_back(std::move(line));
  }
  return lines;
}

double mean_latency(std::span<const Record* const> rows) {
  std::vector<double> times;
  for (const Record* row : rows) times.push_back(*row->latency_p50_ms);
  return geometric_mean(times);
}

// What may be said of a mean: the worst of its rows decides.
enum class Standing { kRanked, kUnranked, kSimulated };
Standing standing_of(std::span<const Record* const> rows) {
  if (std::ranges::any_of(rows, [](const Record* row) { return is_simulated(*row); })) return Standing::kSimulated;
  if (std::ranges::all_of(rows, [](const Record* row) { return row->ranked(); })) return Standing::kRanked;
  return Standing::kUnranked;
}

// The fastest target among the ranked ones; without these, among those that are not simulated.
std::string fastest_target(const ArchitectureLine& line) {
  std::string best;
  std::pair<Standing, double> least;
  for (const auto& [target, rows] : line.rows)
    if (const std::pair key(standing_of(rows), mean_latency(rows)); best.empty() || key < least) {
      best = target;
      least = key;
    }
  return best;
}

// Simulated times of a target in the cells that the best target has: of each of them, or none.
std::vector<const Record*> simulated_rows(const Cells& cells, std::span<const Record* const> best,
                                          const std::string& target) {
  std::vector<const Record*> found;
  for (const Record* like : best) {
    const auto row = std::ranges::find_if(cells.rows, [&](const Record& record) {
      return target_key(record) == target && is_simulated(record) && shows_values(record) && record.latency_p50_ms &&
             comparable(*like, record);
    });
    if (row == cells.rows.end()) return {};
    found.push_back(&*row);
  }
  return found;
}

// Why a target has no value that can be set against the best one: wrong numbers at any shape, what became of the same
// cell, a time of another cell, what became of another cell.
Mark mark_of_architecture(const Cells& cells, const ArchitectureLine& line, const Record& like,
                          const std::string& target) {
  Mark alike = Mark::kNone, other = Mark::kNone;
  bool measured = false;
  for (const Record& row : cells.rows) {
    if (architecture_of(row) != line.architecture || target_key(row) != target) continue;
    const Mark mark = mark_of(row);
    if (mark == Mark::kWrong) return mark;
    if (shows_values(row)) {
      measured |= row.latency_p50_ms.has_value();
      continue;
    }
    if ((!row.batch_size || row.batch_size == like.batch_size) && is_asked_alike(like, row)) alike = mark;
    other = mark;
  }
  return alike != Mark::kNone ? alike : measured ? Mark::kNoCommonCell : other != Mark::kNone ? other : Mark::kNoValue;
}

// A target in the row of an architecture: the ratio to the best one, and what is claimed of it.
struct MatrixCell {
  Row row;
  Number latency{};
  std::string claim{};
};

MatrixCell matrix_cell(const Cells& cells, const ArchitectureLine& line, const std::string& target) {
  const std::string best_target = fastest_target(line);
  const std::vector<const Record*>& best = line.rows.at(best_target);
  MatrixCell cell;
  cell.row.group = line.architecture;
  cell.row.series = target;
  const auto found = line.rows.find(target);
  const std::vector<const Record*> own = found != line.rows.end() ? found->second : simulated_rows(cells, best, target);
  if (own.empty()) {
    cell.row.mark = mark_of_architecture(cells, line, *best.front(), target);
    return cell;
  }
  cell.latency = mean_latency(own);
  cell.row.value = *cell.latency / mean_latency(best);
  const Standing standing = standing_of(own);
  if (standing == Standing::kSimulated) {
    cell.row.style = kHatched;
    cell.claim = "simulated or software: not compared";
  } else if (standing == Standing::kUnranked) {
    cell.row.style = kUnranked;
    cell.claim = "not ranked";
  } else if (target == best_target) {
    cell.claim = "best";
  } else {
    std::vector<CellPair> pairs;
    for (std::size_t i = 0; i < own.size(); ++i) pairs.push_back({best[i], own[i]});
    const CellComparison comparison = compare_together(pairs, line.rows.size());
    if (comparison.baseline_ahead()) cell.row.style = kBold;
    cell.claim = comparison.claimed() ? std::string(to_string(comparison.difference)) : no_claim_words(comparison);
  }
  return cell;
}

// Which target is ahead of each other ranked one, and in how many rows; the question if none is.
std::string title_of(const Cells& cells, std::span<const ArchitectureLine> lines) {
  std::map<std::string, Wins> wins;
  for (const ArchitectureLine& line : lines) {
    const std::string best = fastest_target(line);
    std::size_t others = 0, slower = 0;
    for (const auto& [target, rows] : line.rows) {
      if (target == best || standing_of(rows) != Standing::kRanked) continue;
      ++others;
      slower += matrix_cell(cells, line, target).row.style == kBold ? 1 : 0;
    }
    if (others > 0 && slower == others) ++wins.try_emplace(best, Wins{0, lines.size()}).first->second.count;
  }
  if (lines.size() < 2 || wins.empty()) return "Which hardware for which architecture?";
  return winners_words(wins, "is ahead of all others", "architectures", /*one_each=*/true);
}

}  // namespace

std::vector<Chart> architecture_comparison(const Source& source) {
  const Cells& cells = source.cells;
  std::vector<DotLine> lines;
  Table table{dot_columns(), {}};
  for (const ArchitectureLine& one : architectures_of(cells)) {
    if (one.models.empty()) continue;
    DotLine line;
    line.name = one.architecture;
    line.facet = one.category;
    for (const auto& [target, rows] : one.rows) {
      if (!std::ranges::all_of(rows, [](const Record* row) { return row->latency_p50_ms.has_value(); })) continue;
      Row dot;
      dot.series = target;
      dot.value = mean_latency(rows);
      if (rows.size() == 1) {
        dot.low = rows.front()->latency_p50_low_ms;
        dot.high = rows.front()->latency_p50_high_ms;
        dot.style = style_of(*rows.front());
      } else {
        dot.style = kHollow;
      }
      const Standing standing = standing_of(rows);
      if (standing == Standing::kUnranked) dot.style = kUnranked;
      if (standing == Standing::kSimulated) dot.style |= kHatched;
      dot.text = standing == Standing::kUnranked ? "not ranked" : status_words(*rows.front());
      line.dots.push_back(dot);
    }
    for (const std::string& model : one.models) add_marks(line, cells, model);
    line.best = least(line);
    add_dots(table, line, one.models.size());
    lines.push_back(std::move(line));
  }
  if (lines.empty()) return {};
  Frame frame = frame_of(cells, "architecture_comparison", "How fast is each architecture?");
  frame.notes.emplace_back("Several models of an architecture: geometric mean over those that all its targets have.");
  return dot_plots(std::move(frame), std::move(lines), table,
                   {.hollow = "Hollow: no interval over launches: of one process, or a mean over several models."});
}

std::vector<Chart> architecture_performance_matrix(const Source& source) {
  const Cells& cells = source.cells;
  std::vector<ArchitectureLine> lines = architectures_of(cells);
  std::erase_if(lines, [](const ArchitectureLine& line) { return line.models.empty(); });
  if (lines.empty()) return {};
  std::ranges::stable_sort(lines, {},
                           [](const ArchitectureLine& line) { return std::pair(line.category, line.architecture); });
  std::vector<Look> looks = looks_of(cells.rows);
  std::string absent;
  std::erase_if(looks, [&](const Look& look) {
    const auto says_something = [&](const Record& row) {
      return target_key(row) == look.name && row.status != CellStatus::kUnavailable &&
             row.status != CellStatus::kSkipped;
    };
    if (std::ranges::any_of(cells.rows, says_something)) return false;
    absent += (absent.empty() ? "" : ", ") + look.name;
    return true;
  });
  constexpr double kLine = 26, kLabelSize = 12, kWidest = 320, kBetween = 34, kLeastColumn = 118, kWidestColumn = 170;
  constexpr std::size_t kMostLines = 45;
  double labels = 60;
  for (const ArchitectureLine& line : lines) labels = std::max(labels, text_width(line.architecture, kLabelSize));
  labels = std::min(labels, kWidest);
  double column = kLeastColumn;
  for (const Look& look : looks) column = std::max(column, text_width(look.name, kLabelSize, true) + 12);
  column = std::min(column, kWidestColumn);
  Table table{{{"architecture", "architecture", ""},
               {"category", "category", ""},
               {"target", "target", ""},
               {"ratio", "times the best time", "", Better::kLower},
               {"latency_ms", "latency", "ms", Better::kLower},
               {"claim", "what is shown", ""}},
              {}};
  const std::string title = title_of(cells, lines);
  std::vector<Chart> charts;
  for (std::size_t from = 0; from < lines.size(); from += kMostLines) {
    const std::span<const ArchitectureLine> page(lines.data() + from, std::min(kMostLines, lines.size() - from));
    Frame frame = frame_of(cells, "architecture_performance_matrix", title.c_str());
    frame.legend.clear();
    frame.subtitle += " · times the time of the best target of the row, lower is better";
    if (lines.size() > page.size())
      frame.subtitle += fmt::format(" · rows {} to {} of {}", from + 1, from + page.size(), lines.size());
    frame.notes.insert(frame.notes.begin(),
                       "Bold: paired launches show that the target is slower than the best one. The darker, the "
                       "slower; ten times and more are equally dark.");
    frame.width = std::max(560, static_cast<int>(16 + labels + 10 + column * static_cast<double>(looks.size()) + 24));
    std::vector<Row> rows;
    double top = 62;
    std::vector<std::pair<Panel, std::string>> panels;
    for (std::size_t at = 0; at < page.size();) {
      const std::size_t begin = at;
      const int number = static_cast<int>(panels.size());
      while (at < page.size() && page[at].category == page[begin].category) {
        const ArchitectureLine& line = page[at++];
        for (const Look& look : looks) {
          MatrixCell cell = matrix_cell(cells, line, look.name);
          cell.row.panel = number;
          table.rows.push_back({line.architecture, line.category, look.name, value_of(cell.row.value),
                                value_of(cell.latency), cell.claim});
          rows.push_back(std::move(cell.row));
        }
      }
      Panel panel;
      panel.left = 16 + labels + 10;
      panel.top = top;
      panel.width = column * static_cast<double>(looks.size());
      panel.height = kLine * static_cast<double>(at - begin);
      panel.x = {{"type", "category"},
                 {"$categories", {{"panel", number}, {"column", "series"}}},
                 {"position", "top"},
                 {"axisLine", {{"show", false}}},
                 {"axisTick", {{"show", false}}},
                 {"axisLabel",
                  {{"show", number == 0},
                   {"interval", 0},
                   {"color", {{"$colour", "ink"}}},
                   {"fontSize", 12},
                   {"margin", 34},
                   {"fontWeight", "bold"},
                   {"formatter", {{"$fn", "category"}, {"width", column - 6}, {"font", "bold 12px"}}}}}};
      panel.y = group_axis(number, labels);
      panel.y["axisLine"]["show"] = false;
      top += panel.height + kBetween;
      panel.title = page[begin].category;
      panels.emplace_back(panel, page[begin].category);
    }
    if (!absent.empty()) frame.notes.push_back("Not available on this machine, or skipped: " + absent + ".");
    for (std::string& note : legend_notes(rows)) frame.notes.push_back(std::move(note));
    Picture picture(frame);
    for (const auto& [panel, category] : panels) picture.add(panel);
    for (Row& row : rows) picture.add(std::move(row));
    Json scale = Json::array(), words = Json::array();
    for (int step = 0; step <= 6; ++step) {
      scale.push_back({{"$colour", fmt::format("heat-{}", step)}});
      words.push_back({{"$colour", fmt::format("heat-{}-ink", step)}});
    }
    for (std::size_t i = 0; i < panels.size(); ++i)
      picture.draw(static_cast<int>(i), "", "heat", "cell",
                   {{"scale", scale},
                    {"words", words},
                    {"grid", {{"$colour", "grid"}}},
                    {"paper", {{"$colour", "background"}}},
                    {"ink", {{"$colour", "ink"}}},
                    {"ink2", {{"$colour", "ink-2"}}}});
    charts.push_back(
        picture.finish(top - kBetween + 16, table,
                       fmt::format("A table of {} architectures and {} targets; 1.00 is the best of its row.",
                                   page.size(), looks.size())));
  }
  return charts;
}

}  // namespace assay::chart
