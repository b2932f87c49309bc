// SPDX-License-Identifier: Apache-2.0
#include "run/session.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <set>

#include "base/clock.hpp"
#include "base/files.hpp"
#include "base/guard.hpp"
#include "base/hash.hpp"
#include "base/json.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "base/timed_step.hpp"
#include "base/unknown_word.hpp"
#include "hardware/hardware.hpp"
#include "hardware/python_version.hpp"
#include "plan/choices.hpp"
#include "plan/plan.hpp"
#include "plan/row.hpp"
#include "prepare/rate.hpp"
#include "result/keys.hpp"
#include "run/complete.hpp"
#include "run/local_executor.hpp"
#include "run/session_models.hpp"
#include "run/version.hpp"
#include "store/bundle.hpp"
#include "store/store.hpp"
#include "store/unsaved.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

// Where a run leaves its name, so that --resume finds it. Hidden: the folder's *.json are results.
constexpr const char* kRunFile = ".assay_run.json";

// How long a run waits for the version of Python, which is only a fact for reports.
constexpr std::chrono::milliseconds kPythonLimit(2000);

// What makes two invocations the same plan: everything that decides which cells there are and what they measure.
std::string plan_hash(const SessionRequest& request) {
  Json models = Json::array();
  for (const ModelChoice& model : request.models) models.push_back(to_json(model));
  const Json plan{{"models", std::move(models)},
                  {"targets", to_json(request.targets)},
                  {"best_hardware_only", request.best_hardware_only},
                  {"settings", to_json(request.settings)}};
  return sha256_hex(json_text(plan));
}

bool is_uuid(const std::string& text) {
  constexpr std::size_t kLength = 36;
  return text.size() == kLength && text.find_first_not_of("0123456789abcdef-") == std::string::npos;
}

// The run that --resume continues, or a fresh one. `rate`: what its sizes were chosen by.
std::string run_id_of(const SessionRequest& request, std::vector<std::string>& notes,
                      std::optional<MachineRate>& rate) {
  const fs::path file = request.output_dir / kRunFile;
  if (request.resume && !request.output_dir.empty()) {
    const Result<Json> last = read_json(file);
    const auto text = [&](const char* key) {
      const bool there = last && last->is_object() && last->contains(key) && (*last)[key].is_string();
      return there ? (*last)[key].get<std::string>() : std::string();
    };
    if (text("plan") == plan_hash(request) && is_uuid(text("run_id"))) {
      rate = rate_from_json(last->value("rate", Json()));
      return text("run_id");
    }
    notes.push_back(
        fmt::format("--resume: no earlier run of this plan in '{}': this is a new run", request.output_dir.string()));
  }
  return make_uuid();
}

// Whether --resume keeps the row. The key alone does not say it: under another name the same task may have failed.
bool settled(const Record& row, bool benchmark) {
  if (row.has_flag(flag::kPartial)) return false;
  if (row.status == CellStatus::kUnsupported) return true;
  const bool ran = row.status == CellStatus::kCompleted || row.status == CellStatus::kWrong;
  return ran && (!benchmark || row.latency_mean_ms);
}

// What the interrupted run did: its settled rows are kept, the other tasks run again, and their attempts are counted.
void take_up(const std::vector<Record>& rows, bool benchmark, ExecutorServices& services) {
  for (const Record& row : rows) {
    ++services.attempts[resume_key(row)];
    if (settled(row, benchmark)) services.resumed[resume_key(row)] = row;  // oldest first: the newest stays
  }
}

// What the history gives to this run: rows that --resume takes over with their logs, verdicts for --benchmark-only.
Status recall(const SessionRequest& request, SessionResult& out, ExecutorServices& services) {
  if (!request.resume && request.settings.verify) return {};
  ASSAY_TRY(Store store, Store::open(request.database, Store::Mode::kWrite, std::chrono::seconds(2)));
  // Bundles that an interrupted run left are history too.
  if (auto ingested = store.ingest(request.spool); !ingested) {
    if (request.resume) return tl::unexpected<Error>(std::move(ingested).error());
    out.notes.push_back("the history cannot be brought up to date: " + ingested.error().message);
  }
  if (request.resume) {
    ASSAY_TRY(const auto rows, store.results({.run_id = out.run.run_id}));
    ASSAY_TRY(const auto bundles, store.bundle_paths(out.run.run_id));
    take_up(rows, request.settings.benchmark, services);
    // A bundle keeps its folder when a newer assay computes other keys, so the key does not name it.
    std::error_code ignored;
    for (const auto& [attempt, path] : bundles)
      if (const fs::path log = request.spool / path / bundle_file::kLog; fs::exists(log, ignored))
        out.logs[attempt] = log;
  }
  if (request.settings.verify) return {};
  // Read now and not when asked: the database has one user at a time.
  auto verdicts = std::make_shared<std::map<std::string, Record>>();
  ASSAY_TRY(std::vector<Record> rows, store.results({.judged = true, .latest_per_task = true}));
  for (Record& row : rows) (*verdicts)[row.task_key] = std::move(row);
  services.stored = [verdicts](const std::string& key) {
    const auto found = verdicts->find(key);
    return found == verdicts->end() ? std::optional<Record>() : std::optional<Record>(found->second);
  };
  return {};
}

Status ingest(const SessionRequest& request, std::vector<std::string>& notes) {
  ASSAY_TRY(Store store, Store::open(request.database, Store::Mode::kWrite, std::chrono::seconds(2)));
  ASSAY_TRY(const IngestReport report, store.ingest(request.spool));
  for (const Error& refused : report.refused) notes.push_back("a bundle was left out: " + refused.message);
  // Readers have it while the next run writes; without it they wait.
  if (const auto published = store.publish_snapshot(); !published)
    notes.push_back("the snapshot for readers is not up to date: " + published.error().message);
  return {};
}

}  // namespace

// Word → available and why not, for reports. A word that is a runtime is available where that runtime was found.
Json available_hardware(const Hardware& machine, const EngineRegistry& registry) {
  Json words = Json::object();
  for (const HardwareEntry& entry : machine.entries) {
    bool available = entry.available;
    std::string why = entry.why_not;
    if (!entry.needs_runtime.empty()) {
      const Result<EngineLocation> found = registry.locate(entry.needs_runtime);
      available = found.has_value();
      if (!found) why = found.error().message;
    }
    words[entry.word] = {{"available", available}};
    if (!available) words[entry.word]["why"] = why;
    Json devices = Json::array();
    for (const HardwareDevice& device : entry.devices) devices.push_back(device.name);
    words[entry.word]["devices"] = std::move(devices);
  }
  return words;
}

RunInfo make_run_info(const std::string& command, const Hardware& machine, const EngineRegistry& registry) {
  RunInfo run;
  run.command = command;
  run.started = iso8601(wall_now());
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  run.host = name.data();
  run.tool_version = kToolVersion;
  run.git_commit = kGitCommit;
  run.system = system_info(machine);
  run.hardware = available_hardware(machine, registry);
  run.hardware_fingerprint = machine_fingerprint(machine);
  return run;
}

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

// What could not run at all still has a row, so that nobody takes it for done.
Record failed_row(const PreparedModel& model, const SessionRequest& request, const SessionResult& out,
                  const Error& error) {
  Record row = out.targets.empty() ? model.identity : begin_row(out.run, request.settings, model, out.targets.front());
  set_failure(row, error);
  row.task_key = task_key(row);
  row.series_key = series_key(row);
  row.timestamp = iso8601(wall_now());
  return row;
}

// The row of a cell that an interruption left out. What cannot run at all keeps its reason.
Record unreached_row(Record row) {
  if (row.reason_code.empty())
    set_refusal(row, {CellStatus::kSkipped, std::string(to_string(ErrorCode::kCancelled)), "interrupted before it ran",
                      "run the same command with --resume"});
  row.task_key = task_key(row);
  row.series_key = series_key(row);
  row.timestamp = iso8601(wall_now());
  return row;
}

// Rows are collected one by one: whatever ends the cells of a model, those before stay.
Status run_tasks(const std::vector<PreparedModel>& models, std::vector<std::vector<Task>>& tasks,
                 const SessionRequest& request, ExecutorServices services, SessionResult& out) {
  std::set<std::string> resumed;
  for (const auto& [key, row] : services.resumed) resumed.insert(row.attempt_id);
  const fs::path spool = services.spool;
  std::size_t reached = 0;
  const auto finished = [&](const Record& row) {
    ++reached;
    out.rows.push_back(row);
    if (resumed.contains(row.attempt_id)) out.kept.insert(row.attempt_id);
    const fs::path log = spool / row.task_key / row.attempt_id / bundle_file::kLog;
    std::error_code ignored;
    if (!row.attempt_id.empty() && fs::exists(log, ignored)) out.logs[row.attempt_id] = log;
    if (request.finished) request.finished(row);
  };
  ASSAY_TRY(const std::unique_ptr<Executor> executor, LocalExecutor::create(out.run, std::move(services)));
  for (std::size_t i = 0; i < models.size(); ++i) {
    std::vector<Record> planned;
    planned.reserve(tasks[i].size());
    for (const Task& task : tasks[i]) planned.push_back(task.row);
    reached = 0;
    if (!request.cancelled()) {
      const Status done = guarded("while running " + models[i].choice.name, [&] {
        TaskCompleter completer(models[i], request.cache / "inputs", request.settings.data);
        for (Task& task : tasks[i]) completer.complete(task);
        return executor->run(std::move(tasks[i]), finished);
      });
      if (!done) out.rows.push_back(failed_row(models[i], request, out, done.error()));
    }
    if (!request.cancelled()) continue;
    for (std::size_t cell = reached; cell < planned.size(); ++cell)
      out.rows.push_back(unreached_row(std::move(planned[cell])));
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

}  // namespace

const std::vector<std::string>& best_hardware() {
  static const std::vector<std::string> words{"cuda", "rocm", "mps", "cpu"};
  return words;
}

Result<SessionResult> run_session(const SessionRequest& request) {
  SessionResult out;
  const EngineRegistry registry(request.places);
  for (const Error& problem : registry.problems()) log_warning("an engine is left out: {}", problem.message);
  const Hardware machine = detect_hardware(Host(), registry.entries());
  out.run = make_run_info(request.command, machine, registry);
  std::optional<MachineRate> known_rate;
  out.run.run_id = run_id_of(request, out.notes, known_rate);
  RateKeeper rates(rate_services(request, out.run, registry), known_rate);

  TargetRequest wanted = request.targets;
  if (request.best_hardware_only)
    for (const std::string& word : best_hardware())
      if (wanted.hardware.empty() && machine.entry(word).available) wanted.hardware = {word};
  const auto look = [&](const std::string& engine) {
    const TimedStep step(fmt::format("looked at the devices of {}", engine));
    return probe_engine(registry, engine);
  };
  ASSAY_TRY(out.targets, resolve_targets(wanted, registry, machine, look));
  ASSAY_CHECK_OK(check_options(out.targets, request.settings));
  if (request.resume && (request.output_dir.empty() || !request.save))
    return fail(ErrorCode::kInvalidArgument,
                "--resume continues a saved run of an output directory: `run`, or `bench --save`");
  if (request.settings.parallel)
    out.notes.emplace_back(
        "--parallel: every target here computes on this machine's CPU, where they would disturb each other: "
        "measured one after another");

  PythonVersion python;  // answers while the models are prepared

  // Everything that the user named is looked at before anything runs: a typing mistake costs no time. A database that
  // is busy is waited for at the end.
  ASSAY_CHECK_OK(with_context(check_replaceable(request.database), "while looking at the database (--db-path)"));
  std::error_code absent;
  if (request.save && fs::file_size(request.database, absent) > 0 && !absent) {
    const Result<Store> probe = Store::open(request.database, Store::Mode::kRead, std::chrono::milliseconds(0));
    if (!probe && probe.error().code == ErrorCode::kInvalidArgument) return tl::unexpected<Error>(probe.error());
  }
  const auto prepare_all = [&] {
    const TimedStep step(fmt::format("prepared {} models", request.models.size()));
    return prepare_models(request, registry, rates, out);
  };
  ASSAY_TRY(const std::vector<PreparedModel> models, prepare_all());
  std::vector<std::vector<Task>> tasks;
  std::vector<std::string> choices;
  std::size_t cells = 0;
  for (const PreparedModel& model : models) {
    tasks.push_back(plan_tasks(model, out.targets, request.settings, out.run));
    cells += tasks.back().size();
    std::ranges::move(silent_choices(model, tasks.back(), request.settings), std::back_inserter(choices));
  }
  std::ranges::move(grouped_notes(choices), std::back_inserter(out.notes));
  log_verbose("planned {} cells", cells);
  if (!request.output_dir.empty()) {
    Json mark{{"run_id", out.run.run_id}, {"plan", plan_hash(request)}, {"command", request.command}};
    if (rates.known()) mark["rate"] = to_json(*rates.known());
    ASSAY_CHECK_OK(write_file_atomically(request.output_dir / kRunFile, json_text(mark, 2) + "\n"));
  }

  ExecutorServices services = executor_services(request, registry);
  std::optional<UnsavedSpool> unsaved;  // in use until the end
  if (!request.save) {
    ASSAY_TRY(unsaved, UnsavedSpool::begin(request.spool, out.run.run_id));
    services.spool = unsaved->path();
  }
  ASSAY_CHECK_OK(make_directories(services.spool));
  if (Status recalled = guarded("while reading the history", [&] { return recall(request, out, services); });
      !recalled) {
    // Without it every cell would run again.
    if (request.resume)
      return tl::unexpected<Error>(with_context(std::move(recalled), "while reading the history for --resume").error());
    out.notes.push_back("the history cannot be read, so no earlier verification is used: " + recalled.error().message);
  }
  if (request.expecting) request.expecting(cells);
  if (const std::string version = python.wait(kPythonLimit, request.cancelled); !version.empty())
    out.run.system["python_version"] = version;
  {
    const TimedStep step(fmt::format("ran {} cells", cells));
    ASSAY_CHECK_OK(run_tasks(models, tasks, request, std::move(services), out));
  }
  out.interrupted = request.cancelled();
  if (out.interrupted && request.save && !request.output_dir.empty())
    out.resume_command = request.command + (request.resume ? "" : " --resume");
  return out;
}

std::vector<std::string> save_session(const SessionRequest& request, SessionResult& session) {
  std::vector<std::string> notes;
  if (!request.save) return notes;
  const TimedStep step("saved the results in the database");
  const Status saved = guarded("while saving the results", [&] { return ingest(request, notes); });
  if (saved) return notes;
  session.store_failed = true;
  notes.push_back(fmt::format("the database was not updated: {}; the results are safe in '{}'{}{}",
                              saved.error().message, request.spool.string(), saved.error().hint.empty() ? "" : "; ",
                              saved.error().hint));
  return notes;
}

}  // namespace assay
