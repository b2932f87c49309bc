// SPDX-License-Identifier: Apache-2.0
#include "run/local_executor.hpp"

#include <algorithm>

#include "analyse/analyse.hpp"
#include "base/clock.hpp"
#include "base/guard.hpp"
#include "base/hash.hpp"
#include "measure/environment.hpp"
#include "plan/row.hpp"
#include "result/keys.hpp"
#include "run/local_state.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

/// A default batch is skipped if the estimate of one inference is longer than this.
constexpr double kSlowDefaultMs = 10'000;
Refusal slow_batch(std::int64_t batch, double milliseconds, const char* basis) {
  return {CellStatus::kSkipped, std::string(reason::kNoTime),
          fmt::format("one inference of this default batch is estimated at {:.0f} s, extrapolated from {}",
                      milliseconds / 1e3, basis),
          fmt::format("--batch-sizes {} measures it", batch)};
}

// Equal for cells that differ only in the batch: the time of one is extrapolated to the next.
std::string work_key(const LocalTask& local) {
  const Record& row = local.task.row;
  return fmt::format("{} {} {} {} {} {} {} {}", row.model, local.model_key(), row.kv_cache, target_key(row),
                     row.sequence_length.value_or(0), row.output_tokens.value_or(0), row.streams.value_or(1),
                     row.threads.value_or(0));
}

WorkerPool::Limits pool_limits(const ExecutorServices& services) {
  WorkerPool::Limits limits;
  if (!services.keep_workers) limits.workers = 0;
  return limits;
}

ArtefactStore::Services artefact_services(const ExecutorServices& services) {
  return {services.registry, services.cache / "models", services.artefact_timeout, services.cancelled, services.making};
}

}  // namespace

std::string resume_key(const Record& row) { return fmt::format("{}\n{}\n{}", row.task_key, row.model, row.model_id); }

LocalExecutor::State::State(const RunInfo& run, ExecutorServices given, TemporaryDirectory folder)
    : services(std::move(given)),
      memory_limit(services.memory_limit_bytes.value_or(free_memory() / 10 * 9)),
      artefacts(artefact_services(services)),
      references(*services.registry, artefacts, services.cache / "references", services.cancelled),
      pool(pool_limits(services)),
      scratch(std::move(folder)) {
  references.limit_memory(memory_limit);
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
}

Result<WorkerPool::Lease> LocalExecutor::State::acquire(const LocalTask& local, const std::string& precision,
                                                        std::chrono::nanoseconds timeout) {
  const Task& task = local.task;
  LoadRequest load = task.load;
  load.precision = precision;
  if (load.threads == 0) load.threads = usable_threads();
  if (local.artefact) {
    load.model = local.artefact->model;
    load.step_model = local.artefact->step_model;
  }
  auto location = locations.find(task.engine);
  if (location == locations.end())
    location = locations.emplace(task.engine, services.registry->locate(task.engine)).first;
  if (!location->second) return tl::unexpected<Error>(location->second.error());
  Worker::StartOptions start;
  start.memory_limit_bytes = memory_limit;
  start.executable = services.registry->places().worker;
  const fs::path log = scratch.path() / fmt::format("worker-{}.log", ++workers);
  start.log = log;
  start.cancelled = services.cancelled;
  ASSAY_TRY(WorkerPool::Lease leased, pool.acquire(*location->second, load, std::move(start), timeout));
  if (!leased.warm()) logs[leased.worker().pid()] = log;
  return leased;
}

// Sets the keys, when all fields that they hash are set, and the number of this attempt at the task.
void LocalExecutor::State::name_row(Record& row) const {
  row.task_key = task_key(row);
  row.series_key = series_key(row);
  const auto before = services.attempts.find(resume_key(row));
  row.attempt_number = before == services.attempts.end() ? 1 : before->second + 1;
}

// Makes files for the tasks that will run. They exist until all tasks of the call are done.
void LocalExecutor::State::make_artefacts(std::vector<LocalTask>& tasks) {
  for (LocalTask& local : tasks) {
    Task& task = local.task;
    name_row(task.row);
    // The key of a converted model is known only after the conversion.
    const bool wanted = task.artefact.converter.empty() ? !services.resumed.contains(resume_key(task.row)) : true;
    if (!task.runs() || !wanted || services.cancelled()) continue;
    Result<Artefact> artefact = artefacts.make(task.artefact, task.row.model);
    if (!artefact) {
      set_failure(task.row, artefact.error());
      if (artefact.error().code == ErrorCode::kOutOfMemory)
        set_refusal(task.row, {CellStatus::kSkipped, std::string(reason::kTooLarge), artefact.error().message,
                               artefact.error().hint});
      continue;
    }
    if (task.artefact.zoo) task.row.model_size_mb = static_cast<double>(artefact->bytes) / 1e6;
    if (!artefact->graph_hash.empty()) {
      task.row.graph_hash = artefact->graph_hash;
      name_row(task.row);
    }
    local.artefact = std::move(*artefact);
  }
}

// The precision that a runtime chooses is known after it has loaded the model. The worker ends before the reference
// starts.
Status LocalExecutor::State::find_arithmetic(LocalTask& local) {
  const Record& row = local.task.row;
  if (row.precision != "runtime") return {};
  const std::string target = target_key(row), key = local.model_key() + " " + target;
  if (!chosen.contains(key)) {
    services.doing(fmt::format("{} on {}: which precision it chooses", row.model, target));
    ASSAY_TRY(WorkerPool::Lease leased, acquire(local, "runtime", local.task.timeout));
    Record loaded;
    set_load(loaded, leased.loaded());
    leased.discard();
    chosen[key] = dtype_from(loaded.effective_precision).value_or(DType::kFloat32);
  }
  local.task.arithmetic = chosen[key];
  return {};
}

// Makes all references before any candidate: the two are never in memory at the same time.
void LocalExecutor::State::make_references(std::vector<LocalTask>& tasks) {
  made.clear();
  chosen.clear();
  struct Slowest {
    double ms = 0;
    std::int64_t batch = 1;
  };
  std::map<std::string, Slowest> slowest;  // by model_key()
  for (LocalTask& local : tasks) {
    Task& task = local.task;
    if (!task.verify || !task.runs() || services.resumed.contains(resume_key(task.row))) continue;
    if (const Status found = find_arithmetic(local); !found) {
      set_failure(task.row, found.error());
      continue;
    }
    Slowest& before = slowest[local.model_key()];
    const double estimate = before.ms * static_cast<double>(task.shape.batch) / static_cast<double>(before.batch);
    if (task.default_batch && task.shape.batch > before.batch && estimate > kSlowDefaultMs) {
      set_refusal(task.row, slow_batch(task.shape.batch, estimate, "the reference's run"));
      continue;
    }
    const std::string key = local.reference_key(*services.registry);
    if (made.contains(key) || services.cancelled()) continue;
    services.doing(fmt::format("{}, {}: reference", task.row.model, shape_key(task.row)));
    Reference& reference = made[key];
    if (task.inputs.empty()) continue;
    if (task.reference.given_outputs.empty()) {
      reference = references.make(task);
    } else {
      reference.name = "given";
      reference.outputs = {task.reference.given_outputs};
    }
    if (reference.run_ms > 0 && !task.generation)  // for a generation it is the time of the prompt only
      before = {reference.run_ms, task.shape.batch};
  }
  references.release();
}

// A file that contradicts itself has no right numbers, although some runtimes run it. If ONNX Runtime could compute the
// reference, the file does not contradict itself.
std::optional<Error> LocalExecutor::State::invalid_file(const LocalTask& local) {
  const auto reference = made.find(local.reference_key(*services.registry));
  const std::optional<Error>& contradiction = local.task.contradiction;
  if (reference != made.end() && reference->second.invalid_file)
    return contradiction ? contradiction : reference->second.invalid_file;  // ours names the node better
  if (reference != made.end() && reference->second.name != "none") return std::nullopt;
  return contradiction;
}

double LocalExecutor::State::estimated_ms(const LocalTask& local) const {
  const Record& row = local.task.row;
  const auto known = measured.find(work_key(local));
  if (known == measured.end() || known->second.first >= row.batch_size.value_or(1)) return 0;
  return known->second.second * static_cast<double>(*row.batch_size) / static_cast<double>(known->second.first);
}

void LocalExecutor::State::take_stored_verdict(Record& row) const {
  const std::optional<Record> stored = services.stored(row.task_key);
  if (!stored) return;
  row.verification = stored->verification;
  row.reference = stored->reference;
  row.max_abs_error = stored->max_abs_error;
  row.max_rel_error = stored->max_rel_error;
  row.cosine_similarity = stored->cosine_similarity;
  row.error_limit = stored->error_limit;
  row.worst_output = stored->worst_output;
  row.message = "verdict of " + stored->timestamp;
  if (row.verification != Verification::kWrong) return;
  row.status = CellStatus::kWrong;
  row.reason_code = std::string(to_string(ErrorCode::kMismatch));
}

// Rows that did not run are kept like the others: a bundle with only its manifest.
Result<Record> LocalExecutor::State::finish_unrun(Record row) {
  row.attempt_id = make_uuid();
  row.timestamp = iso8601(wall_now());
  ASSAY_TRY(BundleWriter bundle, BundleWriter::begin(services.spool, row, context));
  ASSAY_TRY([[maybe_unused]] const fs::path folder, bundle.finish(row, Json::object(), nullptr));
  return row;
}

Result<Record> LocalExecutor::State::execute(LocalTask& local) {
  const Task& task = local.task;
  Record& row = local.task.row;
  if (const auto resumed = services.resumed.find(resume_key(row)); resumed != services.resumed.end())
    return resumed->second;
  if (const double estimate = estimated_ms(local); task.default_batch && task.runs() && estimate > kSlowDefaultMs)
    set_refusal(row, slow_batch(task.shape.batch, estimate, "the smaller batch"));
  if (const std::optional<Error> fault = invalid_file(local); fault && task.runs()) set_failure(row, *fault);
  if (!task.runs()) return finish_unrun(row);

  row.attempt_id = make_uuid();
  ASSAY_TRY(BundleWriter bundle, BundleWriter::begin(services.spool, row, context));
  Json environment = Json::object(), outputs;
  fs::path log;
  const Status done = attempt(row, local, bundle.samples_path(), environment, outputs, log);
  if (!done) {
    set_failure(row, done.error());
  } else {
    const bool wrong = row.verification == Verification::kWrong;
    row.status = wrong ? CellStatus::kWrong : CellStatus::kCompleted;
    if (wrong) row.reason_code = std::string(to_string(ErrorCode::kMismatch));
    if (!task.verify) take_stored_verdict(row);
  }
  if (row.latency_mean_ms) measured[work_key(local)] = {task.shape.batch, *row.latency_mean_ms};
  row.timestamp = iso8601(wall_now());
  std::error_code ignored;
  fs::copy_file(log, bundle.log_path(), ignored);
  ASSAY_TRY([[maybe_unused]] const fs::path folder, bundle.finish(row, environment, outputs));
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
  state.make_artefacts(cells);
  state.make_references(cells);
  for (LocalTask& cell : cells) {
    if (state.services.cancelled()) break;
    Result<Record> row = guarded("", [&] { return state.execute(cell); });
    if (!row) {
      // For instance a bundle that could not be written: the numbers are in the row, and the other cells run.
      set_failure(cell.task.row, row.error());
      cell.task.row.timestamp = iso8601(wall_now());
      row = std::move(cell.task.row);
    }
    finished(*row);
  }
  state.pool.clear();
  return {};
}

}  // namespace assay
