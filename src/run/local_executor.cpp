// SPDX-License-Identifier: Apache-2.0
#include "run/local_executor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "analyse/analyse.hpp"
#include "base/clock.hpp"
#include "base/files.hpp"
#include "base/guard.hpp"
#include "base/hash.hpp"
#include "measure/environment.hpp"
#include "plan/row.hpp"
#include "plan/schedule.hpp"
#include "result/keys.hpp"
#include "result/launch_medians.hpp"
#include "run/attempt.hpp"
#include "run/batch_times.hpp"
#include "run/local_task.hpp"
#include "run/local_workers.hpp"
#include "run/page_cache.hpp"
#include "run/reference_set.hpp"
#include "run/rounds.hpp"
#include "run/witnesses.hpp"
#include "stats/launches.hpp"
#include "store/bundle.hpp"
#include "store/store.hpp"
#include "worker/probe.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

ArtefactStore::Services artefact_services(const ExecutorServices& services) {
  return {services.registry,  services.cache / "models", services.artefact_timeout,
          services.cancelled, services.making,           services.timer};
}

RunContext context_of(const RunInfo& run, const Json& peaks) {
  RunContext context;
  context.started = run.started;
  context.command = run.command;
  context.environment = {{"system_info", run.system}, {"available_hardware", run.hardware}};
  if (!peaks.empty()) context.environment["peaks"] = peaks;
  if (!run.doctor.is_null()) context.environment["doctor"] = run.doctor;
  context.hardware = run.system;
  const auto column = [&](const char* name, const char* from, double scale) {
    if (run.system.contains(from) && run.system.at(from).is_number())
      context.hardware[name] = run.system.at(from).get<double>() * scale;
  };
  column("physical_cores", "cpu_cores", 1);
  column("logical_cores", "cpu_threads", 1);
  column("memory_mb", "memory_gb", 1e3);
  return context;
}

void set_artefact_failure(Record& row, const Error& error) {
  set_failure(row, error);
  if (error.code == ErrorCode::kOutOfMemory)
    set_refusal(row, {CellStatus::kSkipped, std::string(reason::kTooLarge), error.message, error.hint});
}

/// Further rounds of a model take at most this part of the time of those that were planned, or this time.
constexpr double kFurtherShare = 0.25, kFurtherAtLeastS = 15;

std::uint64_t file_bytes(const Artefact& artefact) {
  std::error_code ignored;
  const std::uintmax_t bytes = fs::file_size(artefact.model, ignored);
  return ignored ? 0 : bytes;
}

double expected_s(const std::vector<LocalTask>& cells, const std::vector<ScheduledLaunch>& round) {
  double seconds = 0;
  for (const ScheduledLaunch& launch : round) seconds += cells[launch.task].last_launch_s;
  return seconds;
}

// Whether a further round may have the cell, so that its files stay.
bool may_extend(const LocalTask& cell) {
  return cell.task.launches > 1 && cell.has_reference && settled(cell.launches.back().row);
}

void add_note(Record& row, const std::string& note) {
  row.message = row.message.empty() ? note : row.message + "; " + note;
}

// What the outputs of a launch say beside those of the first one that had any; "": nothing.
std::string outputs_note(const LocalTask& local, const Launch& launch) {
  const auto outputs_of = [](const Launch& each) { return parse_json(each.outputs, "outputs").value_or(Json()); };
  const auto has_outputs = [&](const Launch& each) { return outputs_of(each).is_object(); };
  const auto earlier = std::ranges::find_if(local.launches, has_outputs);
  if (earlier == local.launches.end() || !has_outputs(launch)) return "";
  const Json first = outputs_of(*earlier), now = outputs_of(launch);
  bool in_common = false, differ = false;
  for (const auto& [set, hash] : first.items()) {
    if (!now.contains(set)) continue;
    in_common = true;
    differ = differ || now.at(set) != hash;
  }
  if (!in_common) return "the outputs of launches were not compared with each other: they ran different input sets";
  if (!differ) return "";
  return launch.row.verification == Verification::kVerified ? "the outputs of launches differ, within the limit"
                                                            : "the outputs of launches differ";
}

// What the launch says about the launches of its cell.
void describe_launch(const LocalTask& local, Launch& launch) {
  Record& row = launch.row;
  if (const std::string note = outputs_note(local, launch); !note.empty()) add_note(row, note);
  for (const std::string& note : local.task.notes) add_note(row, note);
  if (!row.latency_p50_ms || !settled(row)) return;
  const auto ended = 1 + std::ranges::count_if(local.launches, [](const Launch& each) { return settled(each.row); });
  if (ended >= local.task.launches) {
    if (ended < row.planned_launches.value_or(ended)) row.add_flag(flag::kLimitedByBudget);
  } else if (fills_its_time(shared_time(local.task), run_time(row))) {
    row.add_flag(flag::kLimitedByMaxTime);
  }
}

}  // namespace

std::string resume_key(const Record& row) { return fmt::format("{}\n{}\n{}", row.task_key, row.model, row.model_id); }

const std::vector<Launch>* resumed_launches(const std::map<std::string, std::vector<Launch>>& resumed,
                                            const Task& task) {
  const std::string key = resume_key(task.row);
  if (const auto found = resumed.find(key); found != resumed.end()) return &found->second;
  if (task.artefact.converter.empty()) return nullptr;
  // The hash of a converted graph is known after the conversion. All that decides it is in the other fields.
  for (const auto& [ignored, launches] : resumed) {
    Record planned = launches.front().row;
    planned.graph_hash = task.row.graph_hash;
    planned.task_key = task_key(planned);
    if (resume_key(planned) == key) return &launches;
  }
  return nullptr;
}

struct LocalExecutor::State {
  RunInfo run;
  RunContext context;
  ExecutorServices services;
  TemporaryDirectory scratch;
  std::uint64_t memory_limit;
  ArtefactStore artefacts;
  LocalWorkers workers;
  ReferenceMaker maker;
  ReferenceSet references;
  Witnesses witnesses;
  BatchTimes times;
  std::set<std::string> cold_started;         ///< worker groups whose first process got its files from the disk
  std::map<std::string, FoundEngine> probed;  ///< for tasks of another machine, by engine
  std::uint64_t kept_bytes = 0;               ///< files of fixed shapes that wait for the next launch
  std::size_t reported = 0;                   ///< tasks whose rows were reported
  SteadyClock clock;

  State(RunInfo info, ExecutorServices given, TemporaryDirectory folder);
  void use_this_machine(Task& task);
  void name(LocalTask& local) const;
  [[nodiscard]] Status make_artefact(LocalTask& local);
  void release_artefact(LocalTask& local);
  void keep_artefact(LocalTask& local);
  void prepare(std::vector<LocalTask>& tasks);
  [[nodiscard]] Result<Launch> execute(LocalTask& local, std::int64_t round);
  [[nodiscard]] Result<Launch> finish_unrun(Record row) const;
  void refuse(LocalTask& local, std::int64_t round) const;
  [[nodiscard]] std::optional<bool> starts_cold(const LocalTask& local, const Record& row);
  [[nodiscard]] Result<Launch> run_once(LocalTask& local, Record row);
  [[nodiscard]] std::optional<Launch> launch(LocalTask& local, std::int64_t round);
  double run_round(std::vector<LocalTask>& cells, const std::vector<ScheduledLaunch>& round, const ExecutorEvents& on);
  void run_rounds(std::vector<LocalTask>& cells, const ExecutorEvents& on);
  std::int64_t run_further_rounds(std::vector<LocalTask>& cells, std::int64_t round, double planned_s,
                                  const ExecutorEvents& on);
  void report_ended(const std::vector<LocalTask>& cells, bool all, const ExecutorEvents& on);
  void use_stored_verdict(Record& row) const;
};

LocalExecutor::State::State(RunInfo info, ExecutorServices given, TemporaryDirectory folder)
    : run(std::move(info)),
      context(context_of(run, given.peaks)),
      services(std::move(given)),
      scratch(std::move(folder)),
      memory_limit(services.memory_limit_bytes.value_or(free_memory() / 10 * 9)),
      artefacts(artefact_services(services)),
      workers(*services.registry, scratch.path(), {memory_limit, services.keep_workers, services.cancelled}),
      maker(*services.registry, artefacts, services.cache / "references", services.cancelled),
      references(services, maker, workers),
      witnesses(*services.registry, scratch.path() / "witnesses") {
  maker.limit_memory(memory_limit);
}

void LocalExecutor::State::use_this_machine(Task& task) {
  Record& row = task.row;
  row.host = run.host;
  row.tool_version = run.tool_version;
  row.method_version = kMethodVersion;
  row.git_commit = run.git_commit;
  if (row.hardware_id == run.hardware_fingerprint) return;
  row.hardware_id = run.hardware_fingerprint;
  if (!task.runs()) return;
  auto found = probed.find(task.engine);
  if (found == probed.end()) found = probed.emplace(task.engine, probe_engine(*services.registry, task.engine)).first;
  const FoundEngine& engine = found->second;
  const auto device = std::ranges::find(engine.devices, task.load.device_id, &EngineDevice::id);
  if (!engine.available) {
    set_refusal(row, {CellStatus::kUnavailable, std::string(reason::kNoRuntime), engine.why_not, ""});
  } else if (device == engine.devices.end()) {
    set_refusal(row, {CellStatus::kUnavailable, std::string(reason::kNoHardware),
                      fmt::format("{} has no device '{}' on {}", task.engine, task.load.device_id, run.host), ""});
  } else {
    row.device_name = device->name;
  }
}

// Sets the keys, when all fields that they hash are set, and what --resume knows of the task.
void LocalExecutor::State::name(LocalTask& local) const {
  Record& row = local.task.row;
  row.task_key = task_key(row);
  row.series_key = series_key(row);
  local.launches.clear();
  if (const std::vector<Launch>* resumed = resumed_launches(services.resumed, local.task)) local.launches = *resumed;
  std::int64_t ended_badly = 0;
  for (const Launch& launch : local.launches) ended_badly += settled(launch.row) ? 0 : 1;
  row.attempt_number = 1 + ended_badly;
  local.complete = !local.launches.empty() && missing_launches(local) == 0;
}

Status LocalExecutor::State::make_artefact(LocalTask& local) {
  if (local.artefact) return {};
  Task& task = local.task;
  ASSAY_TRY(Artefact artefact, artefacts.make(task.artefact, task.row.model));
  if (task.artefact.zoo) task.row.model_size_mb = static_cast<double>(artefact.bytes) / 1e6;
  if (!artefact.graph_hash.empty() && artefact.graph_hash != task.row.graph_hash) {
    task.row.graph_hash = artefact.graph_hash;
    name(local);
  }
  if (!artefact.note.empty() && std::ranges::find(task.notes, artefact.note) == task.notes.end())
    task.notes.push_back(artefact.note);
  local.artefact = std::move(artefact);
  return {};
}

void LocalExecutor::State::release_artefact(LocalTask& local) {
  local.artefact.reset();
  if (std::exchange(local.expects_artefact, false)) artefacts.done(local.task.artefact);
  kept_bytes -= std::exchange(local.kept_bytes, std::nullopt).value_or(0);
}

// Between two launches of the cell. Files that other cells load too stay in any case.
void LocalExecutor::State::keep_artefact(LocalTask& local) {
  const bool own = !local.task.artefact.shapes.empty() && local.expects_artefact && local.artefact;
  if (!own || local.kept_bytes) return;
  const std::uint64_t bytes = file_bytes(*local.artefact);
  if (kept_bytes + bytes <= services.kept_bytes_limit) {
    kept_bytes += bytes;
    local.kept_bytes = bytes;
    return;
  }
  local.artefact.reset();
  ArtefactSpec open = local.task.artefact;
  open.shapes.clear();
  artefacts.expect(open);  // the model with open shapes stays
  artefacts.done(local.task.artefact);
  artefacts.expect(local.task.artefact);
  artefacts.done(open);
}

// What must be there before the first candidate runs: names, files whose content the task key needs, references.
void LocalExecutor::State::prepare(std::vector<LocalTask>& tasks) {
  for (LocalTask& local : tasks) {
    use_this_machine(local.task);
    name(local);
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
    if (const Status made = guarded("while making its files", [&] { return make_artefact(local); }); !made)
      set_artefact_failure(local.task.row, made.error());
  }
  references.make(tasks);
  for (LocalTask& local : tasks) {
    artefacts.done(local.task.reference.artefact);
    local.has_reference = local.runs();
  }
}

void LocalExecutor::State::use_stored_verdict(Record& row) const {
  const std::optional<Record> stored = services.stored(row.task_key);
  if (!stored) return;
  row.verification = stored->verification;
  for (const auto member :
       {&Record::max_abs_error, &Record::max_rel_error, &Record::cosine_similarity, &Record::error_limit,
        &Record::rms_error, &Record::rms_limit, &Record::honest_error, &Record::top1_agreement})
    row.*member = (*stored).*member;
  for (const auto member :
       {&Record::reference, &Record::worst_output, &Record::worst_element, &Record::checked, &Record::agreed_by})
    row.*member = (*stored).*member;
  row.message = std::string(kVerdictOf) + stored->timestamp;
  if (row.verification != Verification::kWrong) return;
  row.status = CellStatus::kWrong;
  row.reason_code = std::string(to_string(ErrorCode::kMismatch));
}

// Rows that did not run are kept like the others: a bundle with only its manifest.
Result<Launch> LocalExecutor::State::finish_unrun(Record row) const {
  row.attempt_id = make_uuid();
  row.timestamp = iso8601(wall_now());
  ASSAY_TRY(BundleWriter bundle, BundleWriter::begin(services.spool, row, context));
  ASSAY_TRY([[maybe_unused]] const fs::path folder, bundle.finish(row, Json::object(), nullptr));
  return Launch{.row = std::move(row)};
}

// The bundles of its launches are complete: one of its own says in the database why the cell has no more.
void LocalExecutor::State::refuse(LocalTask& local, std::int64_t round) const {
  Record row = local.task.row;
  row.launch_number = round;
  row.add_flag(flag::kLimitedByBudget);
  set_refusal(row, {CellStatus::kSkipped, std::string(reason::kNoTime), "--budget left no time for this launch",
                    "a longer --budget, or --resume"});
  Result<Launch> kept = guarded("", [&] { return finish_unrun(row); });
  local.refused = kept ? std::move(*kept) : Launch{.row = std::move(row)};
}

Result<Launch> LocalExecutor::State::execute(LocalTask& local, std::int64_t round) {
  const Task& task = local.task;
  Record& row = local.task.row;
  row.launch_number = round;
  const double estimate = times.estimate(local);
  if (task.default_batch && task.runs() && local.launches.empty() && estimate > kSlowDefaultMs)
    set_refusal(row, slow_batch(task.shape.batch, estimate, "the smaller batch"));
  if (const std::optional<Error> fault = references.invalid_file(local); fault && task.runs()) set_failure(row, *fault);
  if (task.runs()) {
    if (const Status made = guarded("while making its files", [&] { return make_artefact(local); }); !made) {
      if (services.cancelled()) return tl::unexpected<Error>(made.error());
      set_artefact_failure(row, made.error());
    }
  }
  if (!task.runs()) return finish_unrun(row);
  Result<Launch> done = run_once(local, row);
  if (done) times.add(local, done->row);
  return done;
}

// The first process of a model on a target gets the model's files from the disk, if others follow that do not.
std::optional<bool> LocalExecutor::State::starts_cold(const LocalTask& local, const Record& row) {
  const bool made_here = local.artefact && local.artefact->owner != nullptr;
  if (!made_here || local.task.launches < 2 || row.launch_number.value_or(1) != 1) return false;
  if (!cold_started.insert(worker_group(local.task)).second) return false;
  const Result<bool> dropped = drop_from_page_cache(local.artefact->model.parent_path());
  return dropped && *dropped ? std::optional(true) : std::nullopt;
}

Result<Launch> LocalExecutor::State::run_once(LocalTask& local, Record planned) {
  Launch launch{.row = std::move(planned)};
  Record& row = launch.row;
  row.attempt_id = make_uuid();
  ASSAY_TRY(BundleWriter bundle, BundleWriter::begin(services.spool, row, context));
  Attempt attempt(local, row,
                  {workers, references.of(local), scratch.path(), bundle.samples_path(), services.doing,
                   next_limits(shared_time(local.task), local.launches), starts_cold(local, row), services.timer});
  const auto attempted = [&]() -> Status {
    ASSAY_CHECK_OK(attempt.run());
    return attempt.check_forced(
        [&](std::span<const TimedIds> ids) { return references.force(local, ids, attempt.deadline()); });
  };
  if (const Status done = guarded("", attempted); !done) {
    set_failure(row, done.error());
    // The launches before say more about the cell than one that was interrupted.
    if (done.error().code == ErrorCode::kCancelled) row.add_flag(flag::kPartial);
  } else {
    const bool wrong = row.verification == Verification::kWrong;
    row.status = wrong ? CellStatus::kWrong : CellStatus::kCompleted;
    if (wrong) row.reason_code = std::string(to_string(ErrorCode::kMismatch));
    if (!local.task.verify) use_stored_verdict(row);
    if (local.task.verify) witnesses.add(local, references.of(local), attempt.compared(), row);
  }
  row.timestamp = iso8601(wall_now());
  launch.outputs = attempt.outputs().is_null() ? std::string() : json_text(attempt.outputs());
  describe_launch(local, launch);
  launch.samples = attempt.take_samples();
  std::error_code ignored;
  fs::copy_file(attempt.log(), bundle.log_path(), ignored);
  if (const Result<fs::path> folder = bundle.finish(row, attempt.environment(), attempt.outputs()); folder) {
    launch.log = *folder / bundle_file::kLog;
  } else {
    // The numbers are in the row, and the other cells run.
    set_failure(row, folder.error());
  }
  return launch;
}

// nullopt: interrupted before it began.
std::optional<Launch> LocalExecutor::State::launch(LocalTask& local, std::int64_t round) {
  Result<Launch> launch = guarded("", [&] { return execute(local, round); });
  if (launch) return std::move(*launch);
  if (services.cancelled()) return std::nullopt;
  Record row = local.task.row;
  set_failure(row, launch.error());
  row.timestamp = iso8601(wall_now());
  return Launch{.row = std::move(row)};
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
    std::optional<Launch> done = launch(cell, next.round);
    if (!done) break;
    cell.last_launch_s = static_cast<double>(clock.now_ns() - start) / kNsPerSecond;
    cell.launches.push_back(std::move(*done));
    on.launched(next.task, cell.launches.back());
    if (missing_launches(cell) > 0 || may_extend(cell))
      keep_artefact(cell);
    else
      release_artefact(cell);
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
        if (LocalTask& cell = cells[each.task]; !cell.launches.empty()) refuse(cell, round);
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
  for (LocalTask& cell : cells) state.release_artefact(cell);
  return {};
}

}  // namespace assay
