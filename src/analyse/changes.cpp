// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "analyse/answers.hpp"
#include "store/dataset.hpp"

namespace assay {
namespace {

// A result that says something: it ran, or could not.
bool says_something(const HistoryPoint& point) {
  return point.status == CellStatus::kWrong || point.status == CellStatus::kFailed ||
         point.status == CellStatus::kUnsupported ||
         (point.status == CellStatus::kCompleted && (point.p50_ms || point.verification == Verification::kVerified));
}

bool works(const HistoryPoint& point) { return point.status == CellStatus::kCompleted; }

double log_of(const HistoryPoint& point) { return std::log(point.p50_ms.value_or(1)); }

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// The relative spread of earlier results: 1.4826 times the median distance from the median estimates a standard
// deviation (Rousseeuw, Croux: "Alternatives to the median absolute deviation", JASA 1993).
double spread_of(std::span<const HistoryPoint> points) {
  std::vector<double> logs, distances;
  for (const HistoryPoint& point : points)
    if (point.p50_ms) logs.push_back(log_of(point));
  const double middle = median(logs);
  distances.reserve(logs.size());
  for (const double value : logs) distances.push_back(std::abs(value - middle));
  constexpr double kNormal = 1.4826;
  return kNormal * median(distances);
}

std::string date_of(double seconds) {
  const WallTime time{std::chrono::microseconds(static_cast<std::int64_t>(seconds * 1e6))};
  constexpr std::size_t kDate = 10;
  return iso8601(time).substr(0, kDate);
}

struct Before {
  const HistoryPoint *then, *now;
  std::span<const HistoryPoint> earlier;  // all points of the series before `now`
};

std::string versions_words(const Dataset& data, const Before& pair) {
  if (pair.then->version == pair.now->version) return {};
  return fmt::format("; {} → {}", data.versions.at(pair.then->version), data.versions.at(pair.now->version));
}

std::string place_of(const Record& row, const std::map<std::string, std::string>& machines) {
  const std::string& machine = machines.at(row.hardware_id);
  return fmt::format("{} on {}, {}{}", row.model, target_key(row), shape_words(row),
                     machine.empty() ? "" : ", on " + machine);
}

// What differs between two results, if it is worth a line.
std::optional<Change> change_between(const Dataset& data, const Record& row, const std::string& place,
                                     const Before& pair) {
  const HistoryPoint &then = *pair.then, &now = *pair.now;
  Change change;
  change.series = row.series_key;
  change.row = &row;
  change.before_ms = then.p50_ms;
  change.after_ms = now.p50_ms;
  const std::string date = date_of(then.time_s), versions = versions_words(data, pair);
  const auto state = [](const HistoryPoint& point) {
    return point.status == CellStatus::kCompleted ? to_string(point.verification) : to_string(point.status);
  };
  if (now.status != then.status && !works(now)) {
    change.what = now.status == CellStatus::kWrong ? Change::What::kNewlyWrong : Change::What::kNewlyFailed;
    change.words = fmt::format("{}: {} now, {} on {}{}", place, state(now), state(then), date, versions);
    return change;
  }
  // That a benchmark without verification ran says nothing about numbers that were wrong.
  if (works(now) && then.status == CellStatus::kWrong && now.verification != Verification::kVerified)
    return std::nullopt;
  if (works(now) && !works(then)) {
    change.what = Change::What::kFixed;
    change.words = fmt::format("{}: {} now, {} on {}{}", place, state(now), state(then), date, versions);
    return change;
  }
  if (!works(now) || !then.p50_ms || !now.p50_ms || *then.p50_ms <= 0 || *now.p50_ms <= 0) return std::nullopt;
  change.what = Change::What::kMoved;
  change.ratio = *now.p50_ms / *then.p50_ms;
  const double moved = std::abs(std::log(*change.ratio));
  const std::string times =
      fmt::format("{}: {} → {} ms ({:.2f}×)", place, in_words(*then.p50_ms), in_words(*now.p50_ms), *change.ratio);
  std::vector<HistoryPoint> ran;
  std::ranges::copy_if(pair.earlier, std::back_inserter(ran),
                       [](const HistoryPoint& point) { return works(point) && point.p50_ms.value_or(0) > 0; });
  constexpr std::size_t kEnoughRuns = 5;
  constexpr double kSpreads = 3, kLeast = 0.02, kWithoutSpread = 0.1, kPercent = 100;
  if (ran.size() >= kEnoughRuns) {
    const double spread = spread_of(ran);
    if (moved <= std::max(kSpreads * spread, kLeast)) return std::nullopt;
    change.beyond_spread = true;
    change.words = fmt::format(
        "{} since {}, beyond the spread of the {} runs before (± {} %); not confirmed: "
        "different runs are not compared{}",
        times, date, ran.size(), in_words(spread * kPercent, 2), versions);
    return change;
  }
  if (moved <= kWithoutSpread) return std::nullopt;
  change.words = fmt::format("{} since {}; different runs are not compared, and {} earlier {} not show a spread{}",
                             times, date, ran.size(), ran.size() == 1 ? "run does" : "runs do", versions);
  return change;
}

// The points of each series that say something.
std::vector<std::vector<HistoryPoint>> points_of(const Dataset& data) {
  std::vector<std::vector<HistoryPoint>> points(data.series.size());
  for (const HistoryPoint& point : data.history)
    if (says_something(point)) points.at(point.series).push_back(point);
  for (auto& series : points) std::ranges::stable_sort(series, {}, &HistoryPoint::time_s);
  return points;
}

// `now`: the newest; `then`: of the run before, or the newest that is old enough. Without one, `then` is null.
Before pair_of(std::span<const HistoryPoint> points, int days, double newest_s) {
  const HistoryPoint* now = &points.back();
  Before pair{nullptr, now, points.first(points.size() - 1)};
  for (const HistoryPoint& point : pair.earlier)
    if (point.run != now->run && (days == 0 || point.time_s <= newest_s - days * kSecondsOfDay)) pair.then = &point;
  return pair;
}

}  // namespace

std::string_view to_string(Change::What what) {
  switch (what) {
    case Change::What::kNewlyWrong:
      return "newly_wrong";
    case Change::What::kNewlyFailed:
      return "newly_failed";
    case Change::What::kFixed:
      return "fixed";
    case Change::What::kMoved:
      return "moved";
    case Change::What::kVersion:
      return "version";
  }
  return "moved";
}

std::vector<Change> changes_of(const Dataset& data, int days) {
  std::vector<Change> changes;
  if (data.history.empty()) return changes;
  std::map<std::string, const Record*> rows;
  for (const Record& row : data.cells) rows.emplace(row.series_key, &row);
  const std::map<std::string, std::string> machines = machine_names(data.cells);
  const HistoryPoint& newest = *std::ranges::max_element(data.history, {}, &HistoryPoint::time_s);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<std::size_t, const Record*>> versions;
  const auto series = points_of(data);
  for (std::size_t s = 0; s < series.size(); ++s) {
    const auto row = rows.find(data.series[s]);
    if (row == rows.end() || series[s].empty()) continue;
    const Before pair = pair_of(series[s], days, newest.time_s);
    // "Since the last run" is of that run, "in a week" of the week: what was not measured there has not changed.
    if (pair.then == nullptr || (days == 0 && pair.now->run != newest.run)) continue;
    if (days > 0 && pair.now->time_s <= newest.time_s - days * kSecondsOfDay) continue;
    if (pair.then->version != pair.now->version) {
      auto& [count, any] = versions[{pair.then->version, pair.now->version}];
      ++count;
      any = row->second;
    }
    if (auto change = change_between(data, *row->second, place_of(*row->second, machines), pair))
      changes.push_back(std::move(*change));
  }
  for (const auto& [pair, seen] : versions) {
    Change change;
    change.what = Change::What::kVersion;
    change.row = seen.second;
    change.series = seen.second->series_key;
    change.words = fmt::format("{} → {} in {} {}", data.versions.at(pair.first), data.versions.at(pair.second),
                               seen.first, seen.first == 1 ? "cell" : "cells");
    changes.push_back(std::move(change));
  }
  std::ranges::stable_sort(changes, [](const Change& a, const Change& b) {
    if (a.what != b.what) return a.what < b.what;
    return std::abs(std::log(a.ratio.value_or(1))) > std::abs(std::log(b.ratio.value_or(1)));
  });
  return changes;
}

}  // namespace assay
