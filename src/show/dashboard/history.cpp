// SPDX-License-Identifier: Apache-2.0
#include "show/dashboard/history.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/result/launch_medians.hpp"
#include "core/traits/cell.hpp"
#include "history/analyse/analysis.hpp"
#include "history/analyse/groups.hpp"
#include "history/store/dataset.hpp"
#include "show/chart/picture.hpp"

namespace assay::dashboard {
namespace {

// The points to show: of each series the newest ones.
std::vector<HistoryPoint> newest_points(const Dataset& data, std::size_t most) {
  std::map<std::uint32_t, std::size_t> left;
  std::vector<HistoryPoint> points;
  for (auto point = data.history.rbegin(); point != data.history.rend(); ++point)
    if (left[point->series]++ < most) points.push_back(*point);
  std::ranges::reverse(points);
  return points;
}

// The cell of each series; null for a series that has none.
std::vector<const Record*> cells_of_series(const Dataset& data, std::span<const Record> cells) {
  std::map<std::string, const Record*> by_key;
  for (const Record& cell : cells) by_key.try_emplace(cell.series_key, &cell);
  std::vector<const Record*> found;
  found.reserve(data.series.size());
  for (const std::string& key : data.series) {
    const auto cell = by_key.find(key);
    found.push_back(cell == by_key.end() ? nullptr : cell->second);
  }
  return found;
}

// For each set of versions, the targets that computed wrong numbers: of each series the newest verdict counts.
std::map<std::uint32_t, WrongTargets> wrong_targets(const Dataset& data, std::span<const Record* const> cell_of) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, bool> is_wrong;  // version, series
  for (const HistoryPoint& point : data.history)
    if (point.status == CellStatus::kWrong || point.verification == Verification::kVerified)
      is_wrong[{point.version, point.series}] = point.status == CellStatus::kWrong;
  std::map<std::uint32_t, std::vector<Record>> rows;
  for (const auto& [place, wrong] : is_wrong) {
    const auto& [version, series] = place;
    if (!wrong || cell_of[series] == nullptr) continue;
    rows[version].push_back(*cell_of[series]);
    rows[version].back().status = CellStatus::kWrong;
  }
  std::map<std::uint32_t, WrongTargets> targets;
  for (const auto& [version, wrong] : rows) targets.emplace(version, WrongTargets(wrong));
  return targets;
}

// What is not in the document as a cell, so that its launches are not there either.
bool is_earlier(const HistoryPoint& point, const std::set<std::int64_t>& ids, std::span<const Record* const> cell_of) {
  if (point.result_id > 0) return !ids.contains(point.result_id);
  const Record* cell = cell_of[point.series];
  return cell == nullptr || point.launch_p50_ms != cell->launch_p50_ms || point.p50_ms != cell->latency_p50_ms;
}

}  // namespace

Json history_json(Columns& columns, const Dataset& data, std::span<const Record> cells, Numbers& comparable,
                  std::size_t most) {
  const std::vector<HistoryPoint> points = most == 0 ? std::vector<HistoryPoint>() : newest_points(data, most);
  Json list = Json::array();
  const auto integers = [&](std::string_view name, auto get) {
    std::vector<std::optional<std::int64_t>> values;
    values.reserve(points.size());
    for (const HistoryPoint& point : points) values.emplace_back(static_cast<std::int64_t>(get(point)));
    list.push_back(columns.integers(name, values));
  };
  const auto text = [&](std::string_view name, auto get) {
    std::vector<std::string> values;
    values.reserve(points.size());
    for (const HistoryPoint& point : points) values.emplace_back(get(point));
    list.push_back(columns.texts(name, values));
  };
  const auto number = [&](std::string_view name, auto get, bool precise = false) {
    std::vector<std::optional<double>> values;
    values.reserve(points.size());
    for (const HistoryPoint& point : points) values.emplace_back(get(point));
    list.push_back(precise ? columns.f64(name, values) : columns.f32(name, values));
  };
  integers("series", [](const HistoryPoint& point) { return point.series; });
  integers("result_id", [](const HistoryPoint& point) { return point.result_id; });
  number(
      "time", [](const HistoryPoint& point) { return point.time_s; }, true);
  text("run", [&](const HistoryPoint& point) {
    return point.run < data.runs.size() ? data.runs[point.run].run_id : std::string();
  });
  text("version", [&](const HistoryPoint& point) {
    return point.version < data.versions.size() ? data.versions[point.version] : std::string();
  });
  text("engine_version", [](const HistoryPoint& point) { return point.engine_version; });
  text("status", [](const HistoryPoint& point) { return to_string(point.status); });
  text("verification", [](const HistoryPoint& point) { return to_string(point.verification); });
  text("flags", [](const HistoryPoint& point) { return point.flags.text(); });
  integers("ranked", [](const HistoryPoint& point) { return point.ranked; });
  Record row;
  integers("shown", [&](const HistoryPoint& point) {
    row.status = point.status;
    row.verification = point.verification;
    return chart::shows_values(row);
  });
  number(
      "p50", [](const HistoryPoint& point) { return point.p50_ms; }, true);
  number("low", [](const HistoryPoint& point) { return point.p50_low_ms; });
  number("high", [](const HistoryPoint& point) { return point.p50_high_ms; });
  text("interval", [](const HistoryPoint& point) { return to_string(point.latency_p50_interval); });
  number("throughput", [](const HistoryPoint& point) { return point.throughput_ips; });
  number("memory", [](const HistoryPoint& point) { return point.memory_mb; });
  integers("launches", [](const HistoryPoint& point) { return point.launches; });

  const std::vector<const Record*> cell_of = cells_of_series(data, cells);
  const std::map<std::uint32_t, WrongTargets> wrong = wrong_targets(data, cell_of);
  const std::set<std::int64_t> ids(data.ids.begin(), data.ids.end());
  text("launch_p50_ms", [&](const HistoryPoint& point) {
    return is_earlier(point, ids, cell_of) ? launch_medians_text(point.launch_p50_ms) : std::string();
  });
  text("effective_precision", [](const HistoryPoint& point) { return point.effective_precision; });
  integers("comparable", [&](const HistoryPoint& point) {
    const Record* cell = cell_of[point.series];
    if (cell == nullptr) return std::int64_t{-1};
    if (cell->effective_precision == point.effective_precision) return comparable.of(cell_key(*cell));
    Record other = *cell;
    other.effective_precision = point.effective_precision;
    return comparable.of(cell_key(other));
  });
  integers("usable", [&](const HistoryPoint& point) {
    const Record* cell = cell_of[point.series];
    const auto targets = wrong.find(point.version);
    return point.ranked && point.p50_ms.value_or(0) > 0 && cell != nullptr &&
           (targets == wrong.end() || !targets->second.has_target_of(*cell));
  });
  const Disturbances disturbances(data);
  text("disturbed", [&](const HistoryPoint& point) { return disturbances.words(point); });
  return {{"n", points.size()}, {"columns", std::move(list)}};
}

}  // namespace assay::dashboard
