// SPDX-License-Identifier: Apache-2.0
#include "bench/run/session_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "bench/hardware/hardware.hpp"
#include "bench/measure/environment.hpp"
#include "bench/plan/choices.hpp"
#include "bench/plan/row.hpp"
#include "bench/run/complete.hpp"
#include "bench/run/plan_within_budget.hpp"
#include "bench/run/run_info.hpp"
#include "bench/run/session_history.hpp"
#include "bench/run/session_models.hpp"
#include "bench/run/time_plan.hpp"
#include "core/base/files.hpp"
#include "core/base/guard.hpp"
#include "core/base/hash.hpp"
#include "core/base/log.hpp"
#include "core/base/text.hpp"
#include "core/base/time_words.hpp"
#include "core/base/timed_step.hpp"
#include "core/base/unknown_word.hpp"
#include "core/result/hardware_words.hpp"
#include "core/result/keys.hpp"
#include "history/store/store.hpp"
#include "models/zoo/zoo.hpp"

namespace assay {
namespace {

// Options that an engine does not have, and values that they do not take, are the user's mistake, found before anything
// runs.
Status check_options(const std::vector<Target>& targets, const RunSettings& settings) {
  for (const Target& target : targets) {
    if (!target.runnable()) continue;
    const std::vector<EngineOptionInfo>& options = target.found.options;
    for (const auto& [name, value] : settings.engine_options) {
      const auto option = std::ranges::find(options, name, &EngineOptionInfo::name);
      if (option == options.end()) {
        std::vector<std::string> names;
        names.reserve(options.size());
        for (const EngineOptionInfo& each : options) names.push_back(each.name);
        return unknown_word(fmt::format("--engine-option: {} has no option", target.engine), name, names);
      }
      if (allows(*option, value)) continue;
      const bool words = option->type.find('|') != std::string::npos;
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("--engine-option: {} of {} cannot be '{}'; valid: {}", name, target.engine, value,
                              option->type == "bool"  ? "true, false"
                              : words                 ? join(split(option->type, '|'), ", ")
                              : option->type == "int" ? "an integer"
                                                      : "a number"));
    }
  }
  return {};
}

RateKeeper::Services rate_services(const SessionRequest& request, const RunInfo& run, const EngineRegistry& registry) {
  RateKeeper::Services services;
  services.registry = &registry;
  services.cache = request.cache;
  services.machine = run.hardware_fingerprint;
  services.cancelled = request.cancelled;
  // The smallest number of threads is the slowest; 0 means all.
  const std::vector<std::int64_t>& threads = request.settings.threads;
  const std::int64_t fewest = *std::ranges::min_element(
      threads, {}, [](std::int64_t n) { return n == 0 ? std::numeric_limits<std::int64_t>::max() : n; });
  services.threads = static_cast<int>(fewest);
  if (request.doing)
    services.measuring = [doing = request.doing] { doing("measuring the rate of matrix multiplication"); };
  return services;
}

// More threads than processors only wait for each other, which is worth a measurement; with very many, runtimes fail in
// ways of their own.
Status check_threads(const RunSettings& settings) {
  constexpr std::int64_t kForEach = 4;
  const std::int64_t here = usable_threads(), most = here * kForEach;
  const std::int64_t asked = *std::ranges::max_element(settings.threads);
  if (asked <= most) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("--threads: {} is too many: this process may use {}; give at most {}", asked,
                          counted(here, "processor"), most));
}

// Options that contradict each other, or ask too much of this machine: found before anything runs.
Status check_request(const SessionRequest& request) {
  ASSAY_CHECK_OK(check_threads(request.settings));
  if (request.resume && (request.output_dir.empty() || !request.save))
    return fail(ErrorCode::kInvalidArgument,
                "--resume continues a saved run of an output directory: `run`, or `bench --save`");
  return {};
}

Result<std::vector<Target>> find_targets(const SessionRequest& request, const EngineRegistry& registry,
                                         const Hardware& machine, std::vector<std::string>& notes) {
  const TargetRequest& wanted = request.targets;
  std::map<std::string, FoundEngine> known;  // several words may need one engine
  const auto look = [&](const std::string& engine) {
    const auto found = known.find(engine);
    if (found != known.end()) return found->second;
    const TimedStep step(fmt::format("looked at the devices of {}", engine));
    return known.emplace(engine, probe_engine(registry, engine)).first->second;
  };
  const std::vector<std::string> order = request.best_hardware_only ? best_hardware() : std::vector<std::string>();
  ASSAY_TRY(ChosenTargets chosen,
            request.preferred_hardware.empty()
                ? resolve_first(order, wanted, registry, machine, look)
                : resolve_preferred(request.preferred_hardware, order, wanted, registry, machine, look));
  std::ranges::move(chosen.notes, std::back_inserter(notes));
  ASSAY_CHECK_OK(check_options(chosen.targets, request.settings));
  return std::move(chosen.targets);
}

// What became of the request to measure on several hardware types at the same time.
std::string parallel_note(const std::vector<Target>& targets) {
  std::vector<std::string> others;  // that have processors of their own
  for (const Target& target : targets) {
    const EngineDevice& device = target.device;
    const bool on_cpu = target.hardware == "cpu" || target.hardware == "wasm" || device.simulated || device.software ||
                        (target.hardware == kOpenvinoWord && device.id.starts_with("CPU"));
    if (!target.refusal && !on_cpu && std::ranges::find(others, target.hardware) == others.end())
      others.push_back(target.hardware);
  }
  if (others.empty())
    return "parallel: every target here computes on this machine's CPU, where they would disturb each other: measured "
           "one after another";
  return fmt::format("parallel: this version does not measure on {} beside other hardware: measured one after another",
                     join(others, ", "));
}

// "bert is prajjwal1/bert-tiny": of a set, where the name alone stands for another model. "" if none is.
std::string set_names_note(const std::vector<PreparedModel>& models) {
  std::vector<std::string> others;
  for (const PreparedModel& model : models) {
    const auto known = model.choice.from_set ? zoo::find_known(model.choice.name) : std::nullopt;
    if (known && known->model_id != model.identity.model_id)
      others.push_back(fmt::format("{} is {}", model.choice.name, model.identity.model_id));
  }
  return others.empty()
             ? ""
             : fmt::format(
                   "in this set {}; elsewhere the name stands for a larger or another model (`assay zoo show NAME`)",
                   join(others, ", "));
}

// The tasks of all models; notes say what was chosen without being asked.
std::vector<PlannedModel> plan_models(std::vector<PreparedModel> models, const SessionRequest& request,
                                      SessionResult& out) {
  std::vector<PlannedModel> planned;
  std::vector<std::string> choices;
  std::vector<std::vector<Task>> tasks = plan_within_budget(models, out.targets, request.settings, out.run, out.notes);
  for (std::size_t i = 0; i < models.size(); ++i)
    std::ranges::move(silent_choices(models[i], tasks[i], request.settings), std::back_inserter(choices));
  if (std::string note = set_names_note(models); !note.empty()) out.notes.push_back(std::move(note));
  for (std::size_t i = 0; i < models.size(); ++i) planned.push_back({std::move(models[i]), std::move(tasks[i])});
  std::ranges::move(grouped_notes(choices), std::back_inserter(out.notes));
  return planned;
}

// Inputs that cannot be made cost their task only.
void complete_tasks(PlannedModel& planned, const SessionRequest& request, std::vector<std::string>& notes) {
  TaskCompleter completer(planned.model,
                          input_axes(settings_of(planned.model.choice, request.settings), request.cache / "inputs"));
  for (Task& task : planned.tasks) {
    const Status done = guarded("while making the inputs", [&]() -> Status {
      completer.complete(task);
      return {};
    });
    if (!done) set_failure(task.row, done.error());
  }
  if (std::string note = completer.images_note(); !note.empty()) notes.push_back(std::move(note));
}

Record with_keys(Record row) {
  row.task_key = task_key(row);
  row.series_key = series_key(row);
  return row;
}

// Leaves out the cells that the caller refuses, and models that have no other.
void leave_out(std::vector<PlannedModel>& models, const SessionRequest& request) {
  if (!request.wanted) return;
  for (PlannedModel& model : models)
    std::erase_if(model.tasks, [&](const Task& task) { return task.runs() && !request.wanted(with_keys(task.row)); });
  std::erase_if(models, [](const PlannedModel& model) { return model.tasks.empty(); });
}

struct LaunchCost {
  std::int64_t launches = 0;
  double seconds = 0;
};

// By series. A machine without a history has none.
Result<std::map<std::string, LaunchCost>> launch_costs(const SessionRequest& request, const RunInfo& run) {
  std::map<std::string, LaunchCost> costs;
  if (is_empty_or_absent(request.database)) return costs;
  ASSAY_TRY(Store store, Store::open(request.database, Store::Mode::kRead));
  ASSAY_TRY(const duckdb::Rows rows, store.ask("plan_costs", {{"machine", run.hardware_fingerprint}}));
  for (const auto& row : rows.rows) {
    LaunchCost cost;
    cost.launches = row.at(1).get<std::int64_t>();
    if (row.at(2).is_number()) cost.seconds = row.at(2).get<double>();
    costs.emplace(row.at(0).get<std::string>(), cost);
  }
  return costs;
}

// Verification is not in what the history says of a launch.
double checking_s(const TaskCost& cost, const LaunchTimes& expected, const std::optional<MachineRate>& rate) {
  TaskCost unchecked = cost;
  unchecked.verify = false;
  return std::max(0.0, expected.later_s - expected_launch_s(unchecked, rate).later_s);
}

}  // namespace

Result<SessionPlan> plan_session(const SessionRequest& request) {
  SessionPlan plan;
  plan.registry = std::make_unique<const EngineRegistry>(request.places);
  const EngineRegistry& registry = *plan.registry;
  SessionResult& out = plan.so_far;
  for (const Error& problem : registry.problems()) log_warning("an engine is left out: {}", problem.message);
  const Hardware machine = detect_hardware(Host(), registry.entries());
  out.run = make_run_info(request.command, machine, registry);
  const std::optional<LastRun> last = last_run(request);
  out.run.run_id = last ? last->run_id : make_uuid();
  if (request.resume && !request.output_dir.empty() && !last)
    out.notes.push_back(
        fmt::format("--resume: no earlier run of this plan in '{}': this is a new run", request.output_dir.string()));

  ASSAY_TRY(out.targets, find_targets(request, registry, machine, out.notes));
  ASSAY_CHECK_OK(check_request(request));
  if (request.settings.parallel) out.notes.push_back(parallel_note(out.targets));

  plan.rates =
      std::make_unique<RateKeeper>(rate_services(request, out.run, registry), last ? last->rate : std::nullopt);
  const auto prepare_all = [&] {
    const TimedStep step(fmt::format("prepared {} models", request.models.size()));
    return prepare_models(request, registry, *plan.rates, out);
  };
  ASSAY_TRY(std::vector<PreparedModel> models, prepare_all());
  plan.sizes = chosen_sizes(models);
  // Two sizes of a model are two models: one run has only one of them.
  if (const auto different = last ? different_size(last->sizes, plan.sizes) : std::nullopt) {
    out.notes.push_back(
        fmt::format("--resume: {} (--timeout and the free memory decide the size): this is a new run", *different));
    out.run.run_id = make_uuid();
  } else if (last) {
    plan.sizes = with_earlier_sizes(std::move(plan.sizes), last->sizes);
  }
  plan.models = plan_models(std::move(models), request, out);
  for (PlannedModel& model : plan.models)
    if (!request.cancelled()) complete_tasks(model, request, out.notes);
  leave_out(plan.models, request);
  return plan;
}

PlanList list_plan(const SessionRequest& request, SessionPlan plan) {
  const SteadyClock clock;
  PlanList list;
  list.run = std::move(plan.so_far.run);
  list.notes = std::move(plan.so_far.notes);
  list.models = plan.models.size();
  list.targets = plan.so_far.targets.size();
  std::map<std::string, LaunchCost> history;
  if (auto costs = guarded("while reading the history", [&] { return launch_costs(request, list.run); }))
    history = std::move(*costs);
  else
    list.notes.push_back("the history cannot be read, so all times are estimated: " + costs.error().message);
  const std::optional<MachineRate>& rate = plan.rates->known();
  TimePlan time(request.settings.budget, clock, clock.now_ns(), rate);
  std::vector<std::vector<Task>*> tasks;
  for (PlannedModel& model : plan.models) {
    time.add(model.tasks);
    tasks.push_back(&model.tasks);
  }
  time.fit(tasks, 0);
  std::ranges::move(time.given_up(), std::back_inserter(list.notes));
  if (const auto overrun = time.overrun()) list.notes.push_back(overrun->warning);
  double estimated_s = 0, expected_s = 0;
  for (const PlannedModel& model : plan.models) {
    for (const Task& task : model.tasks) {
      PlannedCell& cell = list.cells.emplace_back();
      cell.row = with_keys(task.row);
      if (!task.runs()) continue;
      cell.launches = task.launches;
      const TaskCost cost = task_cost(task);
      const LaunchTimes times = expected_launch_s(cost, rate);
      const double estimate = times.first_s + static_cast<double>(task.launches - 1) * times.later_s;
      estimated_s += estimate;
      cell.seconds = estimate;
      if (const auto known = history.find(cell.row.series_key); known != history.end()) {
        cell.from_launches = known->second.launches;
        cell.seconds = static_cast<double>(task.launches) * (known->second.seconds + checking_s(cost, times, rate));
      }
      expected_s += cell.seconds;
    }
  }
  // The rest of the estimate is for references, files and further rounds.
  list.seconds = expected_s + std::max(0.0, time.left_s() - estimated_s);
  if (const auto& budget = request.settings.budget;
      budget && !time.overrun() && list.seconds > std::chrono::duration<double>(*budget).count())
    list.notes.push_back(fmt::format(
        "{}: by the history these cells take about {}; launches and sampling time that do not fit are given "
        "up while they run",
        budget_text(*budget), time_words(list.seconds)));
  return list;
}

}  // namespace assay
