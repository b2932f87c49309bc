// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "core/base/text.hpp"
#include "core/traits/cell.hpp"
#include "history/analyse/groups.hpp"
#include "history/store/dataset.hpp"
#include "show/report/format.hpp"
#include "show/report/named_reports.hpp"

namespace assay {
namespace {

// A machine is a column only if there are several.
void begin_table(Table& table, const Analysis& analysis, std::vector<Column> columns) {
  if (analysis.machines > 1) table.columns.push_back({"machine", "machine", ""});
  std::ranges::move(columns, std::back_inserter(table.columns));
}

void add_row(Table& table, const Analysis& analysis, const std::string& machine, std::vector<TableValue> values) {
  if (analysis.machines > 1) values.insert(values.begin(), TableValue(machine));
  table.rows.push_back(std::move(values));
}

TableValue text_or_absent(const std::string& text) { return text.empty() ? TableValue() : TableValue(text); }

std::string interval_of(const CellComparison& comparison) {
  return comparison.interval ? fmt::format("{:.2f} to {:.2f}", comparison.interval->low, comparison.interval->high)
                             : std::string();
}

TableValue at_batch(const Best& best) {
  return TableValue(fmt::format("{}, batch {}", target_key(*best.row), best.row->batch_size.value_or(1)));
}

}  // namespace

Table models_table(const Analysis& analysis) {
  Table table;
  begin_table(table, analysis,
              {{"model", "model", ""},
               {"best", "fastest", ""},
               {"latency_p50_ms", "median", "ms", Better::kLower},
               {"latency_p50_low_ms", "95 % from", "ms"},
               {"latency_p50_high_ms", "to", "ms"},
               {"shape", "at", ""},
               {"ahead", "by how much", "", Better::kNeither, 3, true},
               {"throughput_ips", "most items", "items/s", Better::kHigher},
               {"throughput_at", "with", ""},
               {"memory_mb", "least memory", "MB", Better::kLower},
               {"memory_of", "of", ""},
               {"states", "cells", ""}});
  for (const ModelLine& line : analysis.models) {
    std::vector<TableValue> row{TableValue(line.model)};
    if (line.latency) {
      const Record& best = *line.latency->row;
      row.insert(row.end(), {TableValue(targets_words(*line.latency)), value_of(best.latency_p50_ms),
                             value_of(best.latency_p50_low_ms), value_of(best.latency_p50_high_ms),
                             TableValue(shape_words(best)), TableValue(line.latency->words)});
    } else {
      row.resize(6);
      row.emplace_back(line.why_none);
    }
    row.push_back(line.throughput ? value_of(line.throughput->row->throughput_ips) : TableValue());
    row.push_back(line.throughput ? at_batch(*line.throughput) : TableValue());
    row.push_back(line.least_memory != nullptr ? value_of(line.least_memory->memory_mb) : TableValue());
    row.push_back(line.least_memory != nullptr ? TableValue(target_key(*line.least_memory)) : TableValue());
    row.emplace_back(state_words(line.states));
    add_row(table, analysis, line.machine, std::move(row));
  }
  return table;
}

Table cells_table(const Dataset& data, const Analysis& analysis) {
  Table table;
  begin_table(table, analysis,
              {{"category", "category", ""},
               {"architecture", "architecture", ""},
               {"model", "model", ""},
               {"hardware", "hardware", ""},
               {"shape", "shape", ""},
               {"verdict", "verdict", ""},
               {"latency_p50_ms", "median", "ms", Better::kLower},
               {"latency_p50_low_ms", "95 % from", "ms"},
               {"latency_p50_high_ms", "to", "ms"},
               {"latency_mean_ms", "mean", "ms", Better::kLower},
               {"latency_std_ms", "standard deviation", "ms"},
               {"throughput_ips", "items", "items/s", Better::kHigher},
               {"memory_mb", "memory", "MB", Better::kLower},
               {"launches", "launches", ""},
               {"timestamp", "measured", ""}});
  const std::vector<Record> rows = with_names_of_models(data.cells);
  const std::map<std::string, std::string> machines = machine_names(rows);
  std::vector<const Record*> order;
  order.reserve(rows.size());
  for (const Record& row : rows) order.push_back(&row);
  std::ranges::stable_sort(order, [](const Record* a, const Record* b) {
    const auto key = [](const Record& row) {
      return std::tuple(row.category, row.architecture, row.model, target_key(row), row.sequence_length.value_or(0),
                        row.batch_size.value_or(0));
    };
    return key(*a) < key(*b);
  });
  constexpr std::size_t kMinutes = 16;
  for (const Record* row : order) {
    std::string measured = row->timestamp.substr(0, kMinutes);
    std::ranges::replace(measured, 'T', ' ');
    add_row(
        table, analysis, machines.at(row->hardware_id),
        {text_or_absent(row->category), text_or_absent(row->architecture), TableValue(row->model),
         TableValue(target_key(*row)), row->batch_size ? TableValue(shape_key(*row)) : TableValue(),
         TableValue(verdict_text(*row)), value_of(row->latency_p50_ms), value_of(row->latency_p50_low_ms),
         value_of(row->latency_p50_high_ms), value_of(row->latency_mean_ms), value_of(row->latency_std_ms),
         value_of(row->throughput_ips), value_of(row->memory_mb), value_of(row->launches), text_or_absent(measured)});
  }
  return table;
}

Table groups_table(const std::vector<CategoryLine>& lines, const Analysis& analysis) {
  Table table;
  const bool architectures = std::ranges::any_of(lines, [](const auto& line) { return !line.architecture.empty(); });
  std::vector<Column> columns{{"category", "category", ""}};
  if (architectures) columns.push_back({"architecture", "architecture", ""});
  columns.insert(columns.end(), {{"hardware", "hardware", ""},
                                 {"latency_ms", "geometric mean of medians", "ms", Better::kLower},
                                 {"times_as_fast", "times as fast", "", Better::kHigher},
                                 {"interval", "95 %", ""},
                                 {"against", "against", ""},
                                 {"claim", "shown", "", Better::kNeither, 3, true},
                                 {"cells", "cells", ""},
                                 {"models", "models", ""}});
  begin_table(table, analysis, std::move(columns));
  for (const CategoryLine& line : lines)
    for (const CategoryLine::Target& target : line.targets) {
      const bool has_cells = target.latency_ms.has_value(), baseline = target.target == line.baseline;
      const bool compared = has_cells && !line.baseline.empty() && !baseline;
      std::vector<TableValue> row{text_or_absent(line.category)};
      if (architectures) row.emplace_back(line.architecture);
      row.emplace_back(target.target);
      row.push_back(value_of(target.latency_ms));
      row.push_back(compared ? TableValue(target.against.ratio) : TableValue());
      row.push_back(compared ? text_or_absent(interval_of(target.against)) : TableValue());
      row.push_back(compared ? TableValue(line.baseline) : TableValue());
      row.push_back(!has_cells  ? TableValue("no cell in common with the others")
                    : !compared ? TableValue()
                    : target.against.claimed()
                        ? TableValue(target.against.difference == stats::Difference::kSlower ? "faster" : "slower")
                        : TableValue(no_claim_words(target.against)));
      row.emplace_back(has_cells ? static_cast<double>(line.cells) : 0.0);
      row.emplace_back(has_cells ? static_cast<double>(line.models) : 0.0);
      add_row(table, analysis, line.machine, std::move(row));
    }
  return table;
}

Table choices_table(const Analysis& analysis) {
  const char* unit = analysis.goal == Goal::kThroughput ? "items/s"
                     : analysis.goal == Goal::kMemory   ? "MB"
                     : analysis.goal == Goal::kLatency  ? "ms"
                                                        : "% of peak";
  const Better better =
      analysis.goal == Goal::kLatency || analysis.goal == Goal::kMemory ? Better::kLower : Better::kHigher;
  Table table;
  begin_table(table, analysis,
              {{"category", "category", ""},
               {"architecture", "architecture", ""},
               {"best", "best", ""},
               {"value", std::string(to_string(analysis.goal)), unit, better},
               {"runner_up", "runner-up", ""},
               {"runner_up_value", "its value", unit, better},
               {"factor", "factor", "", Better::kHigher},
               {"interval", "95 %", ""},
               {"claim", "shown", "", Better::kNeither, 3, true},
               {"cells", "cells", ""}});
  for (const Choice& choice : analysis.choices) {
    const bool timed = analysis.goal == Goal::kLatency || analysis.goal == Goal::kThroughput;
    const bool two = !choice.runner_up.empty();
    const bool open = two && timed && !choice.ahead.claimed();
    const TableValue best = text_or_absent(open ? choice.best + " or " + choice.runner_up : choice.best);
    TableValue factor;
    if (two && timed) factor = TableValue(choice.ahead.ratio);
    if (two && !timed)
      factor = TableValue(std::max(*choice.value / *choice.runner_up_value, *choice.runner_up_value / *choice.value));
    add_row(table, analysis, choice.machine,
            {text_or_absent(choice.category), TableValue(choice.architecture), best, value_of(choice.value),
             text_or_absent(choice.runner_up), value_of(choice.runner_up_value), factor,
             text_or_absent(interval_of(choice.ahead)),
             !two                            ? TableValue()
             : !timed                        ? TableValue("not compared: no interval")
             : choice.ahead.baseline_ahead() ? TableValue("yes")
             : choice.ahead.claimed()        ? TableValue("the runner-up is faster in paired rounds")
                                             : TableValue(no_claim_words(choice.ahead)),
             TableValue(static_cast<double>(choice.cells))});
  }
  return table;
}

Table opportunities_table(const Analysis& analysis) {
  Table table;
  begin_table(table, analysis,
              {{"kind", "kind", ""},
               {"factor", "factor", "", Better::kHigher},
               {"interval", "95 %", ""},
               {"shown", "shown", ""},
               {"model", "model", ""},
               {"hardware", "hardware", ""},
               {"shape", "shape", ""},
               {"what", "what", "", Better::kNeither, 3, true}});
  for (const Opportunity& each : analysis.opportunities)
    add_row(table, analysis, each.machine,
            {TableValue(std::string(to_string(each.kind))), TableValue(each.factor),
             each.interval ? TableValue(fmt::format("{:.2f} to {:.2f}", each.interval->low, each.interval->high))
                           : TableValue(),
             TableValue(each.claimed ? "yes" : "not compared"), TableValue(each.cell->model),
             TableValue(target_key(*each.cell)), TableValue(shape_key(*each.cell)), TableValue(each.words)});
  return table;
}

Table efficiency_table(const Analysis& analysis) {
  Table table;
  begin_table(table, analysis,
              {{"hardware", "hardware", ""},
               {"category", "category", ""},
               {"precision", "precision", ""},
               {"share_percent", "of the measured peak", "%", Better::kHigher},
               {"cells", "cells", ""},
               {"counted", "operators counted", ""},
               {"peak", "peak", ""}});
  constexpr double kPercent = 100;
  for (const Efficiency& each : analysis.efficiency)
    add_row(table, analysis, each.machine,
            {TableValue(each.target), text_or_absent(each.category), TableValue(each.precision),
             TableValue(each.share * kPercent), TableValue(static_cast<double>(each.cells)),
             TableValue(each.counted_whole ? "at least 95 %" : "less than 95 % in some cells: the share is too low"),
             TableValue(each.peak_of)});
  return table;
}

Table coverage_table(const Dataset& data, const Analysis& analysis) {
  using Key = std::tuple<std::string, std::string, std::string>;
  std::vector<std::pair<Key, std::map<std::string, StateCounts>>> lines;
  std::map<Key, std::size_t> places;
  std::vector<std::string> targets = targets_of(data.cells);
  std::ranges::sort(targets);
  const std::map<std::string, std::string> machines = machine_names(data.cells);
  for (const Record& row : data.cells) {
    const Key key{row.category, row.architecture.empty() ? row.model : row.architecture, machines.at(row.hardware_id)};
    const auto [place, is_new] = places.emplace(key, lines.size());
    if (is_new) lines.push_back({key, {}});
    count_state(lines[place->second].second[target_key(row)], row);
  }
  std::ranges::sort(lines, {}, [](const auto& line) { return line.first; });
  Table table;
  std::vector<Column> columns{{"category", "category", ""}, {"architecture", "architecture", ""}};
  for (const std::string& target : targets) columns.push_back({target, target, ""});
  begin_table(table, analysis, std::move(columns));
  for (const auto& [key, counts] : lines) {
    const auto& [category, architecture, machine] = key;
    std::vector<TableValue> row{text_or_absent(category), TableValue(architecture)};
    for (const std::string& target : targets) {
      const auto found = counts.find(target);
      row.push_back(found == counts.end() ? TableValue() : TableValue(state_words(found->second)));
    }
    add_row(table, analysis, machine, std::move(row));
  }
  return table;
}

}  // namespace assay
