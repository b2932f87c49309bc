// SPDX-License-Identifier: Apache-2.0
#include "run/executor.hpp"

#include <algorithm>

#include "analyse/analyse.hpp"
#include "base/clock.hpp"
#include "base/guard.hpp"
#include "base/hash.hpp"
#include "run/executor_state.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

/// A batch that only a default asks for is skipped when one inference is estimated to take longer than this.
constexpr double kSlowDefaultMs = 10'000;
Refusal slow_batch(std::int64_t batch, double milliseconds, const char* told_by) {
  return {CellStatus::kSkipped, std::string(reason::kNoTime),
          fmt::format("one inference of this default batch is estimated at {:.0f} s, told by {}", milliseconds / 1e3,
                      told_by),
          fmt::format("ask for it with --batch-sizes {}", batch)};
}

// Cells that differ in nothing but the batch: what one took tells of the next.
std::string work_key(const Record& row) {
  return fmt::format("{} {} {} {} {} {}", row.model, target_key(row), row.sequence_length.value_or(0),
                     row.output_tokens.value_or(0), row.streams.value_or(1), row.threads.value_or(0));
}

}  // namespace

WorkerPool::Limits LocalExecutor::State::pool_limits(const RunSettings& settings) {
  WorkerPool::Limits limits;
  if (!settings.resource_pool) limits.workers = 0;
  return limits;
}

Result<WorkerPool::Lease> LocalExecutor::State::acquire(const PreparedModel& model, const Target& target,
                                                        const CellShape& shape, const std::string& precision,
                                                        std::chrono::nanoseconds timeout) {
  LoadRequest load;
  const Result<FormGraph>* formed = model.form_for(target.engine);
  load.model = formed != nullptr ? (*formed)->model.path : model.file;
  if (model.generation && model.generation->step) load.step_model = model.generation->step->path;
  load.device_id = target.device.id;
  load.precision = precision;
  load.threads = static_cast<int>(shape.threads > 0 ? shape.threads : usable_threads());
  load.streams = static_cast<int>(shape.streams);
  load.options = settings.engine_options;
  if (!target.found.entry.needs_model && model.info)
    add_signature(load.options, formed != nullptr ? (*formed)->info : *model.info);
  Worker::StartOptions start;
  start.memory_limit_bytes = memory_limit;
  start.executable = services.registry->places().worker;
  const fs::path log = scratch.path() / fmt::format("worker-{}.log", ++workers);
  start.log = log;
  start.cancelled = services.cancelled;
  ASSAY_TRY(WorkerPool::Lease leased, pool.acquire(target.found.location, load, std::move(start), timeout));
  if (!leased.warm()) logs[leased.worker().pid()] = log;
  return leased;
}

// What a runtime chooses is known when it has loaded the model: once, and ended before the reference lives.
Status LocalExecutor::State::tell_arithmetic(const PreparedModel& model, Planned& cell) {
  if (cell.row.precision != "runtime") return {};
  const std::string key = target_key(cell.row);
  if (!chosen.contains(key)) {
    services.doing(fmt::format("{} on {}: which precision it chooses", model.choice.name, key));
    ASSAY_TRY(WorkerPool::Lease leased, acquire(model, *cell.target, cell.shape, "runtime", settings.timeout));
    Record loaded;
    set_load(loaded, leased.loaded());
    leased.discard();
    chosen[key] = dtype_from(loaded.effective_precision).value_or(DType::kFloat32);
  }
  cell.arithmetic = chosen[key];
  return {};
}

// All references of a model before any candidate: the two never live at the same time.
void LocalExecutor::State::make_references(const PreparedModel& model, std::vector<Planned>& cells) {
  made.clear();
  chosen.clear();
  if (!settings.verify) return;
  double slowest_ms = 0;
  std::int64_t slowest_batch = 1;
  for (Planned& cell : cells) {
    if (cell.row.input_hash.empty() || !cell.row.reason_code.empty() || services.resumed.contains(cell.row.task_key))
      continue;
    if (const Status told = tell_arithmetic(model, cell); !told) {
      set_failure(cell.row, told.error());
      continue;
    }
    const std::string key = cell.reference_key();
    const double estimate = slowest_ms * static_cast<double>(cell.shape.batch) / static_cast<double>(slowest_batch);
    if (settings.default_batches && cell.shape.batch > slowest_batch && estimate > kSlowDefaultMs) {
      set_verdict(cell.row, slow_batch(cell.shape.batch, estimate, "the reference's run"));
      continue;
    }
    if (made.contains(key) || services.cancelled()) continue;
    services.doing(fmt::format("{}, {}: reference", model.choice.name, shape_key(cell.row)));
    Reference& reference = made[key];
    if (cell.inputs.recipes.empty()) continue;
    if (cell.given_outputs.empty()) {
      reference = references.make(model, cell.row.engine, cell.arithmetic, cell.inputs.recipes, settings.seed,
                                  cell.row.input_hash, cell.generation, settings.timeout);
    } else {
      reference.name = "given";
      reference.outputs = {cell.given_outputs};
    }
    if (reference.run_ms > 0 && !cell.generation) {  // of a generation it is the prompt's alone
      slowest_ms = reference.run_ms;
      slowest_batch = cell.shape.batch;
    }
  }
  references.release();
}

// A file that contradicts itself has no numbers: some runtimes run it all the same, but what they compute is nobody's
// model. What ONNX Runtime computed as the reference is the proof that a contradiction is none.
std::optional<Error> LocalExecutor::State::file_at_fault(const Planned& cell) const {
  const auto reference = made.find(cell.reference_key());
  if (reference != made.end() && reference->second.file_at_fault)
    return cell.contradiction ? cell.contradiction : reference->second.file_at_fault;  // ours names the node better
  if (reference != made.end() && reference->second.name != "none") return std::nullopt;
  return cell.contradiction;
}

double LocalExecutor::State::estimated_ms(const Record& row) const {
  const auto known = measured.find(work_key(row));
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

// Rows that never ran are kept like the others: a bundle with nothing but its manifest.
Result<Record> LocalExecutor::State::finish_unrun(Record row) {
  row.attempt_id = make_uuid();
  row.timestamp = iso8601(wall_now());
  ASSAY_TRY(BundleWriter bundle, BundleWriter::begin(services.spool, row, context));
  ASSAY_TRY([[maybe_unused]] const fs::path folder, bundle.finish(row, Json::object(), nullptr));
  return row;
}

Result<Record> LocalExecutor::State::execute(const PreparedModel& model, Planned& cell) {
  Record& row = cell.row;
  if (const auto resumed = services.resumed.find(row.task_key); resumed != services.resumed.end())
    return resumed->second;
  if (const double estimate = estimated_ms(row);
      settings.default_batches && row.reason_code.empty() && estimate > kSlowDefaultMs)
    set_verdict(row, slow_batch(cell.shape.batch, estimate, "the smaller batch"));
  if (const std::optional<Error> fault = file_at_fault(cell); fault && row.reason_code.empty())
    set_failure(row, *fault);
  if (!row.reason_code.empty()) return finish_unrun(row);

  row.attempt_id = make_uuid();
  ASSAY_TRY(BundleWriter bundle, BundleWriter::begin(services.spool, row, context));
  Json environment = Json::object(), outputs;
  fs::path log;
  const Status done = attempt(row, model, cell, bundle.samples_path(), environment, outputs, log);
  if (!done) {
    set_failure(row, done.error());
  } else {
    const bool wrong = row.verification == Verification::kWrong;
    row.status = wrong ? CellStatus::kWrong : CellStatus::kCompleted;
    if (wrong) row.reason_code = std::string(to_string(ErrorCode::kMismatch));
    if (!settings.verify) take_stored_verdict(row);
  }
  if (row.latency_mean_ms) measured[work_key(row)] = {cell.shape.batch, *row.latency_mean_ms};
  row.timestamp = iso8601(wall_now());
  std::error_code ignored;
  fs::copy_file(log, bundle.log_path(), ignored);
  ASSAY_TRY([[maybe_unused]] const fs::path folder, bundle.finish(row, environment, outputs));
  return row;
}

LocalExecutor::LocalExecutor(std::unique_ptr<State> state) : state_(std::move(state)) {}
LocalExecutor::LocalExecutor(LocalExecutor&&) noexcept = default;
LocalExecutor::~LocalExecutor() = default;

Result<LocalExecutor> LocalExecutor::create(const RunInfo& run, const RunSettings& settings,
                                            ExecutorServices services) {
  ASSAY_TRY(TemporaryDirectory scratch, TemporaryDirectory::create("assay-run-"));
  return LocalExecutor(std::make_unique<State>(run, settings, std::move(services), std::move(scratch)));
}

Status LocalExecutor::run(const PreparedModel& model, const std::vector<Target>& targets) {
  State& state = *state_;
  ASSAY_TRY(std::vector<Planned> cells, state.plan_all(model, targets));
  state.make_references(model, cells);
  for (Planned& cell : cells) {
    if (state.services.cancelled()) break;
    Result<Record> row = guarded("", [&] { return state.execute(model, cell); });
    if (!row) {
      // Such as a bundle that could not be written: the numbers are in the row, and the other cells go on.
      set_failure(cell.row, row.error());
      cell.row.timestamp = iso8601(wall_now());
      row = std::move(cell.row);
    }
    state.services.finished(*row);
  }
  state.pool.clear();
  return {};
}

}  // namespace assay
