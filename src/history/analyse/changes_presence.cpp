// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "core/base/text.hpp"
#include "core/traits/cell.hpp"
#include "history/analyse/answers.hpp"
#include "history/analyse/changes.hpp"

namespace assay {
namespace {

const Refusal& refusal_of(const Dataset& data, const HistoryPoint& point) {
  static const Refusal unknown;
  const auto index = static_cast<std::size_t>(point.refusal);
  return point.refusal >= 0 && index < data.refusals.size() ? data.refusals[index] : unknown;
}

bool refuses(const Dataset& data, const HistoryPoint& point) {
  if (point.status == CellStatus::kUnavailable) return true;
  const Word<Reason> code = refusal_of(data, point).reason_code;
  return point.status == CellStatus::kSkipped && (code == Reason::kTooLarge || code == Reason::kNotBuilt);
}

// Whether the row stands for all that its hardware could run.
bool is_of_hardware(const Dataset& data, const HistoryPoint& point) {
  return point.status == CellStatus::kUnavailable && refusal_of(data, point).reason_code == Reason::kNoHardware;
}

const char* refused_words(CellStatus status) {
  return status == CellStatus::kUnavailable ? "not available" : "skipped";
}

// "no_hardware: no driver is loaded"
std::string why_words(const Refusal& refusal) {
  const auto& [status, reason, message, hint] = refusal;
  const std::string code(to_string(reason));
  return message.empty() ? code : code.empty() ? message : code + ": " + message;
}

// "of bert", "of 3 models (bert, t5 and 1 more)"
std::string models_words(const std::vector<const Record*>& rows) {
  std::vector<std::string> names;
  std::set<std::string> known;
  for (const Record* row : rows)
    if (known.insert(row->model).second) names.push_back(row->model);
  if (names.size() == 1) return "of " + names.front();
  constexpr std::size_t kMost = 5;
  const std::size_t more = names.size() > kMost ? names.size() - kMost : 0;
  std::string list =
      join(std::vector<std::string>(names.begin(), names.end() - static_cast<std::ptrdiff_t>(more)), ", ");
  if (more > 0) list += fmt::format(" and {} more", more);
  return fmt::format("of {} models ({})", names.size(), list);
}

std::string state_of_all(const std::vector<const Record*>& rows) {
  StateCounts counts;
  for (const Record* row : rows) count_state(counts, *row);
  return state_words(counts);
}

}  // namespace

std::vector<SeriesHistory> series_histories(const Dataset& data) {
  std::map<std::string, const Record*> rows;
  for (const Record& row : data.cells) rows.emplace(row.series_key, &row);
  std::vector<std::vector<HistoryPoint>> points(data.series.size());
  for (const HistoryPoint& point : data.history)
    if (says_something(point)) points.at(point.series).push_back(point);
  std::vector<SeriesHistory> histories;
  for (std::size_t s = 0; s < points.size(); ++s) {
    const auto row = rows.find(data.series[s]);
    if (row == rows.end() || points[s].empty()) continue;
    // An imported result is not compared with own ones, nor takes their place.
    const auto imported = [](const HistoryPoint& point) { return is_imported(point); };
    if (!std::ranges::all_of(points[s], imported)) std::erase_if(points[s], imported);
    std::ranges::stable_sort(points[s], {}, &HistoryPoint::time_s);
    histories.push_back({row->second, std::move(points[s])});
  }
  return histories;
}

// Each key has a machine in its last place, by its id and by its host: the id of a machine changes with its
// accelerators.
std::vector<Refusals::Key> Refusals::keys_of(const Record& row) {
  std::vector<Key> keys{{"series", row.series_key, "", ""}};
  const std::string target = target_key(row);
  for (const std::string& machine : {"id " + row.hardware_id, "host " + row.host}) {
    if (machine == "host ") continue;
    keys.emplace_back("hardware", row.hardware, "", machine);
    keys.emplace_back(target, row.precision, row.model, machine);
  }
  return keys;
}

Refusals::Refusals(const Dataset& data) {
  std::map<std::string, const Record*> rows;
  for (const Record& row : data.cells) rows.emplace(row.series_key, &row);
  for (const HistoryPoint& point : data.history) {
    if (point.series >= data.series.size() || !refuses(data, point)) continue;
    const auto row = rows.find(data.series[point.series]);
    if (row == rows.end()) continue;
    const bool any_shape = !row->second->batch_size;
    for (Key& key : keys_of(*row->second)) {
      const bool of_series = std::get<0>(key) == "series", of_hardware = std::get<0>(key) == "hardware";
      if (of_series || (any_shape && (!of_hardware || is_of_hardware(data, point))))
        by_key_[std::move(key)].push_back(&point);
    }
  }
  for (auto& [key, points] : by_key_) std::ranges::stable_sort(points, {}, &HistoryPoint::time_s);
}

const HistoryPoint* Refusals::first(const Record& row, double after, double until) const {
  const HistoryPoint* first = nullptr;
  for (const Key& key : keys_of(row)) {
    const auto points = by_key_.find(key);
    if (points == by_key_.end()) continue;
    const auto found = std::ranges::upper_bound(points->second, after, {}, &HistoryPoint::time_s);
    if (found == points->second.end() || (*found)->time_s > until) continue;
    if (first == nullptr || (*found)->time_s < first->time_s) first = *found;
  }
  return first;
}

void PresenceChanges::add(Change::What what, const Record& row, const HistoryPoint* before,
                          const HistoryPoint* refused) {
  const std::int32_t why = refused == nullptr ? -1 : refused->refusal;
  const std::string date = refused == nullptr ? std::string() : date_of(refused->time_s);
  Cells& cells = changes_[{what, target_key(row), row.hardware_id, why, date}];
  const double time = before == nullptr ? 0 : before->time_s;
  cells.first_s = cells.rows.empty() ? time : std::min(cells.first_s, time);
  cells.last_s = std::max(cells.last_s, time);
  cells.rows.push_back(&row);
}

std::string PresenceChanges::words_of(const Key& key, const Cells& cells) const {
  const auto& [what, target, hardware_id, why, date] = key;
  const bool one = cells.rows.size() == 1;
  const std::string& machine = machines_.at(hardware_id);
  const std::string place =
      one ? place_of(*cells.rows.front(), machines_) : target + (machine.empty() ? "" : " on " + machine);
  const std::string which = one ? "" : fmt::format(", {} cells {}", cells.rows.size(), models_words(cells.rows));
  if (what == Change::What::kNew) return fmt::format("{}: new{}: {}", place, which, state_of_all(cells.rows));
  HistoryPoint point;
  point.refusal = why;
  const Refusal& refusal = refusal_of(data_, point);
  const char* refused = refused_words(refusal.status);
  if (what == Change::What::kFixed)
    return fmt::format("{}: measured again{}; {} on {}: {}", place, which, refused, date, why_words(refusal));
  const std::string from = date_of(cells.first_s), to = date_of(cells.last_s);
  return fmt::format("{}: {} since {}{}; {}; {} of {}", place, refused, date, which, why_words(refusal),
                     one ? "the result is" : "the results are", from == to ? to : from + " to " + to);
}

std::vector<Change> PresenceChanges::take() const {
  std::vector<Change> changes;
  for (const auto& [key, cells] : changes_) {
    Change change;
    change.what = std::get<0>(key);
    change.row = cells.rows.front();
    change.rows = cells.rows;
    change.series = change.row->series_key;
    change.words = words_of(key, cells);
    changes.push_back(std::move(change));
  }
  return changes;
}

std::map<const Record*, std::string> gone_words(const Dataset& data) {
  std::map<const Record*, std::string> words;
  const Refusals refusals(data);
  for (const auto& [row, points] : series_histories(data)) {
    const HistoryPoint& last = points.back();
    const HistoryPoint* refused = refusals.first(*row, last.time_s, std::numeric_limits<double>::infinity());
    if (refused == nullptr || !works(last)) continue;
    const Refusal& refusal = refusal_of(data, *refused);
    words[row] = fmt::format("{} since {} ({}), measured on {}", refused_words(refusal.status),
                             date_of(refused->time_s), to_string(refusal.reason_code), date_of(last.time_s));
  }
  return words;
}

}  // namespace assay
