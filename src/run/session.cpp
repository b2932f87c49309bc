// SPDX-License-Identifier: Apache-2.0
#include "run/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <tuple>
#include <utility>

#include "base/clock.hpp"
#include "base/files.hpp"
#include "base/guard.hpp"
#include "base/hash.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "base/timed_step.hpp"
#include "base/unknown_word.hpp"
#include "hardware/hardware.hpp"
#include "hardware/python_version.hpp"
#include "plan/choices.hpp"
#include "prepare/rate.hpp"
#include "run/local_executor.hpp"
#include "run/plan_within_budget.hpp"
#include "run/run_info.hpp"
#include "run/session_history.hpp"
#include "run/session_models.hpp"
#include "run/session_tasks.hpp"
#include "store/store.hpp"
#include "store/unsaved.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

// How long a run waits for the version of Python, which is only a fact for reports.
constexpr std::chrono::milliseconds kPythonLimit(2000);

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

ExecutorServices executor_services(const SessionRequest& request, const EngineRegistry& registry) {
  ExecutorServices services;
  services.registry = &registry;
  services.spool = request.spool;
  services.cache = request.cache;
  services.memory_limit_bytes = request.settings.memory_limit_bytes;
  services.keep_workers = request.settings.resource_pool;
  services.artefact_timeout = request.settings.timeout;
  services.cancelled = request.cancelled;
  if (request.doing) services.doing = request.doing;
  if (request.making) services.making = request.making;
  return services;
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

// Options that contradict each other, and a database that cannot be replaced: found before anything runs. A database
// that is busy is waited for at the end.
Status check_request(const SessionRequest& request) {
  if (request.resume && (request.output_dir.empty() || !request.save))
    return fail(ErrorCode::kInvalidArgument,
                "--resume continues a saved run of an output directory: `run`, or `bench --save`");
  ASSAY_CHECK_OK(with_context(check_replaceable(request.database), "while looking at the database (--db-path)"));
  std::error_code absent;
  if (!request.save || fs::file_size(request.database, absent) == 0 || absent) return {};
  const Result<Store> probe = Store::open(request.database, Store::Mode::kRead, std::chrono::milliseconds(0));
  if (!probe && probe.error().code == ErrorCode::kInvalidArgument) return tl::unexpected<Error>(probe.error());
  return {};
}

Result<std::vector<Target>> find_targets(const SessionRequest& request, const EngineRegistry& registry,
                                         const Hardware& machine) {
  TargetRequest wanted = request.targets;
  if (request.best_hardware_only)
    for (const std::string& word : best_hardware())
      if (wanted.hardware.empty() && machine.entry(word).available) wanted.hardware = {word};
  const auto look = [&](const std::string& engine) {
    const TimedStep step(fmt::format("looked at the devices of {}", engine));
    return probe_engine(registry, engine);
  };
  ASSAY_TRY(std::vector<Target> targets, resolve_targets(wanted, registry, machine, look));
  ASSAY_CHECK_OK(check_options(targets, request.settings));
  return targets;
}

// The tasks of all models; notes say what was chosen without being asked.
std::vector<PlannedModel> plan_models(std::vector<PreparedModel> models, const SessionRequest& request,
                                      SessionResult& out) {
  std::vector<PlannedModel> planned;
  std::vector<std::string> choices;
  std::vector<std::vector<Task>> tasks = plan_within_budget(models, out.targets, request.settings, out.run, out.notes);
  for (std::size_t i = 0; i < models.size(); ++i) {
    std::ranges::move(silent_choices(models[i], tasks[i], request.settings), std::back_inserter(choices));
    planned.push_back({std::move(models[i]), std::move(tasks[i])});
  }
  std::ranges::move(grouped_notes(choices), std::back_inserter(out.notes));
  return planned;
}

// Without the history --resume would run every cell again: an error. A run without it loses only earlier verdicts.
Status use_history(const SessionRequest& request, SessionResult& out, ExecutorServices& services) {
  Status read = guarded("while reading the history", [&] { return read_history(request, out, services); });
  if (read) return {};
  if (request.resume) return with_context(std::move(read), "for --resume");
  out.notes.push_back("the history cannot be read, so no earlier verification is used: " + read.error().message);
  return {};
}

}  // namespace

const std::vector<std::string>& best_hardware() {
  static const std::vector<std::string> words{"cuda", "rocm", "mps", "cpu"};
  return words;
}

Result<SessionResult> run_session(const SessionRequest& request) {
  const SteadyClock clock;
  const std::int64_t began_ns = clock.now_ns();
  WorkTimer timer(clock);
  SessionResult out;
  const EngineRegistry registry(request.places);
  for (const Error& problem : registry.problems()) log_warning("an engine is left out: {}", problem.message);
  const Hardware machine = detect_hardware(Host(), registry.entries());
  out.run = make_run_info(request.command, machine, registry);
  const std::optional<LastRun> last = last_run(request);
  out.run.run_id = last ? last->run_id : make_uuid();
  if (request.resume && !request.output_dir.empty() && !last)
    out.notes.push_back(
        fmt::format("--resume: no earlier run of this plan in '{}': this is a new run", request.output_dir.string()));

  ASSAY_TRY(out.targets, find_targets(request, registry, machine));
  ASSAY_CHECK_OK(check_request(request));
  if (request.settings.parallel)
    out.notes.emplace_back(
        "--parallel: every target here computes on this machine's CPU, where they would disturb each other: "
        "measured one after another");

  PythonVersion python;  // answers while the models are prepared
  RateKeeper rates(rate_services(request, out.run, registry), last ? last->rate : std::nullopt);
  const auto prepare_all = [&] {
    const TimedStep step(fmt::format("prepared {} models", request.models.size()));
    return prepare_models(request, registry, rates, out);
  };
  ASSAY_TRY(std::vector<PreparedModel> models, prepare_all());
  Json sizes = chosen_sizes(models);
  // Two sizes of a model are two models: one run has only one of them.
  if (const auto different = last ? different_size(last->sizes, sizes) : std::nullopt) {
    out.notes.push_back(
        fmt::format("--resume: {} (--timeout and the free memory decide the size): this is a new run", *different));
    out.run.run_id = make_uuid();
  } else if (last) {
    sizes = with_earlier_sizes(std::move(sizes), last->sizes);
  }
  std::vector<PlannedModel> planned = plan_models(std::move(models), request, out);
  std::size_t cells = 0;
  for (const PlannedModel& model : planned) cells += model.tasks.size();
  log_verbose("planned {} cells", cells);
  ASSAY_CHECK_OK(write_run_mark(request, {out.run.run_id, rates.known(), sizes}));

  ExecutorServices services = executor_services(request, registry);
  services.timer = &timer;
  std::optional<UnsavedSpool> unsaved;  // in use until the end
  if (!request.save) {
    ASSAY_TRY(unsaved, UnsavedSpool::begin(request.spool, out.run.run_id));
    services.spool = unsaved->path();
  }
  ASSAY_CHECK_OK(make_directories(services.spool));
  ASSAY_CHECK_OK(use_history(request, out, services));
  if (request.expecting) request.expecting(cells);
  if (request.settings.budget) std::ignore = rates.get();  // for its estimates; without a runtime there is none
  TimePlan time(request.settings.budget, clock, began_ns, rates.known());
  if (const std::string version = python.wait(kPythonLimit, request.cancelled); !version.empty())
    out.run.system["python_version"] = version;
  {
    const WorkTimer::Scope work(&timer, Work::kOther);
    const TimedStep step(fmt::format("ran {} cells", cells));
    ASSAY_CHECK_OK(run_planned(std::move(planned), request, std::move(time), std::move(services), out));
  }
  rates.compare_with(out.rows);
  out.spent = timer.spent();
  out.interrupted = request.cancelled();
  if (out.interrupted && request.save && !request.output_dir.empty())
    out.resume_command = request.command + (request.resume ? "" : " --resume");
  return out;
}

}  // namespace assay
