// SPDX-License-Identifier: Apache-2.0
#include "run/session.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "base/clock.hpp"
#include "base/files.hpp"
#include "base/guard.hpp"
#include "base/hash.hpp"
#include "base/json.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "hardware/hardware.hpp"
#include "plan/row.hpp"
#include "result/keys.hpp"
#include "run/session_models.hpp"
#include "run/version.hpp"
#include "store/store.hpp"
#include "store/unsaved.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

// Where a run leaves its name, so that --resume finds it. Hidden: the folder's *.json are results.
constexpr const char* kRunFile = ".assay_run.json";

// What makes two invocations the same plan: everything that decides which cells there are.
std::string plan_hash(const SessionRequest& request) {
  std::string text;
  for (const ModelChoice& model : request.models) text += fmt::format("model={} {}\n", model.name, model.reference);
  for (const std::string& word : request.targets.hardware) text += "hardware=" + word + "\n";
  for (const std::string& engine : request.targets.engines) text += "engine=" + engine + "\n";
  for (const auto batch : request.settings.batch_sizes) text += fmt::format("batch={}\n", batch);
  for (const auto length : request.settings.sequence_lengths) text += fmt::format("sequence={}\n", length);
  for (const auto tokens : request.settings.output_tokens) text += fmt::format("output={}\n", tokens);
  const RunSettings& settings = request.settings;
  text += fmt::format("precision={}\nseed={}\nsize={}\nscale={}\ndata={}\n", settings.precision, settings.seed,
                      settings.size, settings.scale, settings.data.string());
  text += fmt::format("iterations={}\nwarmup={}\nverify={}\nbenchmark={}\n", settings.measure.iterations.value_or(0),
                      settings.measure.warmup_iterations.value_or(-1), settings.verify, settings.benchmark);
  for (const auto streams : settings.streams) text += fmt::format("streams={}\n", streams);
  for (const auto threads : settings.threads) text += fmt::format("threads={}\n", threads);
  if (settings.form != zoo::Form::kPortable) text += fmt::format("form={}\n", zoo::form_name(settings.form));
  for (const auto& [key, value] : settings.engine_options) text += fmt::format("option={}={}\n", key, value);
  return sha256_hex(text);
}

bool is_uuid(const std::string& text) {
  constexpr std::size_t kLength = 36;
  return text.size() == kLength && text.find_first_not_of("0123456789abcdef-") == std::string::npos;
}

Json to_json(const MachineRate& rate) {
  return {{"flops_per_s", rate.flops_per_s}, {"bytes_per_s", rate.bytes_per_s}, {"engine", rate.engine}};
}

std::optional<MachineRate> rate_from(const Json& json) {
  const auto positive = [&](const char* key) {
    return json.is_object() && json.contains(key) && json[key].is_number() && json[key].get<double>() > 0;
  };
  if (!positive("flops_per_s") || !positive("bytes_per_s")) return std::nullopt;
  return MachineRate{json["flops_per_s"], json["bytes_per_s"], json.value("engine", "")};
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
      rate = rate_from(last->value("rate", Json()));
      return text("run_id");
    }
    notes.push_back(
        fmt::format("--resume: no earlier run of this plan in '{}': starting afresh", request.output_dir.string()));
  }
  return make_uuid();
}

// What the interrupted run did: its settled cells are taken over, the others run again and count on.
void take_up(const std::vector<Record>& rows, const std::set<std::string>& settled, ExecutorServices& services) {
  for (const Record& row : rows) {
    ++services.attempts[row.task_key];
    if (settled.contains(row.task_key)) services.resumed[row.task_key] = row;  // oldest first: the newest stays
  }
}

// What the history gives to this run: rows that --resume takes over, verdicts for --benchmark-only.
void recall(const SessionRequest& request, SessionResult& out, ExecutorServices& services) {
  if (!request.resume && request.settings.verify) return;
  Result<Store> store = Store::open(request.database, Store::Mode::kWrite);
  if (!store) {
    out.notes.push_back("the history cannot be read: " + store.error().message);
    return;
  }
  // Bundles that an interrupted run left are history too.
  if (const auto ingested = store->ingest(request.spool); !ingested)
    out.notes.push_back("the history cannot be brought up to date: " + ingested.error().message);
  if (request.resume) {
    const auto settled = store->completed_task_keys(out.run.run_id, request.settings.benchmark);
    const auto rows = store->results({.run_id = out.run.run_id});
    if (settled && rows) take_up(*rows, *settled, services);
  }
  if (request.settings.verify) return;
  // Read now and not when asked: the database has one user at a time.
  auto verdicts = std::make_shared<std::map<std::string, Record>>();
  if (Result<std::vector<Record>> rows = store->results({.judged = true, .latest_per_task = true}))
    for (Record& row : *rows) (*verdicts)[row.task_key] = std::move(row);
  services.stored = [verdicts](const std::string& key) {
    const auto found = verdicts->find(key);
    return found == verdicts->end() ? std::optional<Record>() : std::optional<Record>(found->second);
  };
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
        return fail(ErrorCode::kInvalidArgument, fmt::format("--engine-option: {} has no option '{}'; valid: {}",
                                                             target.engine, name, join(names, ", ")));
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

// Rows are collected one by one: whatever ends the cells of a model, those before stay.
Status run_models(std::vector<PreparedModel>& models, const SessionRequest& request, ExecutorServices services,
                  SessionResult& out) {
  services.finished = [&](const Record& row) {
    out.rows.push_back(row);
    if (request.finished) request.finished(row);
  };
  ASSAY_TRY(LocalExecutor executor, LocalExecutor::create(out.run, request.settings, std::move(services)));
  for (PreparedModel& model : models) {
    if (request.cancelled()) break;
    const Status done = guarded("while running " + model.choice.name, [&] { return executor.run(model, out.targets); });
    if (!done) out.rows.push_back(failed_row(model, request, out, done.error()));
    model.built.reset();  // gigabytes, perhaps
  }
  return {};
}

}  // namespace

Result<SessionResult> run_session(const SessionRequest& request) {
  SessionResult out;
  const EngineRegistry registry(request.places);
  for (const Error& problem : registry.problems()) log_warning("an engine is left out: {}", problem.message);
  const Hardware machine = detect_hardware(Host(), registry.entries());
  out.run = make_run_info(request.command, machine, registry);
  std::optional<MachineRate> rate;
  out.run.run_id = run_id_of(request, out.notes, rate);

  TargetRequest wanted = request.targets;
  if (request.best_hardware_only)
    for (const char* word : {"cuda", "rocm", "mps", "cpu"})
      if (wanted.hardware.empty() && machine.entry(word).available) wanted.hardware = {word};
  ASSAY_TRY(out.targets, resolve_targets(wanted, registry, machine));
  ASSAY_CHECK_OK(check_options(out.targets, request.settings));
  if (request.resume && (request.output_dir.empty() || !request.save))
    return fail(ErrorCode::kInvalidArgument,
                "--resume continues a saved run of an output directory: `run`, or `bench --save`");
  if (request.settings.parallel)
    out.notes.emplace_back(
        "--parallel: every target here computes on this machine's CPU, where they would disturb each other: "
        "measured one after another");

  // Everything that the user named is looked at before anything runs: a typing mistake costs no time. A database that
  // is busy is waited for at the end.
  ASSAY_CHECK_OK(with_context(check_replaceable(request.database), "while looking at the database (--db-path)"));
  std::error_code absent;
  if (request.save && fs::file_size(request.database, absent) > 0 && !absent) {
    const Result<Store> probe = Store::open(request.database, Store::Mode::kRead, std::chrono::milliseconds(0));
    if (!probe && probe.error().code == ErrorCode::kInvalidArgument) return tl::unexpected<Error>(probe.error());
  }
  ASSAY_TRY(std::vector<PreparedModel> models, prepare_models(request, registry, rate, out));
  if (!request.output_dir.empty()) {
    Json mark{{"run_id", out.run.run_id}, {"plan", plan_hash(request)}, {"command", request.command}};
    if (rate) mark["rate"] = to_json(*rate);
    ASSAY_CHECK_OK(write_file_atomically(request.output_dir / kRunFile, json_text(mark, 2) + "\n"));
  }

  ExecutorServices services;
  services.registry = &registry;
  services.spool = request.spool;
  std::optional<UnsavedSpool> unsaved;  // in use until the end
  if (!request.save) {
    ASSAY_TRY(unsaved, UnsavedSpool::begin(request.spool, out.run.run_id));
    services.spool = unsaved->path();
  }
  ASSAY_CHECK_OK(make_directories(services.spool));
  services.cache = request.cache;
  services.cancelled = request.cancelled;
  if (request.doing) services.doing = request.doing;
  const Status recalled = guarded("while reading the history", [&]() -> Status {
    recall(request, out, services);
    return {};
  });
  if (!recalled) out.notes.push_back("the history cannot be read: " + recalled.error().message);

  const std::size_t per_target = request.settings.batch_sizes.size() * request.settings.sequence_lengths.size() *
                                 request.settings.streams.size() * request.settings.threads.size();
  std::size_t expected = 0;
  for (const PreparedModel& model : models) {
    const std::size_t generations = model.generation ? request.settings.output_tokens.size() : 1;
    for (const Target& target : out.targets) expected += model.verdict || target.verdict ? 1 : per_target * generations;
  }
  if (request.expecting) request.expecting(expected);
  ASSAY_CHECK_OK(run_models(models, request, std::move(services), out));
  out.interrupted = request.cancelled();
  return out;
}

std::vector<std::string> save_session(const SessionRequest& request, SessionResult& session) {
  std::vector<std::string> notes;
  if (!request.save) return notes;
  const Status saved = guarded("while saving the results", [&] { return ingest(request, notes); });
  if (saved) return notes;
  session.store_failed = true;
  notes.push_back(fmt::format("the database was not updated: {}; the results are safe in '{}'{}{}",
                              saved.error().message, request.spool.string(), saved.error().hint.empty() ? "" : "; ",
                              saved.error().hint));
  return notes;
}

}  // namespace assay
