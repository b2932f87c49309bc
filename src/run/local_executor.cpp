// SPDX-License-Identifier: Apache-2.0
#include "run/local_executor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analyse/analyse.hpp"
#include "base/clock.hpp"
#include "base/files.hpp"
#include "base/guard.hpp"
#include "base/hash.hpp"
#include "measure/environment.hpp"
#include "plan/row.hpp"
#include "result/keys.hpp"
#include "run/attempt.hpp"
#include "run/batch_times.hpp"
#include "run/local_task.hpp"
#include "run/local_workers.hpp"
#include "run/reference_set.hpp"
#include "store/bundle.hpp"
#include "store/store.hpp"
#include "worker/probe.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

ArtefactStore::Services artefact_services(const ExecutorServices& services) {
  return {services.registry, services.cache / "models", services.artefact_timeout, services.cancelled, services.making};
}

RunContext context_of(const RunInfo& run) {
  RunContext context;
  context.started = run.started;
  context.command = run.command;
  context.environment = {{"system_info", run.system}, {"available_hardware", run.hardware}};
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

}  // namespace

std::string resume_key(const Record& row) { return fmt::format("{}\n{}\n{}", row.task_key, row.model, row.model_id); }

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
  BatchTimes times;
  std::map<std::string, FoundEngine> probed;  ///< for tasks of another machine, by engine

  State(RunInfo info, ExecutorServices given, TemporaryDirectory folder);
  void use_this_machine(Task& task);
  void name(LocalTask& local) const;
  [[nodiscard]] Status make_artefact(LocalTask& local);
  void release_artefact(LocalTask& local);
  void prepare(std::vector<LocalTask>& tasks);
  [[nodiscard]] Result<Record> execute(LocalTask& local);
  [[nodiscard]] Result<Record> finish_unrun(Record row) const;
  [[nodiscard]] Result<Record> run_once(LocalTask& local);
  void use_stored_verdict(Record& row) const;
};

LocalExecutor::State::State(RunInfo info, ExecutorServices given, TemporaryDirectory folder)
    : run(std::move(info)),
      context(context_of(run)),
      services(std::move(given)),
      scratch(std::move(folder)),
      memory_limit(services.memory_limit_bytes.value_or(free_memory() / 10 * 9)),
      artefacts(artefact_services(services)),
      workers(*services.registry, scratch.path(), {memory_limit, services.keep_workers, services.cancelled}),
      maker(*services.registry, artefacts, services.cache / "references", services.cancelled),
      references(services, maker, workers) {
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
  const std::string key = resume_key(row);
  const auto before = services.attempts.find(key);
  row.attempt_number = before == services.attempts.end() ? 1 : before->second + 1;
  const auto resumed = services.resumed.find(key);
  local.kept = resumed == services.resumed.end() ? nullptr : &resumed->second;
  // The hash of a converted graph is known after the conversion. All that decides it is in the other fields.
  if (local.kept != nullptr || local.task.artefact.converter.empty()) return;
  for (const auto& [ignored, finished] : services.resumed) {
    Record planned = finished;
    planned.graph_hash = row.graph_hash;
    planned.task_key = task_key(planned);
    if (resume_key(planned) == key) local.kept = &finished;
  }
}

Status LocalExecutor::State::make_artefact(LocalTask& local) {
  if (local.artefact) return {};
  Task& task = local.task;
  ASSAY_TRY(Artefact artefact, artefacts.make(task.artefact, task.row.model));
  if (task.artefact.zoo) task.row.model_size_mb = static_cast<double>(artefact.bytes) / 1e6;
  if (!artefact.graph_hash.empty()) {
    task.row.graph_hash = artefact.graph_hash;
    name(local);
  }
  local.artefact = std::move(artefact);
  return {};
}

void LocalExecutor::State::release_artefact(LocalTask& local) {
  local.artefact.reset();
  if (std::exchange(local.expects_artefact, false)) artefacts.done(local.task.artefact);
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
  for (const LocalTask& local : tasks) artefacts.done(local.task.reference.artefact);
}

void LocalExecutor::State::use_stored_verdict(Record& row) const {
  const std::optional<Record> stored = services.stored(row.task_key);
  if (!stored) return;
  row.verification = stored->verification;
  row.reference = stored->reference;
  row.max_abs_error = stored->max_abs_error;
  row.max_rel_error = stored->max_rel_error;
  row.cosine_similarity = stored->cosine_similarity;
  row.error_limit = stored->error_limit;
  row.worst_output = stored->worst_output;
  row.message = std::string(kVerdictOf) + stored->timestamp;
  if (row.verification != Verification::kWrong) return;
  row.status = CellStatus::kWrong;
  row.reason_code = std::string(to_string(ErrorCode::kMismatch));
}

// Rows that did not run are kept like the others: a bundle with only its manifest.
Result<Record> LocalExecutor::State::finish_unrun(Record row) const {
  row.attempt_id = make_uuid();
  row.timestamp = iso8601(wall_now());
  ASSAY_TRY(BundleWriter bundle, BundleWriter::begin(services.spool, row, context));
  ASSAY_TRY([[maybe_unused]] const fs::path folder, bundle.finish(row, Json::object(), nullptr));
  return row;
}

Result<Record> LocalExecutor::State::execute(LocalTask& local) {
  const Task& task = local.task;
  Record& row = local.task.row;
  if (local.kept != nullptr) return *local.kept;
  if (const double estimate = times.estimate(local); task.default_batch && task.runs() && estimate > kSlowDefaultMs)
    set_refusal(row, slow_batch(task.shape.batch, estimate, "the smaller batch"));
  if (const std::optional<Error> fault = references.invalid_file(local); fault && task.runs()) set_failure(row, *fault);
  if (task.runs()) {
    if (const Status made = guarded("while making its files", [&] { return make_artefact(local); }); !made) {
      if (services.cancelled()) return tl::unexpected<Error>(made.error());
      set_artefact_failure(row, made.error());
    }
  }
  if (!task.runs()) return finish_unrun(row);
  Result<Record> done = run_once(local);
  times.add(local);
  return done;
}

Result<Record> LocalExecutor::State::run_once(LocalTask& local) {
  Record& row = local.task.row;
  row.attempt_id = make_uuid();
  ASSAY_TRY(BundleWriter bundle, BundleWriter::begin(services.spool, row, context));
  Attempt attempt(local, row, {workers, references.of(local), scratch.path(), bundle.samples_path(), services.doing});
  if (const Status done = guarded("", [&] { return attempt.run(); }); !done) {
    set_failure(row, done.error());
  } else {
    const bool wrong = row.verification == Verification::kWrong;
    row.status = wrong ? CellStatus::kWrong : CellStatus::kCompleted;
    if (wrong) row.reason_code = std::string(to_string(ErrorCode::kMismatch));
    if (!local.task.verify) use_stored_verdict(row);
  }
  row.timestamp = iso8601(wall_now());
  std::error_code ignored;
  fs::copy_file(attempt.log(), bundle.log_path(), ignored);
  ASSAY_TRY([[maybe_unused]] const fs::path folder, bundle.finish(row, attempt.environment(), attempt.outputs()));
  return row;
}

LocalExecutor::LocalExecutor(std::unique_ptr<State> state) : state_(std::move(state)) {}
LocalExecutor::~LocalExecutor() = default;

Result<std::unique_ptr<LocalExecutor>> LocalExecutor::create(const RunInfo& run, ExecutorServices services) {
  ASSAY_TRY(TemporaryDirectory scratch, TemporaryDirectory::create("assay-run-"));
  return std::unique_ptr<LocalExecutor>(
      new LocalExecutor(std::make_unique<State>(run, std::move(services), std::move(scratch))));
}

Status LocalExecutor::run(std::vector<Task> tasks, const std::function<void(const Record&)>& finished) {
  State& state = *state_;
  std::vector<LocalTask> cells;
  cells.reserve(tasks.size());
  for (Task& task : tasks) cells.push_back({std::move(task)});
  state.prepare(cells);
  for (LocalTask& cell : cells) {
    if (state.services.cancelled()) break;
    Result<Record> row = guarded("", [&] { return state.execute(cell); });
    if (!row) {
      if (state.services.cancelled() && cell.task.row.attempt_id.empty()) break;
      // For instance a bundle that could not be written: the numbers are in the row, and the other cells run.
      set_failure(cell.task.row, row.error());
      cell.task.row.timestamp = iso8601(wall_now());
      row = std::move(cell.task.row);
    }
    finished(*row);
    state.release_artefact(cell);
  }
  for (LocalTask& cell : cells) state.release_artefact(cell);
  state.workers.clear();
  return {};
}

}  // namespace assay
