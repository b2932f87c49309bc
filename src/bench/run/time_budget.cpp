// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "bench/plan/row.hpp"
#include "bench/run/time_plan.hpp"
#include "core/base/time_words.hpp"

namespace assay {
namespace {

/// A plan that just fits would overrun half of the time.
constexpr double kOfBudget = 0.95;
/// A launch keeps this much of its share of --max-time: the stop rule needs a second, and a quarter is for the warm-up.
constexpr double kLeastShareS = 1.5;
/// Times a run, and a launch is not the only one of its cell, although the run may take longer than estimated.
constexpr double kRunsOfSeveral = 5;
/// Later models can be sampled for less time, if they are not yet, so that planned launches of the present one are not
/// given up.
constexpr double kLaterModels = 0.75;

}  // namespace

double TimePlan::budget_s() const { return kOfBudget * static_cast<double>(budget_->count()) / kNsPerSecond; }

double TimePlan::least_share_s(const TaskCost& task, double wanted_s) const {
  return std::max(wanted_s, kRunsOfSeveral * expected_run_s(task, rate_));
}

void TimePlan::limit_shares(const std::vector<std::vector<Task>*>& tasks, std::size_t first, double share_s) {
  for (std::size_t m = first; m < models_.size(); ++m) {
    for (std::size_t t = 0; t < models_[m].cells.size(); ++t) {
      Cell& cell = models_[m].cells[t];
      Task& task = (*tasks[m])[t];
      if (cell.given_share_s) {
        const double least = least_share_s(cell.task, share_s);
        const double share = std::min(*cell.given_share_s, least);
        cell.shorter_s = share < *cell.given_share_s && !cell.complete ? std::optional(share) : std::nullopt;
        task.max_time = std::chrono::nanoseconds(std::llround(share * kNsPerSecond)) * task.launches;
      }
      cell.task.time = shared_time(task);
    }
    estimate(models_[m]);
  }
}

void TimePlan::give_back(const std::vector<std::vector<Task>*>& tasks, std::size_t first) {
  for (std::size_t m = first; m < models_.size(); ++m) {
    for (std::size_t t = 0; t < models_[m].cells.size(); ++t) {
      Cell& cell = models_[m].cells[t];
      Task& task = (*tasks[m])[t];
      cell.fewer = false;
      task.launches = cell.given_launches;
    }
  }
  limit_shares(tasks, first, std::numeric_limits<double>::max());
}

double TimePlan::given_share_s(std::size_t first) const {
  double given = 0;
  for (std::size_t m = first; m < models_.size(); ++m)
    for (const Cell& cell : models_[m].cells) given = std::max(given, cell.given_share_s.value_or(0));
  return given;
}

void TimePlan::shorten(const std::vector<std::vector<Task>*>& tasks, std::size_t first) {
  const double given = given_share_s(first);
  gave_up_ = !fits(first);
  if (given <= kLeastShareS || !gave_up_) return;
  double fitting = kLeastShareS, too_long = given;
  constexpr int kHalvings = 20;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (fitting + too_long) / 2;
    limit_shares(tasks, first, middle);
    (fits(first) ? fitting : too_long) = middle;
  }
  limit_shares(tasks, first, fitting);
}

void TimePlan::drop_launches(const std::vector<std::vector<Task>*>& tasks, std::size_t first) {
  // Cells of one model and shape are compared: they have the same launches.
  struct Group {
    std::vector<std::pair<Cell*, Task*>> cells;
    std::int64_t launches = 1;  // those included that --resume kept
    double launch_s = 0;        // of all its cells
  };
  std::map<std::string, Group> groups;
  for (std::size_t m = first; m < models_.size(); ++m) {
    for (std::size_t t = 0; t < models_[m].cells.size(); ++t) {
      Cell& cell = models_[m].cells[t];
      if (!cell.runs || cell.left == 0) continue;
      const CellShape& shape = (*tasks[m])[t].shape;
      Group& group = groups[fmt::format("{} {} {} {}", m, shape.batch, shape.sequence, shape.output_tokens)];
      group.cells.emplace_back(&cell, &(*tasks[m])[t]);
      group.launches = std::max(group.launches, cell.kept + cell.left);
      if (cell.left > 1) group.launch_s += cell.expected.later_s;
    }
  }
  for (const std::int64_t least : {std::int64_t{2}, std::int64_t{1}}) {
    while (!fits(first)) {
      Group* most = nullptr;
      for (auto& [key, group] : groups)
        if (group.launches > least && (most == nullptr || group.launch_s > most->launch_s)) most = &group;
      if (most == nullptr) break;
      --most->launches;
      for (const auto& [cell, task] : most->cells) {
        const std::int64_t launches = std::max(most->launches, cell->kept + 1);
        if (cell->kept + cell->left <= launches) continue;
        if (task->max_time) task->max_time = *task->max_time * launches / task->launches;  // a launch keeps its share
        task->launches = launches;
        cell->left = launches - cell->kept;
        cell->task.time = shared_time(*task);
      }
    }
  }
  for (const auto& [key, group] : groups)
    for (const auto& [cell, task] : group.cells)
      cell->fewer = task->launches < task->row.planned_launches.value_or(cell->given_launches);
}

void TimePlan::drop_batches(const std::vector<std::vector<Task>*>& tasks, std::size_t first) {
  const auto each = [&](const auto& visit) {
    for (std::size_t m = first; m < models_.size(); ++m)
      for (std::size_t t = 0; t < models_[m].cells.size(); ++t) visit(models_[m].cells[t], (*tasks[m])[t]);
  };
  // What --resume kept is not given up: it costs nothing.
  std::map<std::string, std::int64_t> smallest;
  const auto may_go = [&](const Cell& cell) {
    return cell.runs && cell.default_batch && !cell.complete && cell.kept == 0 && cell.batch > smallest[cell.group];
  };
  each([&](const Cell& cell, const Task&) {
    if (const auto known = smallest.find(cell.group); known == smallest.end() || cell.batch < known->second)
      smallest[cell.group] = cell.batch;
  });
  while (!fits(first)) {
    std::int64_t largest = 0;
    each([&](const Cell& cell, const Task&) {
      if (may_go(cell)) largest = std::max(largest, cell.batch);
    });
    if (largest == 0) return;
    each([&](Cell& cell, Task& task) {
      if (!may_go(cell) || cell.batch != largest) return;
      cell.runs = false;
      cell.left = 1;
      cell.expected = {};
      set_refusal(task.row, {CellStatus::kSkipped, Reason::kNoTime,
                             fmt::format("{} leaves no time for this default batch", budget_text(*budget_)),
                             "a larger --budget, or --batch-sizes with the batches that you need"});
    });
    dropped_batches_.push_back(largest);
  }
}

void TimePlan::fit(const std::vector<std::vector<Task>*>& tasks, std::size_t first) {
  if (!budget_) return;
  fit_at_s_ = elapsed_s();
  give_back(tasks, first);
  shorten(tasks, first);
  drop_launches(tasks, first);
  drop_batches(tasks, first);
  fitted_s_ = planned_s(first, true);
}

std::optional<TimePlan::Overrun> TimePlan::overrun() const {
  if (!budget_ || fitted_s_ <= 0 || fit_at_s_ + fitted_s_ <= budget_s() / kOfBudget) return {};
  const std::string budget = budget_text(*budget_), seconds = time_words(std::ceil(fitted_s_));
  return Overrun{fmt::format("{}: the plan was reduced as far as possible and takes about {}: it is measured anyway",
                             budget, seconds),
                 fmt::format("{}: the plan was reduced as far as possible; expected time {}", budget, seconds)};
}

std::vector<std::string> TimePlan::given_up(std::optional<std::int64_t> fewer) const {
  if (!budget_) return {};
  std::vector<std::string> lines;
  const auto say = [&](const std::string& words) { lines.push_back(budget_text(*budget_) + ": " + words); };
  double least = std::numeric_limits<double>::max(), most = 0;
  std::int64_t expected = 0, cells = 0, planned = 0;
  for (const Model& model : models_) {
    for (const Cell& cell : model.cells) {
      if (cell.runs && cell.shorter_s) {
        least = std::min(least, *cell.shorter_s);
        most = std::max(most, *cell.shorter_s);
      }
      cells += cell.runs ? 1 : 0;
      expected += cell.runs && cell.fewer ? 1 : 0;
      planned = std::max(planned, cell.given_launches);
    }
  }
  const std::string low = fmt::format("{:.1f}", least), high = fmt::format("{:.1f}", most);
  if (most > 0)
    say(fmt::format("{} s to warm up and sample in a launch instead of {:.1f} s",
                    low == high ? low : fmt::format("{} to {}", low, high), given_share_s(0)));
  const std::int64_t with_fewer = fewer.value_or(expected);
  if (with_fewer > 0)
    say(cells == 1 ? fmt::format("the cell has fewer than {} launches", planned)
                   : fmt::format("{} of {} cells {} fewer than {} launches", with_fewer, cells,
                                 with_fewer == 1 ? "has" : "have", planned));
  if (dropped_batches_.size() == 1)
    say(fmt::format("batch {} is not measured", dropped_batches_.front()));
  else if (!dropped_batches_.empty())
    say(fmt::format("batches {} are not measured",
                    fmt::join(dropped_batches_.rbegin(), dropped_batches_.rend(), ", ")));
  if (elapsed_s() > budget_s() / kOfBudget) say(fmt::format("the run took {}", time_words(elapsed_s())));
  return lines;
}

double TimePlan::shortest_s(std::size_t first_model) const {
  double seconds = planned_s(first_model, true);
  for (std::size_t m = first_model; m < models_.size(); ++m) {
    for (const Cell& cell : models_[m].cells) {
      if (!cell.runs || !cell.task.time.max_time) continue;
      Cell shortest = cell;
      const double least = least_share_s(cell.task, kLeastShareS);
      const auto all = std::chrono::nanoseconds(std::llround(least * kNsPerSecond)) * cell.task.time.launches;
      shortest.task.time.max_time = std::min(*cell.task.time.max_time, all);
      shortest.expected = expected_launch_s(shortest.task, rate_);
      seconds += launches_s(shortest, cell.left) - launches_s(cell, cell.left);
    }
  }
  return seconds;
}

bool TimePlan::has_time(double seconds, bool planned) const {
  if (!budget_) return true;
  const double later = planned_s(model_ + 1, true);
  if (planned)
    return elapsed_s() + std::max(kLaterModels * later, shortest_s(model_ + 1)) + seconds <= budget_s() / kOfBudget;
  return !gave_up_ && elapsed_s() + later + seconds <= budget_s();
}

}  // namespace assay
