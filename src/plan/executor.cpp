// SPDX-License-Identifier: Apache-2.0
#include "plan/executor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "analyse/analyse.hpp"
#include "base/clock.hpp"
#include "base/files.hpp"
#include "base/hash.hpp"
#include "base/log.hpp"
#include "hardware/host.hpp"
#include "measure/environment.hpp"
#include "measure/samples_file.hpp"
#include "measure/summary.hpp"
#include "plan/reference.hpp"
#include "plan/row.hpp"
#include "store/bundle.hpp"
#include "verify/verify.hpp"
#include "worker/pool.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

/// A batch that only a default asks for is skipped when one inference is estimated to take longer than this.
constexpr double kSlowDefaultMs = 10'000;
/// Inputs of all rotating sets together stay below this.
constexpr std::uint64_t kMaxInputBytes = 256ULL << 20;

class Deadline {
 public:
  explicit Deadline(std::chrono::nanoseconds budget) : end_(std::chrono::steady_clock::now() + budget) {}
  [[nodiscard]] std::chrono::nanoseconds left() const {
    return std::max(std::chrono::nanoseconds(1), std::chrono::nanoseconds(end_ - std::chrono::steady_clock::now()));
  }
  [[nodiscard]] bool passed() const { return std::chrono::steady_clock::now() >= end_; }

 private:
  std::chrono::steady_clock::time_point end_;
};

std::vector<CellShape> shapes_of(const RunSettings& settings, bool sequence, std::optional<std::int64_t> fixed_batch) {
  std::vector<std::int64_t> batches = settings.batch_sizes;
  // A file with a fixed batch runs at that batch; others that somebody asked for are rows that say so.
  if (fixed_batch && settings.default_batches) batches = {*fixed_batch};
  if (fixed_batch && std::find(batches.begin(), batches.end(), *fixed_batch) == batches.end()) {
    batches.push_back(*fixed_batch);
    std::sort(batches.begin(), batches.end());
  }
  std::vector<CellShape> shapes;
  for (const std::int64_t threads : settings.threads)
    for (const std::int64_t streams : settings.streams)
      for (const std::int64_t batch : batches)
        for (const std::int64_t length : sequence ? settings.sequence_lengths : std::vector<std::int64_t>{128})
          shapes.push_back({batch, length, streams, threads});
  return shapes;
}

// A model file's own floating type, as engines read it: the first output's that has one, else an input's.
DType own_arithmetic(const ModelInfo& info) {
  for (const auto* values : {&info.outputs, &info.inputs})
    for (const ModelValue& value : *values)
      if (is_floating(value.dtype)) return value.dtype;
  return DType::kFloat32;
}

std::size_t rotating_sets(const std::vector<InputRecipe>& recipes, std::size_t wanted) {
  std::uint64_t bytes = 1;
  if (recipes.empty()) return 1;
  for (const InputRecipe& recipe : recipes) bytes += byte_size(recipe.dtype, recipe.shape).value_or(0);
  return std::clamp<std::size_t>(kMaxInputBytes / bytes, 2, std::max<std::size_t>(2, wanted));
}

// What the files of outputs were, for the bundle: enough to tell two attempts' outputs apart later.
Json fingerprint(const fs::path& outputs) {
  const Result<std::string> hash = sha256_file(outputs);
  return hash ? Json{{"set0_sha256", *hash}} : Json(nullptr);
}

// Signature as the runtime tells it, for formats that assay does not read and for engines that need no file.
ModelInfo info_from(const LoadReply& loaded, const fs::path& file) {
  ModelInfo info;
  info.path = file;
  const auto convert = [](const std::vector<ValueSignature>& values) {
    std::vector<ModelValue> out;
    out.reserve(values.size());
    for (const ValueSignature& value : values) out.push_back({value.name, value.dtype, value.shape, value.symbols});
    return out;
  };
  info.inputs = convert(loaded.inputs);
  info.outputs = convert(loaded.outputs);
  return info;
}

Target::Verdict slow_batch(std::int64_t batch, double milliseconds, const char* told_by) {
  return {CellStatus::kSkipped, std::string(reason::kNoTime),
          fmt::format("one inference of this default batch is estimated at {:.0f} s, told by {}", milliseconds / 1e3,
                      told_by),
          fmt::format("ask for it with --batch-sizes {}", batch)};
}

// Cells that differ in nothing but the batch: what one took tells of the next.
std::string work_key(const Record& row) {
  return fmt::format("{} {} {} {} {}", row.model, target_key(row), row.sequence_length.value_or(0),
                     row.streams.value_or(1), row.threads.value_or(0));
}

// float32 means float32: a runtime that computes in fewer bits all the same is refused, not judged by their floor.
Status strict(const Record& row) {
  const auto effective = dtype_from(row.effective_precision);
  if (row.precision != "float32" || !effective || bit_width(*effective) >= 32) return {};
  return fail(ErrorCode::kUnsupported,
              fmt::format("{} computes in {} though float32 was asked for", row.engine, row.effective_precision),
              "--precision runtime leaves the choice to the runtime");
}

bool same_shapes(const std::vector<InputRecipe>& a, const std::vector<InputRecipe>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const InputRecipe& x, const InputRecipe& y) {
    return x.name == y.name && x.dtype == y.dtype && x.shape == y.shape;
  });
}

Status judge_row(Record& row, const Reference& reference, const std::vector<fs::path>& outputs,
                 const std::vector<InputRecipe>& recipes, std::uint64_t seed) {
  OutputFiles files;
  files.reference = reference.outputs;
  files.candidate = outputs;
  files.perturbed = reference.moved;
  VerifyOptions options;
  options.reference = reference.name;
  options.precision = dtype_from(row.effective_precision).value_or(DType::kFloat32);
  // Positions that a mask leaves out do not count.
  std::vector<NamedTensor> kept;
  kept.reserve(outputs.size() * recipes.size());
  for (std::size_t set = 0; set < outputs.size(); ++set) {
    options.inputs.emplace_back();
    for (const InputRecipe& recipe : recipes) {
      if (!matters_to_masks(recipe.name)) continue;
      ASSAY_TRY(Tensor tensor, make_input(recipe, seed, set));
      kept.push_back({recipe.name, std::move(tensor)});
      options.inputs.back().push_back({recipe.name, kept.back().tensor.view()});
    }
  }
  ASSAY_TRY(const Verdict verdict, judge(files, options));
  row.verification = verdict.verification;
  row.max_abs_error = verdict.max_abs_error;
  row.max_rel_error = verdict.max_rel_error;
  row.cosine_similarity = verdict.cosine;
  row.error_limit = verdict.error_limit;
  row.worst_output = verdict.worst_output;
  row.message = verdict.message;
  return {};
}

}  // namespace

/// Inputs and outputs that came with the model.
struct Given {
  std::optional<GivenData> data{};
  std::string note{};  ///< why they cannot be used at all
};

/// A cell that is about to run: everything that its row says before.
struct Planned {
  const Target* target;
  CellShape shape;
  ModelInputs inputs;
  Record row;
  fs::path given_outputs{};            ///< what the model should compute on these inputs, where it came with that
  std::string given_note{};            ///< why outputs that came with the model are not this cell's reference
  DType arithmetic = DType::kFloat32;  ///< what the candidate computes in: its reference is made for that

  // Equal inputs and arithmetic of one model have one reference; the null engine's is its own.
  [[nodiscard]] std::string reference_key() const {
    return fmt::format("{} {}{}", row.input_hash, to_string(arithmetic), row.engine == "null" ? " null" : "");
  }
};

struct LocalExecutor::State {
  RunInfo run;
  RunSettings settings;
  ExecutorServices services;
  ReferenceMaker references;
  WorkerPool pool;
  TemporaryDirectory scratch;
  RunContext context;
  int workers = 0;                        ///< started so far, to name their logs
  std::map<int, fs::path> logs;           ///< by the worker's process id: a warm one keeps its first log
  std::uint64_t memory_limit;             ///< of one worker; the same for all, or none would ever be found warm
  std::map<std::string, Reference> made;  ///< of the model that runs, by Planned::reference_key()
  std::map<std::string, DType> chosen;    ///< the precision that a runtime chose for the model, by target_key()
  std::map<std::string, std::pair<std::int64_t, double>> measured;  ///< by work_key(): the batch and its mean in ms

  State(const RunInfo& r, const RunSettings& s, ExecutorServices v, TemporaryDirectory folder)
      : run(r),
        settings(s),
        services(std::move(v)),
        references(*services.registry, services.cache / "references", services.cancelled),
        pool(pool_limits(settings)),
        scratch(std::move(folder)) {
    memory_limit = settings.memory_limit_bytes.value_or(free_memory() / 10 * 9);
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

  [[nodiscard]] static WorkerPool::Limits pool_limits(const RunSettings& settings);
  [[nodiscard]] Result<WorkerPool::Lease> acquire(const PreparedModel& model, const Target& target,
                                                  const CellShape& shape, const std::string& precision,
                                                  std::chrono::nanoseconds timeout);
  [[nodiscard]] Result<ModelInfo> signature(const PreparedModel& model, const Target& target);
  [[nodiscard]] Result<Planned> plan(const PreparedModel& model, const ModelInfo& info, const Target& target,
                                     const CellShape& shape, const Given& given);
  [[nodiscard]] Status tell_arithmetic(const PreparedModel& model, Planned& cell);
  void make_references(const PreparedModel& model, std::vector<Planned>& cells);
  [[nodiscard]] Result<Record> finish_unrun(Record row);
  [[nodiscard]] Result<Record> execute(const PreparedModel& model, Planned& cell);
  [[nodiscard]] Status attempt(Record& row, const PreparedModel& model, const Planned& cell, const fs::path& samples,
                               Json& environment, Json& outputs, fs::path& log);
  [[nodiscard]] Status work(Record& row, WorkerPool::Lease& leased, const Planned& cell, const fs::path& samples,
                            const Deadline& deadline, Json& environment, Json& outputs);
  [[nodiscard]] Status check(Record& row, Worker& worker, const Planned& cell, const Deadline& deadline, Json& outputs);
  [[nodiscard]] InputAxes axes_of(const CellShape& shape) const {
    return {shape.batch, shape.sequence, settings.data, services.cache / "inputs"};
  }
  // The keys of a row that has everything they hash, and which attempt at that task this is.
  void name_row(Record& row) const {
    row.task_key = task_key(row);
    row.series_key = series_key(row);
    const auto before = services.attempts.find(row.task_key);
    row.attempt_number = before == services.attempts.end() ? 1 : before->second + 1;
  }
  [[nodiscard]] double estimated_ms(const Record& row) const;
  void take_stored_verdict(Record& row) const;
};

WorkerPool::Limits LocalExecutor::State::pool_limits(const RunSettings& settings) {
  WorkerPool::Limits limits;
  if (!settings.resource_pool) limits.workers = 0;
  return limits;
}

Result<WorkerPool::Lease> LocalExecutor::State::acquire(const PreparedModel& model, const Target& target,
                                                        const CellShape& shape, const std::string& precision,
                                                        std::chrono::nanoseconds timeout) {
  LoadRequest load;
  load.model = model.file;
  load.device_id = target.device.id;
  load.precision = precision;
  load.threads = static_cast<int>(shape.threads > 0 ? shape.threads : usable_threads());
  load.streams = static_cast<int>(shape.streams);
  load.options = settings.engine_options;
  if (target.engine == "null" && model.info) add_signature(load.options, *model.info);
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

// Formats that assay does not read, and engines without a file, tell their inputs when they are loaded.
Result<ModelInfo> LocalExecutor::State::signature(const PreparedModel& model, const Target& target) {
  if (model.info) return *model.info;
  const std::string precision = begin_row(run, settings, model, target).precision;
  ASSAY_TRY(WorkerPool::Lease leased, acquire(model, target, {}, precision, settings.timeout));
  return info_from(leased.loaded(), model.file);
}

Result<Planned> LocalExecutor::State::plan(const PreparedModel& model, const ModelInfo& info, const Target& target,
                                           const CellShape& shape, const Given& given) {
  Planned cell{&target, shape, {}, begin_row(run, settings, model, target)};
  cell.arithmetic =
      cell.row.precision == "as_is" ? own_arithmetic(info) : dtype_from(cell.row.precision).value_or(DType::kFloat32);
  cell.given_note = given.note;
  Result<ModelInputs> inputs = make_inputs(info, axes_of(shape));
  if (inputs && inputs->uses_sequence && model.max_sequence && shape.sequence > *model.max_sequence)
    inputs = fail(
        ErrorCode::kUnsupported,
        fmt::format("sequence length {} is beyond the {} positions of the model", shape.sequence, *model.max_sequence),
        "give shorter ones with --sequence-lengths");
  if (!inputs) {
    cell.row.batch_size = shape.batch;
    set_failure(cell.row, inputs.error());
  } else {
    cell.inputs = std::move(*inputs);
    if (given.data && same_shapes(given.data->inputs, cell.inputs.recipes)) {
      cell.inputs.recipes = given.data->inputs;
      cell.given_outputs = given.data->outputs;
      cell.row.data_source = given.data->folder.string();
    } else if (given.data) {
      cell.given_note = fmt::format("the outputs given with the model are for {}, not for this shape",
                                    input_shape_text(given.data->inputs));
    }
    ASSAY_TRY(const std::string hash, input_hash(cell.inputs.recipes, settings.seed, settings.input_sets));
    set_shape(cell.row, shape, cell.inputs, hash);
  }
  name_row(cell.row);
  return cell;
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
                                  cell.row.input_hash, settings.timeout);
    } else {
      reference.name = "given";
      reference.outputs = {cell.given_outputs};
    }
    if (reference.run_ms > 0) {
      slowest_ms = reference.run_ms;
      slowest_batch = cell.shape.batch;
    }
  }
  references.release();
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

Status LocalExecutor::State::check(Record& row, Worker& worker, const Planned& cell, const Deadline& deadline,
                                   Json& outputs) {
  std::vector<fs::path> computed{scratch.path() / "candidate0.safetensors"};
  ASSAY_TRY(const InferReply first, worker.infer({0, computed[0]}, deadline.left()));
  row.first_inference_ms = first.run_ms;
  outputs = fingerprint(computed[0]);
  if (!settings.verify) return {};
  const Reference& reference = made[cell.reference_key()];
  row.reference = reference.name;
  if (cell.inputs.recipes.empty()) {
    row.verification = Verification::kDegenerate;
    row.message = "the model has no inputs: its output proves nothing";
    return {};
  }
  if (reference.name == "none") {
    row.verification = Verification::kUnverified;
    row.message = reference.why_none;
    return {};
  }
  if (reference.outputs.size() > 1) {
    computed.push_back(scratch.path() / "candidate1.safetensors");
    ASSAY_TRY([[maybe_unused]] const InferReply second, worker.infer({1, computed[1]}, deadline.left()));
  }
  ASSAY_CHECK_OK(judge_row(row, reference, computed, cell.inputs.recipes, settings.seed));
  if (!cell.given_note.empty())
    row.message = fmt::format("{}{}{}; compared with {}", row.message, row.message.empty() ? "" : "; ", cell.given_note,
                              reference.name);
  return {};
}

// One execution: load, bind, verify, measure. An error ends the row; what is in it by then stays.
Status LocalExecutor::State::attempt(Record& row, const PreparedModel& model, const Planned& cell,
                                     const fs::path& samples_path, Json& environment, Json& outputs, fs::path& log) {
  // The reference's time is the first cell's that needs it.
  const auto spent = std::exchange(made[cell.reference_key()].spent, {});
  if (spent >= settings.timeout)
    return fail(ErrorCode::kTimeout,
                fmt::format("the reference took {:.0f} s, all that --timeout gives the cell",
                            std::chrono::duration<double>(spent).count()),
                "give more with --timeout, or measure alone with --benchmark-only");
  const Deadline deadline(settings.timeout - spent);
  const std::string name = fmt::format("{} on {}, {}", row.model, target_key(row), shape_key(row));
  services.doing(name + ": loading");
  log = scratch.path() / fmt::format("worker-{}.log", workers + 1);  // where a worker that dies at once wrote
  ASSAY_TRY(WorkerPool::Lease leased, acquire(model, *cell.target, cell.shape, row.precision, deadline.left()));
  log = logs[leased.worker().pid()];
  row.process = leased.warm() ? "warm" : "fresh";
  set_load(row, leased.loaded());
  Status done = strict(row);
  if (done) done = work(row, leased, cell, samples_path, deadline, environment, outputs);
  // After an error nobody knows what state the runtime is in.
  if (!done) leased.discard();
  return done;
}

// What an attempt does with a loaded model: bind, verify, measure.
Status LocalExecutor::State::work(Record& row, WorkerPool::Lease& leased, const Planned& cell,
                                  const fs::path& samples_path, const Deadline& deadline, Json& environment,
                                  Json& outputs) {
  const std::string name = fmt::format("{} on {}, {}", row.model, target_key(row), shape_key(row));
  Worker& worker = leased.worker();
  const BindRequest bind{cell.inputs.recipes, settings.seed, rotating_sets(cell.inputs.recipes, settings.input_sets),
                         static_cast<int>(cell.shape.streams)};
  ASSAY_TRY(const BindReply bound, worker.bind(bind, deadline.left()));
  row.compilation_time_ms = bound.compilation_ms;
  set_effective(row, bound.effective);
  ASSAY_CHECK_OK(strict(row));
  if (settings.verify) services.doing(name + ": verifying");
  ASSAY_CHECK_OK(check(row, worker, cell, deadline, outputs));
  if (!settings.benchmark) return {};

  services.doing(name + ": measuring");
  MeasureRequest measure{settings.measure, samples_path};
  measure.plan.streams = static_cast<int>(cell.shape.streams);
  // Leave the worker time to warm up and to answer: what it has by then is a result.
  const std::int64_t budget = deadline.left().count() / 10 * 9;
  measure.plan.max_warmup_ns = std::min(measure.plan.max_warmup_ns, budget / 4);
  measure.plan.max_time_ns = std::min(measure.plan.max_time_ns, budget - measure.plan.max_warmup_ns);
  const Result<MeasureReply> reply = worker.measure(measure, deadline.left());
  // A worker that died in mid-sample leaves the blocks it flushed: they are results, the row says how it ended.
  const Result<SamplesFile> samples = read_samples(samples_path);
  if (!reply) {
    if (samples && samples->samples.size() > 0) {
      summarise(Measurement{}, samples->samples, cell.shape.batch, row);
      row.add_flag(flag::kPartial);
    }
    return tl::unexpected<Error>(reply.error());
  }
  environment = reply->environment;
  if (!samples) return tl::unexpected<Error>(samples.error());
  summarise(reply->measurement, samples->samples, cell.shape.batch, row);
  set_memory(row, *reply, leased.loaded(), leased.warm());
  flag_noise(environment, row);
  if (reply->measurement.stop_reason == StopReason::kInterrupted) row.add_flag(flag::kPartial);
  if (reply->measurement.failure) {
    row.add_flag(flag::kPartial);
    return tl::unexpected<Error>(*reply->measurement.failure);
  }
  return {};
}

Result<Record> LocalExecutor::State::execute(const PreparedModel& model, Planned& cell) {
  Record& row = cell.row;
  if (const auto resumed = services.resumed.find(row.task_key); resumed != services.resumed.end())
    return resumed->second;
  if (const double estimate = estimated_ms(row);
      settings.default_batches && row.reason_code.empty() && estimate > kSlowDefaultMs)
    set_verdict(row, slow_batch(cell.shape.batch, estimate, "the smaller batch"));
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

Result<std::vector<Record>> LocalExecutor::run(const PreparedModel& model, const std::vector<Target>& targets) {
  State& state = *state_;
  std::vector<Record> rows;
  const auto add = [&](Record row) {
    state.services.finished(row);
    rows.push_back(std::move(row));
  };
  Given given;
  if (model.info && state.settings.data.empty() && !model.verdict) {
    Result<std::optional<GivenData>> found = find_given_data(*model.info, state.services.cache / "inputs");
    if (found)
      given.data = std::move(*found);
    else
      given.note = "the outputs given with the model are not used: " + found.error().message;
    if (!given.note.empty()) log_warning("{}: {}", model.choice.name, given.note);
  }
  std::vector<Planned> cells;
  for (const Target& target : targets) {
    // A target that cannot run is a cell of its own, so that rows stay in the targets' order.
    const auto refuse = [&](const auto& set) {
      Planned cell{&target, {}, {}, begin_row(state.run, state.settings, model, target)};
      set(cell.row);
      state.name_row(cell.row);
      cells.push_back(std::move(cell));
    };
    if (model.verdict || target.verdict) {
      refuse([&](Record& row) { set_verdict(row, target.verdict ? *target.verdict : *model.verdict); });
      continue;
    }
    const Result<ModelInfo> info = state.signature(model, target);
    if (!info) {
      refuse([&](Record& row) { set_failure(row, info.error()); });
      continue;
    }
    InputAxes axes = state.axes_of({});
    const std::optional<std::int64_t> fixed = fixed_batch(*info, axes).value_or(std::nullopt);
    axes.batch = fixed.value_or(1);
    const Result<ModelInputs> probe = make_inputs(*info, axes);
    for (CellShape shape : shapes_of(state.settings, probe && probe->uses_sequence, fixed)) {
      // A length that only a default asks for is cut to what the model has.
      if (state.settings.default_lengths && model.max_sequence)
        shape.sequence = std::min(shape.sequence, *model.max_sequence);

      ASSAY_TRY(Planned cell, state.plan(model, *info, target, shape, given));
      cells.push_back(std::move(cell));
    }
  }
  state.make_references(model, cells);
  for (Planned& cell : cells) {
    if (state.services.cancelled()) break;
    Result<Record> row = state.execute(model, cell);
    if (!row) {
      // The bundle could not be written: the numbers are in the row, and the other cells go on.
      set_failure(cell.row, row.error());
      cell.row.timestamp = iso8601(wall_now());
      row = std::move(cell.row);
    }
    add(std::move(*row));
  }
  state.pool.clear();
  return rows;
}

}  // namespace assay
