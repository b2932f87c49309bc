// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/base/text.hpp"
#include "core/traits/cell.hpp"
#include "history/analyse/analyse.hpp"
#include "history/store/dataset.hpp"
#include "show/chart/bars.hpp"
#include "show/chart/charts.hpp"
#include "show/chart/layout.hpp"
#include "show/chart/picture.hpp"

namespace assay::chart {
namespace {

constexpr double kTallest = 1500;

// The row of a target, and what stands in the place of its value, if it has none that can be compared.
struct ModelRow {
  const Record* row = nullptr;
  Mark mark = Mark::kNone;
};

// A row for each target of a model: the one that stands for the model in this picture; if the target has none, one that
// says why. A time of another cell, such as one of another effective precision, is not shown beside these.
std::vector<ModelRow> rows_of_model(const Cells& cells, const std::string& model,
                                    std::vector<const Record*> Typical::*of) {
  std::vector<ModelRow> found;
  std::set<std::string> targets;
  const auto add = [&](const Record& row, Mark mark) {
    if (targets.insert(target_key(row)).second) found.push_back({&row, mark});
  };
  for (const Record* row : cells.typical.at(model).*of) add(*row, Mark::kNone);
  const Record& like = *found.front().row;
  const auto add_where = [&](Mark mark, auto accepts) {
    for (const Record& row : cells.rows)
      if (row.model == model && accepts(row)) add(row, mark);
  };
  // What a target computes wrongly at another shape says why it has no value here.
  add_where(Mark::kNone, [](const Record& row) { return mark_of(row) == Mark::kWrong; });
  add_where(Mark::kNone, [&](const Record& row) { return shows_values(row) && comparable(like, row); });
  add_where(Mark::kNone, [&](const Record& row) {
    return !shows_values(row) && (!row.batch_size || row.batch_size == like.batch_size) && is_asked_alike(like, row);
  });
  add_where(Mark::kNoCommonCell, [](const Record& row) { return shows_values(row); });
  return found;
}

Row bar_of(int panel, const ModelRow& of, const Number& value, const Number& low, const Number& high) {
  const Record& record = *of.row;
  Row row;
  row.panel = panel;
  row.group = record.model;
  row.series = target_key(record);
  row.style = style_of(record);
  if (of.mark != Mark::kNone) {
    row.mark = of.mark;
  } else if (shows_values(record) && value) {
    row.value = value;
    row.low = low;
    row.high = high;
    if (mark_of(record) == Mark::kUnverified) row.text = kUnverifiedText;
  } else {
    row.mark =
        mark_of(record) == Mark::kNone || mark_of(record) == Mark::kUnverified ? Mark::kNoValue : mark_of(record);
  }
  return row;
}

// "openvino is the fastest for 4 of 6 models", of what is claimed.
std::string fastest_words(const Source& source, const std::string& question) {
  const Cells& cells = source.cells;
  if (source.input.analysis == nullptr) return question;
  std::map<std::string, Wins> wins;
  for (const ModelLine& line : source.input.analysis->models)
    if (line.hardware_id == cells.hardware_id && line.latency && line.latency->row != nullptr &&
        line.latency->runner_up != nullptr && line.latency->ahead.baseline_ahead() &&
        std::ranges::find(cells.models, line.model) != cells.models.end())
      ++wins.try_emplace(target_key(*line.latency->row), Wins{0, cells.models.size()}).first->second.count;
  if (wins.empty()) return question;
  if (cells.models.size() == 1)
    return fmt::format("{} is the fastest for {}", wins.begin()->first, cells.models.front());
  return winners_words(wins, "is the fastest", "models", /*one_each=*/true);
}

// "For clip on cpu, openvino would help most: 2.38× as fast"; "" if paired launches show no gain.
std::string helps_most_words(const Opportunity& first) {
  if (!first.claimed || first.cell == nullptr || first.better == nullptr) return "";
  const Record& better = *first.better;
  const bool batch = first.kind == Opportunity::Kind::kBatch;
  const std::string what = batch ? fmt::format("batch {}", better.batch_size.value_or(1))
                           : first.kind == Opportunity::Kind::kPrecision ? better.effective_precision
                                                                         : target_key(better);
  return fmt::format("For {} on {}, {} would help most: {}× as {}", first.cell->model, target_key(*first.cell), what,
                     number_words(first.factor), batch ? "many items per second" : "fast");
}

// Pages of at most that many models, so that none is taller than it may be.
std::size_t models_a_page(std::size_t targets) {
  constexpr std::size_t kMost = 12;
  const auto fit = static_cast<std::size_t>((kTallest - 200) / (static_cast<double>(targets) * kBar + kGroupGap));
  return std::clamp<std::size_t>(fit, 1, kMost);
}

// A chart with the representative cells of all models, in pages.
template <class AddRows>
std::vector<Chart> by_model(const Source& source, const char* name, const std::string& title,
                            std::vector<const Record*> Typical::*of, std::span<const BarPanel> panels,
                            const std::vector<Column>& columns, AddRows add_rows, std::string_view hollow,
                            std::string_view whiskers = "") {
  const Cells& cells = source.cells;
  std::vector<std::string> models;
  std::vector<std::string> without;
  for (const std::string& model : cells.models)
    ((cells.typical.at(model).*of).empty() ? without : models).push_back(model);
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
      for (const ModelRow& one : rows_of_model(cells, model, of)) {
        copies.push_back(*one.row);
        if (shows_values(*one.row) && one.mark == Mark::kNone) shown.push_back(one.row);
        add_rows(one, rows, table);
      }
    Frame frame;
    frame.name = name;
    frame.title = title;
    frame.subtitle = common_words(shown);
    if (models.size() > groups.size())
      frame.subtitle += fmt::format(" · models {} to {} of {}", from + 1, to, models.size());
    frame.legend = looks_of(copies);
    if (!whiskers.empty() && std::ranges::any_of(rows, [](const Row& row) { return row.panel == 1 && row.low; }))
      frame.notes.emplace_back(whiskers);
    frame.notes.insert(frame.notes.end(), cells.notes.begin(), cells.notes.end());
    if (!without.empty()) {
      std::string names;
      for (const std::string& model : without) names += (names.empty() ? "" : ", ") + model;
      frame.notes.push_back("Without a value, so not shown: " + names + ".");
    }
    charts.push_back(
        bars(std::move(frame), panels, groups, rows, std::move(table),
             fmt::format("{}: {} models on {} targets, a bar each.", title, groups.size(), looks_of(copies).size()),
             hollow));
  }
  return charts;
}

std::vector<Column> columns_with(std::vector<Column> own) {
  std::vector<Column> columns{{"model", "model", ""}, {"target", "target", ""}, {"shape", "shape", ""}};
  columns.insert(columns.end(), own.begin(), own.end());
  columns.push_back({"status", "status", ""});
  return columns;
}

std::string status_of(const ModelRow& of) {
  return of.mark == Mark::kNoCommonCell ? "no common cell: " + status_words(*of.row) : status_words(*of.row);
}

void add_line(Table& table, const ModelRow& of, const std::vector<Number>& values) {
  const Record& record = *of.row;
  const bool shown = shows_values(record) && of.mark == Mark::kNone;
  std::vector<TableValue> line{record.model, target_key(record),
                               record.batch_size ? shape_words(record) : std::string()};
  for (const Number& value : values) line.push_back(shown ? value_of(value) : TableValue());
  line.emplace_back(status_of(of));
  table.rows.push_back(std::move(line));
}

}  // namespace

std::vector<Chart> hardware_comparison(const Source& source) {
  const std::vector<BarPanel> panels{{"latency", "ms, lower is better"}, {"throughput", "items/s, higher is better"}};
  return by_model(
      source, "hardware_comparison", fastest_words(source, "Which hardware is fastest for each model?"), &Typical::time,
      panels,
      columns_with({{"latency_p50_ms", "median", "ms", Better::kLower},
                    {"latency_p50_low_ms", "95 % from", "ms"},
                    {"latency_p50_high_ms", "to", "ms"},
                    {"throughput_ips", "throughput", "items/s", Better::kHigher},
                    {"throughput_low", "from the median's interval", "items/s"},
                    {"throughput_high", "to", "items/s"}}),
      [](const ModelRow& of, std::vector<Row>& rows, Table& table) {
        const Record& record = *of.row;
        const Number slowest = rate_at(record, record.latency_p50_high_ms),
                     fastest = rate_at(record, record.latency_p50_low_ms);
        rows.push_back(bar_of(0, of, record.latency_p50_ms, record.latency_p50_low_ms, record.latency_p50_high_ms));
        rows.push_back(bar_of(1, of, record.throughput_ips, slowest, fastest));
        add_line(table, of,
                 {record.latency_p50_ms, record.latency_p50_low_ms, record.latency_p50_high_ms, record.throughput_ips,
                  slowest, fastest});
      },
      kHollowOfOneProcess, kWhiskersOfRates);
}

std::vector<Chart> memory_usage(const Source& source) {
  if (std::ranges::none_of(source.cells.rows, [](const Record& row) { return row.memory_mb.has_value(); })) return {};
  const std::vector<BarPanel> panels{{"", "MB, lower is better", "linear"}};
  std::vector<Chart> charts = by_model(
      source, "memory_usage", "How much memory does each runtime need?", &Typical::memory, panels,
      columns_with({{"memory_mb", "peak memory", "MB", Better::kLower}, {"memory_source", "measured of", ""}}),
      [](const ModelRow& of, std::vector<Row>& rows, Table& table) {
        const Record& record = *of.row;
        Row row = bar_of(0, of, record.memory_mb, {}, {});
        row.style &= ~(kHollow | kUnranked);
        if (record.memory_source == MemorySource::kWarmProcess) {
          row.style |= kHollow;
          row.text = "at most";
        }
        rows.push_back(row);
        std::vector<TableValue> line{record.model,
                                     target_key(record),
                                     record.batch_size ? shape_words(record) : std::string(),
                                     row.value ? value_of(row.value) : TableValue(),
                                     std::string(to_string(record.memory_source)),
                                     status_of(of)};
        table.rows.push_back(std::move(line));
      },
      "Hollow: at most; the worker had already run another shape.");
  return charts;
}

std::vector<Chart> hardware_efficiency(const Source& source) {
  if (source.input.analysis == nullptr) return {};
  const Cells& cells = source.cells;
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
  bool partly = false;
  const Efficiency* most = nullptr;
  for (const Efficiency& entry : source.input.analysis->efficiency) {
    if (entry.hardware_id != cells.hardware_id) continue;
    const std::string name = fmt::format("{}, {}", group_words(entry.category), entry.precision);
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    Row row;
    row.group = name;
    row.series = entry.target;
    row.value = entry.share;
    row.text = counted(entry.cells, "cell") + (entry.counted_whole ? "" : ", at least");
    row.style = kHollow;
    partly |= !entry.counted_whole;
    rows.push_back(row);
    if (most == nullptr || entry.share > most->share) most = &entry;
    peaks.insert(entry.peak_of);
    table.rows.push_back(
        {entry.category, entry.target, entry.precision, entry.share, static_cast<double>(entry.cells), entry.peak_of});
  }
  if (rows.empty()) {
    if (source.input.analysis->efficiency_missing.empty()) return {};
    Chart chart;
    chart.title = frame.title;
    chart.notes = source.input.analysis->efficiency_missing;
    return {std::move(chart)};
  }
  std::vector<const Record*> shown;
  for (const Record& row : cells.rows)
    if (shows_values(row) && std::ranges::find(rows, target_key(row), &Row::series) != rows.end())
      shown.push_back(&row);
  constexpr double kPercent = 100;
  frame.title = fmt::format("{} reaches {}{} % of the measured peak for {}{}", most->target,
                            most->counted_whole ? "" : "at least ", in_words(most->share * kPercent, 2),
                            group_words(most->category), rows.size() > 1 && !partly ? ", the largest share" : "");
  frame.subtitle = common_words(shown) + " · geometric mean over cells; the peak is the highest rate that was measured";
  for (const Look& look : looks_of(cells.rows))
    if (std::ranges::any_of(rows, [&](const Row& row) { return row.series == look.name; }))
      frame.legend.push_back(look);
  if (partly) frame.notes.emplace_back("At least: less than 95 % of the operators were counted.");
  for (const std::string& peak : peaks) frame.notes.push_back("Peak: " + peak + ".");
  for (const std::string& note : source.input.analysis->efficiency_missing)
    frame.notes.push_back("Not shown: " + note + ".");
  const BarPanel panel{"", "share of the measured peak, higher is better", "share", true, {0, 1}, {{"percent", true}}};
  Chart chart = bars(frame, std::span(&panel, 1), names, rows, std::move(table),
                     fmt::format("{} bars, of {} categories.", rows.size(), names.size()),
                     "Hollow: a geometric mean over cells has no interval.");
  return {std::move(chart)};
}

std::vector<Chart> optimization_opportunities(const Source& source) {
  if (source.input.analysis == nullptr || source.input.data->cells.empty()) return {};
  constexpr std::size_t kMost = 20;
  constexpr double kPitch = 56, kSize = 12;
  Frame frame;
  frame.name = "optimization_opportunities";
  const std::vector<Opportunity>& all = source.input.analysis->opportunities;
  const std::size_t count = std::min(kMost, all.size());
  frame.title = "What would help most?";
  if (count == 0) {
    Chart chart;
    chart.title = frame.title;
    chart.notes = {source.input.analysis->no_opportunity};
    return {std::move(chart)};
  }
  if (const std::string finding = helps_most_words(all.front()); !finding.empty()) frame.title = finding;
  std::vector<const Record*> shown;
  for (const Opportunity& one : std::span(all).first(count))
    if (one.cell != nullptr) shown.push_back(one.cell);
  frame.subtitle =
      fmt::format("{} · {} of {} opportunities: those that paired launches show, then the others; the largest first",
                  common_words(shown), count, all.size());
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
