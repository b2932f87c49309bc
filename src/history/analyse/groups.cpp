// SPDX-License-Identifier: Apache-2.0
#include "history/analyse/groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "core/traits/cell.hpp"
#include "history/analyse/analyse.hpp"
#include "history/analyse/pairs.hpp"

namespace assay {
namespace {

RowGroup& group_of(std::vector<RowGroup>& groups, std::map<std::string, std::size_t>& places, const std::string& key) {
  const auto [place, is_new] = places.emplace(key, groups.size());
  if (is_new) groups.emplace_back();
  return groups[place->second];
}

}  // namespace

const Record* RowGroup::original(const Record* row) const {
  return row == nullptr ? nullptr : from.at(static_cast<std::size_t>(row - rows.data()));
}

std::map<std::string, std::string> machine_names(std::span<const Record> rows) {
  std::map<std::string, std::string> names;
  for (const Record& row : rows) names.emplace(row.hardware_id, row.host);
  if (names.size() == 1) names.begin()->second.clear();
  std::map<std::string, int> count;
  for (const auto& [id, host] : names) ++count[host];
  constexpr std::size_t kDigits = 6;
  for (auto& [id, host] : names)
    if (names.size() > 1 && (host.empty() || count[host] > 1))
      host = fmt::format("{} {}", host.empty() ? "machine" : host, id.substr(0, kDigits));
  return names;
}

std::vector<RowGroup> groups_by_machine(std::span<const Record> rows) {
  const std::map<std::string, std::string> names = machine_names(rows);
  std::vector<Record> named = with_names_of_models({rows.begin(), rows.end()});
  std::vector<RowGroup> groups;
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Record& row = rows[i];
    RowGroup& group = group_of(groups, places, row.hardware_id);
    group.machine = group.name = names.at(row.hardware_id);
    group.hardware_id = row.hardware_id;
    group.rows.push_back(std::move(named[i]));
    group.from.push_back(&row);
  }
  return groups;
}

std::vector<RowGroup> parts_of(const RowGroup& group, const std::function<std::string(const Record&)>& name) {
  std::vector<RowGroup> parts;
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < group.rows.size(); ++i) {
    const std::string key = name(group.rows[i]);
    if (key.empty()) continue;
    RowGroup& part = group_of(parts, places, key);
    part.machine = group.machine;
    part.hardware_id = group.hardware_id;
    part.name = key;
    part.rows.push_back(group.rows[i]);
    part.from.push_back(group.from[i]);
  }
  return parts;
}

WrongTargets::Key WrongTargets::key_of(const Record& row) {
  return {row.hardware_id, row.model, row.model_id, row.size, target_key(row)};
}

WrongTargets::WrongTargets(std::span<const Record> rows) {
  for (const Record& row : rows)
    if (row.status == CellStatus::kWrong) wrong_.insert(key_of(row));
}

bool WrongTargets::has_target_of(const Record& row) const { return !wrong_.empty() && wrong_.contains(key_of(row)); }

std::vector<bool> usable_rows(std::span<const Record> rows) {
  const WrongTargets wrong(rows);
  std::vector<bool> usable;
  usable.reserve(rows.size());
  for (const Record& row : rows) usable.push_back(timed(row) && !wrong.has_target_of(row));
  return usable;
}

RowGroup without_wrong_targets(const RowGroup& group) {
  const WrongTargets wrong(group.rows);
  RowGroup kept{group.machine, group.hardware_id, group.name, {}, {}};
  for (std::size_t i = 0; i < group.rows.size(); ++i)
    if (!wrong.has_target_of(group.rows[i])) {
      kept.rows.push_back(group.rows[i]);
      kept.from.push_back(group.from[i]);
    }
  return kept;
}

CommonCells common_cells(std::span<const Record> rows, const std::function<bool(const Record&)>& usable) {
  std::map<std::string, std::map<std::string, const Record*>> by_target;  // target, cell
  std::vector<std::string> order;                                         // of cells
  for (const Record& row : rows) {
    if (!usable(row)) continue;
    const std::string key = cell_key(row);
    by_target[target_key(row)].emplace(key, &row);
    if (std::ranges::find(order, key) == order.end()) order.push_back(key);
  }
  std::vector<std::string> targets;
  for (const std::string& target : targets_of(rows))
    if (by_target.contains(target)) targets.push_back(target);
  std::ranges::stable_sort(targets, std::greater<>(),
                           [&](const std::string& target) { return by_target[target].size(); });
  CommonCells common;
  std::vector<std::string> cells = order;
  for (const std::string& target : targets) {
    std::vector<std::string> shared;
    std::ranges::copy_if(cells, std::back_inserter(shared),
                         [&](const std::string& key) { return by_target[target].contains(key); });
    if (shared.empty()) {
      common.left_out.push_back(target);
      continue;
    }
    cells = std::move(shared);
    common.targets.push_back(target);
  }
  for (const std::string& key : cells) {
    common.cells.emplace_back();
    for (const std::string& target : common.targets) common.cells.back().push_back(by_target[target].at(key));
  }
  return common;
}

double geometric_mean(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

}  // namespace assay
