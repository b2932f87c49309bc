// SPDX-License-Identifier: Apache-2.0
#include "history/analyse/analysis.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "core/result/newest.hpp"
#include "core/result/run_info.hpp"
#include "core/traits/cell.hpp"
#include "history/analyse/answers.hpp"
#include "history/analyse/groups.hpp"
#include "history/store/dataset.hpp"

namespace assay {
namespace {

// Says from when an answer is, if what it names cannot be tried any more.
void add_gone_words(Analysis& analysis, const Dataset& data) {
  const std::map<const Record*, std::string> gone = gone_words(data);
  const auto add = [&](std::string& words, const Record* row) {
    const auto found = gone.find(row);
    if (found != gone.end()) words += (words.empty() ? "" : "; ") + found->second;
  };
  for (ModelLine& line : analysis.models)
    for (std::optional<Best>* best : {&line.latency, &line.throughput})
      if (*best) add((*best)->words, (*best)->row);
  for (Choice& choice : analysis.choices)
    if (!choice.rows.empty()) add(choice.words, choice.rows.front());
}

constexpr std::array kGoals{std::pair(Goal::kLatency, "latency"), std::pair(Goal::kThroughput, "throughput"),
                            std::pair(Goal::kMemory, "memory"), std::pair(Goal::kEfficiency, "efficiency")};

}  // namespace

std::string_view to_string(Goal goal) {
  return std::ranges::find(kGoals, goal, &decltype(kGoals)::value_type::first)->second;
}

std::optional<Goal> goal_from(std::string_view name) {
  for (const auto& [goal, word] : kGoals)
    if (word == name) return goal;
  return std::nullopt;
}

Analysis analyse(const Dataset& data, Goal goal) {
  Analysis analysis;
  analysis.goal = goal;
  const std::vector<RowGroup> machines = groups_by_machine(data.cells);
  analysis.machines = machines.size();
  analysis.models = model_lines(data.cells);
  // As on the pages: web/src/order.ts.
  std::ranges::stable_sort(analysis.models, {}, [](const ModelLine& line) {
    return std::tuple(line.category.empty() ? line.family : line.category, line.model, line.machine);
  });
  analysis.failures = failures_of(data.cells);
  for (const Record& row : data.cells) count_state(analysis.states, row);
  analysis.sure = how_sure(data.cells);
  analysis.since_last_run = changes_of(data, 0);
  analysis.since_a_week = changes_of(data, kWeek);
  analysis.since_a_month = changes_of(data, kMonth);
  analysis.choices = choices_of(machines, data, goal);
  add_gone_words(analysis, data);
  analysis.opportunities = opportunities_of(machines, data);
  if (analysis.opportunities.empty())
    analysis.no_opportunity =
        std::ranges::any_of(data.cells, &Record::ranked)
            ? "No gain was found that is larger than what these measurements can show: more launches (`--launches`), "
              "batches or runtimes may show one."
            : "Nothing here is ranked, so no gain can be shown: `assay doctor` says what disturbs this machine, and "
              "more launches (`--launches`) make times more certain.";
  analysis.efficiency = efficiencies_of(machines, data, analysis.efficiency_missing);
  analysis.categories = categories_of(machines);
  analysis.architectures = architectures_of(machines);
  return analysis;
}

std::string targets_words(const Best& best) {
  const bool open = best.runner_up != nullptr && !best.ahead.claimed();
  return target_key(*best.row) + (open ? " or " + target_key(*best.runner_up) : "");
}

namespace {

std::optional<MachineScore> score_of(const RunFacts& run) {
  if (!run.environment.is_object()) return std::nullopt;
  const auto doctor = run.environment.find("doctor");
  return doctor == run.environment.end() ? std::nullopt : machine_score_of(*doctor);
}

}  // namespace

std::optional<MachineScore> machine_score(const Dataset& data) {
  if (data.cells.empty()) return std::nullopt;
  const Record& newest = *std::ranges::max_element(data.cells, {}, newness);
  const auto run = std::ranges::find(data.runs, newest.run_id, &RunFacts::run_id);
  return run == data.runs.end() ? std::nullopt : score_of(*run);
}

Disturbances::Disturbances(const Dataset& data) {
  for (const RunFacts& run : data.runs) {
    const std::optional<MachineScore> machine = score_of(run);
    of_runs_.push_back(machine && machine->score <= kUnreliableScore ? "score " + score_text(*machine) : "");
  }
}

std::string Disturbances::words(const HistoryPoint& point) const {
  std::string words = point.run < of_runs_.size() ? of_runs_[point.run] : "";
  if (point.flags.has(Flag::kNoisy)) words += words.empty() ? "noisy" : ", noisy";
  return words;
}

}  // namespace assay
