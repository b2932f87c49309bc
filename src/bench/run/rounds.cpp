// SPDX-License-Identifier: Apache-2.0
#include "bench/run/rounds.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/stats/launches.hpp"
#include "core/traits/cell.hpp"
#include "core/traits/inconsistency.hpp"

namespace assay {
namespace {

constexpr int kMostTimes = 3;  ///< all launches of a cell together may last this many times --max-time

std::vector<ScheduledLaunch> ordered(std::span<const LocalTask> cells, const std::vector<bool>& launched,
                                     std::int64_t round) {
  std::vector<std::string> groups;
  groups.reserve(cells.size());
  for (const LocalTask& cell : cells) groups.push_back(worker_group(cell.task));
  return schedule_round(groups, launched, round, cells.empty() ? 0 : cells.front().task.seed);
}

std::chrono::nanoseconds time_of(std::span<const Launch> launches) {
  double milliseconds = 0;
  for (const Launch& launch : launches)
    milliseconds += launch.row.warmup_time_ms.value_or(0) + static_cast<double>(launch.row.window_ns.value_or(0)) / 1e6;
  return std::chrono::nanoseconds(static_cast<std::int64_t>(milliseconds * 1e6));
}

// Whether the cell may have another launch beyond those that were planned.
bool extends(const LocalTask& cell) {
  if (!cell.has_reference || cell.launches.empty() || cell.task.launches < 2) return false;
  if (cell.task.max_time && time_of(cell.launches) > kMostTimes * *cell.task.max_time) return false;
  return std::ranges::all_of(cell.launches, [](const Launch& launch) {
    return launch.row.status == CellStatus::kCompleted && settled(launch.row) && launch.row.latency_p50_ms;
  });
}

// Medians by round.
std::map<std::int64_t, double> medians_of(const LocalTask& cell) {
  std::map<std::int64_t, double> medians;
  for (const Launch& launch : cell.launches)
    medians[launch.row.launch_number.value_or(1)] = launch.row.latency_p50_ms.value_or(0);
  return medians;
}

// `among`: the number of cells of which one is the best.
bool undecided(const LocalTask& best, const LocalTask& second, std::size_t among) {
  const std::map<std::int64_t, double> one = medians_of(best), other = medians_of(second);
  std::vector<double> baseline, candidate;
  for (const auto& [round, median] : one) {
    const auto same = other.find(round);
    if (same == other.end()) continue;
    baseline.push_back(median);
    candidate.push_back(same->second);
  }
  return stats::undecided(stats::compare_rounds(baseline, candidate, stats::pairs_among(among)));
}

// `again`: whether a launch that did not end well is tried again.
template <class Again>
std::int64_t launches_left(const LocalTask& cell, Again again) {
  std::int64_t ended = 0;
  for (const Launch& launch : cell.launches) {
    const bool well = settled(launch.row);
    if (!well && again(launch)) continue;
    if (!well || launch.row.status != CellStatus::kCompleted) return 0;
    if (fills_its_time(shared_time(cell.task), run_time(launch.row))) return 0;
    ++ended;
  }
  return std::max<std::int64_t>(0, (cell.task.runs() ? cell.task.launches : 1) - ended);
}

std::vector<Record> rows_of(std::span<const LocalTask> cells) {
  std::vector<Record> rows(cells.size());
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (!cells[i].launches.empty()) rows[i] = cell_row(cells[i].launches);
  return rows;
}

}  // namespace

std::int64_t missing_launches(const LocalTask& cell) {
  return launches_left(cell, [](const Launch& launch) { return launch.resumed; });
}

bool lacks_launches(const LocalTask& cell) {
  return launches_left(cell, [](const Launch& launch) { return launch.resumed || unfinished(launch.row); }) > 0;
}

std::vector<ScheduledLaunch> next_round(std::span<const LocalTask> cells, std::int64_t round) {
  std::vector<bool> launched;
  launched.reserve(cells.size());
  for (const LocalTask& cell : cells) launched.push_back(missing_launches(cell) > 0);
  if (std::ranges::any_of(cells, [](const LocalTask& cell) { return cell.task.launches > 1; }))
    return ordered(cells, launched, round);
  std::vector<ScheduledLaunch> planned;
  for (std::size_t task = 0; task < cells.size(); ++task)
    if (launched[task]) planned.push_back({round, task});
  return planned;
}

std::vector<ScheduledLaunch> further_round(std::span<const LocalTask> cells, std::int64_t round, double seconds) {
  struct Pair {
    std::size_t best, second;
    double seconds;
  };
  std::vector<Pair> pairs;
  const std::vector<Record> rows = rows_of(cells);
  std::map<std::string, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (rows[i].ranked() && rows[i].latency_p50_ms) groups[cell_key(rows[i])].push_back(i);
  for (auto& [key, group] : groups) {
    if (group.size() < 2) continue;
    std::ranges::sort(group, {}, [&](std::size_t member) { return *rows[member].latency_p50_ms; });
    const std::size_t best = group[0], second = group[1];
    if (!extends(cells[best]) || !extends(cells[second]) || !undecided(cells[best], cells[second], group.size()))
      continue;
    pairs.push_back({best, second, cells[best].last_launch_s + cells[second].last_launch_s});
  }
  std::ranges::stable_sort(pairs, {}, &Pair::seconds);
  std::vector<bool> launched(cells.size());
  for (const Pair& pair : pairs) {
    seconds -= pair.seconds;
    if (seconds < 0) break;
    launched[pair.best] = launched[pair.second] = true;
  }
  return ordered(cells, launched, round);
}

std::vector<ScheduledLaunch> repeated_round(std::span<const LocalTask> cells, std::int64_t round) {
  std::vector<bool> launched(cells.size());
  for (const auto& [smaller, larger] : inconsistent_cells(rows_of(cells)))
    if (extends(cells[smaller]) && extends(cells[larger])) launched[smaller] = launched[larger] = true;
  return ordered(cells, launched, round);
}

}  // namespace assay
