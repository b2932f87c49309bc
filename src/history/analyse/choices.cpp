// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "core/base/text.hpp"
#include "core/traits/cell.hpp"
#include "history/analyse/answers.hpp"
#include "history/analyse/pairs.hpp"
#include "history/store/dataset.hpp"

namespace assay {
namespace {

// What a goal looks at: a value of a row, whether more is better, and how it is written.
struct Measure {
  std::function<Number(const Record&)> value;
  bool higher = false;
  std::string unit;
};

Measure measure_of(Goal goal, const Dataset& data, std::span<const Record> rows) {
  switch (goal) {
    case Goal::kThroughput:
      return {[](const Record& row) { return row.throughput_ips; }, true, "items/s"};
    case Goal::kMemory:
      return {[kind = most_common_memory_kind(rows)](const Record& row) {
                return memory_kind(row) == kind ? row.memory_mb : Number();
              },
              false, "MB"};
    case Goal::kEfficiency:
      return {[&data](const Record& row) {
                const auto share = efficiency_of(row, data);
                constexpr double kPercent = 100;
                return share ? Number(*share * kPercent) : Number();
              },
              true, "% of the measured peak"};
    case Goal::kLatency:
      break;
  }
  return {[](const Record& row) { return row.latency_p50_ms; }, false, "ms"};
}

// For throughput the batch is free: of cells that differ in nothing else every target has its best batch.
using Cells = std::vector<std::vector<const Record*>>;
Cells best_batches(const Cells& cells) {
  std::map<std::string, std::vector<const Record*>> best;
  for (const auto& cell : cells) {
    auto& kept = best[cell_key_of_any_batch(*cell.front())];
    if (kept.empty()) kept = cell;
    for (std::size_t t = 0; t < cell.size(); ++t)
      if (*cell[t]->throughput_ips > *kept[t]->throughput_ips) kept[t] = cell[t];
  }
  Cells result;
  for (auto& [key, rows] : best) result.push_back(std::move(rows));
  return result;
}

// Why a target has no value for this architecture.
std::string why_without(const RowGroup& group, const std::string& target, bool wrong) {
  // A cell that was measured says more than one that was skipped.
  const CellStatus decisive = wrong ? CellStatus::kWrong : CellStatus::kCompleted;
  const Record* any = nullptr;
  const bool ranked =
      std::ranges::any_of(group.rows, [&](const Record& row) { return target_key(row) == target && timed(row); });
  for (const Record& row : group.rows)
    if (target_key(row) == target && (any == nullptr || row.status == decisive)) any = &row;
  if (any == nullptr) return target;
  if (wrong) return fmt::format("{}: computes wrong numbers ({})", target, shape_words(*any));
  if (any->status != CellStatus::kCompleted)
    return fmt::format("{}: {}{}", target, to_string(any->status),
                       !any->reason_code ? "" : fmt::format(" ({})", to_string(any->reason_code)));
  return fmt::format("{}: {}", target,
                     ranked ? "no ranked cell in common with the others" : "no verified, ranked time");
}

// `ranked`: the architecture has ranked cells.
std::string choice_words(const Choice& choice, Goal goal, const std::string& unit, bool ranked) {
  const std::string name =
      choice.machine.empty() ? choice.architecture : fmt::format("{} ({})", choice.architecture, choice.machine);
  if (choice.best.empty() && ranked)
    return fmt::format("{}: no {} of its verified, ranked cells is known{}", name, to_string(goal),
                       goal == Goal::kEfficiency ? ": no peak was measured (`assay doctor --peak`), or no operator "
                                                   "of the model was counted"
                                                 : "");
  if (choice.best.empty()) return fmt::format("{}: no target has a verified, ranked cell", name);
  const std::string value = fmt::format("{} {}", in_words(*choice.value), unit);
  if (choice.runner_up.empty())
    return fmt::format("{}: {} is the only target with a verified, ranked cell: {}", name, choice.best, value);
  const std::string other = fmt::format("{} {}", in_words(*choice.runner_up_value), unit);
  if (goal == Goal::kMemory || goal == Goal::kEfficiency)
    return fmt::format("{}: {}: {} against {} of {}; without an interval", name, choice.best, value, other,
                       choice.runner_up);
  if (choice.ahead.baseline_ahead())
    return fmt::format("{}: use {}: {}, {}", name, choice.best, value, ahead_words(choice.ahead, choice.runner_up));
  return fmt::format(
      "{}: {} ({}) and {} ({}): {}", name, choice.best, value, choice.runner_up, other,
      choice.ahead.claimed() ? ahead_words(choice.ahead, choice.runner_up) : no_claim_words(choice.ahead));
}

std::string sure_words(const Choice& choice) {
  if (choice.cells == 0) return {};
  const std::string cells = counted(choice.cells, "cell");
  return choice.ahead.evidence == Evidence::kRounds ? fmt::format("{} rounds, {}", choice.ahead.rounds, cells) : cells;
}

// A target (baseline) with another one over the cells.
CellComparison compared(const Cells& cells, std::size_t first, std::size_t second, Goal goal, std::size_t among) {
  std::vector<Record> items;
  items.reserve(2 * cells.size());
  std::vector<CellPair> pairs;
  for (const auto& cell : cells) {
    for (const std::size_t target : {first, second})
      items.push_back(goal == Goal::kThroughput ? per_item(*cell[target]) : *cell[target]);
    pairs.push_back({&items[items.size() - 2], &items.back()});
  }
  return compare_together(pairs, among);
}

Choice choice_of(const RowGroup& group, const Dataset& data, Goal goal) {
  const RowGroup usable = without_wrong_targets(group);
  const Measure measure = measure_of(goal, data, usable.rows);
  const CommonCells common =
      common_cells(usable.rows, [&](const Record& row) { return timed(row) && measure.value(row).value_or(0) > 0; });
  Choice choice;
  choice.architecture = group.name;
  choice.category = group.rows.front().category;
  choice.machine = group.machine;
  choice.hardware_id = group.hardware_id;
  const std::vector<std::string> right = targets_of(usable.rows);
  for (const std::string& target : targets_of(group.rows)) {
    if (std::ranges::find(common.targets, target) != common.targets.end()) continue;
    choice.left_out.push_back(why_without(group, target, std::ranges::find(right, target) == right.end()));
  }
  const Cells cells = goal == Goal::kThroughput ? best_batches(common.cells) : common.cells;
  std::vector<std::pair<double, std::size_t>> order;  // the best first
  for (std::size_t t = 0; t < common.targets.size(); ++t) {
    std::vector<double> values;
    values.reserve(cells.size());
    for (const auto& cell : cells) values.push_back(*measure.value(*cell[t]));
    order.emplace_back(geometric_mean(values), t);
  }
  std::ranges::stable_sort(
      order, [&](const auto& a, const auto& b) { return measure.higher ? a.first > b.first : a.first < b.first; });
  choice.cells = cells.size();
  if (!order.empty()) {
    const std::size_t first = order[0].second;
    choice.best = common.targets[first];
    choice.value = order[0].first;
    for (const auto& cell : cells) choice.rows.push_back(usable.original(cell[first]));
    std::size_t second = 1;
    if (goal == Goal::kLatency || goal == Goal::kThroughput) {
      std::vector<CellComparison> with;
      for (std::size_t place = 1; place < order.size(); ++place)
        with.push_back(
            compared(cells, first, order[place].second, goal,
                     goal == Goal::kThroughput ? common.targets.size() * common.cells.size() : common.targets.size()));
      second += deciding(with);
      if (!with.empty()) choice.ahead = with[second - 1];
    }
    if (second < order.size()) {
      choice.runner_up = common.targets[order[second].second];
      choice.runner_up_value = order[second].first;
    }
  }
  choice.words = choice_words(choice, goal, measure.unit, std::ranges::any_of(usable.rows, timed));
  choice.how_sure = sure_words(choice);
  return choice;
}

}  // namespace

std::vector<Choice> choices_of(const std::vector<RowGroup>& machines, const Dataset& data, Goal goal) {
  std::vector<Choice> choices;
  for (const RowGroup& machine : machines)
    for (const RowGroup& group :
         parts_of(machine, [](const Record& row) { return row.architecture.empty() ? row.model : row.architecture; }))
      choices.push_back(choice_of(group, data, goal));
  return choices;
}

}  // namespace assay
