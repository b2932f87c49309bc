// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analyse/analyse.hpp"
#include "chart/charts.hpp"
#include "chart/layout.hpp"
#include "chart/picture.hpp"
#include "store/dataset.hpp"

namespace assay::chart {
namespace {

constexpr double kBar = 18, kGroupGap = 12, kTallest = 1500;

double label_width(std::span<const std::string> groups) {
  constexpr double kWidest = 320, kSize = 12;
  double widest = 40;
  for (const std::string& group : groups) widest = std::max(widest, text_width(group, kSize));
  return std::min(widest, kWidest);
}

// One panel of bars: what its rows show.
struct BarPanel {
  std::string title, axis;
  const char* scale = "auto";
  bool zero = true;
  std::vector<double> include{};
  Json arguments = Json::object();  ///< of the function that draws bars
};

// Panels side by side with the same groups, from the top. In a group each target that it has rows of has a place.
// `rows` have the number of their panel.
Chart bars(Frame frame, std::span<const BarPanel> panels, const std::vector<std::string>& groups, std::vector<Row> rows,
           Table table, std::string summary,
           std::string_view hollow = "Hollow: one process, so there is no interval over launches.") {
  leave_out_absent(frame, rows);
  std::map<std::string, std::vector<std::string>> targets;  // of each group, in the order of the legend
  for (const Look& look : frame.legend)
    for (const std::string& group : groups)
      if (std::ranges::any_of(rows, [&](const Row& row) { return row.group == group && row.series == look.name; }))
        targets[group].push_back(look.name);
  std::size_t slots = 1;
  for (const auto& [group, own] : targets) slots = std::max(slots, own.size());
  for (Row& row : rows) {
    const std::vector<std::string>& own = targets[row.group];
    const auto place = static_cast<double>(std::ranges::find(own, row.series) - own.begin());
    row.x = place - (static_cast<double>(own.size()) - 1) / 2;
  }
  const double height = static_cast<double>(groups.size()) * (static_cast<double>(slots) * kBar + kGroupGap);
  const double labels = label_width(groups), left = 16 + labels + 10;
  constexpr double kNumbers = 112;  // room for the number after the longest bar
  const auto count = static_cast<double>(panels.size());
  const double pitch = (frame.width - left - 16) / count;
  std::vector<std::string> notes = legend_notes(rows, hollow);
  frame.notes.insert(frame.notes.begin(), notes.begin(), notes.end());
  const double top = panels.front().title.empty() ? 8 : 30;
  const std::vector<Look> looks = frame.legend;
  Picture picture(std::move(frame));
  for (std::size_t i = 0; i < panels.size(); ++i) {
    const int number = static_cast<int>(i);
    Panel panel;
    panel.left = left + pitch * static_cast<double>(i);
    panel.top = top;
    panel.width = pitch - kNumbers;
    panel.height = height;
    panel.title = panels[i].title;
    panel.x = number_axis(panels[i].axis, {"value", "low", "high"}, {number}, panels[i].scale, panels[i].zero,
                          panels[i].include);
    panel.x["$range"]["count"] = panels.size() > 1 ? 4 : 6;
    panel.y = group_axis(number, labels);
    if (i > 0) panel.y["axisLabel"]["show"] = false;
    picture.add(panel);
  }
  for (const Row& row : rows) picture.add(row);
  for (std::size_t i = 0; i < panels.size(); ++i) {
    for (const Look& look : looks) {
      Json arguments = arguments_of(look);
      arguments["slots"] = slots;
      arguments.update(panels[i].arguments);
      picture.draw(static_cast<int>(i), look.name, "bar", "category", std::move(arguments));
    }
    if (panels[i].arguments.contains("base"))
      picture.rule(static_cast<int>(i), "x", panels[i].arguments["base"], "ink-2");
  }
  return picture.finish(top + height + 52, std::move(table), std::move(summary));
}

// For a model the row of each target: that of its representative cell, else one that says why there is no time.
std::vector<const Record*> rows_of_model(const Cells& cells, const std::string& model) {
  std::vector<const Record*> found = representatives(cells.rows, model);
  std::set<std::string> targets;
  for (const Record* row : found) targets.insert(target_key(*row));
  const Record* like = found.empty() ? nullptr : found.front();
  for (const Record& row : cells.rows) {
    if (row.model != model || targets.contains(target_key(row))) continue;
    if (like != nullptr && row.batch_size && row.batch_size != like->batch_size) continue;
    if (like != nullptr && row.sequence_length && row.sequence_length != like->sequence_length) continue;
    if (like != nullptr && row.precision != like->precision) continue;
    targets.insert(target_key(row));
    found.push_back(&row);
  }
  return found;
}

Row bar_of(int panel, const Record& record, const Number& value, const Number& low, const Number& high) {
  Row row;
  row.panel = panel;
  row.group = record.model;
  row.series = target_key(record);
  row.style = style_of(record);
  if (shows_values(record) && value) {
    row.value = value;
    row.low = low;
    row.high = high;
    if (mark_of(record) == Mark::kUnverified) row.text = "? unverified";
  } else {
    row.mark =
        mark_of(record) == Mark::kNone || mark_of(record) == Mark::kUnverified ? Mark::kNoValue : mark_of(record);
  }
  return row;
}

// "openvino is the fastest for 4 of 6 models", of what is claimed.
std::string fastest_words(const Input& input, const Cells& cells, const std::string& question) {
  if (input.analysis == nullptr) return question;
  std::map<std::string, std::size_t> wins;
  for (const ModelLine& line : input.analysis->models)
    if (line.latency && line.latency->row != nullptr && line.latency->runner_up != nullptr &&
        line.latency->ahead.claimed() && std::ranges::find(cells.models, line.model) != cells.models.end())
      ++wins[target_key(*line.latency->row)];
  if (wins.empty()) return question;
  const auto best = std::ranges::max_element(wins, {}, &std::pair<const std::string, std::size_t>::second);
  if (2 * best->second <= cells.models.size()) return question;
  if (cells.models.size() == 1) return fmt::format("{} is the fastest for {}", best->first, cells.models.front());
  return fmt::format("{} is the fastest for {} of {} models", best->first, best->second, cells.models.size());
}

// Pages of at most that many models, so that none is taller than it may be.
std::size_t models_a_page(std::size_t targets) {
  constexpr std::size_t kMost = 12;
  const auto fit = static_cast<std::size_t>((kTallest - 200) / (static_cast<double>(targets) * kBar + kGroupGap));
  return std::clamp<std::size_t>(fit, 1, kMost);
}

// A chart with the representative cells of all models, in pages.
template <class AddRows>
std::vector<Chart> by_model(const Input& input, const char* name, const std::string& title,
                            std::span<const BarPanel> panels, const std::vector<Column>& columns, AddRows add_rows) {
  const Cells cells = cells_of(input);
  std::vector<std::string> models;
  for (const std::string& model : cells.models)
    if (!representatives(cells.rows, model).empty()) models.push_back(model);
  std::vector<std::string> without;
  for (const std::string& model : cells.models)
    if (representatives(cells.rows, model).empty()) without.push_back(model);
  const std::size_t most = models_a_page(looks_of(cells.rows).size());
  std::vector<Chart> charts;
  for (std::size_t from = 0; from < models.size(); from += most) {
    const std::size_t to = std::min(models.size(), from + most);
    const std::vector<std::string> groups(models.begin() + static_cast<std::ptrdiff_t>(from),
                                          models.begin() + static_cast<std::ptrdiff_t>(to));
    Table table{columns, {}};
    std::vector<Row> rows;
    std::vector<Record> copies;
    std::vector<const Record*> shown;
    for (const std::string& model : groups)
      for (const Record* record : rows_of_model(cells, model)) {
        copies.push_back(*record);
        if (shows_values(*record)) shown.push_back(record);
        add_rows(*record, rows, table);
      }
    Frame frame;
    frame.name = name;
    frame.title = title;
    frame.subtitle = common_words(shown);
    if (models.size() > groups.size())
      frame.subtitle += fmt::format(" · models {} to {} of {}", from + 1, to, models.size());
    frame.legend = looks_of(copies);
    frame.notes = cells.notes;
    if (!without.empty()) {
      std::string names;
      for (const std::string& model : without) names += (names.empty() ? "" : ", ") + model;
      frame.notes.push_back("Without a verified time, so not shown: " + names + ".");
    }
    charts.push_back(
        bars(std::move(frame), panels, groups, rows, std::move(table),
             fmt::format("{}: {} models on {} targets, a bar each.", title, groups.size(), looks_of(copies).size())));
  }
  return charts;
}

std::vector<Column> columns_with(std::vector<Column> own) {
  std::vector<Column> columns{{"model", "model", ""}, {"target", "target", ""}, {"shape", "shape", ""}};
  columns.insert(columns.end(), own.begin(), own.end());
  columns.push_back({"status", "status", ""});
  return columns;
}

std::string status_words(const Record& row) {
  if (row.status == CellStatus::kCompleted) return std::string(to_string(row.verification));
  return std::string(to_string(row.status)) + (row.reason_code.empty() ? "" : " (" + row.reason_code + ")");
}

void add_line(Table& table, const Record& record, const std::vector<Number>& values) {
  std::vector<TableValue> line{record.model, target_key(record),
                               record.batch_size ? shape_words(record) : std::string()};
  for (const Number& value : values) line.push_back(shows_values(record) ? value_of(value) : TableValue());
  line.emplace_back(status_words(record));
  table.rows.push_back(std::move(line));
}

Number rate_from(const Record& row, const Number& time) {
  return row.throughput_ips && row.latency_p50_ms && time && *time > 0
             ? Number(*row.throughput_ips * *row.latency_p50_ms / *time)
             : Number();
}

// Bars of a comparison with a baseline: the ratio, and whether it is claimed.
Row ratio_bar(const std::string& group, const std::string& target, const CellComparison& comparison,
              std::size_t cells) {
  Row row;
  row.group = group;
  row.series = target;
  if (cells == 0) {
    row.mark = Mark::kNoCommonCell;
    return row;
  }
  row.value = comparison.ratio;
  if (comparison.interval) {
    row.low = comparison.interval->low;
    row.high = comparison.interval->high;
  }
  row.text = fmt::format("{} {}", cells, cells == 1 ? "cell" : "cells");
  if (!comparison.claimed()) row.style = kHollow;
  return row;
}

const std::vector<Column> kRatioColumns{
    {"group", "group", ""},        {"target", "target", ""}, {"ratio", "times as fast", "", Better::kHigher},
    {"low", "95 % from", ""},      {"high", "to", ""},       {"cells", "cells", ""},
    {"claim", "what is shown", ""}};

void add_ratio(Table& table, const Row& row, const CellComparison& comparison, std::size_t cells) {
  table.rows.push_back({row.group, row.series, value_of(row.value), value_of(row.low), value_of(row.high),
                        static_cast<double>(cells),
                        row.mark == Mark::kNoCommonCell ? std::string("no common cell")
                        : comparison.claimed()          ? std::string(to_string(comparison.difference))
                                                        : no_claim_words(comparison)});
}

std::vector<Look> without_target(std::vector<Look> looks, const std::string& target) {
  std::erase_if(looks, [&](const Look& look) { return look.name == target; });
  return looks;
}

std::vector<Chart> ratio_chart(Frame frame, const std::string& axis, const std::vector<std::string>& groups,
                               std::vector<Row> rows, Table table) {
  for (Row& row : rows) row.panel = 0;
  frame.notes.insert(frame.notes.begin(),
                     "Hollow: no difference is shown by paired launches, or they could not be compared. Whisker: 95 % "
                     "interval over the rounds.");
  const BarPanel panel{"", axis, "log", false, {1, 2, 0.5}, {{"base", 1}, {"unit", "×"}}};
  const std::string title = frame.title;
  const std::string summary = fmt::format("{}: {} groups, {} targets.", title, groups.size(), frame.legend.size());
  Chart chart = bars(std::move(frame), std::span(&panel, 1), groups, std::move(rows), std::move(table), summary, "");
  return {std::move(chart)};
}

}  // namespace

std::vector<Chart> hardware_comparison(const Input& input) {
  const std::vector<BarPanel> panels{{"latency", "ms, lower is better"}, {"throughput", "items/s, higher is better"}};
  return by_model(
      input, "hardware_comparison", fastest_words(input, cells_of(input), "Which hardware is fastest for each model?"),
      panels,
      columns_with({{"latency_p50_ms", "median", "ms", Better::kLower},
                    {"latency_p50_low_ms", "95 % from", "ms"},
                    {"latency_p50_high_ms", "to", "ms"},
                    {"throughput_ips", "throughput", "items/s", Better::kHigher}}),
      [](const Record& record, std::vector<Row>& rows, Table& table) {
        rows.push_back(bar_of(0, record, record.latency_p50_ms, record.latency_p50_low_ms, record.latency_p50_high_ms));
        rows.push_back(bar_of(1, record, record.throughput_ips, rate_from(record, record.latency_p50_high_ms),
                              rate_from(record, record.latency_p50_low_ms)));
        add_line(table, record,
                 {record.latency_p50_ms, record.latency_p50_low_ms, record.latency_p50_high_ms, record.throughput_ips});
      });
}

std::vector<Chart> memory_usage(const Input& input) {
  const std::vector<BarPanel> panels{{"", "MB, lower is better", "linear"}};
  std::vector<Chart> charts =
      by_model(input, "memory_usage", "How much memory does each runtime need?", panels,
               columns_with({{"memory_mb", "peak memory", "MB", Better::kLower}, {"memory_source", "measured of", ""}}),
               [](const Record& record, std::vector<Row>& rows, Table& table) {
                 Row row = bar_of(0, record, record.memory_mb, {}, {});
                 row.style &= ~kHollow;
                 if (record.memory_source == "process_warm") {
                   row.style |= kHollow;
                   row.text = "at most";
                 }
                 rows.push_back(row);
                 std::vector<TableValue> line{record.model,
                                              target_key(record),
                                              record.batch_size ? shape_words(record) : std::string(),
                                              row.value ? value_of(row.value) : TableValue(),
                                              record.memory_source,
                                              status_words(record)};
                 table.rows.push_back(std::move(line));
               });
  return charts;
}

std::vector<Chart> relative_speedup(const Input& input) {
  const Cells cells = cells_of(input);
  if (cells.rows.empty()) return {};
  std::vector<std::pair<std::string, std::vector<Record>>> groups{{"all models", cells.rows}};
  const std::vector<std::string> families = families_of(cells.rows);
  if (families.size() > 1)
    for (const std::string& family : families) {
      std::vector<Record> own;
      std::ranges::copy_if(cells.rows, std::back_inserter(own),
                           [&](const Record& row) { return row.family == family; });
      groups.emplace_back(family, std::move(own));
    }
  Frame frame;
  frame.name = "relative_speedup";
  frame.title = "How much faster than the CPU?";
  std::vector<const Record*> shown;
  for (const Record& row : cells.rows)
    if (row.ranked()) shown.push_back(&row);
  frame.subtitle = common_words(shown);
  frame.legend = without_target(looks_of(cells.rows), "cpu");
  frame.notes = cells.notes;
  std::vector<Row> rows;
  std::vector<std::string> names;
  Table table{kRatioColumns, {}};
  bool any = false;
  for (const auto& [name, own] : groups) {
    const std::vector<Speedup> speedups = speedups_against_cpu(own);
    names.push_back(name);
    for (const Look& look : frame.legend) {
      const auto found = std::ranges::find(speedups, look.name, &Speedup::target);
      const bool has = found != speedups.end() && found->pairs > 0;
      any |= has;
      const CellComparison comparison = has ? found->comparison : CellComparison{};
      rows.push_back(ratio_bar(name, look.name, comparison, has ? found->pairs : 0));
      add_ratio(table, rows.back(), comparison, has ? found->pairs : 0);
      if (has && name == "all models" && comparison.claimed() && frame.title.starts_with("How"))
        frame.title = fmt::format("{} is {} times as fast as the CPU, over {} cells", look.name,
                                  in_words(comparison.ratio), found->pairs);
    }
  }
  if (!any) return {};
  return ratio_chart(std::move(frame), "times as fast as the CPU, higher is better", names, std::move(rows),
                     std::move(table));
}

std::vector<Chart> category_comparison(const Input& input) {
  if (input.analysis == nullptr) return {};
  const Cells cells = cells_of(input);
  Frame frame;
  frame.name = "category_comparison";
  frame.title = "How do the categories of models compare across hardware?";
  frame.notes = cells.notes;
  std::vector<Row> rows;
  std::vector<std::string> names;
  Table table{kRatioColumns, {}};
  std::string baseline;
  bool any = false;
  for (const CategoryLine& line : input.analysis->categories) {
    if (!line.machine.empty() && line.machine != cells.machine) continue;
    if (line.targets.size() < 2) continue;
    if (baseline.empty()) baseline = line.baseline;
    names.push_back(line.category.empty() ? "other" : line.category);
    for (const CategoryLine::Target& target : line.targets) {
      if (target.target == line.baseline) continue;
      rows.push_back(ratio_bar(names.back(), target.target, target.against, line.cells));
      add_ratio(table, rows.back(), target.against, line.cells);
      any |= line.cells > 0;
    }
  }
  if (!any) return {};
  std::vector<const Record*> shown;
  for (const Record& row : cells.rows)
    if (row.ranked()) shown.push_back(&row);
  frame.subtitle = common_words(shown) + " · cells that all compared targets have";
  for (const Look& look : looks_of(cells.rows))
    if (std::ranges::any_of(rows, [&](const Row& row) { return row.series == look.name; }))
      frame.legend.push_back(look);
  return ratio_chart(std::move(frame), fmt::format("times as fast as {}, higher is better", baseline), names,
                     std::move(rows), std::move(table));
}

std::vector<Chart> hardware_efficiency(const Input& input) {
  if (input.analysis == nullptr) return {};
  const Cells cells = cells_of(input);
  Frame frame;
  frame.name = "hardware_efficiency";
  frame.title = "How much of the measured peak is reached?";
  frame.notes = cells.notes;
  Table table{{{"category", "category", ""},
               {"target", "target", ""},
               {"precision", "precision", ""},
               {"share", "share of the peak", "", Better::kHigher},
               {"cells", "cells", ""},
               {"peak", "peak", ""}},
              {}};
  std::vector<Row> rows;
  std::vector<std::string> names;
  std::set<std::string> peaks;
  for (const Efficiency& entry : input.analysis->efficiency) {
    if (!entry.machine.empty() && entry.machine != cells.machine) continue;
    const std::string name = fmt::format("{}, {}", entry.category.empty() ? "other" : entry.category, entry.precision);
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    Row row;
    row.group = name;
    row.series = entry.target;
    row.value = entry.share;
    row.text = fmt::format("{} {}", entry.cells, entry.cells == 1 ? "cell" : "cells");
    if (!entry.counted_whole) row.style = kHollow;
    rows.push_back(row);
    peaks.insert(entry.peak_of);
    table.rows.push_back(
        {entry.category, entry.target, entry.precision, entry.share, static_cast<double>(entry.cells), entry.peak_of});
  }
  if (rows.empty()) {
    if (input.analysis->efficiency_missing.empty()) return {};
    Chart chart;
    chart.title = frame.title;
    chart.notes = input.analysis->efficiency_missing;
    return {std::move(chart)};
  }
  frame.subtitle = cells.machine + " · geometric mean over cells; the peak is the highest rate that was measured";
  for (const Look& look : looks_of(cells.rows))
    if (std::ranges::any_of(rows, [&](const Row& row) { return row.series == look.name; }))
      frame.legend.push_back(look);
  for (const std::string& peak : peaks) frame.notes.push_back("Peak: " + peak + ".");
  for (const std::string& note : input.analysis->efficiency_missing) frame.notes.push_back("Not shown: " + note + ".");
  const BarPanel panel{"", "share of the measured peak, higher is better", "share", true, {0, 1}, {{"percent", true}}};
  Chart chart = bars(frame, std::span(&panel, 1), names, rows, std::move(table),
                     fmt::format("{} bars, of {} categories.", rows.size(), names.size()),
                     "Hollow: less than 95 % of the operators were counted.");
  return {std::move(chart)};
}

std::vector<Chart> optimization_opportunities(const Input& input) {
  if (input.analysis == nullptr || input.data->cells.empty()) return {};
  constexpr std::size_t kMost = 20;
  constexpr double kPitch = 56, kSize = 12;
  Frame frame;
  frame.name = "optimization_opportunities";
  const std::vector<Opportunity>& all = input.analysis->opportunities;
  const std::size_t count = std::min(kMost, all.size());
  frame.title = "What would help most?";
  if (count == 0) {
    Chart chart;
    chart.title = frame.title;
    chart.notes = {
        "no gain was found that is larger than what these measurements can show: more launches (`--launches`), batches "
        "or runtimes may show one"};
    return {std::move(chart)};
  }
  frame.subtitle = fmt::format(
      "{} of {} opportunities: those that paired launches show, then the others; the largest first", count, all.size());
  frame.notes = {"Hollow: not shown by paired launches; the sentence says what it rests on."};
  Table table{{{"kind", "kind", ""},
               {"model", "model", ""},
               {"target", "target", ""},
               {"factor", "factor", "", Better::kHigher},
               {"low", "95 % from", ""},
               {"high", "to", ""},
               {"words", "words", ""}},
              {}};
  Picture picture(frame);
  Panel panel{16,
              0,
              static_cast<double>(frame.width) - 120,
              kPitch * static_cast<double>(count),
              "",
              number_axis("times better", {"value", "low", "high"}, {0}, "log", false, {1, 2}),
              group_axis(0, 10)};
  panel.y["axisLabel"]["show"] = false;
  panel.x["splitLine"]["show"] = false;
  picture.add(panel);
  for (std::size_t i = 0; i < count; ++i) {
    const Opportunity& one = all[i];
    Row row;
    row.group = fmt::format("{}", i + 1);
    row.value = one.factor;
    if (one.interval) {
      row.low = one.interval->low;
      row.high = one.interval->high;
    }
    std::string words;
    for (const std::string& line : wrapped(one.words, frame.width - 40, kSize))
      words += (words.empty() ? "" : "\n") + line;
    row.text = words;
    row.style = one.claimed ? 0 : kHollow;
    picture.add(row);
    table.rows.push_back({std::string(to_string(one.kind)), one.cell == nullptr ? "" : one.cell->model,
                          one.cell == nullptr ? "" : target_key(*one.cell), one.factor, value_of(row.low),
                          value_of(row.high), one.words});
  }
  Json arguments = arguments_of({"", "ink-2", "circle", "solid"});
  arguments.update({{"base", 1}, {"unit", "×"}, {"below", 16}, {"slots", 3}});
  picture.draw(0, "", "bar", "category", std::move(arguments));
  picture.draw(0, "", "sentence", "category", {{"ink", {{"$colour", "ink"}}}});
  return {picture.finish(panel.height + 56, std::move(table),
                         fmt::format("{} sentences, each with a bar of how many times better.", count))};
}

}  // namespace assay::chart
