// SPDX-License-Identifier: Apache-2.0
#include "show/dashboard/charts.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "core/traits/cell.hpp"
#include "history/analyse/analyse.hpp"
#include "history/analyse/groups.hpp"
#include "history/store/dataset.hpp"
#include "show/chart/chart.hpp"

namespace assay::dashboard {
namespace {

using chart::Kind;

// More digits than a reader or a picture uses would only make the document longer.
double rounded(double value) {
  constexpr int kDigits = 7;
  if (value == 0 || !std::isfinite(value)) return value;
  const double power = std::pow(10.0, kDigits - 1 - std::floor(std::log10(std::abs(value))));
  return std::isfinite(power) && power > 0 ? std::round(value * power) / power : value;
}

Json table_json(const Table& table) {
  Json columns = Json::array(), rows = Json::array();
  for (const Column& column : table.columns) columns.push_back({{"heading", column.heading}, {"unit", column.unit}});
  for (const std::vector<TableValue>& row : table.rows) {
    Json values = Json::array();
    for (const TableValue& value : row) {
      if (const auto* number = std::get_if<double>(&value))
        values.push_back(std::isfinite(*number) ? Json(rounded(*number)) : Json());
      else if (const auto* text = std::get_if<std::string>(&value))
        values.push_back(*text);
      else
        values.push_back(nullptr);
    }
    rows.push_back(std::move(values));
  }
  return {{"columns", std::move(columns)}, {"rows", std::move(rows)}};
}

Json json_of(const chart::Chart& made, bool with_rows) {
  Json json = picture_json(made);
  Json& source = json["option"]["dataset"]["source"];
  if (with_rows)
    json["table"] = table_json(made.table);
  else
    source = Json::array({source.front()});
  return json;
}

void add(std::vector<PageChart>& charts, Kind kind, const chart::ChartMaker& maker, const std::string& of,
         bool with_rows) {
  for (const chart::Chart& made : maker.make(kind))
    if (!made.option.is_null()) charts.push_back({made.name + of, json_of(made, with_rows)});
}

// The charts of the whole history; one without data says what is missing.
void add_whole(std::vector<PageChart>& charts, Kind kind, const chart::ChartMaker& maker) {
  for (const chart::Chart& made : maker.make(kind)) {
    if (made.option.is_null())
      charts.push_back({made.name, {{"title", made.title}, {"missing", made.notes.empty() ? "" : made.notes.front()}}});
    else
      charts.push_back({made.name, json_of(made, true)});
  }
}

// What a chart of one cell looks like does not depend on its numbers: only on its target, and on how many launches it
// has. These distributions have everything that a picture may show. Words and notes are those of this cell: the page
// has its own.
Dataset prototype(const Record& cell, std::size_t launches) {
  Dataset data;
  data.cells = {cell};
  Record& only = data.cells.front();
  only.status = CellStatus::kCompleted;  // wrong numbers are not drawn
  only.verification = Verification::kVerified;
  only.first_inference_ms = 1;
  data.ids = {1};
  data.series = {cell.series_key};
  data.versions = {"1", "2"};
  for (std::size_t launch = 1; launch <= launches; ++launch) {
    SampleDistribution distribution;
    distribution.result_id = 1;
    distribution.launch_number = static_cast<std::int64_t>(launch);
    distribution.samples = distribution.steady = 2;
    distribution.low_ns = 1;
    distribution.high_ns = 2;
    distribution.window_ns = 2;
    distribution.first_steady_bin = 1;
    distribution.quantiles = {0, 1};
    constexpr std::size_t kBins = 100;  // a few would also be drawn as points
    distribution.bins.assign(3 * kBins, 0);
    data.distributions.push_back(std::move(distribution));
  }
  for (std::uint32_t version = 0; version < 2; ++version) {
    HistoryPoint point;
    point.time_s = version;
    point.version = version;
    point.status = CellStatus::kCompleted;
    point.p50_ms = 1;
    data.history.push_back(point);
  }
  return data;
}

void add_of_cells(std::vector<PageChart>& charts, const Dataset& data) {
  std::map<std::int64_t, std::size_t> launches;
  for (const SampleDistribution& distribution : data.distributions)
    if (distribution.kind == SampleKind::kRun) ++launches[distribution.result_id];
  std::set<std::pair<std::string, std::size_t>> made;
  std::set<std::string> targets;
  for (std::size_t i = 0; i < data.cells.size() && i < data.ids.size(); ++i) {
    const std::string target = target_key(data.cells[i]);
    if (targets.insert(target).second) {
      const Dataset one = prototype(data.cells[i], 0);
      add(charts, Kind::kHistory, chart::ChartMaker({.data = &one}), "/" + target, false);
      add(charts, Kind::kPhases, chart::ChartMaker({.data = &one, .cell = one.cells.front().task_key}), "/" + target,
          false);
    }
    const auto count = launches.find(data.ids[i]);
    if (count == launches.end() || !made.emplace(target, count->second).second) continue;
    const Dataset one = prototype(data.cells[i], count->second);
    const std::string of = "/" + target + "/" + std::to_string(count->second);
    const chart::ChartMaker maker({.data = &one});
    add(charts, Kind::kLatencyDistribution, maker, of, false);
    add(charts, Kind::kSamplesOverTime, maker, of, false);
  }
}

void add_of_models(std::vector<PageChart>& charts, const Dataset& data) {
  std::map<std::tuple<std::string, std::string, std::string, std::string, std::string>, std::vector<Record>> selections;
  const std::map<std::string, std::string> machines = machine_names(data.cells);
  for (Record& row : with_names_of_models(data.cells)) {
    const std::string tokens = row.sequence_length ? std::to_string(*row.sequence_length) : "";
    auto& rows = selections[{row.model, tokens, row.precision, row.given_shapes, machines.at(row.hardware_id)}];
    rows.push_back(std::move(row));
  }
  for (auto& [selection, rows] : selections) {
    const auto& [model, tokens, precision, shapes, machine] = selection;
    Dataset one;
    one.cells = std::move(rows);
    const std::string of = fmt::format("/{}/{}/{}{}{}{}{}", model, tokens, precision, shapes.empty() ? "" : "/", shapes,
                                       machine.empty() ? "" : "/", machine);
    const chart::ChartMaker maker({.data = &one});
    for (const Kind kind : {Kind::kBatchSizeScaling, Kind::kGeneration}) add(charts, kind, maker, of, true);
  }
}

}  // namespace

Json picture_json(const chart::Chart& made) {
  Json option = made.option;
  for (Json& row : option["dataset"]["source"])
    for (Json& value : row)
      if (value.is_number_float()) value = rounded(value.get<double>());
  return {{"title", made.title}, {"subtitle", made.subtitle}, {"summary", made.summary},    {"notes", made.notes},
          {"width", made.width}, {"height", made.height},     {"option", std::move(option)}};
}

Json themes_json() {
  Json themes;
  for (const char* theme : {"light", "dark"}) themes[theme] = chart::theme(theme).tokens;
  return themes;
}

std::vector<PageChart> page_charts(const Dataset& data, const Analysis& analysis) {
  constexpr Kind kWhole[]{Kind::kHardwareComparison,
                          Kind::kRelativeSpeedup,
                          Kind::kCategoryComparison,
                          Kind::kModelPerformance,
                          Kind::kArchitectureComparison,
                          Kind::kArchitecturePerformanceMatrix,
                          Kind::kMemoryUsage,
                          Kind::kMemoryScaling,
                          Kind::kHardwareEfficiency,
                          Kind::kVerification,
                          Kind::kOptimizationOpportunities,
                          Kind::kMachineNoise};
  std::vector<PageChart> charts;
  const chart::ChartMaker maker({.data = &data, .analysis = &analysis});
  for (const Kind kind : kWhole) add_whole(charts, kind, maker);
  add_of_models(charts, data);
  add_of_cells(charts, data);
  return charts;
}

}  // namespace assay::dashboard
