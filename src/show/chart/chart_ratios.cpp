// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "core/base/text.hpp"
#include "core/traits/cell.hpp"
#include "history/analyse/analyse.hpp"
#include "history/analyse/groups.hpp"
#include "history/analyse/pairs.hpp"
#include "history/store/dataset.hpp"
#include "show/chart/bars.hpp"
#include "show/chart/charts.hpp"
#include "show/chart/picture.hpp"

namespace assay::chart {
namespace {

// Why a target has no ratio over these cells: wrong numbers at any shape, no cell in common, what became of its cells.
Mark why_no_ratio(std::span<const Record> rows, const std::string& target) {
  Mark why = Mark::kNoCommonCell;
  bool measured = false;
  for (const Record& row : rows) {
    if (target_key(row) != target) continue;
    if (mark_of(row) == Mark::kWrong) return Mark::kWrong;
    measured |= shows_values(row);
    if (!shows_values(row)) why = mark_of(row);
  }
  return measured ? Mark::kNoCommonCell : why;
}

// Bars of a comparison with a baseline: the ratio, and whether it is claimed. Without cells: why the ratio is missing.
Row ratio_bar(const std::string& group, const std::string& target, const CellComparison& comparison, std::size_t cells,
              Mark why_none) {
  Row row;
  row.group = group;
  row.series = target;
  if (cells == 0) {
    row.mark = why_none;
    return row;
  }
  row.value = comparison.ratio;
  if (comparison.interval) {
    row.low = comparison.interval->low;
    row.high = comparison.interval->high;
  }
  row.text = counted(cells, "cell");
  if (!comparison.claimed()) row.style = kHollow;
  return row;
}

const std::vector<Column> kRatioColumns{
    {"group", "group", ""},        {"target", "target", ""}, {"ratio", "times as fast", "", Better::kHigher},
    {"low", "95 % from", ""},      {"high", "to", ""},       {"cells", "cells", ""},
    {"claim", "what is shown", ""}};

// The target is the baseline of the comparison: if the other one is slower, it is faster.
std::string claim_words(const CellComparison& comparison) {
  return !comparison.claimed() ? no_claim_words(comparison) : comparison.baseline_ahead() ? "faster" : "slower";
}

const char* why_words(Mark mark) {
  switch (mark) {
    case Mark::kWrong:
      return "wrong";
    case Mark::kFailed:
      return "failed";
    case Mark::kUnsupported:
      return "unsupported";
    case Mark::kUnavailable:
      return "unavailable";
    case Mark::kSkipped:
      return "skipped";
    default:
      return "no common cell";
  }
}

void add_ratio(Table& table, const Row& row, const CellComparison& comparison, std::size_t cells) {
  table.rows.push_back({row.group, row.series, value_of(row.value), value_of(row.low), value_of(row.high),
                        static_cast<double>(cells),
                        row.mark == Mark::kNone ? claim_words(comparison) : std::string(why_words(row.mark))});
}

// How many times as fast as the baseline, over the cells that both have: of medians, ranked or not, so that nothing can
// be claimed of it.
struct RatioOfMedians {
  double ratio = 1;
  std::size_t cells = 0;
};
using Medians = std::map<std::string, std::map<std::string, double>>;  // ms, by target and cell

Medians medians_of(std::span<const Record> rows) {
  Medians medians;
  const WrongTargets wrong(rows);
  for (const Record& row : rows)
    if (shows_values(row) && !is_simulated(row) && row.latency_p50_ms.value_or(0) > 0 && !wrong.has_target_of(row))
      medians[target_key(row)].emplace(cell_key(row), *row.latency_p50_ms);
  return medians;
}

RatioOfMedians ratio_of_medians(const Medians& medians, const std::string& baseline, const std::string& target,
                                bool common_to_all) {
  RatioOfMedians found;
  const auto base = medians.find(baseline), own = medians.find(target);
  if (base == medians.end() || own == medians.end()) return found;
  double sum = 0;
  for (const auto& [cell, time] : own->second) {
    const auto other = base->second.find(cell);
    if (other == base->second.end()) continue;
    const auto has_cell = [&key = cell](const auto& each) { return each.second.contains(key); };
    if (common_to_all && !std::ranges::all_of(medians, has_cell)) continue;
    sum += std::log(other->second / time);
    ++found.cells;
  }
  if (found.cells > 0) found.ratio = std::exp(sum / static_cast<double>(found.cells));
  return found;
}

void add_unranked(std::vector<Row>& rows, Table& table, const std::string& group, const std::string& target,
                  const RatioOfMedians& found) {
  Row row;
  row.group = group;
  row.series = target;
  row.value = found.ratio;
  row.style = kUnranked;
  row.text = counted(found.cells, "cell");
  table.rows.push_back({row.group, row.series, found.ratio, TableValue(), TableValue(),
                        static_cast<double>(found.cells), std::string("not ranked")});
  rows.push_back(std::move(row));
}

std::vector<Look> without_target(std::vector<Look> looks, const std::string& target) {
  std::erase_if(looks, [&](const Look& look) { return look.name == target; });
  return looks;
}

// The categories if nothing is ranked. Returns the baseline.
std::string add_unranked_categories(const Cells& cells, std::vector<std::string>& names, std::vector<Row>& rows,
                                    Table& table) {
  names.clear();
  rows.clear();
  table.rows.clear();
  std::map<std::string, std::vector<Record>> categories;
  for (const Record& row : cells.rows) categories[group_words(row.category)].push_back(row);
  std::string baseline;
  for (const auto& [category, own] : categories) {
    const Medians medians = medians_of(own);
    if (medians.size() < 2 || !medians.contains("cpu")) continue;
    baseline = "cpu";
    for (const Look& look : looks_of(own)) {
      if (look.name == baseline) continue;
      const RatioOfMedians found = ratio_of_medians(medians, baseline, look.name, true);
      if (found.cells > 0) {
        add_unranked(rows, table, category, look.name, found);
        continue;
      }
      rows.push_back(ratio_bar(category, look.name, {}, 0, why_no_ratio(own, look.name)));
      add_ratio(table, rows.back(), {}, 0);
    }
    names.push_back(category);
  }
  return baseline;
}

std::vector<Chart> ratio_chart(Frame frame, const std::string& axis, const std::vector<std::string>& groups,
                               std::vector<Row> rows, Table table) {
  for (Row& row : rows) row.panel = 0;
  const auto any_with = [&](auto test) {
    return std::ranges::any_of(rows, [&](const Row& row) { return row.value && test(row); });
  };
  if (any_with([](const Row& row) { return row.low.has_value(); }))
    frame.notes.insert(frame.notes.begin(), "Whisker: 95 % interval over the rounds.");
  if (any_with([](const Row& row) { return (row.style & kHollow) != 0; }))
    frame.notes.insert(frame.notes.begin(),
                       "Hollow: no difference is shown by paired launches, or they could not be compared.");
  const BarPanel panel{"", axis, "log", false, {1, 2}, {{"base", 1}, {"unit", "×"}}};
  const std::string title = frame.title;
  const std::string summary = fmt::format("{}: {} groups, {} targets.", title, groups.size(), frame.legend.size());
  Chart chart = bars(std::move(frame), std::span(&panel, 1), groups, std::move(rows), std::move(table), summary, "");
  return {std::move(chart)};
}

}  // namespace

std::vector<Chart> relative_speedup(const Source& source) {
  const Cells& cells = source.cells;
  if (cells.rows.empty()) return {};
  std::vector<std::pair<std::string, std::vector<Record>>> groups{{"all models", cells.rows}};
  std::vector<std::string> families = families_of(cells.rows);
  std::ranges::sort(families);
  if (families.size() > 1)
    for (const std::string& family : families) {
      std::vector<Record> own;
      std::ranges::copy_if(cells.rows, std::back_inserter(own),
                           [&](const Record& row) { return row.family == family; });
      groups.emplace_back(group_words(family), std::move(own));
    }
  Frame frame;
  frame.name = "relative_speedup";
  frame.title = "How much faster than the CPU?";
  std::vector<const Record*> shown;
  for (const Record& row : cells.rows)
    if (shows_values(row)) shown.push_back(&row);
  frame.subtitle = common_words(shown);
  frame.legend = without_target(looks_of(cells.rows), "cpu");
  frame.notes = cells.notes;
  std::vector<Row> rows;
  std::vector<std::string> names;
  Table table{kRatioColumns, {}};
  bool any = false;
  double largest = 0;  // of the claimed ones
  for (const auto& [name, own] : groups) {
    const std::vector<Speedup> speedups = speedups_against_cpu(own);
    const Medians medians = medians_of(own);
    names.push_back(name);
    for (const Look& look : frame.legend) {
      const auto found = std::ranges::find(speedups, look.name, &Speedup::target);
      const bool has = found != speedups.end() && found->pairs > 0;
      const RatioOfMedians unranked = has ? RatioOfMedians() : ratio_of_medians(medians, "cpu", look.name, false);
      any |= has || unranked.cells > 0;
      if (unranked.cells > 0) {
        add_unranked(rows, table, name, look.name, unranked);
        continue;
      }
      const CellComparison comparison = has ? found->comparison : CellComparison{};
      rows.push_back(ratio_bar(name, look.name, comparison, has ? found->pairs : 0, why_no_ratio(own, look.name)));
      add_ratio(table, rows.back(), comparison, has ? found->pairs : 0);
      if (has && name == "all models" && comparison.claimed() && comparison.ratio > largest) {
        largest = comparison.ratio;
        frame.title = fmt::format("{} is {} times as fast as the CPU, over {} cells", look.name,
                                  in_words(comparison.ratio), found->pairs);
      }
    }
  }
  if (!any) return {};
  return ratio_chart(std::move(frame), "times as fast as the CPU, higher is better", names, std::move(rows),
                     std::move(table));
}

std::vector<Chart> category_comparison(const Source& source) {
  if (source.input.analysis == nullptr) return {};
  const Cells& cells = source.cells;
  Frame frame;
  frame.name = "category_comparison";
  frame.title = "How do the categories of models compare across hardware?";
  frame.notes = cells.notes;
  std::vector<Row> rows;
  std::vector<std::string> names;
  Table table{kRatioColumns, {}};
  std::string baseline;
  bool any = false;
  std::map<std::string, Wins> faster;  // for how many categories each target is claimed to be
  for (const CategoryLine& line : source.input.analysis->categories) {
    // Without a baseline nothing was compared; a ratio to another baseline than that of the axis would be another
    // ratio.
    if (line.hardware_id != cells.hardware_id || line.baseline.empty()) continue;
    if (baseline.empty()) baseline = line.baseline;
    names.push_back(group_words(line.category));
    if (line.baseline != baseline) {
      frame.notes.push_back(fmt::format("Not shown: {}, which has no cell of {}.", names.back(), baseline));
      names.pop_back();
      continue;
    }
    std::vector<Record> own;
    std::ranges::copy_if(cells.rows, std::back_inserter(own),
                         [&](const Record& row) { return row.category == line.category; });
    for (const Look& look : looks_of(own)) {
      if (look.name == line.baseline) continue;
      const auto target = std::ranges::find(line.targets, look.name, &CategoryLine::Target::target);
      const bool has = target != line.targets.end() && target->latency_ms;
      const CellComparison against = has ? target->against : CellComparison{};
      rows.push_back(ratio_bar(names.back(), look.name, against, has ? line.cells : 0, why_no_ratio(own, look.name)));
      add_ratio(table, rows.back(), against, has ? line.cells : 0);
      any |= has && line.cells > 0;
      if (has) ++faster[look.name].of;
      if (has && against.baseline_ahead()) ++faster[look.name].count;
    }
  }
  if (!any) baseline = add_unranked_categories(cells, names, rows, table);
  if (std::ranges::none_of(rows, [](const Row& row) { return row.value.has_value(); })) return {};
  std::erase_if(faster, [](const auto& one) { return one.second.count == 0; });
  if (!faster.empty())
    frame.title = winners_words(faster, fmt::format("is faster than {}", baseline), "categories", /*one_each=*/false);
  std::vector<const Record*> shown;
  for (const Record& row : cells.rows)
    if (shows_values(row)) shown.push_back(&row);
  frame.subtitle = common_words(shown) + " · cells that all compared targets have";
  for (const Look& look : looks_of(cells.rows))
    if (std::ranges::any_of(rows, [&](const Row& row) { return row.series == look.name; }))
      frame.legend.push_back(look);
  return ratio_chart(std::move(frame), fmt::format("times as fast as {}, higher is better", baseline), names,
                     std::move(rows), std::move(table));
}

}  // namespace assay::chart
