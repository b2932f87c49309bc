// SPDX-License-Identifier: Apache-2.0
#include "bench/run/session_tasks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include "bench/plan/row.hpp"
#include "bench/run/resumed.hpp"
#include "bench/run/rounds.hpp"
#include "core/base/clock.hpp"
#include "core/base/guard.hpp"
#include "core/base/log.hpp"
#include "core/base/text.hpp"
#include "core/base/time_words.hpp"
#include "core/result/keys.hpp"
#include "core/result/launch_medians.hpp"
#include "core/traits/cell.hpp"
#include "history/store/bundle.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

// The row of a task that was not reached, with its reason. What cannot run at all keeps its own.
Record unreached_row(Record row, const Refusal& why) {
  if (!row.reason_code) set_refusal(row, why);
  row.task_key = task_key(row);
  row.series_key = series_key(row);
  row.timestamp = iso8601(wall_now());
  return row;
}

// What is known of a cell from its launches.
struct Ended {
  bool reported = false, lacks_launches = false;
  std::size_t launches = 0, resumed = 0;
  std::map<std::string, fs::path> logs;  // by attempt
  fs::path newest_failure;               // the log of the newest launch that did not end well

  void launched(const Launch& launch) {
    ++launches;
    resumed += launch.resumed ? 1 : 0;
    std::error_code ignored;
    if (launch.log.empty() || !fs::exists(launch.log, ignored)) return;
    logs[launch.row.attempt_id] = launch.log;
    if (launch.row.status != CellStatus::kCompleted) newest_failure = launch.log;
  }
  [[nodiscard]] bool kept() const { return launches > 0 && resumed == launches; }
  // The log that explains the row; empty: there is none.
  [[nodiscard]] fs::path log_of(const Record& row) const {
    if (row.status != CellStatus::kCompleted && !newest_failure.empty()) return newest_failure;
    const auto own = logs.find(row.attempt_id);
    return own == logs.end() ? fs::path() : own->second;
  }
};

const char* launches_words(ExecutorServices::Round round) {
  switch (round) {
    case ExecutorServices::Round::kFurther:
      return "further launches of pairs that are undecided";
    case ExecutorServices::Round::kRepeated:
      return "another launch of cells that contradict each other";
    case ExecutorServices::Round::kPlanned:
      break;
  }
  return "more launches";
}

std::vector<KeptLaunches> kept_launches(const std::vector<Task>& tasks, const ExecutorServices& services) {
  if (services.resumed.empty()) return {};
  std::vector<KeptLaunches> kept(tasks.size());
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    LocalTask local{tasks[t]};
    local.task.row.task_key = task_key(local.task.row);
    const std::vector<Launch>* launches = resumed_launches(services.resumed, local.task);
    if (launches == nullptr) continue;
    local.launches = *launches;
    kept[t] = {.launches = launches->size(), .missing = missing_launches(local)};
    for (const Launch& launch : *launches)
      if (settled(launch.row)) kept[t].run_s = std::chrono::duration<double>(run_time(launch.row)).count();
  }
  return kept;
}

}  // namespace

Status run_planned(std::vector<PlannedModel> planned, const SessionRequest& request, TimePlan time,
                   ExecutorServices services, SessionResult& out) {
  std::vector<std::vector<Task>*> tasks;
  for (PlannedModel& each : planned) {
    time.add(each.tasks, kept_launches(each.tasks, services));
    tasks.push_back(&each.tasks);
  }
  std::size_t done_launches = 0, beside_others = 0;
  const auto notify = [&] {
    if (request.time_left) request.time_left({done_launches, time.launches(), time.left_s()});
  };
  std::vector<Ended> ended;  // of the present model, by task
  ExecutorEvents events;
  events.prepared = [&] {
    time.prepared();
    notify();
  };
  events.launched = [&](std::size_t task, const Launch& launch) {
    ended[task].launched(launch);
    time.launched(task, launch.row, launch.resumed);
    ++done_launches;
    if (launch.unsaved.empty())
      ++out.saved;
    else
      out.unsaved.emplace_back(
          fmt::format("{} on {} {}", launch.row.model, target_key(launch.row), shape_key(launch.row)), launch.unsaved);
    beside_others += launch.beside_others ? 1 : 0;
    notify();
    if (request.launched) request.launched(launch.row, launch.resumed);
  };
  events.lacks_launches = [&](std::size_t task) { ended[task].lacks_launches = true; };
  events.finished = [&](std::size_t task, const Record& row) {
    Ended& cell = ended[task];
    cell.reported = true;
    out.rows.push_back(row);
    if (cell.kept()) out.kept.insert(row.attempt_id);
    if (cell.lacks_launches && request.cancelled()) out.partly.insert(row.attempt_id);
    if (const fs::path log = cell.log_of(row); !log.empty()) out.logs[row.attempt_id] = log;
    if (request.finished) request.finished(row, cell.kept());
  };
  services.has_budget = request.settings.budget.has_value();
  std::string present;                                           // model
  std::map<std::string, std::vector<std::string>> without_time;  // models, by what they had no time for
  services.has_time = [&](double seconds, ExecutorServices::Round round) {
    if (time.has_time(seconds, round == ExecutorServices::Round::kPlanned)) return true;
    std::vector<std::string>& models = without_time[launches_words(round)];
    if (models.empty() || models.back() != present) models.push_back(present);
    return false;
  };
  ASSAY_TRY(const std::unique_ptr<Executor> executor, LocalExecutor::create(out.run, std::move(services)));
  bool overrun_said = false;
  for (std::size_t model = 0; model < planned.size(); ++model) {
    PlannedModel& each = planned[model];
    time.fit(tasks, model);
    if (const auto overrun = time.overrun(); overrun && !std::exchange(overrun_said, true)) {
      log_warning("{}", overrun->warning);
      out.notes.push_back(overrun->note);
    }
    time.begin(model);
    notify();
    std::vector<Record> rows;
    rows.reserve(each.tasks.size());
    for (const Task& task : each.tasks) rows.push_back(task.row);
    ended.assign(rows.size(), {});
    present = each.model.choice.name;
    Status done;
    if (!request.cancelled())
      done = guarded("while running " + each.model.choice.name,
                     [&] { return executor->run(std::move(each.tasks), events); });
    for (std::size_t cell = 0; cell < rows.size(); ++cell) {
      if (ended[cell].reported) continue;
      if (request.cancelled()) {
        out.rows.push_back(
            unreached_row(std::move(rows[cell]), {CellStatus::kSkipped, Reason::kCancelled, "interrupted before it ran",
                                                  "run the same command with --resume"}));
      } else if (!done) {
        Record failed;
        set_failure(failed, done.error());
        events.finished(cell, unreached_row(std::move(rows[cell]),
                                            {failed.status, failed.reason_code, failed.message, failed.hint}));
      }
    }
    time.end();
    if (request.model_finished) request.model_finished(out);
  }
  if (beside_others > 0)
    out.notes.push_back(fmt::format(
        "another measurement ran on this machine during {} of {}: it may have disturbed these times; the messages of "
        "their rows say so, and `environment.json` of each bundle which one it was",
        beside_others, counted(done_launches, "launch", "launches")));
  std::ranges::move(time.given_up(std::ranges::count_if(out.rows, has_fewer_launches)), std::back_inserter(out.notes));
  for (const auto& [launches, models] : without_time)
    out.notes.push_back(fmt::format("{}: no time for {}: {}", budget_text(*request.settings.budget), launches,
                                    fmt::join(models, ", ")));
  return {};
}

}  // namespace assay
