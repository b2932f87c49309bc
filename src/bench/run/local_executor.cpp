// SPDX-License-Identifier: Apache-2.0
#include "bench/run/local_executor.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "bench/measure/environment.hpp"
#include "bench/plan/row.hpp"
#include "bench/plan/schedule.hpp"
#include "bench/run/cell_files.hpp"
#include "bench/run/cell_launcher.hpp"
#include "bench/run/local_task.hpp"
#include "bench/run/local_workers.hpp"
#include "bench/run/reference_set.hpp"
#include "bench/run/resumed.hpp"
#include "bench/run/rounds.hpp"
#include "bench/run/this_machine.hpp"
#include "bench/run/witnesses.hpp"
#include "core/base/clock.hpp"
#include "core/base/files.hpp"
#include "core/base/guard.hpp"
#include "core/stats/launches.hpp"

namespace assay {
namespace {

ArtefactStore::Services artefact_services(const ExecutorServices& services) {
  return {services.registry,  services.cache / "models", services.artefact_timeout,
          services.cancelled, services.making,           services.timer};
}

/// Further rounds of a model take at most this part of the time of those that were planned, or this time.
constexpr double kFurtherShare = 0.25, kFurtherAtLeastS = 15;

double expected_s(const std::vector<LocalTask>& cells, const std::vector<ScheduledLaunch>& round) {
  double seconds = 0;
  for (const ScheduledLaunch& launch : round) seconds += cells[launch.task].last_launch_s;
  return seconds;
}

// Whether a further round may have the cell, so that its files stay.
bool may_extend(const LocalTask& cell) {
  return cell.task.launches > 1 && cell.has_reference && settled(cell.launches.back().row);
}

}  // namespace

struct LocalExecutor::State {
  RunInfo run;
  RunContext context;
  ExecutorServices services;
  TemporaryDirectory scratch;
  std::uint64_t memory_limit;
  ThisMachine machine;
  ArtefactStore artefacts;
  CellFiles files;
  LocalWorkers workers;
  ReferenceMaker maker;
  ReferenceSet references;
  Witnesses witnesses;
  CellLauncher launcher;
  std::size_t reported = 0;  ///< tasks whose rows were reported
  SteadyClock clock;

  State(RunInfo info, ExecutorServices given, TemporaryDirectory folder);
  void prepare(std::vector<LocalTask>& tasks);
  double run_round(std::vector<LocalTask>& cells, const std::vector<ScheduledLaunch>& round, const ExecutorEvents& on);
  void run_rounds(std::vector<LocalTask>& cells, const ExecutorEvents& on);
  std::int64_t run_further_rounds(std::vector<LocalTask>& cells, std::int64_t round, double planned_s,
                                  const ExecutorEvents& on);
  void report_ended(const std::vector<LocalTask>& cells, bool all, const ExecutorEvents& on);
};

LocalExecutor::State::State(RunInfo info, ExecutorServices given, TemporaryDirectory folder)
    : run(std::move(info)),
      context(context_of(run, given.peaks)),
      services(std::move(given)),
      scratch(std::move(folder)),
      memory_limit(services.memory_limit_bytes.value_or(free_memory() / 10 * 9)),
      machine(run, *services.registry),
      artefacts(artefact_services(services)),
      files(artefacts, services.resumed, services.kept_bytes_limit),
      workers(*services.registry, scratch.path(), {memory_limit, services.keep_workers, services.cancelled}),
      maker(*services.registry, artefacts, services.cache / "references", services.cancelled),
      references(services, maker, workers),
      witnesses(*services.registry, scratch.path() / "witnesses"),
      launcher({services, context, scratch.path(), files, workers, references, witnesses}) {
  maker.limit_memory(memory_limit);
}

// What must be there before the first candidate runs: names, files whose content the task key needs, references.
void LocalExecutor::State::prepare(std::vector<LocalTask>& tasks) {
  for (LocalTask& local : tasks) {
    machine.set_facts(local.task);
    set_keys(local, services.resumed);
    local.expects_artefact = local.runs();
    if (local.expects_artefact) artefacts.expect(local.task.artefact);
    artefacts.expect(local.task.reference.artefact);  // until the references are made
  }
  for (LocalTask& local : tasks) {
    // The key of a converted model is known only after the conversion; the precision that a runtime chooses, when it
    // has loaded the model. Other files are made when their cell runs.
    const Task& task = local.task;
    const bool converted = !task.artefact.converter.empty();
    const bool runtime_chooses = task.verify && task.row.precision == "runtime";
    if (!local.runs() || services.cancelled() || (!converted && !runtime_chooses)) continue;
    if (const Status made = guarded("while making its files", [&] { return files.make(local); }); !made)
      set_artefact_failure(local.task.row, made.error());
  }
  references.make(tasks);
  for (LocalTask& local : tasks) {
    artefacts.done(local.task.reference.artefact);
    local.has_reference = local.runs();
  }
}

// The seconds that it took.
double LocalExecutor::State::run_round(std::vector<LocalTask>& cells, const std::vector<ScheduledLaunch>& round,
                                       const ExecutorEvents& on) {
  const std::int64_t began = clock.now_ns();
  std::string group;
  for (const ScheduledLaunch& next : round) {
    LocalTask& cell = cells[next.task];
    if (services.cancelled()) break;
    if (const std::string own = worker_group(cell.task); own != std::exchange(group, own)) workers.clear();
    const std::int64_t start = clock.now_ns();
    std::optional<Launch> done = launcher.launch(cell, next.round);
    if (!done) break;
    cell.last_launch_s = static_cast<double>(clock.now_ns() - start) / kNsPerSecond;
    cell.launches.push_back(std::move(*done));
    on.launched(next.task, cell.launches.back());
    if (missing_launches(cell) > 0 || may_extend(cell))
      files.keep(cell);
    else
      files.release(cell);
    report_ended(cells, false, on);
  }
  workers.clear();
  return static_cast<double>(clock.now_ns() - began) / kNsPerSecond;
}

void LocalExecutor::State::run_rounds(std::vector<LocalTask>& cells, const ExecutorEvents& on) {
  std::int64_t round = 1;
  for (const LocalTask& cell : cells)
    for (const Launch& launch : cell.launches) round = std::max(round, launch.row.launch_number.value_or(1) + 1);
  double all_s = 0;
  for (;; ++round) {
    const std::vector<ScheduledLaunch> next = next_round(cells, round);
    if (next.empty() || services.cancelled()) break;
    // Cells that need one launch only are no longer in it.
    if (all_s > 0 && !services.has_time(expected_s(cells, next), ExecutorServices::Round::kPlanned)) {
      for (const ScheduledLaunch& each : next)
        if (LocalTask& cell = cells[each.task]; !cell.launches.empty()) launcher.refuse(cell, round);
      ++round;
      break;
    }
    all_s += run_round(cells, next, on);
  }
  round = run_further_rounds(cells, round, all_s, on);
  const std::vector<ScheduledLaunch> repeated = repeated_round(cells, round);
  if (repeated.empty() || services.cancelled()) return;
  if (services.has_time(expected_s(cells, repeated), ExecutorServices::Round::kRepeated))
    run_round(cells, repeated, on);
}

// Returns the number of the round after them.
std::int64_t LocalExecutor::State::run_further_rounds(std::vector<LocalTask>& cells, std::int64_t round,
                                                      double planned_s, const ExecutorEvents& on) {
  double left_s = services.has_budget ? std::numeric_limits<double>::infinity()
                                      : std::max(planned_s * kFurtherShare, kFurtherAtLeastS);
  for (std::size_t n = 0; n < stats::kMostRounds; ++n, ++round) {
    const std::vector<ScheduledLaunch> next = further_round(cells, round, left_s);
    if (next.empty() || services.cancelled()) break;
    if (!services.has_time(expected_s(cells, next), ExecutorServices::Round::kFurther)) break;
    left_s -= run_round(cells, next, on);
  }
  return round;
}

// Rows are reported in the order of the tasks. Without launches that are compared, each as soon as it is there.
void LocalExecutor::State::report_ended(const std::vector<LocalTask>& cells, bool all, const ExecutorEvents& on) {
  if (!all && std::ranges::any_of(cells, [](const LocalTask& cell) { return cell.task.launches > 1; })) return;
  for (; reported < cells.size(); ++reported) {
    const LocalTask& cell = cells[reported];
    if (!all && missing_launches(cell) > 0) return;
    if (cell.launches.empty()) continue;
    if (lacks_launches(cell)) on.lacks_launches(reported);
    on.finished(reported, cell_row(cell.launches, cell.refused ? &*cell.refused : nullptr));
  }
}

LocalExecutor::LocalExecutor(std::unique_ptr<State> state) : state_(std::move(state)) {}
LocalExecutor::~LocalExecutor() = default;

Result<std::unique_ptr<LocalExecutor>> LocalExecutor::create(const RunInfo& run, ExecutorServices services) {
  ASSAY_TRY(TemporaryDirectory scratch, TemporaryDirectory::create("assay-run-"));
  return std::unique_ptr<LocalExecutor>(
      new LocalExecutor(std::make_unique<State>(run, std::move(services), std::move(scratch))));
}

Status LocalExecutor::run(std::vector<Task> tasks, const ExecutorEvents& on) {
  State& state = *state_;
  std::vector<LocalTask> cells;
  cells.reserve(tasks.size());
  for (Task& task : tasks) cells.push_back({std::move(task)});
  state.witnesses.clear();
  state.prepare(cells);
  on.prepared();
  for (std::size_t i = 0; i < cells.size(); ++i)
    for (const Launch& launch : cells[i].launches) on.launched(i, launch);
  state.reported = 0;
  state.report_ended(cells, false, on);
  state.run_rounds(cells, on);
  state.report_ended(cells, true, on);
  for (LocalTask& cell : cells) state.files.release(cell);
  return {};
}

}  // namespace assay
