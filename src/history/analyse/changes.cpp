// SPDX-License-Identifier: Apache-2.0
#include "history/analyse/changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>

#include "core/base/clock.hpp"
#include "core/base/text.hpp"
#include "core/traits/cell.hpp"
#include "history/analyse/answers.hpp"
#include "history/analyse/groups.hpp"

namespace assay {
namespace {

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// The relative spread of earlier results: 1.4826 times the median distance from the median estimates a standard
// deviation (Rousseeuw, Croux: "Alternatives to the median absolute deviation", JASA 1993).
double spread_of(const std::vector<double>& values) {
  std::vector<double> logs, distances;
  for (const double value : values) logs.push_back(std::log(value));
  const double middle = median(logs);
  distances.reserve(logs.size());
  for (const double value : logs) distances.push_back(std::abs(value - middle));
  constexpr double kNormal = 1.4826;
  return kNormal * median(distances);
}

struct Before {
  const HistoryPoint *then, *now;
  std::span<const HistoryPoint> earlier;  // all points of the series before `now`
};

std::string versions_words(const Dataset& data, const Before& pair) {
  if (pair.then->version == pair.now->version) return {};
  return fmt::format("; {} → {}", data.versions.at(pair.then->version), data.versions.at(pair.now->version));
}

// What of two results may differ.
struct Quantity {
  const char *column, *words, *unit;
  Number HistoryPoint::*value;
};
constexpr Quantity kMedian{"latency_p50_ms", "", "ms", &HistoryPoint::p50_ms},
    kMean{"latency_mean_ms", "mean ", "ms", &HistoryPoint::mean_ms},
    kThroughput{"throughput_ips", "throughput ", "items/s", &HistoryPoint::throughput_ips},
    kMemory{"memory_mb", "peak memory ", "MB", &HistoryPoint::memory_mb};

bool has(const HistoryPoint& point, const Quantity& quantity) { return (point.*quantity.value).value_or(0) > 0; }
bool both_have(const Before& pair, const Quantity& quantity) {
  return has(*pair.then, quantity) && has(*pair.now, quantity);
}

Change change_of(const Record& row, Change::What what, std::string words) {
  Change change;
  change.what = what;
  change.series = row.series_key;
  change.row = &row;
  change.rows = {&row};
  change.words = std::move(words);
  return change;
}

// What differs between two results of a cell, if it is worth a line.
class Differences {
 public:
  Differences(const Dataset& data, const Record& row, std::string place, const Before& pair)
      : row_(row),
        place_(std::move(place)),
        pair_(pair),
        date_(date_of(pair.then->time_s)),
        versions_(versions_words(data, pair)) {}

  [[nodiscard]] std::vector<Change> all() const {
    if (std::optional<Change> changed = of_state()) return {std::move(*changed)};
    if (!works(*pair_.now) || !works(*pair_.then)) return {};
    std::vector<Change> changes;
    std::optional<Change> time = of_time();
    // A throughput adds nothing where the time has moved.
    if (!time) time = moved(kThroughput);
    if (time) changes.push_back(std::move(*time));
    if (pair_.then->memory_source == pair_.now->memory_source)
      if (std::optional<Change> memory = moved(kMemory)) changes.push_back(std::move(*memory));
    return changes;
  }

 private:
  [[nodiscard]] std::optional<Change> of_state() const {
    const HistoryPoint &then = *pair_.then, &now = *pair_.now;
    const auto state = [](const HistoryPoint& point) {
      return point.status == CellStatus::kCompleted ? to_string(point.verification) : to_string(point.status);
    };
    const auto words = [&] {
      return fmt::format("{}: {} now, {} on {}{}", place_, state(now), state(then), date_, versions_);
    };
    if (now.status != then.status && !works(now))
      return change_of(row_, now.status == CellStatus::kWrong ? Change::What::kNewlyWrong : Change::What::kNewlyFailed,
                       words());
    // That a benchmark without verification ran says nothing about numbers that were wrong.
    if (works(now) && !works(then) &&
        (then.status != CellStatus::kWrong || now.verification == Verification::kVerified))
      return change_of(row_, Change::What::kFixed, words());
    return std::nullopt;
  }

  [[nodiscard]] std::optional<Change> of_time() const {
    for (const Quantity& quantity : {kMedian, kMean})
      if (both_have(pair_, quantity)) return moved(quantity);
    const auto kind = [](const HistoryPoint& point) {
      return has(point, kMedian) ? "a median" : has(point, kMean) ? "a mean" : "";
    };
    const std::string_view before = kind(*pair_.then), after = kind(*pair_.now);
    // What was only verified has no time, and needs none.
    if (before.empty() || after.empty()) return std::nullopt;
    return change_of(row_, Change::What::kNotComparable,
                     fmt::format("{}: its time is not compared with that of {}, which is {}: this one is {}{}", place_,
                                 date_, before, after, versions_));
  }

  [[nodiscard]] std::optional<Change> moved(const Quantity& quantity) const {
    if (!both_have(pair_, quantity)) return std::nullopt;
    const double before = *(pair_.then->*quantity.value), after = *(pair_.now->*quantity.value);
    Change change = change_of(row_, Change::What::kMoved, "");
    change.quantity = quantity.column;
    change.unit = quantity.unit;
    change.before = before;
    change.after = after;
    change.ratio = after / before;
    const double distance = std::abs(std::log(*change.ratio));
    const std::string values = fmt::format("{}: {}{} → {} {} ({:.2f}×)", place_, quantity.words, in_words(before),
                                           in_words(after), quantity.unit, *change.ratio);
    std::vector<double> ran;
    for (const HistoryPoint& point : pair_.earlier)
      if (works(point) && has(point, quantity) &&
          (quantity.value != kMemory.value || point.memory_source == pair_.now->memory_source))
        ran.push_back(*(point.*quantity.value));
    constexpr std::size_t kEnoughRuns = 5;
    constexpr double kSpreads = 3, kLeast = 0.02, kWithoutSpread = 0.1, kPercent = 100;
    if (ran.size() >= kEnoughRuns) {
      const double spread = spread_of(ran);
      if (distance <= std::max(kSpreads * spread, kLeast)) return std::nullopt;
      change.beyond_spread = true;
      change.words = fmt::format(
          "{} since {}, beyond the spread of the {} runs before (± {} %); not confirmed: "
          "different runs are not compared{}",
          values, date_, ran.size(), in_words(spread * kPercent, 2), versions_);
      return change;
    }
    if (distance <= kWithoutSpread) return std::nullopt;
    change.words = fmt::format("{} since {}; different runs are not compared, and {} not show a spread{}", values,
                               date_, counted(ran.size(), "earlier run does", "earlier runs do"), versions_);
    return change;
  }

  const Record& row_;
  std::string place_;
  Before pair_;
  std::string date_, versions_;
};

// `now`: the newest; `then`: of the run before, or the newest that is old enough. Without one, `then` is null.
Before pair_of(std::span<const HistoryPoint> points, int days, double newest_s) {
  const HistoryPoint* now = &points.back();
  Before pair{nullptr, now, points.first(points.size() - 1)};
  for (const HistoryPoint& point : pair.earlier)
    if (point.run != now->run && (days == 0 || point.time_s <= newest_s - days * kSecondsOfDay)) pair.then = &point;
  return pair;
}

// The time until which results are those before.
double end_before(const Dataset& data, int days, const HistoryPoint& newest) {
  if (days > 0) return newest.time_s - days * kSecondsOfDay;
  double start = newest.time_s;
  for (const HistoryPoint& point : data.history)
    if (point.run == newest.run) start = std::min(start, point.time_s);
  return std::nextafter(start, 0.0);
}

constexpr std::array kWords{std::pair(Change::What::kNewlyWrong, "newly_wrong"),
                            std::pair(Change::What::kNewlyFailed, "newly_failed"),
                            std::pair(Change::What::kGone, "gone"),
                            std::pair(Change::What::kFixed, "fixed"),
                            std::pair(Change::What::kMoved, "moved"),
                            std::pair(Change::What::kNew, "new"),
                            std::pair(Change::What::kVersion, "version"),
                            std::pair(Change::What::kNotComparable, "not_comparable")};

}  // namespace

// A result that says something: it ran, or could not.
bool says_something(const HistoryPoint& point) {
  return point.status == CellStatus::kWrong || point.status == CellStatus::kFailed ||
         point.status == CellStatus::kUnsupported ||
         (point.status == CellStatus::kCompleted &&
          (point.p50_ms || point.mean_ms || point.verification == Verification::kVerified));
}

bool is_imported(const HistoryPoint& point) { return point.flags.has(Flag::kImported); }

bool works(const HistoryPoint& point) { return point.status == CellStatus::kCompleted; }

std::string date_of(double seconds) {
  const WallTime time{std::chrono::microseconds(static_cast<std::int64_t>(seconds * 1e6))};
  constexpr std::size_t kDate = 10;
  return iso8601(time).substr(0, kDate);
}

std::string place_of(const Record& row, const std::map<std::string, std::string>& machines) {
  const std::string& machine = machines.at(row.hardware_id);
  return fmt::format("{} on {}, {}{}", row.model, target_key(row), shape_words(row),
                     machine.empty() ? "" : ", on " + machine);
}

std::string_view to_string(Change::What what) {
  return std::ranges::find(kWords, what, &decltype(kWords)::value_type::first)->second;
}

std::vector<Change> changes_of(const Dataset& data, int days) {
  std::vector<Change> changes;
  if (data.history.empty()) return changes;
  const std::map<std::string, std::string> machines = machine_names(data.cells);
  const HistoryPoint& newest = *std::ranges::max_element(
      data.history, {}, [](const HistoryPoint& point) { return std::pair(!is_imported(point), point.time_s); });
  const double begin = end_before(data, days, newest);
  const bool has_older = std::ranges::any_of(data.history, [&](const HistoryPoint& p) { return p.time_s <= begin; });
  const auto is_recent = [&](const HistoryPoint& point) {
    // "Since the last run" is of that run, "in a week" of the week: what was not measured there has not changed.
    return days == 0 ? point.run == newest.run : point.time_s > begin;
  };
  const Refusals refusals(data);
  PresenceChanges presence(data, machines);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<std::size_t, const Record*>> versions;
  for (const auto& [row, points] : series_histories(data)) {
    const HistoryPoint& last = points.back();
    const auto after = std::ranges::upper_bound(points, begin, {}, &HistoryPoint::time_s);
    const HistoryPoint* before = after == points.begin() ? nullptr : &*std::prev(after);
    const HistoryPoint* was_refused = before == nullptr ? nullptr : refusals.first(*row, before->time_s, begin);
    const HistoryPoint* refused = refusals.first(*row, last.time_s, std::numeric_limits<double>::infinity());
    if (refused != nullptr && works(last)) {
      if (is_recent(*refused) && before != nullptr && was_refused == nullptr)
        presence.add(Change::What::kGone, *row, &last, refused);
      continue;
    }
    if (!is_recent(last)) continue;
    if (before == nullptr) {
      if (has_older) presence.add(Change::What::kNew, *row, nullptr, nullptr);
      continue;
    }
    if (was_refused != nullptr && works(last)) presence.add(Change::What::kFixed, *row, before, was_refused);
    const Before pair = pair_of(points, days, newest.time_s);
    if (pair.then == nullptr) continue;
    if (pair.then->version != pair.now->version) {
      auto& [count, any] = versions[{pair.then->version, pair.now->version}];
      ++count;
      any = row;
    }
    std::ranges::move(Differences(data, *row, place_of(*row, machines), pair).all(), std::back_inserter(changes));
  }
  std::ranges::move(presence.take(), std::back_inserter(changes));
  for (const auto& [pair, seen] : versions) {
    Change change;
    change.what = Change::What::kVersion;
    change.row = seen.second;
    change.rows = {seen.second};
    change.series = seen.second->series_key;
    change.words = fmt::format("{} → {} in {}", data.versions.at(pair.first), data.versions.at(pair.second),
                               counted(seen.first, "cell"));
    changes.push_back(std::move(change));
  }
  std::ranges::stable_sort(changes, [](const Change& a, const Change& b) {
    if (a.what != b.what) return a.what < b.what;
    return std::abs(std::log(a.ratio.value_or(1))) > std::abs(std::log(b.ratio.value_or(1)));
  });
  return changes;
}

}  // namespace assay
