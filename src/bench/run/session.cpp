// SPDX-License-Identifier: Apache-2.0
#include "bench/run/session.hpp"

#include <fmt/format.h>

#include <chrono>
#include <tuple>
#include <utility>

#include "bench/hardware/python_version.hpp"
#include "bench/run/local_executor.hpp"
#include "bench/run/session_history.hpp"
#include "bench/run/session_plan.hpp"
#include "bench/run/session_tasks.hpp"
#include "core/base/clock.hpp"
#include "core/base/files.hpp"
#include "core/base/guard.hpp"
#include "core/base/log.hpp"
#include "core/base/timed_step.hpp"
#include "history/store/unsaved.hpp"

namespace assay {
namespace {

// How long a run waits for the version of Python, which is only a fact for reports.
constexpr std::chrono::milliseconds kPythonLimit(2000);

ExecutorServices executor_services(const SessionRequest& request, const EngineRegistry& registry) {
  ExecutorServices services;
  services.registry = &registry;
  services.spool = request.spool;
  services.cache = request.cache;
  services.memory_limit_bytes = request.settings.memory_limit_bytes;
  services.keep_workers = request.settings.resource_pool;
  services.artefact_timeout = request.settings.timeout;
  services.cancelled = request.cancelled;
  if (request.others) services.others = request.others;
  if (request.doing) services.doing = request.doing;
  if (request.making) services.making = request.making;
  return services;
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
  PythonVersion python;  // answers while the models are prepared
  ASSAY_TRY(SessionPlan plan, plan_session(request));
  SessionResult out = std::move(plan.so_far);
  out.run.doctor = request.doctor;
  std::size_t cells = 0;
  for (const PlannedModel& model : plan.models) cells += model.tasks.size();
  log_verbose("planned {} cells", cells);
  ASSAY_CHECK_OK(write_run_mark(request, {out.run.run_id, plan.rates->known(), plan.sizes}));

  ExecutorServices services = executor_services(request, *plan.registry);
  services.timer = &timer;
  std::optional<UnsavedSpool> unsaved;  // in use until the end
  if (!request.save) {
    ASSAY_TRY(unsaved, UnsavedSpool::begin(request.spool, out.run.run_id));
    services.spool = unsaved->path();
  }
  ASSAY_CHECK_OK(make_directories(services.spool));
  ASSAY_CHECK_OK(use_history(request, out, services));
  if (request.expecting) request.expecting(cells);
  if (request.settings.budget) std::ignore = plan.rates->get();  // for its estimates; without a runtime there is none
  TimePlan time(request.settings.budget, clock, began_ns, plan.rates->known());
  if (const std::string version = python.wait(kPythonLimit, request.cancelled); !version.empty())
    out.run.system["python_version"] = version;
  if (const auto peak = plan.rates->peak()) services.peaks.push_back(to_json(*peak));
  {
    const WorkTimer::Scope work(&timer, Work::kOther);
    const TimedStep step(fmt::format("ran {} cells", cells));
    ASSAY_CHECK_OK(run_planned(std::move(plan.models), request, std::move(time), std::move(services), out));
  }
  plan.rates->compare_with(out.rows);
  out.spent = timer.spent();
  out.interrupted = request.cancelled();
  if (out.interrupted && request.save && !request.output_dir.empty())
    out.resume_command = request.command + (request.resume ? "" : " --resume");
  return out;
}

}  // namespace assay
