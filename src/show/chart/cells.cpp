// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <ranges>
#include <set>
#include <utility>

#include "core/base/text.hpp"
#include "core/result/newest.hpp"
#include "core/traits/cell.hpp"
#include "history/analyse/analyse.hpp"
#include "history/analyse/groups.hpp"
#include "history/store/dataset.hpp"
#include "show/chart/charts.hpp"
#include "show/chart/picture.hpp"

namespace assay::chart {
namespace {

// What all rows say, or "".
template <class Get>
std::string common(std::span<const Record* const> rows, Get get) {
  if (rows.empty()) return "";
  const std::string value = get(*rows.front());
  return std::ranges::all_of(rows, [&](const Record* row) { return get(*row) == value; }) ? value : "";
}

bool is_measured(const Record& row, Number Record::*value) { return shows_values(row) && (row.*value).value_or(0) > 0; }

// As representatives(), of measurements that are not ranked: of the cell that most targets have, one for each. A target
// that computes wrong numbers for the model at another shape has none either.
std::vector<const Record*> most_common(std::span<const Record> rows, const std::string& model, Number Record::*value,
                                       bool simulated) {
  const WrongTargets wrong(rows);
  const auto taken = [&](const Record& row) {
    return row.model == model && is_measured(row, value) && (simulated || !is_simulated(row)) &&
           !wrong.has_target_of(row);
  };
  const auto size_of = [](const Record& row) {
    return std::pair(row.batch_size.value_or(0), row.sequence_length.value_or(0));
  };
  std::vector<const Record*> best;
  for (const Record& first : rows) {
    if (!taken(first)) continue;
    std::vector<const Record*> alike;
    std::set<std::string> targets;
    for (const Record& row : rows)
      if (taken(row) && comparable(first, row) && targets.insert(target_key(row)).second) alike.push_back(&row);
    if (alike.size() > best.size() || (alike.size() == best.size() && size_of(first) < size_of(*best.front())))
      best = std::move(alike);
  }
  return best;
}

std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// Those of `representatives`, with what is not ranked in the same cell.
std::vector<const Record*> typical_cells(std::span<const Record> rows, const std::string& model,
                                         std::vector<const Record*> found, Number Record::*value) {
  if (found.empty()) found = most_common(rows, model, value, false);
  if (found.empty()) return most_common(rows, model, value, true);
  std::set<std::string> targets;
  for (const Record* row : found) targets.insert(target_key(*row));
  const Record& like = *found.front();
  const WrongTargets wrong(rows);
  for (const Record& row : rows)
    if (row.model == model && is_unranked(row) && is_measured(row, value) && comparable(like, row) &&
        !wrong.has_target_of(row) && targets.insert(target_key(row)).second)
      found.push_back(&row);
  return found;
}

Cells cells_of(const Input& input) {
  Cells cells;
  cells.rows = with_names_of_models(input.data->cells);
  if (!input.model.empty())
    std::erase_if(cells.rows,
                  [&](const Record& row) { return row.model != input.model && row.model_id != input.model; });
  // Times of different machines are never in one picture: that of the newest cell stays.
  std::map<std::string, std::size_t> others;
  const std::map<std::string, std::string> machines = machine_names(cells.rows);
  if (!cells.rows.empty()) {
    const Record& newest = *std::ranges::max_element(cells.rows, {}, newness);
    const std::string kept = newest.hardware_id;
    cells.hardware_id = kept;
    cells.machine = machines.size() > 1 ? machines.at(kept) : newest.host;
    std::erase_if(cells.rows, [&](const Record& row) {
      if (row.hardware_id == kept) return false;
      ++others[machines.at(row.hardware_id)];
      return true;
    });
  }
  for (const auto& [machine, count] : others)
    cells.notes.push_back(fmt::format("Not shown: {} of the machine {}.", counted(count, "cell"), machine));
  cells.other_machines = cells.notes;
  if (input.data->left_out > 0)
    cells.notes.push_back(
        fmt::format("Not shown: {} older cells; a filter such as --model selects fewer.", input.data->left_out));
  const auto name_of_model = [](const Record& row) { return std::pair(lower_case(row.model), row.model); };
  std::ranges::stable_sort(cells.rows, {}, name_of_model);
  std::size_t means = 0;
  for (Record& row : cells.rows)
    if (shows_values(row) && !row.latency_p50_ms && row.latency_mean_ms &&
        row.verification != Verification::kVerified) {
      row.latency_p50_ms = row.latency_mean_ms;
      row.latency_p50_quality = kMeanQuality;
      ++means;
    }
  if (means > 0) cells.notes.push_back(counted(means, "result has", "results have") + " no median: the mean is shown.");
  cells.models = models_of(cells.rows);
  for (const std::string& model : cells.models) {
    const auto own = std::ranges::equal_range(cells.rows, std::pair(lower_case(model), model), {}, name_of_model);
    const std::vector<const Record*> ranked = representatives(own, model);
    cells.typical[model] = {typical_cells(own, model, ranked, &Record::latency_p50_ms),
                            typical_cells(own, model, ranked, &Record::memory_mb), !ranked.empty()};
  }
  return cells;
}

}  // namespace

Source::Source(Input of) : input(std::move(of)), cells(cells_of(input)) {}

std::string group_words(std::string name) {
  std::ranges::replace(name, '_', ' ');
  return name.empty() ? "other" : name;
}

std::string winners_words(const std::map<std::string, Wins>& wins, std::string_view claim, std::string_view things,
                          bool one_each) {
  std::vector<std::pair<std::string, Wins>> most(wins.begin(), wins.end());
  std::ranges::stable_sort(most, std::ranges::greater{}, [](const auto& one) { return one.second.count; });
  std::string words;
  for (const auto& [target, won] : most) {
    const bool first = words.empty();
    words += first ? fmt::format("{} {}", target, claim) : ", " + target;
    words += fmt::format(" for {}", won.count);
    if (first || won.of != most.front().second.of) words += fmt::format(" of {}", won.of);
    if (first) words += fmt::format(" {}", things);
  }
  std::size_t won = 0;
  for (const auto& [target, each] : most) won += each.count;
  if (one_each && won < most.front().second.of)
    words += fmt::format("; for {} none is shown to be", most.front().second.of - won);
  return words;
}

std::string common_words(std::span<const Record* const> rows) {
  std::string words;
  const auto add = [&](const std::string& part) {
    if (!part.empty()) words += (words.empty() ? "" : " · ") + part;
  };
  const std::string batch =
      common(rows, [](const Record& row) { return row.batch_size ? fmt::format("batch {}", *row.batch_size) : ""; });
  add(batch);
  add(common(rows, [](const Record& row) {
    return row.sequence_length ? fmt::format("{} tokens", *row.sequence_length) : "";
  }));
  add(common(rows, [](const Record& row) { return row.given_shapes; }));
  add(common(rows, [](const Record& row) { return row.precision; }));
  add(common(rows, [](const Record& row) { return row.host; }));
  if (rows.empty()) return words;
  const auto launches_of = [](const Record* row) { return row->launches.value_or(0); };
  const auto date_of = [](const Record* row) { return row->timestamp.substr(0, 10); };
  const auto [least, most] = std::ranges::minmax(rows | std::views::transform(launches_of));
  if (least > 0)
    add(least == most ? counted(most, "launch", "launches") : fmt::format("{} to {} launches", least, most));
  const auto [oldest, newest] = std::ranges::minmax(rows | std::views::transform(date_of));
  add(oldest.empty() || oldest == newest ? newest : fmt::format("{} to {}", oldest, newest));
  return words;
}

}  // namespace assay::chart
