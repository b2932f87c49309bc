// SPDX-License-Identifier: Apache-2.0
#include "plan/session.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "base/clock.hpp"
#include "base/files.hpp"
#include "base/hash.hpp"
#include "base/json.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "hardware/hardware.hpp"
#include "plan/version.hpp"
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

void keep(const SessionRequest& request, SessionResult& out) {
  Result<Store> store = Store::open(request.database, Store::Mode::kWrite, std::chrono::seconds(2));
  Status kept;
  if (!store) {
    kept = tl::unexpected<Error>(store.error());
  } else if (const Result<IngestReport> report = store->ingest(request.spool); !report) {
    kept = tl::unexpected<Error>(report.error());
  } else {
    for (const Error& refused : report->refused) out.notes.push_back("a bundle was left out: " + refused.message);
    // Readers have it while the next run writes; without it they wait.
    if (const auto published = store->publish_snapshot(); !published)
      out.notes.push_back("the snapshot for readers is not up to date: " + published.error().message);
  }
  if (kept) return;
  out.store_failed = true;
  out.notes.push_back(fmt::format("{}; the results are safe in '{}' and the next command takes them up",
                                  kept.error().message, request.spool.string()));
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

hub::Progress fetching(const std::function<void(const std::string&)>& doing) {
  if (!doing) return {};
  // Only what changes the line: pieces come by the thousand.
  return [doing, shown = std::string()](const std::string& model, std::uint64_t done, std::uint64_t total) mutable {
    std::string line = fmt::format("fetching {}: {:.0f} of {:.0f} MB", model, static_cast<double>(done) / 1e6,
                                   static_cast<double>(total) / 1e6);
    if (line == shown) return;
    shown = std::move(line);
    doing(shown);
  };
}

PreparedModel unprepared(const ModelChoice& choice, const Error& error) {
  PreparedModel model;
  model.choice = choice;
  model.identity.model = choice.name;
  model.identity.model_id = choice.reference;
  model.identity.family = choice.family.empty() ? "other" : choice.family;
  model.verdict = {CellStatus::kFailed, std::string(to_string(error.code)), error.message, error.hint};
  return model;
}

// What --data holds must be the model's inputs; a model that only the runtime reads is asked when it is loaded.
Status check_data(const PreparedModel& model, const SessionRequest& request) {
  if (request.settings.data.empty() || !model.info || model.verdict) return {};
  const Result<std::optional<std::int64_t>> batch =
      fixed_batch(*model.info, {.data = request.settings.data, .cache = request.cache / "inputs"});
  if (batch) return {};
  Error error = batch.error();
  // Data of another type or shape is the user's mistake, not a finding about a runtime.
  if (error.code == ErrorCode::kMismatch) error.code = ErrorCode::kInvalidArgument;
  return with_context(Status(tl::unexpected<Error>(std::move(error))), "while reading --data for " + model.choice.name);
}

// Resolved, built and checked, with the data it shall run on.
Result<PreparedModel> prepare(const ModelChoice& choice, const SessionRequest& request, const Preparing& with) {
  ASSAY_TRY(PreparedModel model, prepare_model(choice, request.settings, with));
  ASSAY_CHECK_OK(check_data(model, request));
  return model;
}

// How fast the machine is, where a model of any size is asked for: its largest is the one that time allows. Without a
// target that computes nobody waits.
std::optional<MachineRate> rate_for(const SessionRequest& request, const std::vector<Target>& targets,
                                    const EngineRegistry& registry) {
  const bool asked = std::ranges::any_of(request.models, &ModelChoice::any_size) && request.settings.size.empty();
  const bool computes =
      std::ranges::any_of(targets, [](const Target& t) { return t.runnable() && t.engine != "null"; });
  if (!asked || !computes) return std::nullopt;
  if (request.doing) request.doing("measuring the rate of matrix multiplication");
  const std::vector<std::int64_t>& threads = request.settings.threads;
  const auto least = static_cast<int>(*std::ranges::min_element(
      threads, {}, [](std::int64_t n) { return n == 0 ? std::numeric_limits<std::int64_t>::max() : n; }));
  const Result<MachineRate> rate = measure_rate(registry, least, request.cache, request.cancelled);
  if (rate) return *rate;
  if (rate.error().code != ErrorCode::kCancelled)
    log_warning("sizes are chosen by memory alone: {}", rate.error().message);
  return std::nullopt;
}

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

// The executor ends with this function, and with it the history that it may have open: the database has one writer.
Status run_models(std::vector<PreparedModel>& models, const SessionRequest& request, ExecutorServices services,
                  SessionResult& out) {
  ASSAY_TRY(LocalExecutor executor, LocalExecutor::create(out.run, request.settings, std::move(services)));
  for (PreparedModel& model : models) {
    if (request.cancelled()) break;
    ASSAY_TRY(std::vector<Record> rows, executor.run(model, out.targets));
    std::move(rows.begin(), rows.end(), std::back_inserter(out.rows));
    model.built.reset();  // gigabytes, perhaps
  }
  return {};
}

}  // namespace

Result<SessionResult> run_session(const SessionRequest& request) {
  SessionResult out;
  const Hardware machine = detect_hardware();
  const EngineRegistry registry(EngineRegistry::default_places());
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
  std::vector<PreparedModel> models;
  hub::Hub hub(hub::settings_from_environment(), fetching(request.doing), request.cancelled);
  if (!rate) rate = rate_for(request, out.targets, registry);
  Preparing with{request.cache / "models", &hub, rate ? &*rate : nullptr, &registry};
  with.cancelled = request.cancelled;
  for (const Target& target : out.targets)
    if (target.runnable()) with.engines.push_back(target.engine);
  for (const ModelChoice& choice : request.models) {
    if (request.cancelled()) break;
    if (request.doing) request.doing("preparing " + choice.name);
    Result<PreparedModel> model = prepare(choice, request, with);
    if (!model) {
      // The only model named: a mistake costs nothing. One of several: its row says so, the others run.
      if (request.models.size() == 1) return tl::unexpected<Error>(model.error());
      out.usage_error = true;
      model = unprepared(choice, model.error());
    }
    if (!model->note.empty()) out.notes.push_back(model->note);
    models.push_back(std::move(*model));
  }
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
  recall(request, out, services);

  const std::size_t per_target = request.settings.batch_sizes.size() * request.settings.sequence_lengths.size() *
                                 request.settings.streams.size() * request.settings.threads.size();
  std::size_t expected = 0;
  for (const PreparedModel& model : models) {
    const std::size_t generations = model.generation ? request.settings.output_tokens.size() : 1;
    for (const Target& target : out.targets) expected += model.verdict || target.verdict ? 1 : per_target * generations;
  }
  if (request.expecting) request.expecting(expected);
  if (request.finished) services.finished = request.finished;
  ASSAY_CHECK_OK(run_models(models, request, std::move(services), out));
  out.interrupted = request.cancelled();
  if (request.save) keep(request, out);
  return out;
}

}  // namespace assay
